/* SPDX-License-Identifier: Apache-2.0 */
/* Carries asks and uses from the workers into the store, and people's answers out of it. */
#include "run/serve_priv.h"

#include "store/store.h"
#include "store/store_approvals.h"
#include "base/log.h"
#include "os/clock.h"

#include <string.h>

#define CLOSE_WAIT_MS 1000
#define ASKS_AT_ONCE 256
#define MOVES_AT_ONCE 64
#define CONFIRM_US INT64_C(60000000) /* a restart has to search no more than the records of this time */
#define FORGET_LOOK_US INT64_C(60000000) /* how often lapsed asks are looked for */
#define WANTED_US INT64_C(1000000)   /* so long a call waits to hear whose an approval is */
#define ORPHAN_US INT64_C(2000000)   /* after so long any gate may claim an approval, if the one that held the call has not */

static struct span mark_of(const struct serve *serve)
{
    return span_text(serve->gate_mark);
}

static void log_fault(struct serve *serve, enum code code, const struct why *why)
{
    if (code == CODE_BUSY && ++serve->approvals.busy < BUSY_LOOKS)
        return;
    if (strcmp(serve->approvals.fault.text, why->text) != 0)
        log_error("app", "%s; approvals wait until it goes on", why->text);
    serve->approvals.fault = *why;
}

/* ---- into the store ---- */

static void gather(struct serve *serve)
{
    struct serve_approvals *mine = &serve->approvals;
    struct approvals *approvals = gate_approvals(serve->shared);
    struct approval_ask *ask;

    while (mine->ask_count < ASKS_AT_ONCE && (ask = approvals_next_ask(approvals)) != NULL) {
        list_append(&mine->asks, &ask->by_age);
        mine->ask_count++;
    }
    while (mine->use_count < SERVE_USES && approvals_next_use(approvals, &mine->uses[mine->use_count]))
        mine->use_count++;
}

/* Writes uses before asks, since a call that comes after its approval was used asks anew. */
static enum code put_all(struct serve *serve, struct why *why)
{
    const struct serve_approvals *mine = &serve->approvals;
    enum code code = CODE_OK;

    for (size_t i = 0; i < mine->use_count && code == CODE_OK; i++)
        code = store_approval_use(serve->store, mark_of(serve), &mine->uses[i], why);
    for (const struct list *at = mine->asks.next; at != &mine->asks && code == CODE_OK; at = at->next)
        code = store_approval_ask(serve->store, mark_of(serve), LIST_ENTRY(at, struct approval_ask, by_age), why);
    return code;
}

static enum code count_claim(void *context, int64_t ask, uint64_t audit_seq)
{
    (void)ask;
    (void)audit_seq;
    ++*(size_t *)context;
    return CODE_OK;
}

/* Finds up to which row a restart need not search for uses: where no approval is taken, all uses on disk are stored. */
static enum code find_confirmable(struct serve *serve, int64_t now_us, bool *is_due, struct why *why)
{
    struct serve_approvals *mine = &serve->approvals;
    size_t claims = 0;
    enum code code;

    *is_due = false;
    if ((now_us >= mine->confirmed_us && now_us - mine->confirmed_us < CONFIRM_US) ||
        approvals_has_taken(gate_approvals(serve->shared)))
        return CODE_OK;
    code = store_claims_each(serve->store, mark_of(serve), count_claim, &claims, why);
    *is_due = claims > 0;
    if (code == CODE_OK && claims == 0)
        mine->confirmed_us = now_us;
    return code;
}

static void forget_stored(struct serve *serve)
{
    struct serve_approvals *mine = &serve->approvals;

    for (size_t i = 0; i < mine->use_count; i++)
        approvals_use_stored(gate_approvals(serve->shared), mine->uses[i].number);
    mine->use_count = 0;
    for (const struct list *at = mine->asks.next; at != &mine->asks; at = at->next)
        approvals_ask_stored(gate_approvals(serve->shared), LIST_ENTRY(at, struct approval_ask, by_age), mine->round);
    serve__drop_asks(serve);
}

void serve__drop_asks(struct serve *serve)
{
    while (!list_is_empty(&serve->approvals.asks)) {
        struct approval_ask *ask = LIST_ENTRY(serve->approvals.asks.next, struct approval_ask, by_age);

        list_remove(&ask->by_age);
        approval_ask_free(&ask);
    }
    serve->approvals.ask_count = 0;
}

static enum code write_all(struct serve *serve, int64_t now_us, const uint64_t *confirmed_seq, struct why *why)
{
    enum code code = store_begin(serve->store, why);

    if (code != CODE_OK)
        return code;
    code = put_all(serve, why);
    if (code == CODE_OK && confirmed_seq != NULL)
        code = store_approvals_confirm(serve->store, mark_of(serve), *confirmed_seq, now_us, why);
    return store_end(serve->store, code, NULL, why);
}

static enum code store_all(struct serve *serve, int64_t now_us, struct why *why)
{
    struct serve_approvals *mine = &serve->approvals;
    struct audit_gauges gauges;
    bool confirms;
    enum code code;

    audit_gauges(serve->audit, &gauges); /* before anybody looks at what is taken */
    gather(serve);
    code = find_confirmable(serve, now_us, &confirms, why);
    if (code != CODE_OK || (mine->use_count == 0 && mine->ask_count == 0 && !confirms))
        return code;
    code = write_all(serve, now_us, confirms ? &gauges.last_seq : NULL, why);
    if (code != CODE_OK)
        return code;
    serve->owes_events = serve->owes_events || mine->use_count > 0 || mine->ask_count > 0;
    mine->recount = true;
    serve->notify.is_due = serve->notify.is_due || mine->ask_count > 0;
    if (confirms)
        mine->confirmed_us = now_us;
    forget_stored(serve);
    return CODE_OK;
}

/* ---- out of the store ---- */

struct handing {
    struct serve *serve;
    int64_t now_us;
    int64_t claims[MOVES_AT_ONCE], releases[MOVES_AT_ONCE];
    size_t claim_count, release_count;
    bool is_waiting; /* this gate may claim some answer later */
};

static void claim(struct handing *handing, const struct store_approval *row)
{
    if (handing->claim_count < MOVES_AT_ONCE)
        handing->claims[handing->claim_count++] = row->id;
    else
        handing->is_waiting = true;
}

static enum code put_answer(struct handing *handing, const struct store_approval *row, bool is_open)
{
    struct serve *serve = handing->serve;
    struct approvals *approvals = gate_approvals(serve->shared);
    struct approval_answer answer = {
        .number = row->id, .tenant = row->tenant, .principal = row->principal,
        .is_granted = row->is_granted && (!is_open || serve->fleet.is_on),
        .is_open = is_open, .time_us = is_open ? row->seen_us : row->until_us, .round = serve->approvals.round,
    };

    if (span_equals(row->seen_gate, mark_of(serve)))
        answer.decision = (uint64_t)row->seen_decision;

    if (row->digest.len != DIGEST_BYTES)
        return CODE_INVALID;
    memcpy(answer.digest, row->digest.at, DIGEST_BYTES);
    /* of a fleet's nodes it belongs to the one to which the call comes after it was approved: what one has taken is its own */
    if (answer.is_open && answer.is_granted && approvals_is_awaited(approvals, &answer))
        claim(handing, row);
    return approvals_answer(approvals, &answer);
}

/* Lets an approval go where the call has come to another gate since. It goes there one time in two, so that it also meets an
 * agent whose tries go from gate to gate in turn. */
static void let_go(struct handing *handing, const struct store_approval *row)
{
    if (span_equals(row->seen_gate, mark_of(handing->serve)) || row->seen_us % 2 != 0 ||
        handing->release_count == MOVES_AT_ONCE)
        return;
    if (approvals_withdraw(gate_approvals(handing->serve->shared), row->id))
        handing->releases[handing->release_count++] = row->id;
}

/* An approval belongs to the gate that held the call last, or else to the first that claims it. */
static void come_for(struct handing *handing, const struct store_approval *row)
{
    int64_t since_us = row->given_us > row->seen_us ? row->given_us : row->seen_us;

    if (span_equals(row->seen_gate, mark_of(handing->serve)) || handing->now_us - since_us > ORPHAN_US)
        claim(handing, row);
    else
        handing->is_waiting = true;
}

static enum code hand_in(void *context, const struct store_approval *row)
{
    struct handing *handing = context;
    enum code code;

    if (!row->is_answered || !row->is_granted)
        return put_answer(handing, row, !row->is_answered);
    if (row->claimed_by.at == NULL) {
        if (!handing->serve->fleet.is_on)
            come_for(handing, row);
        return put_answer(handing, row, true); /* who asks before it is claimed still waits, and is not held anew */
    }
    if (!span_equals(row->claimed_by, mark_of(handing->serve)))
        return CODE_OK;
    code = put_answer(handing, row, false);
    if (code == CODE_OK && !handing->serve->fleet.is_on)
        let_go(handing, row);
    return code;
}

static enum code move_claims(const struct handing *handing, struct why *why)
{
    struct serve *serve = handing->serve;
    struct audit_gauges gauges;
    enum code code = store_begin(serve->store, why);

    if (code != CODE_OK)
        return code;
    audit_gauges(serve->audit, &gauges);
    for (size_t i = 0; i < handing->claim_count && code == CODE_OK; i++)
        code = (serve->fleet.is_on ? store_approval_wish : store_approval_claim)(
            serve->store, mark_of(serve), handing->claims[i], handing->now_us, gauges.last_seq, why);
    for (size_t i = 0; i < handing->release_count && code == CODE_OK; i++)
        code = store_approval_release(serve->store, mark_of(serve), handing->releases[i], why);
    return store_end(serve->store, code, NULL, why);
}

/* Hands in the answers that the store has in force, and takes from the workers those that it does not have any more. */
static enum code hand_in_all(struct serve *serve, int64_t now_us, bool *moved, struct why *why)
{
    struct handing handing = {.serve = serve, .now_us = now_us};
    enum code code;

    *moved = false;
    serve->approvals.round++;
    code = store_approvals_each(serve->store, APPROVALS_OPEN, 0, now_us, hand_in, &handing, why);
    if (code != CODE_OK)
        return code;
    approvals_sweep(gate_approvals(serve->shared), serve->approvals.round);
    serve->approvals.look_again = handing.is_waiting;
    if (handing.claim_count == 0 && handing.release_count == 0)
        return CODE_OK;
    *moved = true;
    return move_claims(&handing, why);
}

/* A claim that was made has to be read to know whose it is. */
static enum code follow_answers(struct serve *serve, int64_t now_us, struct why *why)
{
    bool moved;
    enum code code = hand_in_all(serve, now_us, &moved, why);

    if (code == CODE_OK && moved)
        code = hand_in_all(serve, now_us, &moved, why);
    serve->approvals.look_again = serve->approvals.look_again || moved;
    return code;
}

static enum code look(struct serve *serve, int64_t now_us, struct why *why)
{
    struct serve_approvals *mine = &serve->approvals;
    int64_t version = mine->store_seen;
    enum code code = store_all(serve, now_us, why);

    if (approvals_tick(gate_approvals(serve->shared), now_us))
        mine->look_again = true;
    if (approvals_has_wants(gate_approvals(serve->shared))) {
        mine->look_again = true;
        mine->wanted_us = clock_monotonic_us();
    }
    if (code == CODE_OK)
        code = store_data_version(serve->store, &version, why);
    if (code != CODE_OK || (version == mine->store_seen && !mine->look_again))
        return code;
    code = follow_answers(serve, now_us, why);
    if (code == CODE_OK)
        mine->store_seen = version;
    mine->recount = true;
    return code;
}

bool serve__awaits_approvals(const struct serve *serve)
{
    return serve->approvals.wanted_us != 0 && clock_monotonic_us() - serve->approvals.wanted_us < WANTED_US;
}

/* Erases the arguments of asks that have lapsed. An answer erases them otherwise, but a lapsed ask gets none. */
static enum code forget_lapsed(struct serve *serve, int64_t now_us, struct why *why)
{
    int64_t *last_us = &serve->approvals.forgot_us;
    enum code code;

    if (*last_us != 0 && now_us >= *last_us && now_us - *last_us < FORGET_LOOK_US)
        return CODE_OK;
    code = store_begin(serve->store, why);
    if (code != CODE_OK)
        return code;
    code = store_end(serve->store, store_approvals_forget(serve->store, now_us, why), NULL, why);
    if (code == CODE_OK)
        *last_us = now_us;
    return code;
}

static enum code mind(struct serve *serve, int64_t now_us, struct why *why)
{
    enum code code = look(serve, now_us, why);

    if (code == CODE_OK)
        code = forget_lapsed(serve, now_us, why);
    if (code == CODE_OK && serve->approvals.recount)
        code = store_approvals_count(serve->store, now_us, &serve->approvals.waiting, why);
    if (code == CODE_OK)
        serve->approvals.recount = false;
    return code;
}

void serve__mind_approvals(struct serve *serve)
{
    struct why why = {0};
    enum code code;

    if (!serve->approvals.is_open)
        return;
    code = mind(serve, clock_wall_us(), &why);
    if (code != CODE_OK) {
        log_fault(serve, code, &why);
        return;
    }
    serve->approvals.fault.text[0] = '\0';
    serve->approvals.busy = 0;
}

static enum code leave(struct serve *serve, struct why *why)
{
    int64_t now_us = clock_wall_us();
    enum code code = store_all(serve, now_us, why);

    if (code != CODE_OK || serve->approvals.use_count > 0 || approvals_has_taken(gate_approvals(serve->shared)))
        return code;
    code = store_begin(serve->store, why);
    if (code != CODE_OK)
        return code;
    code = store_approvals_release_all(serve->store, mark_of(serve), why);
    return store_end(serve->store, code, NULL, why);
}

void serve__close_approvals(struct serve *serve)
{
    struct why why = {0};
    enum code code;

    if (!serve->approvals.is_open)
        return;
    db_busy_wait(serve->store, CLOSE_WAIT_MS);
    code = leave(serve, &why);
    if (code != CODE_OK)
        log_error("app", "%s; the next start finds in the audit what was used", why.text);
}

enum code serve__open_approvals(struct serve *serve, struct why *why)
{
    enum code code;

    if (serve->fleet.is_on)
        approvals_be_of_fleet(gate_approvals(serve->shared));
    serve->approvals.store_seen = -1;
    serve->approvals.confirmed_us = clock_wall_us();
    code = serve__settle_claims(serve, why);
    serve->approvals.is_open = code == CODE_OK;
    serve->approvals.recount = true;
    return code;
}
