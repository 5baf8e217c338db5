/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of a rule: leaves with their operators, facts, and what joins them.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; all of it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: none. */
#ifndef POLICY_CONDITION_H
#define POLICY_CONDITION_H

#include "policy/fact.h"
#include "policy/operator.h"
#include "policy/path.h"

const char *policy_truth_text(enum truth truth); /* for explanations */

enum decoder {
    DECODER_PERCENT = 0, DECODER_BASE64, DECODER_UNICODE, DECODER_HTML, DECODER_JSON, DECODER_HEX, DECODER_INSIDE,
    DECODER_HOMOGLYPH, DECODER_COUNT
};

extern const char *const policy_decoder_text[DECODER_COUNT + 1]; /* "percent" ..., NULL */

/* The last two come of schemas alone (schema.h): EACH asks its one member about each value that its path selects, as if the
 * value were `$`; of ONE exactly one member must hold. */
enum condition_kind { CONDITION_LEAF = 0, CONDITION_ALL, CONDITION_ANY, CONDITION_NOT, CONDITION_FACT, CONDITION_EACH,
                      CONDITION_ONE };

/* Which members a path that ends in `.*` selects, by their names. */
struct member_names {
    const struct span *listed; /* in byte order */
    uint32_t count;
    const struct op *patterns; /* `matches` each */
    uint32_t pattern_count;
    bool others; /* members that are not listed and match no pattern */
};

#define CONDITION_UNCOUNTED UINT32_MAX

/* Where a leaf's path begins: `arg:` at `$`, `meta:` at params._meta, `param:` at the other members of params, `claim:` at the
 * claims of the caller's access token, `value:` at an answer. */
enum condition_root { FROM_ARG = 0, FROM_META, FROM_PARAM, FROM_CLAIM, FROM_VALUE, FROM_COUNT };

extern const char *const policy_root_text[FROM_COUNT + 1]; /* "arg" ..., NULL */

/* Which claim a path asks for: claim.c. */
struct claim_ask {
    struct span key;         /* the names with which the path begins, normalised; all that it selects lies below them */
    const struct path *path;
    const size_t *ends;      /* of `$` and of each name, in the key */
    uint32_t steps;          /* names */
    const struct claim_ask *next;
};

/* Members of _meta that conditions ask for, and to which an approval is bound. */
struct meta_key {
    struct span name;
    const struct meta_key *next;
};
struct meta_asks {
    const struct meta_key *keys; /* members that some path goes through */
    bool all;                    /* some path may select _meta or any member of it */
};

struct condition {
    enum condition_kind kind;
    struct span label; /* "rule-id: when[0].any[1] $.q matches" */
    int line;
    uint32_t number;   /* of the policy's conditions, from 0; only_args is one; a schema's are UNCOUNTED */
    uint32_t count;    /* ALL, ANY, ONE, NOT and EACH (one) */
    const struct condition *members;
    const struct fact *fact; /* FACT */
    /* LEAF, EACH */
    const struct member_names *names; /* NULL: the path selects them all */
    struct path path;
    enum condition_root from;
    const struct claim_ask *claim; /* FROM_CLAIM */
    bool asks_keys; /* it asks about names of members, not their values */
    unsigned decoders; /* 1 << enum decoder; 0: strings are read as they are */
    bool folds;        /* case is ignored where texts are compared */
    bool links;        /* it asks about each URL inside of the texts, not about the texts */
    bool joined;       /* strings and numbers that the path selects are also asked as one string, one behind the other */
    const struct op *ops;
    uint32_t op_count;
    bool opening;
    bool every;              /* quantifier */
    bool null_is_none;       /* null counts as nothing (`optional: or_null`) */
    bool counts_lacks;       /* opening, with `[*]` before further steps */
    enum truth absent;       /* of an absent value */
};

#endif
