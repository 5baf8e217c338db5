/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/insert.h"

#include "base/mem.h"

#define KEPT_BYTES 120 /* of a text or blob; a longer one is bound where it lies, and bound again for each row */

/* What a parameter holds. Zero: NULL, as a new statement has it. */
struct kept {
    enum row_kind kind; /* ROW_FOREIGN: it is not known */
    uint32_t len;
    union {
        int64_t number;
        char bytes[KEPT_BYTES]; /* the parameter points here: where only the bytes change and not their number, nothing is
                                 * bound */
    } as;
};

struct insert {
    struct db_stmt *stmt;
    const struct row_shape *shape;
    struct kept kept[ROW_COLUMNS_MAX + 1 + ROW_OUTSIDE_MAX];
};

enum code insert_new(struct db *db, enum row_table table, struct insert **out)
{
    struct insert *insert = mem_zalloc(sizeof *insert);
    enum code code;

    *out = NULL;
    if (insert == NULL)
        return CODE_NOMEM;
    insert->shape = row_shape(table);
    code = row_prepare_insert(db, table, &insert->stmt);
    if (code != CODE_OK)
        mem_free(insert);
    else
        *out = insert;
    return code;
}

void insert_free(struct insert **insert)
{
    if (*insert == NULL)
        return;
    db_finalize(&(*insert)->stmt);
    mem_free(*insert);
    *insert = NULL;
}

/* Copies the value. Returns: false: it has to be bound. */
static bool keep(struct kept *kept, const struct row_value *value)
{
    bool same = kept->kind == value->kind;

    kept->kind = value->kind;
    switch (value->kind) {
    case ROW_NULL:
        return same;
    case ROW_INT:
        same = same && kept->as.number == value->number;
        kept->as.number = value->number;
        return same;
    case ROW_TEXT:
    case ROW_BLOB:
        if (value->bytes.len > KEPT_BYTES) {
            kept->kind = ROW_FOREIGN;
            return false;
        }
        same = same && kept->len == value->bytes.len;
        kept->len = (uint32_t)value->bytes.len;
        if (kept->len > 0)
            memcpy(kept->as.bytes, value->bytes.at, kept->len);
        return same;
    case ROW_FOREIGN:
        break;
    }
    return false;
}

static inline void bind(struct insert *insert, int at, const struct row_value *value)
{
    struct kept *kept = &insert->kept[at];

    if (keep(kept, value))
        return;
    if (kept->kind == ROW_TEXT || kept->kind == ROW_BLOB)
        row_bind(insert->stmt, at + 1, &(struct row_value){.kind = kept->kind, .bytes = span_of(kept->as.bytes, kept->len)});
    else
        row_bind(insert->stmt, at + 1, value);
}

enum code insert_row(struct insert *insert, const struct row_value *values, const unsigned char hash[DIGEST_BYTES],
                     const struct row_value *outside)
{
    const struct row_shape *shape = insert->shape;
    struct row_value hashed = row_blob(hash, DIGEST_BYTES);
    enum code code;

    for (int i = 0; i < shape->count; i++)
        bind(insert, i, &values[i]);
    bind(insert, shape->count, &hashed);
    for (int i = 0; i < shape->outside; i++)
        bind(insert, shape->count + 1 + i, &outside[i]);
    code = db_insert_again(insert->stmt);
    if (code != CODE_OK) { /* perhaps a parameter could not be bound */
        db_reset(insert->stmt);
        memset(insert->kept, 0, sizeof insert->kept);
    }
    return code;
}
