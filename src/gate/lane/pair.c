/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/pair.h"

#include "base/bug.h"
#include "base/log.h"
#include "identity/token.h"

#include <stdio.h>
#include <string.h>

/* After so many steps a pair yields, so that the others on its worker get their turn. */
#define STEPS_A_TURN 32

#define LINGER_US INT64_C(2000000)

/* ---- steps ---- */

static const struct {
    const char *text;
    unsigned moves; /* bits */
} steps[] = {
#define STEP_ROW(name, text, function, moves, about) [STEP_##name] = {text, moves},
#define STEP_BIT(name) (1u << STEP_##name)
    STEP_TABLE(STEP_ROW, STEP_BIT)
};

const char *step_text(enum step step)
{
    return steps[step].text;
}

bool step_may_follow(enum step from, enum step to)
{
    return (steps[from].moves & (1u << to)) != 0;
}

_Static_assert(STEP_COUNT <= WORKER_STAGES, "each step is a stage");

void pair_go(struct pair *pair, enum step step)
{
    BUG_ON(!step_may_follow(pair->step, step));
    pair->step = step;
    pair->connection.stage = step;
    pair->deadline_us = 0;
    pair->timed_out = false;
}

/* The invariants of struct pair and struct exchange, as code. */
static void check_invariants(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;

    BUG_ON(pair->step >= STEP_COUNT);
    BUG_ON(pair->conf == NULL);
    BUG_ON((call == NULL) != (exchange->progress == CALL_NONE));
    BUG_ON(call != NULL && call->owes_outcome && !call->is_permitted);
    BUG_ON((pair->step == STEP_SEND || pair->step == STEP_RELAY) &&
           (exchange->progress != CALL_DURABLE || !call->is_permitted || exchange->route == NULL));
    BUG_ON(pair->step == STEP_CONNECT && (exchange->progress != CALL_DURABLE || !call->is_permitted));
    BUG_ON(pair->step == STEP_READ_HEAD && (call != NULL || exchange->slot_taken));
    BUG_ON(list_is_linked(&pair->waits) && pair->step != STEP_AWAIT && pair->step != STEP_JUDGE && pair->step != STEP_USE &&
           pair->step != STEP_RECORD && pair->step != STEP_IDENTIFY && pair->step != STEP_CONNECT &&
           !(pair->step == STEP_READ_HEAD && pair->is_pipe) && exchange->incoming == NULL);
    BUG_ON(pair->step != STEP_READ_HEAD && pair->step != STEP_CLOSING && exchange->progress == CALL_NONE);
}

/* ---- making and ending ---- */

int64_t pair_now_us(const struct pair *pair)
{
    return loop_now_us(pair->lane->worker.loop);
}

void pair_stir(struct pair *pair)
{
    worker_stir(&pair->lane->worker, &pair->connection);
}

void pair_close(struct pair *pair, enum reason reason)
{
    if (pair->ending == REASON_UNSET)
        pair->ending = reason;
    pair_stir(pair);
}

void pair_drop_back(struct pair *pair)
{
    leg_drop(&pair->back);
    pair->close_after = pair->close_after || pair->is_pipe; /* a pipe has no other connection */
    pair->line = (struct upstream_line){0};
}

void pair_stop_waiting(struct pair *pair)
{
    if (list_is_linked(&pair->waits))
        list_remove(&pair->waits);
}

static void log_ending(const struct pair *pair)
{
    const struct call *call = pair->exchange.call;
    char route[128] = "";

    if (!log_wants(LOG_DEBUG))
        return;
    if (call != NULL && pair->exchange.route != NULL)
        (void)snprintf(route, sizeof route, "%.*s", SPAN_ARG(call->asked.upstream));
    log_line(LOG_DEBUG,
             &(struct log_about){.room = "proxy", .decision = call != NULL ? call->seq : 0, .upstream = route[0] ? route : NULL,
                                 .reason = reason_name(pair->ending)},
             "a connection of %s ends at step %s%s%s", pair->client, step_text(pair->step),
             pair->front.is_broken && pair->front.stream ? ": " : "",
             pair->front.is_broken && pair->front.stream ? stream_fault(pair->front.stream) : "");
}

/* Ends the pair: the call gets its outcome, and nothing is waited for. */
static void end_now(struct pair *pair)
{
    log_ending(pair);
    reason_count(pair->ending);
    if (pair->step == STEP_RELAY && leg_unsent(&pair->front) > 0)
        exchange_unsettle(&pair->exchange);
    if (pair->exchange.call != NULL)
        exchange_settle(&pair->exchange,
                        pair->step == STEP_RELAY || pair->step == STEP_SEND ? OUTCOME_CANCELLED : OUTCOME_NOT_SENT,
                        pair->ending);
    pair->lane->above->finish(pair);
    spare_give(pair);
    if (pair->step != STEP_CLOSING)
        pair_go(pair, STEP_CLOSING);
    worker_bury(&pair->lane->worker, &pair->connection);
}

static void leave_account(struct pair *pair)
{
    struct budget *budget = pair->lane->worker.budget;

    if (pair->account_who == 0)
        return;
    budget_charge(budget, pair->account, &pair->charged_bytes, 0);
    budget_close(budget, pair->account);
    pair->account_who = 0;
}

static void pair_free(struct connection *connection)
{
    struct pair *pair = (struct pair *)connection;

    pair->lane->above->finish(pair);
    pair_stop_waiting(pair);
    loop_timer_cancel(pair->lane->worker.loop, &pair->timer);
    leg_fini(&pair->front);
    leg_fini(&pair->back);
    http_reader_fini(&pair->asks);
    http_reader_fini(&pair->answers);
    sse_parser_fini(&pair->events);
    exchange_fini(&pair->exchange);
    lane_hold(pair->lane, &pair->held_bytes, 0);
    leave_account(pair);
    budget_give_connection(pair->lane->worker.budget);
    gauge_add(&pair->lane->gauges.pairs, -1);
    proxy_conf_unref(&pair->conf);
    resolve_table_unref(&pair->names);
    lent_unref(&pair->lent);
    mem_free(pair);
}

/* ---- what it lends ---- */

#define LENT_BYTES 65536

static bool copy(struct arena *arena, struct span *text)
{
    char *kept = arena_dup(arena, text->at, text->len);

    *text = span_of(kept, text->len);
    return kept != NULL;
}

struct lent *lent_new(const struct pair *pair)
{
    struct lent *lent = mem_zalloc(sizeof *lent);
    struct identity *who;

    if (lent == NULL)
        return NULL;
    ref_init(&lent->ref);
    arena_init(&lent->arena, LENT_BYTES);
    lent->conf = proxy_conf_ref(pair->conf);
    lent->listen = pair->listen;
    lent->peer = pair->peer;
    lent->is_tls = pair->is_tls;
    lent->client_address = pair->client_address;
    memcpy(lent->client, pair->client, sizeof lent->client);
    who = &lent->who;
    *who = pair->exchange.identity;
    who->consumed = NULL;
    who->proof = 0; /* the agent's own call has used it up */
    if (who->token != NULL) /* it holds the names */
        who->token = identity_token_ref(who->token);
    else if (!copy(&lent->arena, &who->principal) || !copy(&lent->arena, &who->tenant) || !copy(&lent->arena, &who->home))
        lent_unref(&lent);
    if (lent != NULL && who->agent.len > 0 && !copy(&lent->arena, &who->agent)) /* a certificate's may be beside a token */
        lent_unref(&lent);
    return lent;
}

void lent_unref(struct lent **lent)
{
    struct lent *gone = *lent;

    *lent = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    identity_leave(&gone->who);
    proxy_conf_unref(&gone->conf);
    arena_fini(&gone->arena);
    mem_free(gone);
}

/* ---- whose it is ---- */

bool pair_charge_to(struct pair *pair, uint64_t who, uint64_t tenant, uint32_t connections_max)
{
    struct budget_account account;

    if (!budget_open(pair->lane->worker.budget, who, tenant, connections_max, &account))
        return false;
    leave_account(pair);
    pair->account = account;
    pair->account_who = who;
    return true;
}

/* Behind this machine's own address, and behind a trusted proxy, there may be many callers. */
uint32_t pair_connections_max(const struct budget *budget, const struct proxy_conf *conf, const struct sock_address *address,
                              bool is_within)
{
    uint32_t share = budget_connection_share(budget), most = conf->connections_per_address;

    return most > share || is_within || sock_is_loopback(address) || proxy_conf_trusts(conf, address) ? share : most;
}

enum reason pair_refuses(const struct pair *pair, size_t bytes)
{
    return budget_refuses(pair->lane->worker.budget, pair->account, bytes);
}

enum code pair_collect(struct buf *body, struct span piece, const struct http_head *head)
{
    size_t cap_bytes = body->cap_bytes;
    enum code code;

    if (head->framing == HTTP_FRAMING_CONTENT_LENGTH && head->content_length < cap_bytes)
        body->cap_bytes = (size_t)head->content_length; /* so that the buffer does not double beyond the length */
    code = buf_put(body, piece);
    body->cap_bytes = cap_bytes;
    return code;
}

/* ---- time ---- */

static void timer_fired(void *context)
{
    struct pair *pair = context;

    pair_stir(pair);
}

void pair_deadline(struct pair *pair, int64_t after_us)
{
    pair->deadline_us = pair_now_us(pair) + after_us;
}

/* A timer that is due before the deadline is left as it is, since it can be armed anew when it fires. So a busy
 * connection costs no work in the heap of timers at each step. */
static void arm(struct pair *pair)
{
    struct loop *loop = pair->lane->worker.loop;
    int64_t now_us = pair_now_us(pair);

    if (pair->deadline_us == 0 || (pair->timer.place != 0 && pair->timer.due_us <= pair->deadline_us))
        return;
    if (loop_timer_arm(loop, &pair->timer, pair->deadline_us - now_us) != CODE_OK)
        pair_close(pair, REASON_MEMORY);
}

/* ---- the driver ---- */

bool pair_linger(struct pair *pair)
{
    bool is_over = pair->front.is_broken || pair->front.stream == NULL || pair->timed_out;

    if (!is_over && leg_unsent(&pair->front) == 0) {
        leg_end(&pair->front);
        buf_clear(&pair->front.in); /* bytes that still come belong to a request that was answered already */
        http_reader_rest(&pair->asks); /* its head, in which a credential may still be that nobody has wiped */
        is_over = !pair->lingers || pair->front.is_eof;
        if (pair->deadline_us == 0 && !is_over)
            pair_deadline(pair, LINGER_US);
    }
    if (is_over)
        worker_bury(&pair->lane->worker, &pair->connection);
    else if (pair->deadline_us == 0)
        pair_deadline(pair, (int64_t)pair->conf->listens[pair->listen].body_ms * 1000);
    return false;
}

static void note_movement(struct pair *pair)
{
    int64_t now_us = pair_now_us(pair);

    if (pair->front_written != pair->front.written_bytes || leg_unsent(&pair->front) == 0) {
        pair->front_written = pair->front.written_bytes;
        pair->front_moved_us = now_us;
    }
    /* an upstream that is held back is not silent */
    if (pair->back_read != pair->back.read_bytes || leg_unsent(&pair->front) > 0) {
        pair->back_read = pair->back.read_bytes;
        pair->back_moved_us = now_us;
    }
    if (pair->deadline_us != 0 && now_us >= pair->deadline_us) {
        pair->timed_out = true;
        pair->deadline_us = 0;
    }
}

/* Whether the step reads what the agent sends, and so sees by itself that the agent has ended. */
static bool reads_agent(const struct pair *pair)
{
    return pair->step < STEP_JUDGE ? pair->step != STEP_IDENTIFY || pair->exchange.identity.ticket == 0
                                   : pair->step == STEP_FINISH || pair->step == STEP_CLOSING;
}

/* Whether the step needs an agent that is still there. An agent that has ended its side may be gone, or may read on: it
 * gets an answer that is ready, but nothing goes up in its name. A call that is being judged still gets its record. */
static bool needs_agent(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;

    return (pair->step == STEP_IDENTIFY && exchange->identity.ticket != 0) ||
           (pair->step == STEP_AWAIT && exchange->call->is_permitted) || pair->step == STEP_CONNECT ||
           pair->step == STEP_SEND || (pair->step == STEP_RELAY && !exchange->upstream_done);
}

static bool agent_left(struct pair *pair)
{
    if ((reads_agent(pair) || !pair->front.is_broken) && !(pair->front.is_eof && needs_agent(pair)))
        return false;
    pair_close(pair, REASON_AGENT_GONE);
    return true;
}

static bool step(struct pair *pair)
{
    check_invariants(pair);
    if (pair->ending == REASON_UNSET && !agent_left(pair)) {
        if (pair->may_be_stopped && pair->lane->above->stop(pair))
            return true;
        return pair->lane->above->steps[pair->step](pair);
    }
    if (pair->ending != REASON_UNSET && !list_is_linked(&pair->connection.dead))
        end_now(pair);
    return false;
}

/* Returns: whether bytes moved that may let a step go on. */
static bool move(struct leg *leg)
{
    size_t before = leg_unsent(leg);
    bool moved = false, was_broken = leg->is_broken;

    if (before > 0 && !leg->write_blocked) {
        leg_drain(leg);
        moved = leg_unsent(leg) < before || (leg->is_broken && !was_broken);
    }
    if (leg_has_pending(leg)) {
        leg_fill(leg);
        moved = true;
    }
    return moved;
}

#define MUCH_BYTES 65536

/* Other workers write the account too, so it is changed in steps, and when nothing is held any more. */
static void charge(struct pair *pair)
{
    uint64_t held = pair->held_bytes, charged = pair->charged_bytes;
    uint64_t moved = held > charged ? held - charged : charged - held;

    if (moved >= MUCH_BYTES || (held == 0 && moved > 0))
        budget_charge(pair->lane->worker.budget, pair->account, &pair->charged_bytes, held);
}

static void account(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    size_t bytes = pair->front.in.size + pair->front.out.size + pair->back.in.size + pair->back.out.size +
                   (exchange->body_kind == BODY_STREAM ? pair->events.data.size : 0) + exchange_held_bytes(exchange);

    lane_hold(pair->lane, &pair->held_bytes, bytes);
    charge(pair);
}

/* Counts the time in which bytes wait for the agent: those that are left when a turn is over. */
static void note_untaken(struct pair *pair)
{
    int64_t now_us = pair_now_us(pair);

    if (leg_unsent(&pair->front) > 0) {
        if (pair->untaken_since_us == 0)
            pair->untaken_since_us = now_us;
    } else if (pair->untaken_since_us != 0) {
        pair->untaken_us += now_us - pair->untaken_since_us;
        pair->untaken_since_us = 0;
    }
}

bool pair_is_untaken(const struct pair *pair, int64_t *until_us)
{
    const struct proxy_listen *listen = &pair->conf->listens[pair->listen];
    int64_t now_us = pair_now_us(pair);
    int64_t waited_us = pair->untaken_us + (pair->untaken_since_us != 0 ? now_us - pair->untaken_since_us : 0);
    uint64_t taken = pair->front.written_bytes - pair->taken_from;
    int64_t may_us = (int64_t)listen->body_ms * 1000 + (int64_t)(taken / listen->read_rate) * 1000000;

    *until_us = now_us + may_us - waited_us;
    return waited_us >= may_us;
}

static void pair_drive(struct connection *connection)
{
    struct pair *pair = (struct pair *)connection;
    bool goes_on = true;

    if (!judge_is_out(pair))
        note_movement(pair);
    for (int i = 0; i < STEPS_A_TURN && goes_on && !judge_is_out(pair); i++) {
        goes_on = step(pair);
        if (list_is_linked(&connection->dead))
            return;
        if (!goes_on) {
            /* `|`, not `||`, so that both legs move. */
            goes_on = ((int)move(&pair->front) | (int)move(&pair->back)) != 0;
        }
    }
    if (judge_is_out(pair)) {
        leg_settle(&pair->front); /* what has come or ended meanwhile is looked at when the work is back */
        leg_settle(&pair->back);
        return;
    }
    if (goes_on)
        pair_stir(pair);
    leg_settle(&pair->front);
    leg_settle(&pair->back);
    note_untaken(pair);
    account(pair);
    arm(pair);
}

struct pair *pair_of(struct connection *connection)
{
    return connection->drive == pair_drive ? (struct pair *)connection : NULL;
}

void pair_take_conf(struct pair *pair)
{
    resolve_table_unref(&pair->names);
    pair->conf = proxy_conf_ref(pair->lane->conf);
    pair->names = pair->lane->names ? resolve_table_ref(pair->lane->names) : NULL;
}

struct pair *pair_new(struct lane *lane, size_t listen, const struct sock_address *peer, const struct sock_address *client,
                      struct budget_account account)
{
    struct pair *pair = mem_zalloc(sizeof *pair);

    if (pair == NULL) {
        budget_close(lane->worker.budget, account);
        return NULL;
    }
    pair->connection.drive = pair_drive;
    pair->connection.free = pair_free;
    pair->lane = lane;
    pair_take_conf(pair);
    pair->listen = listen;
    pair->peer = *peer;
    pair->client_address = *client;
    pair->client_who = pair->account_who = budget_address(client);
    pair->account = account;
    sock_ip_text(client, pair->client);
    leg_init(&pair->front, &lane->worker, &pair->connection, LEG_IN_BYTES, SIZE_MAX / 2);
    leg_init(&pair->back, &lane->worker, &pair->connection, LEG_IN_BYTES, SIZE_MAX / 2);
    buf_wipes(&pair->front.in); /* agents' credentials come in here, and the upstream's go out there */
    buf_wipes(&pair->back.out);
    http_reader_init_request(&pair->asks, &pair->conf->rules);
    http_reader_init_reply(&pair->answers);
    sse_parser_init(&pair->events, 0);
    exchange_init(&pair->exchange);
    loop_timer_init(&pair->timer, timer_fired, pair);
    worker_add(&lane->worker, &pair->connection);
    gauge_add(&lane->gauges.pairs, 1);
    return pair;
}
