/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trail_place.h"

#include "args/print.h"
#include "db/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum code trail_place_retired_to(const struct trail *trail, int64_t *last, struct why *why)
{
    enum code code = CODE_OK;

    *last = 0;
    for (size_t i = 0; i < trail->count && code == CODE_OK; i++) {
        struct db_stmt *stmt = NULL;
        struct db *db = NULL;

        code = trail_open(trail->files[i].path, &db, why);
        if (code == CODE_OK)
            code = db_prepare(db, "SELECT json_extract(detail, '$.last') FROM event WHERE kind = 'retired' AND "
                              "json_valid(detail)", &stmt);
        while (db_next(&stmt, &code))
            *last = db_int(stmt, 0) > *last ? db_int(stmt, 0) : *last;
        if (code != CODE_OK && why->text[0] == '\0')
            (void)why_set(why, code, "%s: its events cannot be read: %s", trail->files[i].path, db_error(db));
        db_close(&db);
    }
    return code;
}

/* Whether the beginning up to a row was given away, as the trail says. */
static bool is_retired(const struct trail *trail, int64_t last)
{
    struct why why = {""};
    int64_t retired_to;

    if (trail_place_retired_to(trail, &retired_to, &why) != CODE_OK || retired_to < last)
        return false;
    print_safely(stderr, "callgate: rows 1 to %" PRId64 " were given away, as an event `retired` says\n", last);
    return true;
}

int trail_place_tell_missing(const struct trail *trail, uint64_t from)
{
    int status = STATUS_DONE;

    for (size_t i = 0; i < trail->count; i++) {
        int64_t first, last;

        if (!trail_gap(trail, i, &first, &last) || last < (int64_t)from)
            continue;
        if (i == 0 && is_retired(trail, last))
            continue;
        if (last >= first)
            print_safely(stderr, "callgate: rows %" PRId64 " to %" PRId64 " are in files that are not beside %s; put them "
                         "there, or write --from %" PRId64 " where they were given away on purpose\n", first, last,
                         trail->files[trail->count - 1].path, last + 1);
        else
            print_safely(stderr,
                         "callgate: %s does not go on from the file before it, which is not here as it was; see `callgate "
                         "audit verify --all`\n", trail->files[i].path);
        status = STATUS_NEGATIVE;
    }
    return status;
}

int trail_place_worse(int one, int other)
{
    static const int ranks[] = {[STATUS_DONE] = 0, [STATUS_UNPROVEN] = 1, [STATUS_NEGATIVE] = 2, [STATUS_USAGE] = 3,
                                [STATUS_CANNOT] = 4};

    return ranks[one] >= ranks[other] ? one : other;
}

int trail_place_complain(enum code code, const struct why *why)
{
    if (code == CODE_IO && print_is_unread())
        return STATUS_DONE;
    return why->text[0] != '\0' ? complain(STATUS_CANNOT, "%s", why->text) : complain_code(code);
}
