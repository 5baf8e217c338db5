/* SPDX-License-Identifier: Apache-2.0 */
/* The question that is put to a policy: who asks what of whom, with which arguments.
 *
 * Threads: built and read by one thread.
 * Owns: nothing; all spans and nodes are borrowed from the message that is judged.
 * Lifetime: one evaluation.
 * Errors: none. */
#ifndef POLICY_QUESTION_H
#define POLICY_QUESTION_H

#include "base/reason.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct question;

/* What is known of something past. Zero is the safe value: what is not known opens nothing. */
enum policy_known { POLICY_UNKNOWN = 0, POLICY_NO, POLICY_YES };

/* By what calls are counted together, and by what a `session` condition joins calls. */
enum policy_by {
    POLICY_BY_TENANT = 0, POLICY_BY_PRINCIPAL, POLICY_BY_UPSTREAM, POLICY_BY_TOOL, POLICY_BY_SESSION, POLICY_BY_CLIENT,
    POLICY_BY_CORRELATION, POLICY_BY_AGENT, POLICY_BY_COUNT
};

/* A permit's limit (Meaning 12): so many calls, a sum over an argument in millionths, or so many different values of one. The
 * same rule with the same limit is the same limit in every snapshot; of a sum or of values `most` and `asks` may differ. */
#define POLICY_LIMITS_MAX 8 /* of one permit */
#define POLICY_PER_MAX_US (INT64_C(31) * 86400 * 1000000)
#define POLICY_VALUES_MAX 256 /* different ones under one limit */
#define POLICY_SUM_PLACES 6
#define POLICY_SUM_MAX UINT64_C(1000000000000000000) /* millionths; of one limit, and of one call */
struct path;
struct policy_schema;
enum policy_limit_kind { LIMIT_CALLS = 0, LIMIT_SUM, LIMIT_DISTINCT, LIMIT_KINDS };
struct policy_limit {
    struct span rule; /* its id */
    const struct policy_limit *next; /* of the same permit; or NULL */
    uint32_t at;      /* its place among them */
    enum policy_limit_kind kind;
    const struct path *path; /* NULL: of calls */
    struct span path_text;
    uint64_t most;
    int64_t per_us;
    uint32_t by;      /* bits: 1 << enum policy_by */
    bool asks;        /* over the limit a person is asked */
    bool is_node;     /* in a fleet: each node counts by itself */
};

/* A value as LIMIT_DISTINCT counts it (policy_value_of). */
struct policy_value {
    unsigned char bytes[16];
};
static inline bool policy_value_equals(const struct policy_value *a, const struct policy_value *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* What a call takes of a limit. */
struct policy_amount {
    uint64_t number; /* 1 where calls or values are counted */
    struct policy_value value;
    bool is_lost;    /* a recorded call's value: it may be any, so that it has room where any could have it */
};

/* What there is left of a limit for an amount. */
struct policy_room {
    int64_t wait_us; /* where it does not fit: how long that lasts */
    uint64_t taken;  /* by the calls of the window; of values: how many different ones they had */
    bool has_value;  /* LIMIT_DISTINCT: this one is among them */
};

/* Tools whose calls a `session` condition asks for, rules that were met, or a label. The same names are the same watch in every
 * snapshot. */
struct policy_watch {
    struct span key; /* the names, unambiguously */
    uint32_t by;     /* bits: by what some condition asks */
    int64_t longest_us;
};

/* What a server says of its tool in tools/list; untrusted. */
enum policy_hint { POLICY_READ_ONLY = 0, POLICY_DESTRUCTIVE, POLICY_IDEMPOTENT, POLICY_OPEN_WORLD, POLICY_HINT_COUNT };

/* The past, as questions that evaluation may ask. Asking changes nothing: whoever acts on the verdict takes the limit's token,
 * spends the approval, notes the call. Within one evaluation the same question gets the same answer, or the loser of a race
 * finds out when it takes. A member may be NULL: of that nothing is known, as of a first call. */
struct policy_past {
    /* Whether the call's amount fits under the limit; POLICY_UNKNOWN counts as no. */
    enum policy_known (*has_room)(void *context, const struct question *question, const struct policy_limit *limit,
                                  const struct policy_amount *amount, struct policy_room *room);
    /* Whether one of the watched tools was permitted, or one of the watched rules met, within so long, in the same session,
     * correlation ... */
    enum policy_known (*was_called)(void *context, const struct question *question, const struct policy_watch *watch,
                                    enum policy_by by, int64_t within_us);
    /* Whether a person has granted what this require_approval holds. POLICY_NO: a person has refused it; POLICY_UNKNOWN:
     * nobody has said anything, so that it is held. */
    enum policy_known (*is_granted)(void *context, const struct question *question, struct span rule, struct span rule_hash);
    /* What the upstream said of the tool; POLICY_UNKNOWN: nothing. */
    enum policy_known (*hint)(void *context, const struct question *question, enum policy_hint hint);
    /* The at-th inputSchema that the call of a tool may have to fit (schema.h): of the accepted definition that was last listed
     * in its session, or else of each accepted one, of which any may fit. It lives as long as the question. NULL: no more;
     * where there is not even a first one, no permit that says `arguments: by_schema` applies. */
    const struct policy_schema *(*schema_of)(void *context, const struct question *question, uint32_t at);
};

struct policy_state {
    const struct policy_past *past; /* NULL: nothing is known of the past */
    void *context;
};

/* A recorded call that is asked again may have lost parts. A condition about a lost part is guessed, all in favour of a
 * permit or all against it: policy_possible says what both leave open. verdict.guessed tells that one was made. */
struct question_hidden {
    const struct json_node *const *nodes; /* values under `root`, or `root` itself, that stand in for others */
    uint32_t count;
    bool meta;                            /* nothing is known of params._meta */
    uint32_t names;                       /* bits, 1 << enum dimension (match.h): which name it has is not known; of groups and
                                           * scopes: there may be more */
    bool around;                          /* nothing is known of when, whence, after what and by which plan it came */
    bool claims;                          /* of claims nothing is known but what `claims` of the question says, by its paths */
    bool hints;                           /* nothing is known of what the server said of the tool, but what `state` knows */
    const struct json_node *rules;        /* the record's, where some say what their sums counted of the call; or NULL */
    uint64_t number;                      /* of the record: a lost value differs from those of all other records */
    bool favours_permit;
};

/* Whether a value is a hidden one; whether it is, holds or lies in one. */
bool question_is_hidden(const struct question_hidden *hidden, const struct json_node *value);
bool question_hides(const struct question_hidden *hidden, const struct json_node *value);

/* What a signed plan has to do with the call (schema/plan.md). */
struct question_plan {
    uint32_t step;   /* of it, that the call is and may use now, from 1; 0: none */
    enum reason why; /* there is none; UNSET: as PLAN_REQUIRED, no plan was shown */
};

struct question {
    struct span tenant;
    struct span principal;
    struct span agent;             /* the program that acts for the principal; empty: nothing says which */
    bool is_agent_judged;          /* the route judges it: calls need the agent's half, too */
    const struct span *groups, *scopes; /* what the identity has of them, each once or more; NULL: none */
    uint32_t group_count, scope_count;
    struct span more_scope;        /* one more scope, which the identity does not have; empty: none */
    bool any_scope;                /* permits ask for no scopes: what would one more open? */
    const struct json_node *claims; /* of an access token, an object; NULL: it has none */
    struct span upstream;          /* the route's name */
    struct span method;            /* or a pseudo-name: stream/open, session/end, response, stream/message */
    struct span answers;           /* method `response`: the method that is answered; otherwise empty */
    struct span tool;              /* params.name of tools/call; otherwise empty */
    struct span via;               /* the tool in whose call this one stands, which no rule asks for; empty: in none */
    struct span resource;          /* params.uri of resources/read and its like; otherwise empty */
    bool any_resource;             /* `resource` is a template (RFC 6570) of URIs; for policy_could_permit alone */
    struct span shown;             /* tools/list: the one tool that is described, where it is not a list; otherwise empty */
    struct span prompt;            /* params.name of prompts/get; otherwise empty */
    struct span path;              /* below a route that takes more than one, as it goes up; otherwise empty */
    struct span query;             /* as it goes up, without `?`; empty: none */
    const struct json_node *root;  /* `$`: params.arguments for tools/call and prompts/get, else params; NULL: absent */
    const struct json_node *meta;  /* params._meta, or NULL */
    const struct json_node *params; /* tools/call and prompts/get: members of params beside name and arguments; or NULL */
    struct span bound;             /* of these, what an approval is bound to, as one text; at == NULL: nothing */
    bool bound_has_root;           /* of other methods: `bound` is what an approval is bound to of `$` */
    int64_t time_us;               /* UTC */
    struct span client;            /* the client's address as text */
    struct span session;
    struct span correlation;
    struct question_plan plan;
    struct policy_state state;
    bool is_brief;                 /* who asks cannot wait: what takes long gets no verdict, and is asked again */
    const struct question_hidden *hidden; /* NULL: all is known, as of every call at the gate */
};

/* What sums counted of a recorded call by this path, whichever of its rules says so: it is the same for each; NULL: none did.
 * Takes: rules: as the record has them; may be NULL. */
const struct json_node *question_recorded_sum(const struct json_node *rules, struct span path);

/* Whether `$` is params.arguments, so that the other members of params stand in question.params. */
static inline bool question_has_arguments(const struct question *question)
{
    return span_is(question->method, "tools/call") || span_is(question->method, "prompts/get");
}

/* Whether params.uri says what resource the message is about; other methods that a route declares have another place for it. */
static inline bool question_has_uri(struct span method)
{
    return span_starts_with(method, SPAN_LIT("resources/")) || span_is(method, "skills/get");
}

/* Whether what comes back is a skill, whose files and manifest clients hold against digests (ext-skills, "Integrity and
 * Verification"): nothing may be cut out of it. Files are known by their URI, of the scheme that the extension names, or
 * by the name of the one that each skill has. */
bool question_is_of_skill(struct span method, struct span resource);

/* Whether the message needs the agent's half beside the person's. What `protocol` stands for never does: whoever is to connect
 * asks nothing of the server with it, and lists show no more than calls would be permitted. */
bool question_needs_agent(const struct question *question);

/* By what the call is counted together with others; empty: nothing. */
struct span question_value(const struct question *question, enum policy_by by);

#endif
