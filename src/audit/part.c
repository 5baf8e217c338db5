/* SPDX-License-Identifier: Apache-2.0 */
/* Why parts: an index on a random key in the commit path costs a factor of three, since each commit then writes one page
 * a row. A part is sorted and appended in slices, and the tables only grow at their ends, whatever their size. */
#include "audit/part_priv.h"

#include "base/bug.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>

#define PART_MEMORY_BYTES ((size_t)64 * 1024 * 1024)

enum lookup_kind { LOOKUP_CORRELATION = 1, LOOKUP_TENANT, LOOKUP_DENIED, LOOKUP_HELD, LOOKUP_PERMITTED,
                   LOOKUP_KINDS, LOOKUP_GROUP = PART_GROUP_KIND };

struct key {
    uint64_t order; /* of kind and value: what a comparison mostly ends with */
    enum lookup_kind kind;
    int64_t seq;
    struct span value;
};

struct part {
    struct arena arena;
    uint64_t number;
    int64_t first_seq, last_seq, first_us, last_us;
    uint64_t rows;
    struct key *keys;
    size_t key_count, key_next; /* next: the first that is not written */
    struct span last[LOOKUP_KINDS]; /* the texts that were kept last: tenants and tools repeat themselves */
    struct heads heads;     /* the last row of each tenant in it */
    struct head *head;      /* of the last row */
    struct head **head_list;
    size_t head_next;
    uint32_t *prints;       /* of a group's correlations, sorted, each once */
    size_t print_count, print_next;
    struct buf seqs; /* of the entries that are being written */
};

/* A row of `lookup`. */
struct entry {
    enum lookup_kind kind;
    struct span value;
    size_t seqs_at, seqs_len; /* in the part's buffer */
    char bucket[NUM_TEXT_BYTES];
};

/* The kind, then the value's first seven bytes. */
static uint64_t order_of(enum lookup_kind kind, struct span value)
{
    uint64_t order = (uint64_t)kind << 56;

    for (size_t i = 0; i < 7 && i < value.len; i++)
        order |= (uint64_t)(unsigned char)value.at[i] << (48 - 8 * i);
    return order;
}

static int by_key(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = (a->order > b->order) - (a->order < b->order);

    if (order == 0)
        order = span_compare(a->value, b->value);
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
    struct span *last = &part->last[kind];
    enum code code = CODE_OK;

    if (value.at == NULL)
        return CODE_OK;
    if (last->at == NULL || !span_equals(*last, value))
        code = keep(part, value, last);
    if (code != CODE_OK)
        return code;
    *key = (struct key){.order = order_of(kind, value), .kind = kind, .seq = seq, .value = *last};
    part->key_count++;
    return CODE_OK;
}

static enum lookup_kind kind_of(struct span verdict)
{
    if (span_is(verdict, "permit"))
        return LOOKUP_PERMITTED;
    return span_is(verdict, "hold") ? LOOKUP_HELD : LOOKUP_DENIED;
}

static enum code add_keys(struct part *part, const struct part_row *row)
{
    enum code code = add_key(part, LOOKUP_TENANT, row->seq, row->tenant);

    if (code == CODE_OK)
        code = add_key(part, LOOKUP_CORRELATION, row->seq, row->correlation);
    return code == CODE_OK ? add_key(part, kind_of(row->verdict), row->seq, row->tool) : code;
}

static enum code add_head(struct part *part, const struct part_row *row)
{
    enum code code = CODE_OK;

    if (part->head == NULL || !span_equals(span_of(part->head->tenant, part->head->len), row->tenant))
        code = heads__find(&part->heads, row->tenant, &part->head);
    if (code != CODE_OK || (uint64_t)row->seq < part->head->seq)
        return code;
    part->head->seq = (uint64_t)row->seq;
    memcpy(part->head->hash, row->hash.at, DIGEST_BYTES);
    return CODE_OK;
}

enum code part__add(struct part *part, const struct part_row *row)
{
    bool first = part->rows++ == 0;
    enum code code = CODE_OK;

    part->first_seq = first || row->seq < part->first_seq ? row->seq : part->first_seq;
    part->first_us = first || row->time_us < part->first_us ? row->time_us : part->first_us;
    part->last_us = first || row->time_us > part->last_us ? row->time_us : part->last_us;
    if (row->tenant.at != NULL && row->hash.len == DIGEST_BYTES)
        code = add_head(part, row);
    return code == CODE_OK && row->is_decision ? add_keys(part, row) : code;
}

static enum code read_table(struct part *part, struct db *db, enum row_table table)
{
    const char *more = table == ROW_DECISION ? ", correlation, tool, verdict" : "";
    struct db_stmt *stmt;
    char sql[160];
    enum code code;

    (void)snprintf(sql, sizeof sql, "SELECT seq, time_us, tenant, hash%s FROM %s WHERE seq BETWEEN ? AND ? ORDER BY seq", more,
                   row__shape(table)->name);
    code = db_prepare(db, sql, &stmt);
    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, part->last_seq - LEDGER_PART_ROWS + 1);
    db_bind_int(stmt, 2, part->last_seq);
    while ((code = db_step(stmt)) == CODE_OK) {
        struct part_row row = {.seq = db_int(stmt, 0), .time_us = db_int(stmt, 1), .tenant = db_text(stmt, 2),
                               .hash = db_blob(stmt, 3), .is_decision = table == ROW_DECISION};

        if (row.is_decision) {
            row.correlation = db_text(stmt, 4);
            row.tool = db_text(stmt, 5);
            row.verdict = db_text(stmt, 6);
        }
        code = part__add(part, &row);
        if (code != CODE_OK)
            break;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code list_heads(struct part *part)
{
    part->head_list = arena_alloc(&part->arena, (part->heads.count + 1) * sizeof part->head_list[0]);
    if (part->head_list == NULL)
        return CODE_NOMEM;
    heads__list(&part->heads, part->head_list);
    return CODE_OK;
}

/* ---- groups ---- */

/* As CAST(... AS INTEGER): what a text begins with. */
static int64_t number_of(struct span text)
{
    int64_t number = 0;
    size_t at = 0;

    while (at < text.len && text.at[at] == ' ')
        at++;
    if (at < text.len && (text.at[at] == '-' || text.at[at] == '+'))
        at++;
    for (; at < text.len && text.at[at] >= '0' && text.at[at] <= '9'; at++)
        number = number * 10 + (text.at[at] - '0');
    return number;
}

/* As the view lookup_print has it, so that what is written by one is found by the other. */
uint32_t part__print(struct span correlation)
{
    static const int64_t last[] = {1540483477, 668265263, 374761393}, number = 1220703125;
    static const int64_t spread[8] = {461845907, 2135587861, 1812433253, 2048144789,
                                      1013904223, 1274126177, 1103515245, 1566083941};
    size_t len = correlation.len > 0 ? strnlen(correlation.at, correlation.len) : 0; /* SQL's texts end there */
    int64_t sum;

    for (size_t i = 0; i < len; i++)
        if (correlation.at[i] < ' ' || correlation.at[i] > '~')
            return 0;
    if (len == 0)
        return 0;
    sum = number_of(span_part(span_of(correlation.at, len), len < 7 ? 0 : len - 7, 7)) * number;
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
        sum += correlation.at[i < len ? len - 1 - i : 0] * last[i];
    for (size_t i = 0; i < 8; i++)
        sum += correlation.at[len * i / 8] * spread[i];
    return (uint32_t)(sum % (PART_BUCKETS * PART_BUCKET_PRINTS));
}

static enum code add_part_before(struct db_stmt *stmt, struct buf *prints, uint64_t number)
{
    enum code code;

    db_bind_int(stmt, 1, (int64_t)number);
    while ((code = db_step(stmt)) == CODE_OK) {
        uint32_t print = part__print(db_text(stmt, 0));

        code = buf_add(prints, &print, sizeof print);
        if (code != CODE_OK)
            break;
    }
    db_reset(stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* Where one of them is not there yet, no group is better than half of one. */
static enum code has_parts_before(struct part *part, struct db *db, bool *has)
{
    char sql[160];
    int64_t missing = 0;
    enum code code;

    /* a file that continues another may begin within the group */
    (void)snprintf(sql, sizeof sql, "SELECT %lld - max(%lld, min(part)) - sum(part BETWEEN %lld AND %lld) FROM part",
                   (long long)part->number, (long long)part->number - PART_GROUP_PARTS + 1,
                   (long long)part->number - PART_GROUP_PARTS + 1, (long long)part->number - 1);
    code = db_number(db, sql, &missing);
    *has = code == CODE_OK && missing == 0;
    return code;
}

static enum code gather_prints(struct part *part, struct db *db, struct buf *prints)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT value FROM lookup WHERE part = ? AND kind = 1", &stmt);

    for (uint64_t i = PART_GROUP_PARTS - 1; code == CODE_OK && i > 0; i--)
        code = add_part_before(stmt, prints, part->number - i);
    db_finalize(&stmt);
    for (size_t i = 0; i < part->key_count && code == CODE_OK; i++)
        if (part->keys[i].kind == LOOKUP_CORRELATION) {
            uint32_t print = part__print(part->keys[i].value);

            code = buf_add(prints, &print, sizeof print);
        }
    return code;
}

static int by_print(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static void sort_prints(struct part *part, const struct buf *prints)
{
    size_t count = buf_len(prints) / sizeof part->prints[0];

    if (count == 0)
        return;
    memcpy(part->prints, buf_peek(prints).at, count * sizeof part->prints[0]);
    qsort(part->prints, count, sizeof part->prints[0], by_print);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || part->prints[i] != part->prints[i - 1])
            part->prints[part->print_count++] = part->prints[i];
}

static enum code join_group(struct part *part, struct db *db)
{
    struct buf prints;
    bool has;
    enum code code = has_parts_before(part, db, &has);

    if (code != CODE_OK || !has)
        return code;
    buf_init(&prints, PART_MEMORY_BYTES);
    code = gather_prints(part, db, &prints);
    if (code == CODE_OK)
        part->prints = arena_alloc(&part->arena, buf_len(&prints) + sizeof part->prints[0]);
    if (code == CODE_OK && part->prints == NULL)
        code = CODE_NOMEM;
    if (code == CODE_OK)
        sort_prints(part, &prints);
    buf_fini(&prints);
    return code;
}

enum code part__finish(struct part *part, struct db *db, bool group)
{
    enum code code = list_heads(part);

    if (code != CODE_OK)
        return code;
    qsort(part->keys, part->key_count, sizeof part->keys[0], by_key);
    return group && part__ends_group(part->number) ? join_group(part, db) : CODE_OK;
}

enum code part__new(uint64_t number, struct part **out)
{
    struct part *part = mem_zalloc(sizeof *part);
    enum code code;

    *out = part;
    if (part == NULL)
        return CODE_NOMEM;
    arena_init(&part->arena, PART_MEMORY_BYTES);
    buf_init(&part->seqs, SIZE_MAX / 2);
    part->number = number;
    part->last_seq = (int64_t)part__last(number);
    code = heads__init(&part->heads);
    part->keys = arena_alloc(&part->arena, 3 * LEDGER_PART_ROWS * sizeof part->keys[0]);
    if (code == CODE_OK && part->keys != NULL)
        return CODE_OK;
    part__free(out);
    return CODE_NOMEM;
}

enum code part__build(struct db *db, uint64_t number, bool group, struct part **out)
{
    enum code code = part__new(number, out);

    for (int table = ROW_DECISION; table < ROW_TABLES && code == CODE_OK; table++)
        code = read_table(*out, db, (enum row_table)table);
    if (code == CODE_OK && (*out)->rows == 0) /* not a finished part */
        code = CODE_NOT_FOUND;
    if (code == CODE_OK)
        code = part__finish(*out, db, group);
    if (code != CODE_OK)
        part__free(out);
    return code;
}

void part__free(struct part **part)
{
    if (*part == NULL)
        return;
    heads__fini(&(*part)->heads);
    arena_fini(&(*part)->arena);
    buf_fini(&(*part)->seqs);
    mem_free(*part);
    *part = NULL;
}

uint64_t part__number(const struct part *part)
{
    return part->number;
}

uint64_t part__end(const struct part *part)
{
    return (uint64_t)part->last_seq;
}

void part__rewind(struct part *part)
{
    part->key_next = part->head_next = part->print_next = 0;
}

static enum code add_seq(struct buf *seqs, char before, uint64_t seq)
{
    char number[NUM_TEXT_BYTES];
    enum code code = buf_add_byte(seqs, before);

    return code == CODE_OK ? buf_add(seqs, number, num_text(seq, number)) : code;
}

/* A value and every decision that has it. */
static enum code next_key(struct part *part, struct entry *entry)
{
    const struct key *key = &part->keys[part->key_next];
    enum code code = CODE_OK;
    size_t end = part->key_next;

    for (; end < part->key_count && part->keys[end].kind == key->kind &&
           span_equals(part->keys[end].value, key->value) && code == CODE_OK; end++)
        code = add_seq(&part->seqs, end == part->key_next ? '[' : ',', (uint64_t)part->keys[end].seq);
    if (code == CODE_OK)
        code = buf_add_byte(&part->seqs, ']');
    part->key_next = end;
    entry->kind = key->kind;
    entry->value = key->value;
    return code;
}

/* A bucket and what else is left of the correlations in it. */
static enum code next_bucket(struct part *part, struct entry *entry)
{
    uint32_t bucket = part->prints[part->print_next] / PART_BUCKET_PRINTS;
    enum code code = CODE_OK;

    for (; part->print_next < part->print_count && part->prints[part->print_next] / PART_BUCKET_PRINTS == bucket &&
           code == CODE_OK; part->print_next++)
        code = add_seq(&part->seqs, ',', PART_PRINT_FIRST + part->prints[part->print_next] % PART_BUCKET_PRINTS);
    entry->kind = LOOKUP_GROUP;
    entry->value = span_of(entry->bucket, num_text(PART_BUCKET_FIRST + bucket, entry->bucket));
    return code;
}

static bool has_entry(const struct part *part)
{
    return part->key_next < part->key_count || part->print_next < part->print_count;
}

/* Gathers one row of `lookup`, in their order, and moves behind it. */
static enum code next_entry(struct part *part, struct entry *entry)
{
    enum code code;

    entry->seqs_at = buf_len(&part->seqs);
    code = part->key_next < part->key_count ? next_key(part, entry) : next_bucket(part, entry);
    entry->seqs_len = buf_len(&part->seqs) - entry->seqs_at;
    return code;
}

static struct span seqs_of(struct part *part, const struct entry *entry)
{
    return span_part(buf_peek(&part->seqs), entry->seqs_at, entry->seqs_len);
}

enum code part__prepare(struct db *db, int entries, struct db_stmt **stmt)
{
    struct buf sql;
    enum code code;

    *stmt = NULL;
    buf_init(&sql, 1024);
    code = buf_add_text(&sql, "INSERT INTO lookup VALUES (?1, ?2, ?3, ?4)");
    for (int i = 1; i < entries && code == CODE_OK; i++)
        code = buf_addf(&sql, ", (?1, ?%d, ?%d, ?%d)", 3 * i + 2, 3 * i + 3, 3 * i + 4);
    if (code == CODE_OK)
        code = buf_add_byte(&sql, '\0');
    if (code == CODE_OK)
        code = db_prepare(db, buf_peek(&sql).at, stmt);
    buf_fini(&sql);
    return code;
}

static enum code put_entries(struct part *part, struct db_stmt *stmt, const struct entry *entries, int count)
{
    db_bind_int(stmt, 1, (int64_t)part->number);
    for (int i = 0; i < count; i++) {
        db_bind_int(stmt, 3 * i + 2, entries[i].kind);
        db_bind_text(stmt, 3 * i + 3, entries[i].value);
        db_bind_text(stmt, 3 * i + 4, seqs_of(part, &entries[i]));
    }
    return db_run(stmt);
}

/* As many as one statement takes, or fewer, one by one. */
static enum code write_entries(struct part *part, struct ledger *ledger, int *max)
{
    struct entry entries[PART_TOGETHER];
    enum code code = CODE_OK;
    int count = 0;

    buf_clear(&part->seqs);
    for (; count < PART_TOGETHER && count < *max && has_entry(part) && code == CODE_OK; count++)
        code = next_entry(part, &entries[count]);
    *max -= count;
    if (code == CODE_OK && count == PART_TOGETHER)
        return put_entries(part, ledger->put_lookups, entries, count);
    for (int i = 0; i < count && code == CODE_OK; i++)
        code = put_entries(part, ledger->put_lookup, &entries[i], 1);
    return code;
}

static enum code write_head(struct part *part, struct ledger *ledger)
{
    const struct head *head = part->head_list[part->head_next];
    enum code code;

    db_bind_text(ledger->put_head, 1, span_of(head->tenant, head->len));
    db_bind_int(ledger->put_head, 2, (int64_t)head->seq);
    db_bind_blob(ledger->put_head, 3, span_of(head->hash, DIGEST_BYTES));
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
    while (max > 0 && has_entry(part) && code == CODE_OK)
        code = write_entries(part, ledger, &max);
    for (; max > 0 && part->head_next < part->heads.count && code == CODE_OK; max--)
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
    struct entry entry;
    enum code code;

    db_bind_int(range, 1, (int64_t)part->number);
    db_bind_int(entries, 1, (int64_t)part->number);
    code = db_step(range);
    *matches = code == CODE_OK && same_range(part, range);
    while (*matches && (code = db_step(entries)) == CODE_OK) {
        if (!has_entry(part)) {
            *matches = false;
            break;
        }
        buf_clear(&part->seqs);
        code = next_entry(part, &entry);
        if (code != CODE_OK)
            return code;
        *matches = db_int(entries, 0) == entry.kind && span_equals(db_text(entries, 1), entry.value) &&
                   span_equals(db_text(entries, 2), seqs_of(part, &entry));
    }
    *matches = *matches && !has_entry(part);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* Earlier versions wrote none, which costs time and loses nothing. */
static enum code has_group(struct db *db, uint64_t number, bool *has)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT 1 FROM lookup WHERE part = ? AND kind = 7 LIMIT 1", &stmt);

    *has = false;
    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, (int64_t)number);
    code = db_step(stmt);
    *has = code == CODE_OK;
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code part__matches(struct db *db, uint64_t number, bool *matches)
{
    struct db_stmt *range = NULL, *entries = NULL;
    struct part *part = NULL;
    bool group;
    enum code code = has_group(db, number, &group);

    if (code == CODE_OK)
        code = part__build(db, number, group, &part);
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
