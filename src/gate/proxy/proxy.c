/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/proxy.h"

#include "proxy/front_priv.h"
#include "back/legacy.h"
#include "join/sessions.h"

#include "base/bug.h"
#include "base/lock.h"
#include "base/log.h"
#include "os/local.h"
#include "os/sandbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define DESCRIPTORS_RESERVED 192 /* for databases, logs, files read at a reload, and all 64 visits of the admin port */
/* its loop, its inbox, and connections that it accepts only to close them */
#define DESCRIPTORS_A_WORKER (8 + ERRANDS_MAX + SPARES_MAX)

struct proxy {
    struct budget budget;
    struct rates *rates;
    struct mailboxes *mailboxes;
    struct join_sessions *joined;
    struct lane *lanes;
    unsigned lane_count;
    struct sock_address *addresses; /* what each listener is bound to */
    size_t listen_count;
    pthread_mutex_t lock;           /* over the fields below; main takes it to publish, a worker when it was poked */
    struct proxy_conf *next_conf;
    struct resolve_table *next_names;
    enum lane_way way;
    unsigned hurries;
    int heir;
    bool is_stopping;
    void (*look)(void *context);    /* NULL: nobody does */
    void *look_context;
    struct why differs;             /* under the lock too: what the last look found wrong */
    atomic_uint_fast64_t looks_asked, looks_done;
    atomic_uint_fast64_t published; /* counts changes of what the lock protects */
};

/* ---- a worker's side ---- */

static void close_all(struct lane *lane)
{
    for (struct list *link = lane->worker.all.next; link != &lane->worker.all; link = link->next) {
        struct connection *connection = LIST_ENTRY(link, struct connection, all);
        struct pair *pair = pair_of(connection);

        if (pair != NULL)
            pair_close(pair, REASON_DRAINING);
        else
            worker_stir(&lane->worker, connection);
    }
}

/* Takes over what main published. References are swapped under the lock and dropped outside of it. */
static void follow(struct lane *lane)
{
    struct proxy *proxy = lane->proxy;
    struct proxy_conf *conf = lane->conf;
    struct resolve_table *names = lane->names;
    enum lane_way way;
    unsigned hurries;
    bool is_stopping;
    int heir;

    if (atomic_load_explicit(&proxy->published, memory_order_acquire) == lane->published)
        return;
    lock_take(&proxy->lock);
    lane->published = atomic_load_explicit(&proxy->published, memory_order_relaxed);
    lane->conf = proxy_conf_ref(proxy->next_conf);
    lane->names = proxy->next_names ? resolve_table_ref(proxy->next_names) : NULL;
    way = proxy->way;
    hurries = proxy->hurries;
    heir = proxy->heir;
    is_stopping = proxy->is_stopping;
    lock_give(&proxy->lock);
    if (conf != lane->conf)
        lane_renew(lane);
    proxy_conf_unref(&conf);
    resolve_table_unref(&names);
    if (way != lane->way || hurries != lane->hurries)
        lane_go(lane, way, hurries, heir);
    if (is_stopping && !lane->is_stopping) {
        lane->is_stopping = true;
        close_all(lane);
    }
}

static void woken(void *context)
{
    struct lane *lane = context;

    follow(lane);
    lane_woken(lane);
    mailbox_woken(lane);
}

static void accepted(void *context, int fd, const struct sock_address *peer)
{
    struct lane_listener *listener = context;
    struct lane *lane = listener->lane;
    const struct proxy_listen *listen = &lane->conf->listens[listener->index];
    struct stream *stream;

    if ((listen->socket ? local_stream_new(fd, listen->is_shared, &stream)
         : listen->tls  ? tls_accept(listen->tls, fd, &stream)
                        : sock_stream_new(fd, &stream)) != CODE_OK) {
        sock_close(&fd);
        budget_give_connection(lane->worker.budget);
        return;
    }
    lane_accept(lane, listener->index, stream, peer);
}

static void run_worker(void *argument)
{
    struct lane *lane = argument;

    sandbox_narrow(SANDBOX_WORKER);
    while (!lane->is_stopping || lane->worker.connections > 0)
        if (worker_turn(&lane->worker, -1) != CODE_OK)
            log_error("proxy", "worker %u: waiting for events failed", lane->worker.index);
}

uint64_t proxy__ask_look(struct lane *lane)
{
    struct proxy *proxy = lane->proxy;
    uint64_t look = 0;

    if (proxy != NULL && proxy->look != NULL) {
        look = atomic_fetch_add(&proxy->looks_asked, 1) + 1;
        proxy->look(proxy->look_context);
    }
    return look;
}

bool proxy__has_looked(struct lane *lane, uint64_t look)
{
    if (atomic_load(&lane->proxy->looks_done) < look)
        return false;
    follow(lane); /* the worker may ask before the poke has reached it */
    return true;
}

void proxy__write_difference(const struct lane *lane, struct buf *out)
{
    if (lane->proxy == NULL)
        return;
    lock_take(&lane->proxy->lock);
    buf_add_text(out, lane->proxy->differs.text);
    lock_give(&lane->proxy->lock);
}

/* ---- opening ---- */

/* A Unix socket cannot be bound twice, so all workers share the first one's. */
static enum code open_socket(struct proxy *proxy, const struct lane *lane, size_t index,
                             const struct proxy_listen *listen, int *fd, struct why *why)
{
    if (lane->worker.index == 0)
        return local_listen(listen->socket, "pipe", listen->is_shared ? 0666 : 0600, fd, why);
    *fd = fcntl(proxy->lanes[0].listeners[index].listener.fd, F_DUPFD_CLOEXEC, 3);
    return CODE_OK;
}

static enum code listen_with(struct lane *lane, size_t index, int fd_take, struct why *why)
{
    struct lane_listener *listener = &lane->listeners[lane->listener_count];
    enum code code;

    if (fd_take == -1)
        return why_set(why, CODE_IO, "a listening socket cannot be used");
    listener->lane = lane;
    listener->index = index;
    lane->listener_count++;
    code = listener_open(&listener->listener, &lane->worker, fd_take, accepted, listener);
    return code == CODE_OK ? code : why_set(why, code, "a listening socket cannot be waited for");
}

static enum code open_listener(struct proxy *proxy, struct lane *lane, size_t index, const struct proxy_start *start,
                               struct why *why)
{
    struct sock_address *address = &proxy->addresses[index];
    const char *path = start->conf_take->listens[index].socket;
    int fd = -1;
    size_t there = service_at(start->inherited, address, path, SIZE_MAX, &fd);
    enum code code = CODE_OK;

    if (there > 0)
        (void)service_at(start->inherited, address, path, lane->worker.index % there, &fd);
    else if (path != NULL)
        code = open_socket(proxy, lane, index, &start->conf_take->listens[index], &fd, why);
    else
        code = sock_listen(address, &fd, why);
    if (code == CODE_OK && fd != -1 && path == NULL && sock_local(fd, address) != CODE_OK)
        sock_close(&fd);
    return code == CODE_OK ? listen_with(lane, index, fd, why) : code;
}

/* Shares out what more the gate before this one had: its workers had a socket each, and were more. The kernel goes on giving
 * connections to all of them. */
static enum code open_more(struct lane *lane, size_t index, const struct proxy_start *start, struct why *why)
{
    const struct proxy_listen *listen = &start->conf_take->listens[index];
    enum code code = CODE_OK;
    int fd;
    size_t there = service_at(start->inherited, &listen->address, listen->socket, SIZE_MAX, &fd);

    for (size_t nth = lane->worker.index + start->workers; nth < there && code == CODE_OK; nth += start->workers) {
        (void)service_at(start->inherited, &listen->address, listen->socket, nth, &fd);
        code = listen_with(lane, index, fd, why);
    }
    return code;
}

static enum code open_lane(struct proxy *proxy, unsigned index, const struct proxy_start *start, struct why *why)
{
    struct lane *lane = &proxy->lanes[index];
    enum code code = lane_init(lane, index, &proxy->budget, &front__above);

    lane->dial_command = start->dial_command;
    lane->command_context = start->dial_context;

    if (code != CODE_OK)
        return why_set(why, code, "worker %u: no loop: %s", index, code_text(code));
    lane->proxy = proxy;
    lane->rates = proxy->rates;
    lane->mailboxes = proxy->mailboxes;
    lane->joined = proxy->joined;
    lane->gate = start->gates[index];
    lane->lookups = start->lookups;
    lane->proofs = start->proofs;
    lane->conf = proxy_conf_ref(start->conf_take);
    lane->names = start->names_take ? resolve_table_ref(start->names_take) : NULL;
    lane->seen_keys = identity_keys_ref(gate_keys(lane->gate));
    code = inbox_init(&lane->inbox, lane->worker.loop, woken, lane);
    if (code != CODE_OK)
        return why_set(why, code, "worker %u: no eventfd", index);
    lane->has_inbox = true;
    code = judge_open(&lane->judge, lane->gate, &lane->inbox);
    if (code != CODE_OK)
        return why_set(why, code, "worker %u: out of memory for its judge", index);
    lane->listeners = mem_array(proxy->listen_count + start->inherited->count, sizeof *lane->listeners);
    if (lane->listeners == NULL)
        return why_set(why, CODE_NOMEM, "out of memory for listeners");
    for (size_t i = 0; i < proxy->listen_count && code == CODE_OK; i++)
        code = open_listener(proxy, lane, i, start, why);
    for (size_t i = 0; i < proxy->listen_count && code == CODE_OK; i++)
        code = open_more(lane, i, start, why);
    return code;
}

static void close_lanes(struct proxy *proxy)
{
    for (unsigned i = 0; i < proxy->lane_count; i++)
        lane_fini(&proxy->lanes[i]);
    mem_free(proxy->lanes);
    mem_free(proxy->addresses);
    budget_fini(&proxy->budget);
    rates_free(&proxy->rates);
    mailboxes_free(&proxy->mailboxes);
    join_sessions_free(&proxy->joined);
    pthread_mutex_destroy(&proxy->lock);
    mem_free(proxy);
}

/* A connection of a joined endpoint has another end, which is the gate's, too. */
static size_t descriptors_each(const struct proxy_conf *conf)
{
    for (size_t i = 0; i < conf->route_count; i++)
        if (conf->routes[i].server_count > 0)
            return 3;
    return 2;
}

/* The reserve is for what has to work also in a flood of connections. */
static uint32_t connections_of(const struct proxy_start *start)
{
    size_t each = descriptors_each(start->conf_take);
    size_t reserved = DESCRIPTORS_RESERVED + start->workers * (DESCRIPTORS_A_WORKER + start->conf_take->listen_count);
    size_t descriptors = sock_descriptor_limit();

    return (uint32_t)(descriptors > 2 * reserved ? (descriptors - reserved) / each : descriptors / (2 * each));
}

enum code proxy_open(const struct proxy_start *start, struct proxy **out, struct why *why)
{
    const struct proxy_conf *conf = start->conf_take;
    uint32_t connections = start->connections_max;
    struct proxy *proxy = mem_zalloc(sizeof *proxy);
    enum code code;

    *out = NULL;
    if (proxy == NULL)
        return why_set(why, CODE_NOMEM, "out of memory for the proxy");
    lock_init(&proxy->lock);
    atomic_init(&proxy->published, 0);
    proxy->look = start->look;
    proxy->look_context = start->look_context;
    if (connections == 0)
        connections = connections_of(start);
    code = budget_init(&proxy->budget, connections, conf->memory_bytes);
    proxy->listen_count = conf->listen_count;
    proxy->addresses = mem_array(conf->listen_count, sizeof *proxy->addresses);
    proxy->lanes = mem_array(start->workers, sizeof *proxy->lanes);
    if (code == CODE_OK)
        code = rates_new(&proxy->rates);
    if (code == CODE_OK)
        code = mailboxes_new(&proxy->mailboxes);
    if (code == CODE_OK)
        code = join_sessions_new(&proxy->joined);
    if (code != CODE_OK || proxy->addresses == NULL || proxy->lanes == NULL)
        code = why_set(why, CODE_NOMEM, "out of memory for the proxy");
    for (size_t i = 0; i < conf->listen_count && code == CODE_OK; i++)
        proxy->addresses[i] = conf->listens[i].address;
    for (unsigned i = 0; i < start->workers && code == CODE_OK; i++) {
        proxy->lane_count = i + 1;
        code = open_lane(proxy, i, start, why);
    }
    if (code != CODE_OK) {
        close_lanes(proxy);
        return code;
    }
    proxy->next_conf = start->conf_take;
    proxy->next_names = start->names_take;
    *out = proxy;
    return CODE_OK;
}

enum code proxy_run(struct proxy *proxy, struct why *why)
{
    for (unsigned i = 0; i < proxy->lane_count; i++) {
        char name[16];
        enum code code;

        (void)snprintf(name, sizeof name, "worker-%u", i % 1000);
        code = judge_start(&proxy->lanes[i].judge, i, why); /* started first, since a worker waits for its judge */
        if (code == CODE_OK)
            code = thread_start(&proxy->lanes[i].thread, name, run_worker, &proxy->lanes[i], why);
        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

/* ---- main's side ---- */

void proxy_wake(void *context)
{
    struct lane *lane = context;

    inbox_poke(&lane->inbox);
}

void *proxy_wake_context(struct proxy *proxy, unsigned worker)
{
    BUG_ON(worker >= proxy->lane_count);
    return &proxy->lanes[worker];
}

/* Ends a publication: counts it, and pokes all workers. */
static void unlock_and_poke(struct proxy *proxy)
{
    atomic_fetch_add_explicit(&proxy->published, 1, memory_order_release);
    lock_give(&proxy->lock);
    for (unsigned i = 0; i < proxy->lane_count; i++)
        inbox_poke(&proxy->lanes[i].inbox);
}

enum code proxy_check_conf(const struct proxy *proxy, const struct proxy_conf *conf, struct why *why)
{
    const struct proxy_conf *old = proxy->next_conf; /* only main changes it */

    if (conf->listen_count != old->listen_count)
        return why_set(why, CODE_INVALID, "`listen` has another number of addresses; a restart takes them");
    for (size_t i = 0; i < conf->listen_count; i++)
        if (!sock_equals(&conf->listens[i].address, &old->listens[i].address) ||
            (conf->listens[i].tls == NULL) != (old->listens[i].tls == NULL) ||
            !span_equals(span_text(conf->listens[i].socket), span_text(old->listens[i].socket)))
            return why_set(why, CODE_INVALID, "`listen` has another address at place %zu; a restart takes it", i + 1);
    return CODE_OK;
}

uint64_t proxy_looks(const struct proxy *proxy)
{
    return atomic_load(&proxy->looks_asked);
}

void proxy_looked(struct proxy *proxy, uint64_t looks, const struct why *why)
{
    lock_take(&proxy->lock);
    proxy->differs = *why;
    atomic_store(&proxy->looks_done, looks);
    unlock_and_poke(proxy);
}

static void publish(struct proxy *proxy, struct proxy_conf *conf, struct resolve_table *names)
{
    struct proxy_conf *old_conf = NULL;
    struct resolve_table *old_names;

    lock_take(&proxy->lock);
    old_names = proxy->next_names;
    proxy->next_names = names;
    if (conf != NULL) {
        budget_limit_memory(&proxy->budget, conf->memory_bytes);
        old_conf = proxy->next_conf;
        proxy->next_conf = conf;
    }
    unlock_and_poke(proxy);
    proxy_conf_unref(&old_conf);
    resolve_table_unref(&old_names);
}

void proxy_publish_conf(struct proxy *proxy, struct proxy_conf *conf, struct resolve_table *names)
{
    publish(proxy, conf, names);
}

void proxy_publish_names(struct proxy *proxy, struct resolve_table *names)
{
    publish(proxy, NULL, names);
}

void proxy_address(const struct proxy *proxy, size_t index, struct sock_address *address)
{
    BUG_ON(index >= proxy->listen_count);
    *address = proxy->addresses[index];
}

void proxy_sockets(const struct proxy *proxy, struct service_sockets *sockets)
{
    for (unsigned i = 0; i < proxy->lane_count; i++)
        for (size_t j = 0; j < proxy->lanes[i].listener_count && sockets->count < SERVICE_SOCKETS_MAX; j++)
            sockets->fds[sockets->count++] = proxy->lanes[i].listeners[j].listener.fd;
}

static void go(struct proxy *proxy, enum lane_way way, bool hurries, int heir, bool stops)
{
    lock_take(&proxy->lock);
    proxy->way = way;
    proxy->hurries = hurries ? proxy->hurries + 1 : 0; /* counted, so that workers see that they are told again */
    proxy->heir = heir;
    proxy->is_stopping = stops;
    unlock_and_poke(proxy);
}

void proxy_go(struct proxy *proxy, enum lane_way way, bool hurries, int heir)
{
    go(proxy, way, hurries, heir, false);
}

static void adopt(struct proxy *proxy, struct lane *lane, int fd_take, const struct sock_address *address)
{
    struct sock_address peer = {.len = sizeof peer.v6};
    size_t i = 0;

    while (i < proxy->listen_count && !sock_equals(&proxy->addresses[i], address))
        i++;
    if (i == proxy->listen_count || getpeername(fd_take, &peer.any, &peer.len) != 0 ||
        !budget_take_connection(lane->worker.budget))
        sock_close(&fd_take);
    else
        accepted(&lane->listeners[i], fd_take, &peer);
}

void proxy_adopt(struct proxy *proxy, int *fds_take, const struct sock_address *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        adopt(proxy, &proxy->lanes[i % proxy->lane_count], fds_take[i], &addresses[i]);
}

bool proxy_is_drained(const struct proxy *proxy)
{
    return atomic_load_explicit(&proxy->budget.connections, memory_order_relaxed) == 0;
}

void proxy_stop(struct proxy *proxy)
{
    if (proxy == NULL)
        return;
    go(proxy, LANE_DRAINS, true, -1, true);
    for (unsigned i = 0; i < proxy->lane_count; i++) {
        thread_join(&proxy->lanes[i].thread); /* the thread ends without pairs, so its judge has no work */
        judge_stop(&proxy->lanes[i].judge);
    }
}

void proxy_free(struct proxy **out)
{
    struct proxy *proxy = *out;

    *out = NULL;
    if (proxy == NULL)
        return;
    proxy_conf_unref(&proxy->next_conf);
    resolve_table_unref(&proxy->next_names);
    close_lanes(proxy);
}

void proxy_on_call(struct proxy *proxy, proxy_call_fn ended, void *context)
{
    for (unsigned i = 0; i < proxy->lane_count; i++) {
        proxy->lanes[i].ended = ended;
        proxy->lanes[i].ended_context = context;
    }
}

static uint64_t value_of(const atomic_uint_fast64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

void proxy_gauges(const struct proxy *proxy, struct proxy_gauges *gauges)
{
    *gauges = (struct proxy_gauges){.memory_bytes = value_of(&proxy->budget.memory_bytes)};
    for (unsigned i = 0; i < proxy->lane_count; i++) {
        const struct lane_gauges *lane = &proxy->lanes[i].gauges;

        gauges->connections += value_of(&lane->pairs);
        gauges->accepted += value_of(&lane->accepted);
        gauges->requests += value_of(&lane->requests);
        gauges->in_flight += value_of(&lane->in_flight);
        gauges->streams += value_of(&lane->streams);
        gauges->upstream_connections += value_of(&lane->upstream_connections);
        gauges->events_dropped += value_of(&lane->events_dropped);
        for (size_t j = 0; j < ANSWER_EFFECTS; j++)
            gauges->answers[j] += value_of(&lane->answers[j]);
    }
}
