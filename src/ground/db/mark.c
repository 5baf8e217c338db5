/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether an index holds what its table does, without a search for each row: the hashes of the rows have the same sum in
 * both, and the index is in order, so that each search in it ends where it should. The hash has a key of this process's own, so
 * nobody can have written a file that fits. */
#include "db/db.h"
#include "db/db_priv.h"

#include "base/hash.h"

#include <sqlite3.h>
#include <string.h>

#define ENTRY_BYTES ((size_t)2048) /* of an entry's values with what stands between them; a larger entry has no hash */

/* SQLite zeroes it. */
struct mark {
    uint64_t sum;
    bool is_none;        /* there is no sum: an entry is too large, of a kind that no column has, or out of order */
    size_t len;          /* of the entry before */
    unsigned char entries[2][ENTRY_BYTES];
    unsigned at;         /* which of the two is the entry before */
};

static bool put(unsigned char *entry, size_t *len, const void *bytes, size_t count)
{
    if (count > ENTRY_BYTES - *len)
        return false;
    memcpy(entry + *len, bytes, count);
    *len += count;
    return true;
}

/* A zero is 0, 255 and the end 0, 0, so that bytes compare as the texts do. */
static bool put_bytes(unsigned char *entry, size_t *len, const unsigned char *bytes, size_t count)
{
    const unsigned char *zero;

    while (count > 0 && (zero = memchr(bytes, 0, count)) != NULL) {
        size_t before = (size_t)(zero - bytes);

        if (!put(entry, len, bytes, before) || !put(entry, len, "\0\xff", 2))
            return false;
        bytes += before + 1;
        count -= before + 1;
    }
    return (count == 0 || put(entry, len, bytes, count)) && put(entry, len, "\0\0", 2);
}

/* In the order in which SQLite has kinds: NULL, numbers, texts, blobs. */
static bool put_value(unsigned char *entry, size_t *len, const struct db_value *value)
{
    uint64_t number = (uint64_t)value->number ^ UINT64_C(1) << 63;
    unsigned char bytes[sizeof number];

    switch (value->type) {
    case DB_NULL:
        return put(entry, len, "\1", 1);
    case DB_INT:
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)(number >> (8 * (sizeof bytes - 1 - i)));
        return put(entry, len, "\2", 1) && put(entry, len, bytes, sizeof bytes);
    case DB_TEXT:
    case DB_BLOB:
        return put(entry, len, value->type == DB_TEXT ? "\3" : "\4", 1) &&
               put_bytes(entry, len, (const unsigned char *)value->bytes.at, value->bytes.len);
    case DB_REAL:
        break;
    }
    return false;
}

bool db_mark(const struct db_value *values, size_t count, uint64_t *sum)
{
    unsigned char entry[ENTRY_BYTES];
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        if (!put_value(entry, &len, &values[i]))
            return false;
    *sum += hash_bytes(entry, len);
    return true;
}

static int compare(const unsigned char *one, size_t one_len, const unsigned char *other, size_t other_len)
{
    int order = memcmp(one, other, one_len < other_len ? one_len : other_len);

    return order != 0 ? order : (one_len > other_len) - (one_len < other_len);
}

static void take(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct mark *mark = sqlite3_aggregate_context(context, sizeof *mark);
    unsigned char *entry;
    size_t len = 0;

    if (mark == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    entry = mark->entries[1 - mark->at];
    for (int i = 0; i < count && !mark->is_none; i++) {
        const struct db_value value = db__value_of(values[i]);

        mark->is_none = !put_value(entry, &len, &value);
    }
    if (mark->is_none || compare(mark->entries[mark->at], mark->len, entry, len) >= 0) {
        mark->is_none = true;
        return;
    }
    mark->sum += hash_bytes(entry, len);
    mark->at = 1 - mark->at;
    mark->len = len;
}

static void tell(sqlite3_context *context)
{
    const struct mark *mark = sqlite3_aggregate_context(context, 0);

    if (mark == NULL)
        sqlite3_result_int64(context, 0);
    else if (!mark->is_none)
        sqlite3_result_int64(context, (sqlite3_int64)mark->sum);
}

enum code db_learn_mark(struct db *db)
{
    return db__code_of(sqlite3_create_function_v2(db__handle(db), "mark", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL, take,
                                                  tell, NULL));
}
