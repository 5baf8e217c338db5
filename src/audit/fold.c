/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/fold.h"

#include "base/hash.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/sock.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>

#define FOLD_SLOTS 4096
#define FOLD_PROBES 8
#define SECOND_US 1000000

struct network {
    uint8_t family; /* 0: any; 4, 6 */
    unsigned char bytes[8]; /* what the prefix covers; zeros behind */
};

struct bucket {
    struct network network;
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
    (void)pthread_mutex_init(&(*fold)->lock, NULL);
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

static struct network network_of(struct span client)
{
    struct network network = {0};
    struct sock_address address;
    const unsigned char *v6;

    if (sock_parse_ip(client, 0, &address) != CODE_OK)
        return network;
    if (address.any.sa_family == AF_INET) {
        network.family = 4;
        memcpy(network.bytes, &address.v4.sin_addr, 3);
        return network;
    }
    v6 = address.v6.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr)) {
        network.family = 4;
        memcpy(network.bytes, v6 + 12, 3);
        return network;
    }
    network.family = 6;
    memcpy(network.bytes, v6, 8);
    return network;
}

static bool is_same(const struct bucket *bucket, enum reason reason, const struct network *network)
{
    return bucket->used && bucket->reason == reason && bucket->network.family == network->family &&
           memcmp(bucket->network.bytes, network->bytes, sizeof network->bytes) == 0;
}

/* A slot whose second is over and whose count was told may be taken over. */
static bool is_idle(const struct bucket *bucket, int64_t now_us)
{
    return !bucket->used || (bucket->folded == 0 && now_us - bucket->window_us >= SECOND_US);
}

static struct bucket *bucket_for(struct fold *fold, enum reason reason, const struct network *network, int64_t now_us)
{
    uint64_t hash = hash_mix(hash_bytes(network->bytes, sizeof network->bytes), (uint64_t)reason * 8 + network->family);
    struct bucket *idle = NULL;

    for (unsigned i = 0; i < FOLD_PROBES; i++) {
        struct bucket *bucket = &fold->slots[(hash + i) % FOLD_SLOTS];

        if (is_same(bucket, reason, network))
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
        idle->network = *network;
    return idle;
}

bool fold_takes(struct fold *fold, enum reason reason, struct span client, int64_t now_us, int64_t wall_us)
{
    struct network network = network_of(client);
    struct bucket *bucket;
    bool takes;

    (void)pthread_mutex_lock(&fold->lock);
    bucket = bucket_for(fold, reason, &network, now_us);
    if (now_us - bucket->window_us >= SECOND_US) {
        bucket->window_us = now_us;
        bucket->rows = 0;
    }
    takes = bucket->rows >= FOLD_ROWS_A_SECOND;
    if (takes) {
        bucket->first_us = bucket->folded == 0 ? wall_us : bucket->first_us;
        bucket->last_us = wall_us;
        bucket->folded++;
    } else {
        bucket->rows++;
    }
    (void)pthread_mutex_unlock(&fold->lock);
    return takes;
}

static void network_text(const struct network *network, char *out, size_t size)
{
    unsigned char bytes[16] = {0};
    char text[INET6_ADDRSTRLEN];

    memcpy(bytes, network->bytes, sizeof network->bytes);
    if (network->family == 0 || inet_ntop(network->family == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text) == NULL)
        (void)snprintf(out, size, "null");
    else
        (void)snprintf(out, size, "\"%s/%d\"", text, network->family == 4 ? 24 : 64);
}

static enum code tell(const struct bucket *bucket, struct audit_ring *ring, int64_t wall_us)
{
    char network[INET6_ADDRSTRLEN + 8], first[CLOCK_TEXT_BYTES], last[CLOCK_TEXT_BYTES], detail[256];
    int len;

    network_text(&bucket->network, network, sizeof network);
    clock_text(bucket->first_us, first);
    clock_text(bucket->last_us, last);
    len = snprintf(detail, sizeof detail, "{\"reason\":\"%s\",\"network\":%s,\"count\":%llu,\"first\":\"%s\",\"last\":\"%s\"}",
                   reason_name(bucket->reason), network, (unsigned long long)bucket->folded, first, last);
    return audit_put_event(ring, &(struct audit_event){.time_us = wall_us, .kind = SPAN_LIT("folded"),
                                                       .actor = SPAN_LIT("gate"), .detail = span_of(detail, (size_t)len)});
}

static void tell_if_due(struct bucket *bucket, struct audit_ring *ring, int64_t now_us, int64_t wall_us, bool all)
{
    if (bucket->folded > 0 && (all || now_us - bucket->window_us >= SECOND_US) && tell(bucket, ring, wall_us) == CODE_OK)
        bucket->folded = 0;
}

void fold_tick(struct fold *fold, struct audit_ring *ring, int64_t now_us, int64_t wall_us, bool all)
{
    (void)pthread_mutex_lock(&fold->lock);
    for (size_t i = 0; i < FOLD_SLOTS; i++)
        tell_if_due(&fold->slots[i], ring, now_us, wall_us, all);
    for (size_t i = 0; i < REASON_COUNT; i++)
        tell_if_due(&fold->any[i], ring, now_us, wall_us, all);
    (void)pthread_mutex_unlock(&fold->lock);
}
