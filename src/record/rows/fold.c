/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/fold.h"

#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "json/json.h"
#include "os/clock.h"
#include "os/sock.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>

#define FOLD_SLOTS 4096
#define FOLD_PROBES 8
#define SECOND_US 1000000

enum family { FAMILY_NONE = 0, FAMILY_PRINCIPAL, FAMILY_IPV4 = 4, FAMILY_IPV6 = 6 };

/* Where refusals come from. */
struct source {
    uint8_t family;
    unsigned char bytes[8]; /* what a network's prefix covers, zeros behind; a principal's hash */
};

#define NAME_MAX_BYTES 128
#define NO_NAME UINT8_MAX /* there is none, it is too long, or calls had several */

struct name {
    uint8_t len;
    char text[NAME_MAX_BYTES];
};

struct bucket {
    struct source source;
    struct name tenant, principal, tool, rule; /* FAMILY_PRINCIPAL */
    enum reason reason;
    bool used;
    uint32_t rows;           /* let through in this window */
    int64_t window_us;       /* monotonic begin of the window */
    uint64_t folded;
    int64_t first_us, last_us; /* UTC, of what was folded */
};

struct fold {
    pthread_mutex_t lock;
    struct bucket slots[FOLD_SLOTS];
    struct bucket any[REASON_COUNT]; /* where the table is full */
};

enum code fold_new(struct fold **fold)
{
    *fold = mem_zalloc(sizeof **fold);
    if (*fold == NULL)
        return CODE_NOMEM;
    lock_init(&(*fold)->lock);
    return CODE_OK;
}

void fold_free(struct fold **fold)
{
    if (*fold == NULL)
        return;
    (void)pthread_mutex_destroy(&(*fold)->lock);
    mem_free(*fold);
    *fold = NULL;
}

static struct source network_of(struct span client)
{
    struct source network = {0};
    struct sock_address address;
    const unsigned char *v6;

    if (sock_parse_ip(client, 0, &address) != CODE_OK)
        return network;
    if (address.any.sa_family == AF_INET) {
        network.family = FAMILY_IPV4;
        memcpy(network.bytes, &address.v4.sin_addr, 3);
        return network;
    }
    v6 = address.v6.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr)) {
        network.family = FAMILY_IPV4;
        memcpy(network.bytes, v6 + 12, 3);
        return network;
    }
    network.family = FAMILY_IPV6;
    memcpy(network.bytes, v6, 8);
    return network;
}

static bool is_same(const struct bucket *bucket, enum reason reason, const struct source *source)
{
    return bucket->used && bucket->reason == reason && bucket->source.family == source->family &&
           memcmp(bucket->source.bytes, source->bytes, sizeof source->bytes) == 0;
}

/* A slot whose second is over and whose count was told may be taken over. */
static bool is_idle(const struct bucket *bucket, int64_t now_us)
{
    return !bucket->used || (bucket->folded == 0 && now_us - bucket->window_us >= SECOND_US);
}

static struct bucket *bucket_for(struct fold *fold, enum reason reason, const struct source *source, int64_t now_us)
{
    uint64_t hash = hash_mix(hash_bytes(source->bytes, sizeof source->bytes), (uint64_t)reason * 8 + source->family);
    struct bucket *idle = NULL;

    for (unsigned i = 0; i < FOLD_PROBES; i++) {
        struct bucket *bucket = &fold->slots[(hash + i) % FOLD_SLOTS];

        if (is_same(bucket, reason, source))
            return bucket;
        if (idle == NULL && is_idle(bucket, now_us))
            idle = bucket;
    }
    if (idle == NULL) {
        idle = &fold->any[reason];
        if (idle->used)
            return idle;
    }
    *idle = (struct bucket){.reason = reason, .used = true, .window_us = now_us};
    if (idle != &fold->any[reason])
        idle->source = *source;
    return idle;
}

/* Keeps the first call's text. A later call with another text leaves no name, since the event counts calls of both. A text
 * that is too long is none, since its beginning may be that of another. */
static void keep_name(struct name *name, struct span text, bool is_first)
{
    uint8_t len = text.at == NULL || text.len > NAME_MAX_BYTES ? NO_NAME : (uint8_t)text.len;

    if (!is_first) {
        if (name->len != len || (len != NO_NAME && memcmp(name->text, text.at, len) != 0))
            name->len = NO_NAME;
        return;
    }
    name->len = len;
    if (len != NO_NAME && len > 0)
        memcpy(name->text, text.at, len);
}

/* Returns: whether the call is counted and has no row. Takes: call: its names are kept for
 * FAMILY_PRINCIPAL; rows: so many in a second have rows. */
static bool takes(struct fold *fold, const struct fold_call *call, const struct source *source, uint32_t rows, int64_t now_us,
                  int64_t wall_us)
{
    struct bucket *bucket;
    bool takes;

    lock_take(&fold->lock);
    bucket = bucket_for(fold, call->reason, source, now_us);
    if (now_us - bucket->window_us >= SECOND_US) {
        bucket->window_us = now_us;
        bucket->rows = 0;
    }
    takes = bucket->rows >= rows;
    if (takes) {
        if (bucket->source.family == FAMILY_PRINCIPAL) {
            keep_name(&bucket->tenant, call->tenant, bucket->folded == 0);
            keep_name(&bucket->principal, call->principal, bucket->folded == 0);
            keep_name(&bucket->tool, call->tool, bucket->folded == 0);
            keep_name(&bucket->rule, call->rule, bucket->folded == 0);
        }
        bucket->first_us = bucket->folded == 0 ? wall_us : bucket->first_us;
        bucket->last_us = wall_us;
        bucket->folded++;
    } else {
        bucket->rows++;
    }
    lock_give(&fold->lock);
    return takes;
}

bool fold_takes(struct fold *fold, enum reason reason, struct span client, int64_t now_us, int64_t wall_us)
{
    struct source network = network_of(client);

    return takes(fold, &(struct fold_call){.reason = reason}, &network, FOLD_ROWS_A_SECOND, now_us, wall_us);
}

bool fold_takes_call(struct fold *fold, const struct fold_call *call, uint32_t rows, int64_t now_us, int64_t wall_us)
{
    uint64_t hash = hash_mix(hash_span(call->tenant), hash_span(call->principal));
    struct source source = {.family = FAMILY_PRINCIPAL};

    memcpy(source.bytes, &hash, sizeof source.bytes);
    return takes(fold, call, &source, rows, now_us, wall_us);
}

static enum code write_network(const struct source *network, struct buf *out)
{
    unsigned char bytes[16] = {0};
    char text[INET6_ADDRSTRLEN];
    int family = network->family == FAMILY_IPV4 ? AF_INET : AF_INET6;

    memcpy(bytes, network->bytes, sizeof network->bytes);
    if (network->family == FAMILY_NONE || inet_ntop(family, bytes, text, sizeof text) == NULL)
        return buf_add_text(out, "\"network\":null");
    return buf_addf(out, "\"network\":\"%s/%d\"", text, family == AF_INET ? 24 : 64);
}

static struct span text_of(const struct name *name)
{
    return name->len != NO_NAME ? span_of(name->text, name->len) : SPAN_NONE;
}

static enum code write_source(const struct bucket *bucket, struct buf *out)
{
    const struct {
        const char *key;
        struct span text;
    } names[] = {{"tenant", text_of(&bucket->tenant)}, {"principal", text_of(&bucket->principal)},
                 {"tool", text_of(&bucket->tool)}, {"rule", text_of(&bucket->rule)}};
    bool is_first = true;

    if (bucket->source.family != FAMILY_PRINCIPAL)
        return write_network(&bucket->source, out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].text.at == NULL)
            continue;
        buf_addf(out, "%s\"%s\":", is_first ? "" : ",", names[i].key);
        json_write_string(out, names[i].text);
        is_first = false;
    }
    return buf_code(out);
}

/* Puts the event. Where memory or the ring's room is short, the caller keeps the count until the next tick. */
static enum code put_folded(const struct bucket *bucket, struct audit_ring *ring, int64_t wall_us)
{
    struct span tenant = bucket->source.family == FAMILY_PRINCIPAL ? text_of(&bucket->tenant) : SPAN_NONE;
    char first[CLOCK_TEXT_BYTES], last[CLOCK_TEXT_BYTES];
    struct buf detail;
    enum code code;

    clock_text(bucket->first_us, first);
    clock_text(bucket->last_us, last);
    buf_init(&detail, 4096);
    code = buf_addf(&detail, "{\"reason\":\"%s\",", reason_name(bucket->reason));
    if (code == CODE_OK)
        code = write_source(bucket, &detail);
    if (code == CODE_OK)
        code = buf_addf(&detail, ",\"count\":%llu,\"first\":\"%s\",\"last\":\"%s\"}", (unsigned long long)bucket->folded,
                        first, last);
    if (code == CODE_OK)
        code = audit_put_event(ring, &(struct audit_event){.time_us = wall_us, .kind = SPAN_LIT("folded"),
                                                           .tenant = tenant, .actor = SPAN_LIT("gate"),
                                                           .detail = buf_peek(&detail)});
    buf_fini(&detail);
    return code;
}

static void put_if_due(struct bucket *bucket, struct audit_ring *ring, int64_t now_us, int64_t wall_us, bool all)
{
    if (bucket->folded > 0 && (all || now_us - bucket->window_us >= SECOND_US) && put_folded(bucket, ring, wall_us) == CODE_OK)
        bucket->folded = 0;
}

void fold_tick(struct fold *fold, struct audit_ring *ring, int64_t now_us, int64_t wall_us, bool all)
{
    lock_take(&fold->lock);
    for (size_t i = 0; i < FOLD_SLOTS; i++)
        put_if_due(&fold->slots[i], ring, now_us, wall_us, all);
    for (size_t i = 0; i < REASON_COUNT; i++)
        put_if_due(&fold->any[i], ring, now_us, wall_us, all);
    lock_give(&fold->lock);
}
