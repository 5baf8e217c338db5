/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/heads.h"

#include "base/hash.h"
#include "base/mem.h"

#define BUCKETS 16384
#define PERMITS_AT_FIRST 256

enum code heads_init(struct heads *heads)
{
    heads->count = 0;
    heads->buckets = mem_array(BUCKETS, sizeof heads->buckets[0]);
    return heads->buckets != NULL ? CODE_OK : CODE_NOMEM;
}

void heads_fini(struct heads *heads)
{
    for (size_t i = 0; heads->buckets != NULL && i < BUCKETS; i++) {
        while (heads->buckets[i] != NULL) {
            struct head *head = heads->buckets[i];

            heads->buckets[i] = head->next;
            mem_free(head);
        }
    }
    mem_free(heads->buckets);
    *heads = (struct heads){0};
}

enum code heads_find(struct heads *heads, struct span tenant, struct head **out)
{
    struct head **bucket = &heads->buckets[hash_span(tenant) % BUCKETS];
    struct head *head;

    for (head = *bucket; head != NULL; head = head->next)
        if (head->len == tenant.len && memcmp(head->tenant, tenant.at, tenant.len) == 0)
            break;
    if (head == NULL) {
        head = mem_zalloc(sizeof *head + tenant.len);
        *out = NULL;
        if (head == NULL)
            return CODE_NOMEM;
        head->len = (uint32_t)tenant.len;
        if (tenant.len > 0)
            memcpy(head->tenant, tenant.at, tenant.len);
        head->next = *bucket;
        *bucket = head;
        heads->count++;
    }
    *out = head;
    return CODE_OK;
}

void heads_list(const struct heads *heads, struct head **out)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct head *head = heads->buckets[i]; head != NULL; head = head->next)
            *out++ = head;
}

void heads_move(struct head *head, uint64_t seq, const unsigned char hash[DIGEST_BYTES], uint64_t sound_seq)
{
    if (head->seq <= sound_seq) {
        head->sound_seq = head->seq;
        memcpy(head->sound_hash, head->hash, DIGEST_BYTES);
    }
    head->seq = seq;
    memcpy(head->hash, hash, DIGEST_BYTES);
}

void heads_undo(struct heads *heads, uint64_t sound_seq)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct head *head = heads->buckets[i]; head != NULL; head = head->next) {
            if (!head->known || head->seq <= sound_seq)
                continue;
            head->seq = head->sound_seq;
            memcpy(head->hash, head->sound_hash, DIGEST_BYTES);
        }
}

void heads_forget(struct heads *heads)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct head *head = heads->buckets[i]; head != NULL; head = head->next)
            head->known = false;
}

void heads_trim(struct heads *heads)
{
    if (heads->count <= HEADS_MAX)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        struct head **at = &heads->buckets[i];

        while (*at != NULL) {
            struct head *head = *at;

            if (head->permits > 0 || head->known) {
                at = &head->next;
                continue;
            }
            *at = head->next;
            mem_free(head);
            heads->count--;
        }
    }
}

enum code permits_init(struct permits *permits)
{
    permits->count = 0;
    permits->size = PERMITS_AT_FIRST;
    permits->slots = mem_array(permits->size, sizeof permits->slots[0]);
    return permits->slots != NULL ? CODE_OK : CODE_NOMEM;
}

void permits_fini(struct permits *permits)
{
    mem_free(permits->slots);
    *permits = (struct permits){0};
}

/* Where `seq` is, or the free slot where it would be. Numbers are dense, so they are their own hash. */
static size_t place_of(const struct permits *permits, uint64_t seq)
{
    size_t at = (size_t)seq & (permits->size - 1);

    while (permits->slots[at].seq != 0 && permits->slots[at].seq != seq)
        at = (at + 1) & (permits->size - 1);
    return at;
}

static enum code grow(struct permits *permits)
{
    struct permits larger = {.size = permits->size * 2, .count = permits->count};

    larger.slots = mem_array(larger.size, sizeof larger.slots[0]);
    if (larger.slots == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < permits->size; i++)
        if (permits->slots[i].seq != 0)
            larger.slots[place_of(&larger, permits->slots[i].seq)] = permits->slots[i];
    mem_free(permits->slots);
    *permits = larger;
    return CODE_OK;
}

enum code permits_add(struct permits *permits, uint64_t seq, struct head *head,
                      const unsigned char salt[ROW_SALT_BYTES])
{
    struct permit *permit;

    if (permits->count >= permits->size / 2) {
        enum code code = grow(permits);

        if (code != CODE_OK)
            return code;
    }
    permit = &permits->slots[place_of(permits, seq)];
    if (permit->seq != 0)
        return CODE_INVALID;
    *permit = (struct permit){.seq = seq, .head = head};
    memcpy(permit->salt, salt, ROW_SALT_BYTES);
    if (head != NULL)
        head->permits++;
    permits->count++;
    return CODE_OK;
}

struct permit *permits_find(const struct permits *permits, uint64_t seq)
{
    struct permit *permit = &permits->slots[place_of(permits, seq)];

    return permit->seq == seq && seq != 0 ? permit : NULL;
}

void permits_remove(struct permits *permits, uint64_t seq)
{
    struct permit *permit = permits_find(permits, seq);
    size_t hole, at, mask = permits->size - 1;

    if (permit == NULL)
        return;
    if (permit->head != NULL)
        permit->head->permits--;
    permits->count--;
    hole = (size_t)(permit - permits->slots);
    /* The permits behind the hole move up, so that no search ends at it too early. */
    for (at = (hole + 1) & mask; permits->slots[at].seq != 0; at = (at + 1) & mask) {
        size_t home = (size_t)permits->slots[at].seq & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            permits->slots[hole] = permits->slots[at];
            hole = at;
        }
    }
    permits->slots[hole].seq = 0;
}

void permits_drop_closed(struct permits *permits)
{
    for (size_t i = 0; i < permits->size;)
        if (permits->slots[i].seq != 0 && permits->slots[i].closing)
            permits_remove(permits, permits->slots[i].seq); /* another permit may have moved here */
        else
            i++;
}
