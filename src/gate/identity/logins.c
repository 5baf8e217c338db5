/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's logins. The file alone is read, and no directory service asked: a confined gate cannot ask one, and a login
 * that it knew before a reload and not behind it would be two principals. */
#include "identity/identity.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/file.h"

#define LOGINS_BYTES ((size_t)16 << 20)

/* Takes one line, NAME:x:UID:... Returns: CODE_INVALID: it names nobody who can be a principal. */
static enum code take_login(struct span line, struct arena *arena, struct identity_login *login)
{
    struct span rest, name = span_cut(line, ':', &rest);
    uint64_t uid;

    (void)span_cut(rest, ':', &rest);
    if (!ascii_is_all(name, "!-~") || name.len == 0 || name.len > IDENTITY_NAME_MAX ||
        num_u64(span_cut(rest, ':', &rest), &uid) != CODE_OK || uid >= UINT32_MAX)
        return CODE_INVALID;
    *login = (struct identity_login){.uid = (uint32_t)uid, .name = arena_dup(arena, name.at, name.len)};
    return login->name != NULL ? CODE_OK : CODE_NOMEM;
}

enum code identity_logins_read(const char *path, struct arena *arena, struct identity_source *source, struct why *why)
{
    struct identity_login *logins = NULL;
    struct span rest;
    struct buf text;
    size_t lines = 1;
    enum code code;

    buf_init(&text, LOGINS_BYTES);
    code = file_read(path, FILE_ANY, LOGINS_BYTES, &text, why);
    rest = code == CODE_OK ? buf_peek(&text) : SPAN_NONE;
    for (size_t i = 0; i < rest.len; i++)
        lines += rest.at[i] == '\n';
    if (code == CODE_OK && (logins = arena_zalloc(arena, lines * sizeof *logins)) == NULL)
        code = CODE_NOMEM;
    source->logins = logins;
    while (rest.len > 0 && code == CODE_OK) {
        struct span line = span_cut(rest, '\n', &rest);

        code = take_login(line, arena, &logins[source->login_count]);
        source->login_count += code == CODE_OK;
        code = code == CODE_INVALID ? CODE_OK : code;
    }
    buf_fini(&text);
    return code;
}
