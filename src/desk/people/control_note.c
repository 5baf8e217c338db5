/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads the trail stands in it. */
#include "people/control.h"
#include "cli/store_words.h"
#include "store/store.h"

#include "json/json.h"
#include "os/clock.h"
#include "unicode/unicode.h"

#include <string.h>

#define READING_BYTES ((size_t)4096)
#define TENANTS_BYTES ((size_t)32768)

/* Its words, but for the id of an agent's session, which the trail has as a digest alone. */
static enum code write_words(int argc, char **argv, struct buf *out)
{
    for (int i = 0; i < argc; i++) {
        const char *shown = i > 0 && strcmp(argv[i - 1], "--session") == 0       ? "(its id)"
                            : strncmp(argv[i], "--session=", 10) == 0 ? "--session=(its id)"
                                                                      : argv[i];

        buf_addf(out, "%s%s", i > 0 ? " " : "", shown);
    }
    return buf_code(out) != CODE_OK ? buf_code(out) : unicode_is_utf8(buf_peek(out)) ? CODE_OK : CODE_INVALID;
}

static enum code write_tenants(const struct control_rights *rights, struct buf *out)
{
    buf_add_byte(out, '[');
    for (size_t i = 0; i < rights->tenant_count; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        (void)json_write_string(out, rights->tenants[i]);
    }
    return buf_add_byte(out, ']');
}

enum code control_note_reading(const char *path, const char *audit, const char *person, const struct control_rights *rights,
                               int argc, char **argv, struct why *why)
{
    struct store_reading reading = {.actor = span_text(person), .asked_us = clock_wall_us()};
    char mark[STORE_MARK_BYTES];
    struct db *store = NULL;
    struct buf words, tenants;
    enum code code;

    buf_init(&words, READING_BYTES);
    buf_init(&tenants, TENANTS_BYTES);
    code = write_words(argc, argv, &words);
    if (code == CODE_OK && rights != NULL)
        code = write_tenants(rights, &tenants);
    if (code != CODE_OK) {
        (void)why_set(why, code, "these words cannot be recorded, as who reads the audit is; say it shorter, and in UTF-8");
    } else {
        reading.command = buf_peek(&words);
        reading.tenants = rights != NULL ? buf_peek(&tenants) : SPAN_NONE;
        code = store_open(path, DB_WRITE, &store, why);
    }
    if (code == CODE_OK)
        code = store_audit_mark(audit, mark, why);
    if (code == CODE_OK)
        code = store_audit_note_reading(store, mark, &reading, why);
    db_close(&store);
    buf_fini(&tenants);
    buf_fini(&words);
    return code;
}
