/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions ask about beyond arguments: the time, earlier calls, the client, what a server says of its tool.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; all of it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: none; what is not known is undecided. */
#ifndef POLICY_FACT_H
#define POLICY_FACT_H

#include "texts/address.h"
#include "policy/match.h"
#include "policy/verdict.h"
#include "texts/zone.h"

/* What a `session` condition watches: tools, rules or a label. Each set of names has one watch. */
struct watch {
    struct watch *next;
    struct policy_watch view;
    struct names tools, upstreams, rules;
    const struct label *label; /* in place of all names above; or NULL */
};

struct hours { /* of the local day, in minutes; from > to: past midnight, of the day on which it begins */
    int from, to;
};

struct dates { /* of the local clock, in seconds as if it were UTC; `to` is outside */
    int64_t from_s, to_s;
};

enum fact_kind { FACT_DURING = 0, FACT_SESSION, FACT_CLIENT, FACT_ANNOTATIONS, FACT_PLAN, FACT_SIZE, FACT_MEDIA, FACT_COUNT };

extern const char *const policy_fact_text[FACT_COUNT];        /* "during" ... */
extern const char *const policy_by_text[POLICY_BY_COUNT + 1]; /* "tenant" ..., NULL */
extern const char *const policy_hint_text[];                 /* "readOnlyHint" ..., NULL */

struct fact {
    enum fact_kind kind;
    uint32_t days;                 /* DURING: bits, 0 is Sunday */
    const struct hours *hours;     /* DURING */
    uint32_t count;                /* of hours or ranges */
    const struct dates *dates;     /* DURING */
    uint32_t date_count;           /* 0: any */
    const struct zone *zone;       /* DURING */
    struct span zone_name;
    const struct watch **watches;  /* SESSION */
    uint32_t watch_count;
    bool every;                    /* SESSION: all of them, not any */
    uint32_t by;                   /* SESSION: bits of enum policy_by */
    int64_t within_us;             /* SESSION */
    struct span written;           /* as JSON, for words */
    const struct address_range *ranges; /* CLIENT */
    bool asks[POLICY_HINT_COUNT];  /* ANNOTATIONS */
    bool wants[POLICY_HINT_COUNT];
    enum truth absent;             /* ANNOTATIONS: of a hint that is not known */
    bool opening;                  /* ANNOTATIONS */
    uint64_t most;                 /* SIZE: bytes */
    const struct span *globs;      /* MEDIA: in lower case; `count` of them */
};

/* policy_is_watched: whether a name of `called` or its `upstreams` holds (names and globs only, so that it needs no budget),
 * a rule of `met` is among those that the call met, or the call has the label. */
const struct watch *policy_watch_of(const struct policy_watch *view);
enum policy_known policy_is_watched(const struct watch *watch, const struct question *question, const struct policy_met *met);

#endif
