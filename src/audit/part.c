/* SPDX-License-Identifier: Apache-2.0 */
/* Why parts: an index on a random key in the commit path costs a factor of three, since each commit then writes one page
 * a row. A part is read back, sorted and appended in slices, about 0.7 microseconds a row, and the tables only grow at
 * their ends, whatever their size. */
#include "audit/part_priv.h"

#include "base/bug.h"

#include <stdlib.h>

#define PART_MEMORY_BYTES ((size_t)64 * 1024 * 1024)

enum lookup_kind { LOOKUP_CORRELATION = 1, LOOKUP_TENANT, LOOKUP_DENIED, LOOKUP_HELD, LOOKUP_PERMITTED };

struct key {
    enum lookup_kind kind;
    int64_t seq;
    struct span value;
};

struct tenant_row {
    struct span tenant;
    int64_t seq;
    unsigned char hash[DIGEST_BYTES];
};

struct part {
    struct arena arena;
    uint64_t number;
    int64_t first_seq, last_seq, first_us, last_us;
    struct key *keys;
    size_t key_count, key_next; /* next: the first that is not written */
    struct tenant_row *heads;
    size_t head_count, head_next;
    struct buf seqs; /* of the entry that is being written */
};

static int by_key(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = (a->kind > b->kind) - (a->kind < b->kind);

    if (order == 0)
        order = span_compare(a->value, b->value);
    return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

static int by_tenant(const void *left, const void *right)
{
    const struct tenant_row *a = left, *b = right;
    int order = span_compare(a->tenant, b->tenant);

    return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

static enum code keep(struct part *part, struct span text, struct span *out)
{
    const char *copy = arena_dup(&part->arena, text.at, text.len);

    *out = span_of(copy, text.len);
    return copy != NULL ? CODE_OK : CODE_NOMEM;
}

static enum code add_key(struct part *part, enum lookup_kind kind, int64_t seq, struct span value)
{
    struct key *key = &part->keys[part->key_count];

    if (value.at == NULL)
        return CODE_OK;
    *key = (struct key){.kind = kind, .seq = seq};
    part->key_count++;
    return keep(part, value, &key->value);
}

static enum lookup_kind kind_of(struct span verdict)
{
    if (span_is(verdict, "permit"))
        return LOOKUP_PERMITTED;
    return span_is(verdict, "hold") ? LOOKUP_HELD : LOOKUP_DENIED;
}

static enum code read_keys(struct part *part, struct db *db)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT seq, correlation, tenant, tool, verdict FROM decision "
                                    "WHERE seq BETWEEN ? AND ? ORDER BY seq", &stmt);

    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, part->first_seq);
    db_bind_int(stmt, 2, part->last_seq);
    while ((code = db_step(stmt)) == CODE_OK) {
        int64_t seq = db_int(stmt, 0);

        code = add_key(part, LOOKUP_CORRELATION, seq, db_text(stmt, 1));
        if (code == CODE_OK)
            code = add_key(part, LOOKUP_TENANT, seq, db_text(stmt, 2));
        if (code == CODE_OK)
            code = add_key(part, kind_of(db_text(stmt, 4)), seq, db_text(stmt, 3));
        if (code != CODE_OK)
            break;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* Every row's time and tenant; `heads` then keeps the last of each tenant. */
static enum code read_rows(struct part *part, struct db *db, int64_t *first, int64_t *rows)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT seq, time_us, tenant, hash FROM decision WHERE seq BETWEEN ?1 AND ?2 UNION ALL "
                                    "SELECT seq, time_us, tenant, hash FROM outcome WHERE seq BETWEEN ?1 AND ?2 UNION ALL "
                                    "SELECT seq, time_us, tenant, hash FROM event WHERE seq BETWEEN ?1 AND ?2", &stmt);

    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, part->first_seq);
    db_bind_int(stmt, 2, part->last_seq);
    for (*rows = 0; (code = db_step(stmt)) == CODE_OK; ++*rows) {
        int64_t seq = db_int(stmt, 0), time_us = db_int(stmt, 1);
        struct span tenant = db_text(stmt, 2), hash = db_blob(stmt, 3);
        struct tenant_row *row = &part->heads[part->head_count];

        *first = *rows == 0 || seq < *first ? seq : *first;
        part->first_us = *rows == 0 || time_us < part->first_us ? time_us : part->first_us;
        part->last_us = *rows == 0 || time_us > part->last_us ? time_us : part->last_us;
        if (tenant.at == NULL || hash.len != DIGEST_BYTES)
            continue;
        part->head_count++;
        row->seq = seq;
        memcpy(row->hash, hash.at, DIGEST_BYTES);
        code = keep(part, tenant, &row->tenant);
        if (code != CODE_OK)
            break;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static void keep_last_heads(struct part *part)
{
    size_t kept = 0;

    qsort(part->heads, part->head_count, sizeof part->heads[0], by_tenant);
    for (size_t i = 0; i < part->head_count; i++)
        if (i + 1 == part->head_count || !span_equals(part->heads[i].tenant, part->heads[i + 1].tenant))
            part->heads[kept++] = part->heads[i];
    part->head_count = kept;
}

static enum code fill(struct part *part, struct db *db)
{
    int64_t rows, first = part->first_seq;
    enum code code;

    part->keys = arena_alloc(&part->arena, 3 * LEDGER_PART_ROWS * sizeof part->keys[0]);
    part->heads = arena_alloc(&part->arena, LEDGER_PART_ROWS * sizeof part->heads[0]);
    if (part->keys == NULL || part->heads == NULL)
        return CODE_NOMEM;
    code = read_keys(part, db);
    if (code == CODE_OK)
        code = read_rows(part, db, &first, &rows);
    if (code != CODE_OK)
        return code;
    if (rows == 0) /* not a finished part */
        return CODE_NOT_FOUND;
    part->first_seq = first;
    qsort(part->keys, part->key_count, sizeof part->keys[0], by_key);
    keep_last_heads(part);
    return CODE_OK;
}

enum code part__build(struct db *db, uint64_t number, struct part **out)
{
    struct part *part = mem_zalloc(sizeof *part);
    enum code code;

    *out = NULL;
    if (part == NULL)
        return CODE_NOMEM;
    arena_init(&part->arena, PART_MEMORY_BYTES);
    buf_init(&part->seqs, SIZE_MAX / 2);
    part->number = number;
    part->last_seq = (int64_t)part__last(number);
    part->first_seq = part->last_seq - LEDGER_PART_ROWS + 1;
    code = fill(part, db);
    if (code != CODE_OK)
        part__free(&part);
    *out = part;
    return code;
}

void part__free(struct part **part)
{
    if (*part == NULL)
        return;
    arena_fini(&(*part)->arena);
    buf_fini(&(*part)->seqs);
    mem_free(*part);
    *part = NULL;
}

uint64_t part__end(const struct part *part)
{
    return (uint64_t)part->last_seq;
}

void part__rewind(struct part *part)
{
    part->key_next = part->head_next = 0;
}

/* Gathers one row of `lookup`, a value and every decision that has it, and moves behind it. */
static enum code next_entry(struct part *part, const struct key **entry)
{
    const struct key *key = &part->keys[part->key_next];
    enum code code = CODE_OK;
    size_t end = part->key_next;

    buf_clear(&part->seqs);
    for (; end < part->key_count && part->keys[end].kind == key->kind &&
           span_equals(part->keys[end].value, key->value) && code == CODE_OK; end++)
        code = buf_addf(&part->seqs, "%c%lld", end == part->key_next ? '[' : ',', (long long)part->keys[end].seq);
    if (code == CODE_OK)
        code = buf_add_byte(&part->seqs, ']');
    part->key_next = end;
    *entry = key;
    return code;
}

static enum code write_key(struct part *part, struct ledger *ledger)
{
    const struct key *key;
    enum code code = next_entry(part, &key);

    if (code != CODE_OK)
        return code;
    db_bind_int(ledger->put_lookup, 1, (int64_t)part->number);
    db_bind_int(ledger->put_lookup, 2, key->kind);
    db_bind_text(ledger->put_lookup, 3, key->value);
    db_bind_text(ledger->put_lookup, 4, buf_peek(&part->seqs));
    return db_run(ledger->put_lookup);
}

static enum code write_head(struct part *part, struct ledger *ledger)
{
    const struct tenant_row *row = &part->heads[part->head_next];
    enum code code;

    db_bind_text(ledger->put_head, 1, row->tenant);
    db_bind_int(ledger->put_head, 2, row->seq);
    db_bind_blob(ledger->put_head, 3, span_of(row->hash, DIGEST_BYTES));
    code = db_run(ledger->put_head);
    if (code == CODE_OK)
        part->head_next++;
    return code;
}

enum code part__write(struct part *part, struct ledger *ledger, int max, bool *done)
{
    const int64_t row[] = {(int64_t)part->number, part->first_seq, part->last_seq, part->first_us, part->last_us};
    enum code code = CODE_OK;

    *done = false;
    for (; max > 0 && part->key_next < part->key_count && code == CODE_OK; max--)
        code = write_key(part, ledger);
    for (; max > 0 && part->head_next < part->head_count && code == CODE_OK; max--)
        code = write_head(part, ledger);
    if (code != CODE_OK || max <= 0)
        return code;
    for (int i = 0; i < 5; i++)
        db_bind_int(ledger->put_part, i + 1, row[i]);
    code = db_run(ledger->put_part);
    *done = code == CODE_OK;
    return code;
}

static bool same_range(const struct part *part, struct db_stmt *row)
{
    return db_int(row, 0) == part->first_seq && db_int(row, 1) == part->last_seq && db_int(row, 2) == part->first_us &&
           db_int(row, 3) == part->last_us;
}

static enum code compare(struct part *part, struct db_stmt *range, struct db_stmt *entries, bool *matches)
{
    const struct key *key;
    enum code code;

    db_bind_int(range, 1, (int64_t)part->number);
    db_bind_int(entries, 1, (int64_t)part->number);
    code = db_step(range);
    *matches = code == CODE_OK && same_range(part, range);
    while (*matches && (code = db_step(entries)) == CODE_OK) {
        if (part->key_next >= part->key_count) {
            *matches = false;
            break;
        }
        code = next_entry(part, &key);
        if (code != CODE_OK)
            return code;
        *matches = db_int(entries, 0) == key->kind && span_equals(db_text(entries, 1), key->value) &&
                   span_equals(db_text(entries, 2), buf_peek(&part->seqs));
    }
    *matches = *matches && part->key_next == part->key_count;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code part__matches(struct db *db, uint64_t number, bool *matches)
{
    struct db_stmt *range = NULL, *entries = NULL;
    struct part *part;
    enum code code = part__build(db, number, &part);

    *matches = false;
    if (code == CODE_NOT_FOUND) /* a part without rows */
        return CODE_OK;
    if (code == CODE_OK)
        code = db_prepare(db, "SELECT first_seq, last_seq, first_us, last_us FROM part WHERE part = ?", &range);
    if (code == CODE_OK)
        code = db_prepare(db, "SELECT kind, value, seqs FROM lookup WHERE part = ? ORDER BY kind, value", &entries);
    if (code == CODE_OK)
        code = compare(part, range, entries, matches);
    db_finalize(&range);
    db_finalize(&entries);
    part__free(&part);
    return code;
}
