/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include "base/glob.h"
#include "base/num.h"

#include <stdlib.h>

#define CALLS_MAX 1000000
#define WITHIN_MAX_US (INT64_C(86400) * 1000000)
#define WATCHES_MAX 1024 /* every permitted call looks at each */

const char *const policy_by_text[POLICY_BY_COUNT + 1] = {"tenant",  "principal", "upstream",    "tool",
                                                          "session", "client",    "correlation", NULL};

#define BIT(by) (UINT32_C(1) << (by))

/* A list of words, or one. */
static uint32_t compile_by(struct compiler *c, const struct yaml_node *list)
{
    uint32_t by = 0;

    if (list->type != YAML_STRING && !policy__is_list(c, list))
        return 0;
    for (const struct yaml_node *one = list->type == YAML_LIST ? list->child : list; one != NULL;
         one = list->type == YAML_LIST ? one->next : NULL) {
        int word = policy__word(c, one, policy_by_text);

        by |= word < 0 ? 0 : BIT(word);
    }
    if (list->type == YAML_LIST && list->count == 0)
        FAULT(c, list, "an empty `by` says nothing; leave it out or name what to count by, as in [principal, tool]");
    return by;
}

/* A correlation id is the agent's own choice: counted by it, a limit would limit nobody. */
static void compile_limit_by(struct compiler *c, const struct yaml_node *list, struct policy_limit *limit)
{
    if (list == NULL)
        return;
    limit->by = compile_by(c, list);
    if (limit->by & BIT(POLICY_BY_CORRELATION))
        FAULT(c, list, "agents choose their correlation ids, and counting by them limits nobody; write principal or session");
}

const struct policy_limit *policy__compile_limit(struct compiler *c, const struct yaml_node *node)
{
    static const char *const known[] = {"calls", "per", "by", NULL};
    static const char *const periods[] = {"second", "minute", "hour", "day", NULL};
    static const int64_t seconds[] = {1, 60, 3600, 86400};
    const struct yaml_node *calls = yaml_member(node, "calls"), *per = yaml_member(node, "per");
    struct policy_limit *limit = node != NULL ? policy__alloc(c, 1, sizeof *limit) : NULL;
    int period;

    if (limit == NULL)
        return NULL;
    if (c->effect != EFFECT_PERMIT)
        FAULT_KEY(c, node, "`limit` is for permits: over it the permit does not apply; leave it out here");
    if (!policy__is_map_of(c, node, known, "a limit"))
        return NULL;
    if (calls == NULL || calls->type != YAML_INT || num_u64(calls->json, &limit->calls) != CODE_OK || limit->calls < 1 ||
        limit->calls > CALLS_MAX)
        FAULT(c, calls ? calls : node, "a limit counts `calls`; write a whole number from 1 to %d", CALLS_MAX);
    if (per == NULL) {
        FAULT(c, node, "a limit has no `per`; write second, minute, hour or day");
    } else {
        period = policy__word(c, per, periods);
        limit->per_us = seconds[period < 0 ? 0 : period] * 1000000;
    }
    compile_limit_by(c, yaml_member(node, "by"), limit);
    limit->rule = c->rule_id;
    return limit;
}

/* ---- session ---- */

static int by_bytes(const void *a, const void *b)
{
    return span_compare(((const struct match_name *)a)->text, ((const struct match_name *)b)->text);
}

static void take_name(struct compiler *c, const struct yaml_node *text, void *part)
{
    if (text->text.len == 0)
        FAULT(c, text, "an empty name never matches; write a name or a glob such as 'read_*'");
    *(struct match_name *)part = (struct match_name){.kind = glob_is_literal(text->text) ? NAME_LITERAL : NAME_GLOB,
                                         .text = policy__copy(c, text->text)};
}

/* Names and globs; in byte order, so that the order in which they are written makes no other watch. */
static void compile_names(struct compiler *c, const struct yaml_node *list, struct names *names)
{
    struct match_name *name;

    names->given = list != NULL;
    if (!policy__is_list(c, list))
        return;
    if (list->count == 0) {
        FAULT(c, list, "an empty list of names never matches; name at least one");
        return;
    }
    names->name = name = policy__texts(c, list, sizeof *name, take_name, &names->count);
    if (names->count > 0)
        qsort(name, names->count, sizeof *name, by_bytes);
}

static void add_names(struct buf *key, char kind, const struct names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        buf_addf(key, "%c%zu:", kind, names->name[i].text.len);
        buf_add_span(key, names->name[i].text);
    }
}

/* One watch for all conditions that name the same; what they ask of it adds up. */
static const struct watch *keep_watch(struct compiler *c, const struct yaml_node *node, struct watch *fresh,
                                      const struct fact *fact)
{
    struct watch *watch = c->policy->watches;

    while (watch != NULL && !span_equals(watch->view.key, fresh->view.key))
        watch = watch->next;
    if (watch == NULL) {
        watch = fresh;
        watch->next = c->policy->watches;
        c->policy->watches = watch;
        if (++c->policy->watch_count > WATCHES_MAX)
            FAULT(c, node, "more than %d different lists of watched tools; let rules share some", WATCHES_MAX);
    }
    watch->view.by |= fact->by;
    if (watch->view.longest_us < fact->within_us)
        watch->view.longest_us = fact->within_us;
    return watch;
}

static void compile_watch(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    struct watch *fresh = policy__alloc(c, 1, sizeof *fresh);
    struct buf key;

    if (fresh == NULL)
        return;
    compile_names(c, yaml_member(node, "called"), &fresh->tools);
    compile_names(c, yaml_member(node, "upstreams"), &fresh->upstreams);
    buf_init(&key, (size_t)16 << 20);
    add_names(&key, 't', &fresh->tools);
    add_names(&key, 'u', &fresh->upstreams);
    c->no_memory |= buf_code(&key) != CODE_OK;
    if (!c->no_memory) {
        fresh->view.key = policy__copy(c, buf_peek(&key));
        fact->watch = keep_watch(c, node, fresh, fact);
    }
    buf_fini(&key);
}

static void compile_within(struct compiler *c, const struct yaml_node *node, const struct yaml_node *within, struct fact *fact)
{
    uint64_t ms = 0;

    if (within == NULL) {
        FAULT(c, node, "`session` has no `within`; say how long a call is remembered, as in 10min");
        return;
    }
    if (within->type != YAML_STRING || num_duration(within->text, &ms) != CODE_OK || ms == 0 ||
        ms > (uint64_t)WITHIN_MAX_US / 1000)
        FAULT(c, within, "`within` is a time of at most a day; write one such as 30s, 10min or 24h");
    fact->within_us = (int64_t)(ms * 1000 > (uint64_t)WITHIN_MAX_US ? 0 : ms * 1000);
}

void policy__compile_session(struct compiler *c, const struct yaml_node *node, struct fact *fact)
{
    static const char *const known[] = {"called", "upstreams", "within", "by", NULL};
    const uint32_t usable =
        BIT(POLICY_BY_TENANT) | BIT(POLICY_BY_PRINCIPAL) | BIT(POLICY_BY_SESSION) | BIT(POLICY_BY_CORRELATION);
    const struct yaml_node *by = yaml_member(node, "by");

    if (!policy__is_map_of(c, node, known, "`session`"))
        return;
    fact->by = by != NULL ? compile_by(c, by) : BIT(POLICY_BY_SESSION) | BIT(POLICY_BY_CORRELATION);
    if (fact->by & ~usable)
        FAULT(c, by, "`session` asks by session, correlation, principal or tenant; write one or several of them");
    compile_within(c, node, yaml_member(node, "within"), fact);
    if (yaml_member(node, "called") == NULL)
        FAULT(c, node, "`session` has no `called`; name the tools, as in {session: {called: [read_secret], within: 10min}}");
    else
        compile_watch(c, node, fact);
}
