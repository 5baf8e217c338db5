/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the text: it is read or not, with a reason; what is read has a statement and names; a comment before it changes nothing;
 * and what stands behind it in the same text is read too. */
#include "base/bug.h"
#include "base/buf.h"
#include "texts/sql_read.h"
#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static bool has(const struct sql_reading *reading, const struct sql_name *name)
{
    for (uint32_t i = 0; i < reading->count; i++)
        if (reading->names[i].kind == name->kind && span_equals(reading->names[i].name, name->name) &&
            span_equals(reading->names[i].schema, name->schema))
            return true;
    return false;
}

/* Reads the text between `before` and `after`. */
static enum code read_between(const char *before, struct span text, const char *after, struct arena *arena,
                              struct sql_reading *reading)
{
    struct why why = {""};
    struct buf whole;
    enum code code;

    buf_init(&whole, 2 * SQL_MAX_BYTES);
    buf_add_text(&whole, before);
    buf_add_span(&whole, text);
    buf_add_text(&whole, after);
    BUG_ON(buf_code(&whole) != CODE_OK);
    code = sql_read(buf_peek(&whole), arena, reading, &why);
    BUG_ON(code != CODE_OK && (code != CODE_UNDECIDED || why.text[0] == '\0'));
    buf_fini(&whole);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_of(bytes, len < 4096 ? len : 4096);
    struct sql_reading reading, commented, followed;
    struct arena arena;

    arena_init(&arena, (size_t)8 << 20);
    if (read_between("", text, "", &arena, &reading) == CODE_OK) {
        BUG_ON(reading.count == 0 || reading.names[0].kind != SQL_STATEMENT);
        BUG_ON(read_between("/* a */--\n", text, "", &arena, &commented) != CODE_OK || commented.count != reading.count);
        if (reading.count < 200 && read_between("", text, "\n;delete from zz.zz", &arena, &followed) == CODE_OK) {
            struct sql_name last = {SQL_TABLE, SPAN_LIT("zz"), SPAN_LIT("zz")};

            BUG_ON(!has(&followed, &last) || followed.count < reading.count);
        }
        for (uint32_t i = 0; i < reading.count; i++)
            BUG_ON(reading.names[i].name.len == 0 || !has(&commented, &reading.names[i]));
    }
    arena_fini(&arena);
    return 0;
}
