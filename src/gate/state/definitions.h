/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of tools in the lists that pass: which one each asker was told last, by its digest; and the new ones, for
 * main to write into the store.
 *
 * A definition is canonical JSON (RFC 8785): another order of members makes no other definition, another order of an array
 * does. One with a number that no double holds exactly stays as the server ordered it.
 *
 * Threads: any; short locks.
 * Owns: digests of the last 65,536 tellings, and up to 8 MiB of what main has not taken.
 * Lifetime: definitions_new to definitions_free.
 * Errors: without memory or room a definition goes to the store at a later list. An asker of whom nothing is known counts
 *   as having been told what the upstream told last. */
#ifndef STATE_DEFINITIONS_H
#define STATE_DEFINITIONS_H

#include "base/buf.h"
#include "state/definition_set.h"
#include "json/json.h"

#define DEFINITION_MAX_BYTES ((size_t)256 << 10) /* a larger one is not kept, so that nobody can accept it */
/* The text that stands for all definitions of a tool that are not kept; its digest is 0. */
#define DEFINITION_UNKEPT \
    "{\"not kept\":\"a definition over 262144 bytes, or more of them than a route has room for; nobody can accept it\"}"

/* `definitions` of a route. */
enum definitions_mode { DEFINITIONS_WATCH = 0, DEFINITIONS_HOLD, DEFINITIONS_OFF };

struct definitions;

enum code definitions_new(struct definitions **definitions) MUST_USE;
void definitions_free(struct definitions **definitions);

/* Appends the canonical form of a definition and says its digest. CODE_INVALID: it is no JSON object; CODE_LIMIT: too large. */
enum code definition_canonical(struct span text, struct buf *out, unsigned char digest[DIGEST_BYTES]) MUST_USE;

/* Who asked for the list: a session or, where there is none, a principal. */
struct definition_asker {
    struct span upstream, tenant, principal, session;
};

struct definition_told {
    struct span share;      /* with which other upstreams it shares the store's room: those of one route */
    struct span tool, text;
    bool begins;            /* a list. Where later elements or pages of it say another thing of a tool, what nobody has
                             * accepted counts */
    int64_t now_us;         /* UTC */
};

/* Notes what was told. Returns: whether somebody has accepted it. */
bool definitions_learn(struct definitions *definitions, const struct definition_set *set, const struct definition_asker *asker,
                       const struct definition_told *told);

/* Which definition a call of a tool means: what the asker was told last; else what the upstream told anybody last.
 * Returns: false: the upstream told nothing of the tool. */
bool definitions_meant(struct definitions *definitions, const struct definition_set *set, const struct definition_asker *asker,
                       struct span tool, unsigned char digest[DIGEST_BYTES]);

/* What is to be stored. Takes: out: empty. */
struct definition_note {
    struct span share, upstream, tool;
    struct span text;        /* empty: it was told before, and was told again */
    unsigned char digest[DIGEST_BYTES];
    int64_t told_us;
};
void definitions_take(struct definitions *definitions, struct buf *out);
bool definitions_next(struct span *notes, struct definition_note *note);

#endif
