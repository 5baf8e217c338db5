/* SPDX-License-Identifier: Apache-2.0 */
/* 14.2: changes of a fleet come from a database that is not believed. Any bytes: read or refused. What is read has one text:
 * written again from what was read, it is the same, byte for byte; and putting its rows into a store ends, with a sentence
 * where it fails. */
#include "fleet/change.h"

#include "base/bug.h"
#include "store/store.h"
#include "store/store_fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void put(const struct change *change)
{
    struct why why = {""};
    struct db *db = NULL;
    enum code code;

    if (store_open(":memory:", DB_CREATE, &db, &why) != CODE_OK)
        return;
    BUG_ON(store_begin(db, &why) != CODE_OK);
    code = store_fleet_put(db, change->rows, &why);
    BUG_ON(code != CODE_OK && why.text[0] == '\0');
    db_rollback(db);
    db_close(&db);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_of(bytes, len);
    struct buf canonical, again;
    struct change change;
    struct arena arena;
    struct why why = {""};

    buf_init(&canonical, 1 << 20);
    buf_init(&again, 1 << 20);
    arena_init(&arena, (size_t)64 << 20);
    if (change_read(text, &arena, &canonical, &change, &why) == CODE_OK) {
        BUG_ON(change_write(&change, change.rows->raw, &again, &why) != CODE_OK);
        BUG_ON(!span_equals(buf_peek(&again), text));
        put(&change);
    } else {
        BUG_ON(why.text[0] == '\0');
    }
    arena_fini(&arena);
    buf_fini(&again);
    buf_fini(&canonical);
    return 0;
}
