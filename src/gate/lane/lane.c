/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/pair.h"

#include "base/bug.h"
#include "base/log.h"
#include "base/num.h"
#include "os/clock.h"

#include <string.h>

#define BEAT_US INT64_C(500000)

/* ---- waiting for the audit ---- */

enum audit_fate lane_fate(struct pair *pair, uint64_t ticket, uint64_t *seq)
{
    enum audit_fate fate = gate_fate(pair->lane->gate, ticket, seq);

    if (fate == AUDIT_WAITING) {
        pair->awaited = ticket;
        if (!list_is_linked(&pair->waits))
            list_append(&pair->lane->waiting, &pair->waits);
    } else {
        pair_stop_waiting(pair);
    }
    return fate;
}

void lane_wait_for_room(struct pair *pair)
{
    if (!list_is_linked(&pair->waits))
        list_append(&pair->lane->stuck, &pair->waits);
    if (pair->deadline_us == 0)
        pair_deadline(pair, AUDIT_WAIT_US);
}

void lane_wait_for_lookup(struct pair *pair, uint64_t ticket)
{
    pair->awaited = ticket;
    if (!list_is_linked(&pair->waits))
        list_append(&pair->lane->looking, &pair->waits);
    if (pair->deadline_us == 0)
        pair_deadline(pair, LOOKUP_WAIT_US);
    if (lookup_is_settled(pair->lane->lookups, ticket))
        pair_stir(pair); /* it was settled before the pair was in the list */
}

enum wish_fate lane_wish_fate(struct pair *pair, struct wish *wish)
{
    struct wishes *wishes = gate_wishes(pair->lane->gate);

    if (wish_is_put(wish))
        return wishes_fate(wishes, wish);
    pair->waiting_wish = wish;
    list_append(&pair->lane->wishing, &pair->waits);
    wishes_put(wishes, wish, pair->lane->has_inbox ? &pair->lane->inbox : NULL);
    return WISH_WAITING;
}

static void stir_wishing(struct lane *lane)
{
    for (struct list *link = lane->wishing.next, *next; link != &lane->wishing; link = next) {
        struct pair *pair = LIST_ENTRY(link, struct pair, waits);

        next = link->next;
        if (wishes_fate(gate_wishes(lane->gate), pair->waiting_wish) == WISH_WAITING)
            continue;
        pair_stop_waiting(pair);
        pair_stir(pair);
    }
}

/* Stirs pairs whose tickets of `lookups` are settled, which happens in any order. */
static void stir_settled(struct lane *lane)
{
    uint64_t settled = lane->lookups != NULL ? lookup_settled(lane->lookups) : 0;

    if (settled == lane->lookups_seen)
        return;
    lane->lookups_seen = settled;
    for (struct list *link = lane->looking.next, *next; link != &lane->looking; link = next) {
        struct pair *pair = LIST_ENTRY(link, struct pair, waits);

        next = link->next;
        if (!lookup_is_settled(lane->lookups, pair->awaited))
            continue;
        pair_stop_waiting(pair);
        pair_stir(pair);
    }
}

void lane_woken(struct lane *lane)
{
    stir_settled(lane);
    stir_wishing(lane);
    /* Tickets settle in order, and the list is in that order, so the first pair that still waits ends the walk. */
    while (!list_is_empty(&lane->waiting)) {
        struct pair *pair = LIST_ENTRY(lane->waiting.next, struct pair, waits);
        uint64_t seq;

        if (gate_fate(lane->gate, pair->awaited, &seq) == AUDIT_WAITING)
            break;
        mem_fetch_ahead(LIST_ENTRY(pair->waits.next, struct pair, waits), 2 * MEM_LINE_BYTES);
        pair_stop_waiting(pair);
        pair_stir(pair);
    }
    while (!list_is_empty(&lane->stuck)) {
        struct pair *pair = LIST_ENTRY(lane->stuck.next, struct pair, waits);

        pair_stop_waiting(pair);
        pair_stir(pair);
    }
    judge_woken(&lane->judge);
}

/* ---- configuration, keys ---- */

void lane_adopt(struct lane *lane, struct pair *pair)
{
    struct proxy_conf *old = pair->conf;

    if (old == lane->conf)
        return;
    if (!pair->is_pipe)
        pair_drop_back(pair); /* the connection's route belongs to the old configuration */
    pair_take_conf(pair);
    pair->asks.rules = &pair->conf->rules;
    proxy_conf_unref(&old);
}

/* A revoked key stops at once, also on open streams: each call that began with a key is checked against the new table. */
static void recheck(struct lane *lane, struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;

    if (exchange->progress != CALL_NONE && exchange->route != NULL && exchange->identity.key_id != 0 &&
        !identity_key_holds(&exchange->identity, lane->seen_keys, clock_wall_us()))
        pair_close(pair, REASON_CREDENTIAL_WRONG);
}

bool lane_token_holds(const struct lane *lane, const struct identity *identity)
{
    for (size_t i = 0; i < lane->conf->provider_count; i++) {
        const struct identity_provider *provider = &lane->conf->providers[i];

        if (memcmp(provider->digest, identity->provider->digest, DIGEST_BYTES) == 0)
            return identity_token_holds(identity->token, provider, lane->lookups, clock_wall_us());
    }
    return false;
}

/* So does a token that has ended, whose key its provider withdrew, or whose provider is not configured any more. */
static void recheck_token(struct lane *lane, struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;

    if (exchange->progress != CALL_NONE && exchange->identity.token != NULL && !lane_token_holds(lane, &exchange->identity))
        pair_close(pair, REASON_CREDENTIAL_WRONG);
}

/* So does a certificate that was revoked or has ended, since a new handshake would fail. */
static void recheck_certificate(struct lane *lane, struct pair *pair)
{
    if (!pair->front.is_ready || lane_certificate_holds(lane, pair))
        return;
    if (lane_may_log(lane))
        log_warn("proxy", "%s: %s", pair->client, stream_fault(pair->front.stream));
    pair_close(pair, REASON_CREDENTIAL_WRONG);
}

bool lane_certificate_holds(const struct lane *lane, const struct pair *pair)
{
    return !pair->is_tls || tls_peer_holds(pair->front.stream, lane->conf->listens[pair->listen].tls);
}

/* Logs revocation lists that have run out, on one worker. Returns: whether a listener asks for certificates. */
static bool look_at_lists(struct lane *lane)
{
    bool asks = false;

    for (size_t i = 0; i < lane->conf->listen_count; i++) {
        const struct tls_context *tls = lane->conf->listens[i].tls;
        int64_t until_us = tls != NULL ? tls_lists_until_us(tls) : INT64_MAX;

        asks = asks || (tls != NULL && tls_asks_certificate(tls));
        if (lane->worker.index != 0 || until_us == lane->told_lists_us || until_us > clock_wall_us())
            continue;
        lane->told_lists_us = until_us;
        log_error("proxy", "a list in `client_crl` of listener %zu has run out: certificates of its authority are refused "
                  "until a newer one is put in its place and the configuration is read again (SIGHUP)", i + 1);
    }
    return asks;
}

/* What people stop, stops amid its way, too. Who is meant is asked by the steps of each call (back/stopped.c). */
static bool look_at_stops(struct lane *lane)
{
    struct stops *stops = gate_stops_of(lane->gate);

    if (stops == lane->seen_stops)
        return false;
    stops_unref(&lane->seen_stops); /* a reference is kept, so that the next set cannot have the same address */
    lane->seen_stops = stops_ref(stops);
    return true;
}

static void beat(void *context)
{
    struct lane *lane = context;
    struct identity_keys *keys = gate_keys(lane->gate);
    bool has_new_keys = keys != lane->seen_keys, asks = look_at_lists(lane), asked = lane->asks_certificates;
    bool has_new_stops = look_at_stops(lane);
    bool has_tokens = lane->conf->provider_count > 0 || lane->had_providers;

    if (loop_timer_arm(lane->worker.loop, &lane->beat, BEAT_US) != CODE_OK)
        log_error("proxy", "out of memory for a timer: revoked keys and certificates end with their connections only");
    judge_woken(&lane->judge);
    stir_wishing(lane);
    spare_sweep(lane);
    lane->asks_certificates = asks;
    lane->had_providers = lane->conf->provider_count > 0;
    if (!has_new_keys && !has_new_stops && !asks && !asked && !has_tokens)
        return;
    if (has_new_keys) { /* a reference is kept, so that the next table cannot have the same address */
        identity_keys_unref(&lane->seen_keys);
        lane->seen_keys = identity_keys_ref(keys);
    }
    for (struct list *link = lane->worker.all.next; link != &lane->worker.all; link = link->next) {
        struct pair *pair = pair_of(LIST_ENTRY(link, struct connection, all));

        if (pair != NULL && has_new_keys)
            recheck(lane, pair);
        if (pair != NULL && has_tokens)
            recheck_token(lane, pair);
        if (pair != NULL && (asks || asked))
            recheck_certificate(lane, pair);
        if (pair != NULL && has_new_stops && pair->exchange.progress != CALL_NONE) {
            pair->may_be_stopped = true;
            pair_stir(pair);
        }
    }
}

/* ---- accepting, dialling ---- */

#define CROWD_TOLD_US INT64_C(60000000)

/* Closes a connection without an answer, since an answer would cost what is to be saved, and logs that now and then. */
static void refuse_crowd(struct lane *lane, const struct sock_address *peer, uint32_t most)
{
    int64_t now_us = loop_now_us(lane->worker.loop);
    char client[SOCK_TEXT_BYTES];

    reason_count(REASON_CONNECTION_SHARE);
    if (lane->crowd_told_us != 0 && now_us - lane->crowd_told_us < CROWD_TOLD_US)
        return;
    lane->crowd_told_us = now_us;
    sock_ip_text(peer, client);
    log_warn("proxy", "%s has %u connections that have shown no identity, as many as it may have now: more are closed unheard; "
             "a larger `limits: {connections_per_address: N}` or limit of descriptors allows more", client, most);
}

/* A pair for a connection that was counted, within its address's share. That is asked before there is a pair: one that is
 * refused would hold its place among all connections until the turn's end, and a turn accepts many.
 * Returns: NULL: there is none, and the stream is closed. */
static struct pair *pair_for(struct lane *lane, size_t listen, struct stream **stream, const struct sock_address *peer,
                             const struct sock_address *client, bool is_within)
{
    struct budget *budget = lane->worker.budget;
    uint32_t most = pair_connections_max(budget, lane->conf, client, is_within);
    struct budget_account account;
    struct pair *pair = NULL;

    if (budget_open(budget, budget_address(client), 0, most, &account))
        pair = pair_new(lane, listen, peer, client, account);
    else
        refuse_crowd(lane, client, most);
    if (pair == NULL) {
        stream_close(stream);
        budget_give_connection(budget);
    }
    return pair;
}

void lane_accept(struct lane *lane, size_t listen, struct stream *stream, const struct sock_address *peer)
{
    bool is_pipe = lane->conf->listens[listen].socket != NULL;
    struct pair *pair = pair_for(lane, listen, &stream, peer, peer, is_pipe);

    gauge_add(&lane->gauges.accepted, 1);
    if (pair == NULL)
        return;
    pair->is_tls = lane->conf->listens[listen].tls != NULL;
    pair->is_pipe = is_pipe;
    leg_open(&pair->front, stream);
    leg_ready(&pair->front, LOOP_READ);
}

bool lane_serve(struct lane *lane, struct lent *lent, struct span route, struct stream *stream)
{
    struct pair *pair = NULL;

    if (!budget_take_connection(lane->worker.budget))
        stream_close(&stream);
    else
        pair = pair_for(lane, lent->listen, &stream, &lent->peer, &lent->client_address, true);
    if (pair == NULL)
        return false;
    ref_take(&lent->ref);
    pair->lent = lent;
    pair->served = route;
    memcpy(pair->client, lent->client, sizeof pair->client);
    leg_open(&pair->front, stream);
    leg_ready(&pair->front, LOOP_READ);
    return true;
}

static enum code dial(void *context, const struct proxy_upstream *upstream, const struct sock_address *address,
                      struct stream **stream)
{
    struct lane *lane = context;
    int fd;
    enum code code = CODE_IO;

    if (span_is_empty(upstream->command))
        code = sock_connect(address, &fd);
    else if (lane->dial_command != NULL)
        code = lane->dial_command(lane->command_context, upstream->command, &fd);
    *stream = NULL;
    if (code != CODE_OK)
        return code;
    code = upstream->tls ? tls_connect(upstream->tls, fd, upstream->host, stream) : sock_stream_new(fd, stream);
    if (code != CODE_OK)
        sock_close(&fd);
    return code;
}

void lane_random_hex(struct lane *lane, char out[32])
{
    if (lane->random_left < 16) {
        random_bytes(lane->random, sizeof lane->random);
        lane->random_left = sizeof lane->random;
    }
    lane->random_left -= 16;
    num_hex(lane->random + lane->random_left, 16, out);
}

#define LOG_LINES_A_SECOND 20

bool lane_may_log(struct lane *lane)
{
    int64_t second = loop_now_us(lane->worker.loop) / 1000000;

    if (second != lane->log_second) {
        if (lane->log_lines > LOG_LINES_A_SECOND)
            log_warn("proxy", "worker %u: %u lines like the last ones were left out", lane->worker.index,
                     lane->log_lines - LOG_LINES_A_SECOND);
        lane->log_second = second;
        lane->log_lines = 0;
    }
    return ++lane->log_lines <= LOG_LINES_A_SECOND;
}

#define TELL_BYTES 65536

/* All workers write the budget's one sum, so a lane adds its own in steps, and when it holds nothing any more. */
void lane_hold(struct lane *lane, uint64_t *held_bytes, uint64_t now_bytes)
{
    uint64_t moved;

    if (now_bytes == *held_bytes)
        return;
    lane->held_bytes += now_bytes - *held_bytes;
    *held_bytes = now_bytes;
    moved = lane->held_bytes > lane->told_bytes ? lane->held_bytes - lane->told_bytes : lane->told_bytes - lane->held_bytes;
    if (moved >= TELL_BYTES || lane->held_bytes == 0)
        budget_hold(lane->worker.budget, &lane->told_bytes, lane->held_bytes);
}

/* ---- life ---- */

static void stir_all(struct lane *lane)
{
    for (struct list *link = lane->worker.all.next; link != &lane->worker.all; link = link->next)
        worker_stir(&lane->worker, LIST_ENTRY(link, struct connection, all));
}

void lane_renew(struct lane *lane)
{
    spare_drop_all(lane);
    stir_all(lane);
}

void lane_go(struct lane *lane, enum lane_way way, unsigned hurries, int heir)
{
    bool accepts_rest = lane->way == LANE_SERVES; /* who waits at a paused one is another gate's */

    lane->way = way;
    lane->hurries = hurries;
    lane->heir = heir;
    spare_drop_all(lane);
    for (size_t i = 0; i < lane->listener_count; i++)
        if (way == LANE_DRAINS)
            listener_stop(&lane->listeners[i].listener, accepts_rest);
        else
            listener_pause(&lane->listeners[i].listener, way == LANE_PAUSES);
    stir_all(lane);
}

enum code lane_init(struct lane *lane, unsigned index, struct budget *budget, const struct lane_above *above)
{
    enum code code;

    memset(lane, 0, sizeof *lane);
    list_init(&lane->waiting);
    list_init(&lane->stuck);
    list_init(&lane->looking);
    list_init(&lane->wishing);
    list_init(&lane->spares);
    judge_init(&lane->judge);
    lane->above = above;
    loop_timer_init(&lane->beat, beat, lane);
    lane->dial = dial;
    lane->dial_context = lane;
    code = worker_init(&lane->worker, index, NULL, budget);
    return code == CODE_OK ? loop_timer_arm(lane->worker.loop, &lane->beat, BEAT_US) : code;
}

void lane_fini(struct lane *lane)
{
    if (lane->worker.loop == NULL)
        return;
    for (size_t i = 0; i < lane->listener_count; i++)
        listener_fini(&lane->listeners[i].listener);
    mem_free(lane->listeners);
    spare_drop_all(lane);
    loop_timer_cancel(lane->worker.loop, &lane->beat);
    if (lane->has_inbox)
        inbox_fini(&lane->inbox);
    judge_fini(&lane->judge);
    worker_fini(&lane->worker);
    identity_keys_unref(&lane->seen_keys);
    stops_unref(&lane->seen_stops);
    resolve_table_unref(&lane->names);
    proxy_conf_unref(&lane->conf);
    mem_wipe(lane->random, sizeof lane->random);
}
