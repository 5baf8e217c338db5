/* SPDX-License-Identifier: Apache-2.0 */
/* 10.3: every table that callers fill, each of its real size: one tenant's agents fill it, by principals, sessions and claimed
 * tenants without end; another tenant's calls find room meanwhile and afterwards, and what it left there is there. */
#include "fakes/cm.h"

#include "base/mem.h"
#include "state/approvals.h"
#include "enforce/gate_priv.h"
#include "state/hints.h"
#include "state/plan_uses.h"
#include "enforce/question_table.h"
#include "state/state.h"
#include "identity/proof.h"
#include "identity/lookup.h"
#include "link/budget.h"
#include "link/rate.h"

#include <stdio.h>
#include <string.h>

#define NOW INT64_C(1790000000000000)
#define SECOND INT64_C(1000000)
#define CROWD "acme"
#define STRANGER "globex"
#define REFUSALS 500
#define STRANGERS_CALLS 100 /* one after another, between those of the crowd */

/* One call of somebody, the n-th: of the crowd each comes by another name. */
struct caller {
    struct span home, claimed, principal, name;
    bool is_crowd;
    uint64_t number;
};

struct table {
    const char *name;
    uint64_t calls; /* of the crowd: more than there is room for */
    void (*make)(void);
    bool (*takes)(const struct caller *caller);
    bool (*keeps)(const struct caller *caller); /* NULL: what was taken is not asked for any more */
    void (*drop)(void);
    bool never_full;
};

/* ---- limits and sequences ---- */

static struct tally *tally;

static void make_tally(void) { assert_ok(tally_new(GATE_STATE_BYTES, &tally)); }
static void drop_tally(void) { tally_free(&tally); }

static bool takes_of_tally(const struct caller *caller)
{
    struct share whose = share_of(caller->home, caller->principal);
    struct tally_take take = {.key = {.share = whose, .tenant = whose.tenant}, .most = 5, .amount = 1, .per_us = 3600 * SECOND};

    memcpy(take.key.bytes, &caller->number, sizeof caller->number);
    take.key.bytes[8] = (unsigned char)caller->is_crowd;
    return tally_take(tally, &take, 1, NOW) == CODE_OK;
}

/* ---- plans ---- */

static struct plan_uses *uses;

static const struct hash_key hash_key;

static void make_uses(void) { assert_ok(plan_uses_new(GATE_STATE_BYTES, &hash_key, &uses)); }
static void drop_uses(void) { plan_uses_free(&uses); }

static bool takes_of_uses(const struct caller *caller)
{
    struct plan_step step_of = {.times = 1};
    struct plan plan = {.tenant = caller->claimed, .principal = caller->principal, .step = &step_of, .step_count = 1,
                        .not_before_us = NOW, .expires_us = NOW + 3600 * SECOND};
    struct plan_fit fit = {{0}};
    uint32_t step;

    fit.bits[0] = 1;
    memcpy(plan.digest, &caller->number, sizeof caller->number);
    plan.digest[8] = (unsigned char)caller->is_crowd;
    return plan_uses_take(uses, &plan, caller->home, &fit, NOW, &step) == CODE_OK;
}

/* ---- used proofs ---- */

static struct identity_proofs *proofs;

static void make_proofs(void) { assert_ok(identity_proofs_new(NOW, &proofs)); }
static void drop_proofs(void) { identity_proofs_free(&proofs); }

static bool takes_of_proofs(const struct caller *caller)
{
    uint64_t key = (caller->number * 2 + caller->is_crowd + 1) * UINT64_C(0x9e3779b97f4a7c15);

    return identity_proof_use(proofs, key, share_of(caller->home, caller->principal), NOW) == IDENTITY_FAULT_NONE;
}

/* ---- calls that wait for people ---- */

static struct approvals *approvals;

static void make_approvals(void) { assert_ok(approvals_new((const unsigned char[DIGEST_BYTES]){"a key"}, &approvals)); }
static void drop_approvals(void) { approvals_free(&approvals); }

static bool takes_of_approvals(const struct caller *caller)
{
    const struct verdict_people people = {.reason = SPAN_LIT("because"), .needed = 1,
                                          .rule_hash = SPAN_LIT("12345678901234567890123456789012")};
    const struct verdict verdict = {.kind = VERDICT_HOLD, .approval_count = 1, .approvals = {{SPAN_LIT("r"), &people, false}}};
    struct json_node root = {.type = JSON_OBJECT, .raw = SPAN_LIT("{}")};
    struct question call = {.tenant = caller->claimed, .principal = caller->is_crowd ? caller->principal : caller->name,
                            .upstream = SPAN_LIT("shop"), .method = SPAN_LIT("tools/call"), .tool = caller->name, .root = &root,
                            .time_us = NOW};
    struct approval_mark mark[VERDICT_APPROVALS_MAX];
    struct approval_marks marks = {.mark = mark};

    return approvals_note(approvals, &call, caller->home, &verdict, &marks) == REASON_UNSET;
}

/* ---- questions of servers ---- */

static struct gate_shared *shared;
static struct gate gate;

static void make_questions(void)
{
    shared = mem_zalloc(sizeof *shared);
    gate__questions_init(shared);
    gate = (struct gate){.shared = shared};
}

static void drop_questions(void)
{
    gate__questions_fini(shared);
    mem_free(shared);
}

static struct question_key question_of(const struct caller *caller)
{
    return (struct question_key){.route = SPAN_LIT("shop"), .tenant = caller->claimed, .principal = caller->principal,
                                 .session = caller->name, .id = SPAN_LIT("1"), .home = caller->home};
}

static bool takes_of_questions(const struct caller *caller)
{
    struct question_key key = question_of(caller);

    return question_open(&gate, &key, SPAN_LIT("roots/list"), NOW) == CODE_OK;
}

static bool keeps_of_questions(const struct caller *caller)
{
    struct question_key key = question_of(caller);
    char method[128];
    size_t len;

    return question_answer(&gate, &key, method, &len) == CODE_OK;
}

/* ---- what is asked of providers: by address ---- */

static struct lookups *lookups;

static void *keep(void *result) { return result; }
static void let_go(void *result) { (void)result; }
static void hear(void *context) { (void)context; }

static void make_lookups(void)
{
    struct lookup_conf conf = {.work = hear, .settled = hear};

    for (int kind = 0; kind < LOOKUP_KIND_COUNT; kind++)
        conf.types[kind] = (struct lookup_type){keep, let_go};
    assert_ok(lookup_new(&conf, &lookups));
}

static void drop_lookups(void) { lookup_free(&lookups); }

static bool takes_of_wanted(const struct caller *caller)
{
    struct lookup_key key = {.kind = LOOKUP_INTROSPECTION, .who = 1 + !caller->is_crowd, .of = 7};
    struct lookup_answer answer;

    memcpy(key.digest, &caller->number, sizeof caller->number);
    key.digest[8] = (unsigned char)caller->is_crowd;
    return lookup_ask(lookups, &key, SPAN_LIT("x"), NOW, &answer) == LOOKUP_PENDING;
}

/* ---- connections, and the memory of each ---- */

static struct budget budget;

static void make_budget(void) { assert_ok(budget_init(&budget, 10000, 1 << 30)); }
static void drop_budget(void) { budget_fini(&budget); }

static bool takes_of_budget(const struct caller *caller)
{
    enum { BODY = 200000 };
    struct budget_account account;
    uint64_t held = 0, charged = 0;

    if (!budget_take_connection(&budget))
        return false;
    if (!budget_open(&budget, budget_principal(caller->home, caller->is_crowd ? caller->name : caller->principal),
                     budget_tenant(caller->home), budget_connection_share(&budget), &account)) {
        budget_give_connection(&budget);
        return false;
    }
    if (budget_refuses(&budget, account, BODY) != REASON_UNSET)
        return false;
    budget_hold(&budget, &held, BODY);
    budget_charge(&budget, account, &charged, BODY);
    return true;
}

/* ---- what upstreams that callers name say of their tools ---- */

static struct hints *hints;

static void make_hints(void) { assert_ok(hints_new(&hints)); }
static void drop_hints(void) { hints_free(&hints); }

static bool takes_of_hints(const struct caller *caller)
{
    const enum policy_known said[POLICY_HINT_COUNT] = {[POLICY_DESTRUCTIVE] = POLICY_YES};

    hints_learn(hints, caller->home, caller->name, true, SPAN_LIT("wipe"), said);
    return true;
}

static bool keeps_of_hints(const struct caller *caller)
{
    return hints_ask(hints, caller->name, SPAN_LIT("wipe"), POLICY_DESTRUCTIVE) == POLICY_YES;
}

/* ---- rates ---- */

static struct rates *rates;

static void make_rates(void) { assert_ok(rates_new(&rates)); }
static void drop_rates(void) { rates_free(&rates); }

static bool takes_of_rates(const struct caller *caller)
{
    const struct rate rate = {1000000000, STRANGERS_CALLS};
    uint64_t who = budget_principal(caller->home, caller->is_crowd ? caller->name : caller->principal);

    return rates_take(rates, who, &rate, NOW) == 0;
}

static const struct table tables[] = {
    {"limits and sequences", 900000, make_tally, takes_of_tally, NULL, drop_tally, false},
    {"plans", 900000, make_uses, takes_of_uses, NULL, drop_uses, false},
    {"proofs", 700000, make_proofs, takes_of_proofs, NULL, drop_proofs, false},
    {"held calls", 10000, make_approvals, takes_of_approvals, NULL, drop_approvals, false},
    {"questions of servers", 100000, make_questions, takes_of_questions, keeps_of_questions, drop_questions, true},
    {"questions to providers", 3000, make_lookups, takes_of_wanted, NULL, drop_lookups, false},
    {"connections and memory", 30000, make_budget, takes_of_budget, NULL, drop_budget, false},
    {"hints", 10000, make_hints, takes_of_hints, keeps_of_hints, drop_hints, true},
    {"rates", 200000, make_rates, takes_of_rates, NULL, drop_rates, true},
};

static struct caller stranger_of(uint64_t number, char name[32])
{
    int len = snprintf(name, 32, "theirs-%llu", (unsigned long long)number);

    return (struct caller){SPAN_LIT(STRANGER), SPAN_LIT(STRANGER), SPAN_LIT("bot"), span_of(name, (size_t)len), false, number};
}

static struct caller crowd_of(uint64_t number, char name[32], char claimed[32], char principal[32])
{
    int len = snprintf(name, 32, "own-%llu", (unsigned long long)number);
    int claims = snprintf(claimed, 32, "t%llu", (unsigned long long)number / 100);
    int who = snprintf(principal, 32, "p%llu", (unsigned long long)number % 1000);

    return (struct caller){SPAN_LIT(CROWD), span_of(claimed, (size_t)claims), span_of(principal, (size_t)who),
                           span_of(name, (size_t)len), true, number};
}

TEST_CASE(test_each_table)
{
    char name[32], claimed[32], principal[32];

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct table *table = &tables[i];
        uint64_t refused = 0, kept = 0;

        table->make();
        for (uint64_t n = 0; n < table->calls; n++) {
            if (refused < REFUSALS) { /* each of which looks at 256 entries, whether one is over */
                struct caller crowd = crowd_of(n, name, claimed, principal);

                refused += !table->takes(&crowd);
            }
            if (n % (table->calls / STRANGERS_CALLS) == 0) {
                struct caller stranger = stranger_of(n, name);

                kept += table->takes(&stranger);
            }
        }
        for (uint64_t n = 0; n < table->calls && table->keeps != NULL; n += table->calls / STRANGERS_CALLS) {
            struct caller stranger = stranger_of(n, name);

            kept -= !table->keeps(&stranger);
        }
        print_message("%s: of %llu calls of the crowd %llu found no room, of %d of another tenant %llu did\n", table->name,
                      (unsigned long long)table->calls, (unsigned long long)refused, STRANGERS_CALLS, (unsigned long long)kept);
        if ((refused == 0) != table->never_full || kept < STRANGERS_CALLS * 98 / 100)
            fail_msg("%s", table->name);
        table->drop();
    }
}

TEST_MAIN(NULL, NULL)
