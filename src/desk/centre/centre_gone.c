/* SPDX-License-Identifier: Apache-2.0 */
#include "centre/centre_gone.h"

#include "base/mem.h"

static enum code add(struct centre_gone *gone, int64_t first, int64_t last, int64_t told)
{
    struct centre_range *more = mem_room(gone->ranges, &gone->room, gone->count + 1, sizeof *more);

    if (more == NULL)
        return CODE_NOMEM;
    gone->ranges = more;
    gone->ranges[gone->count++] = (struct centre_range){first, last, told};
    return CODE_OK;
}

enum code centre_gone_read(struct centre_gone *gone, struct db *events)
{
    struct db_stmt *stmt;
    int64_t to = 0; /* all rows up to here were given away, sooner or later */
    enum code code = db_prepare(events, "SELECT seq, json_extract(detail, '$.last'), json_extract(detail, '$.shipped') "
                                "FROM event WHERE kind = 'retired' AND json_valid(detail) ORDER BY seq", &stmt);

    while (db_next(&stmt, &code)) {
        int64_t last = db_int(stmt, 1), shipped = db_int(stmt, 2); /* 0 where there was no fleet */
        int64_t before = to > shipped ? to : shipped;

        if (before < last)
            code = add(gone, before + 1, last, db_int(stmt, 0));
        to = last > to ? last : to;
    }
    return code;
}

void centre_gone_fini(struct centre_gone *gone)
{
    mem_free(gone->ranges);
    *gone = (struct centre_gone){.count = 0};
}

bool centre_gone_has(const struct centre_gone *gone, int64_t first, int64_t last)
{
    for (size_t i = 0; i < gone->count; i++) {
        const struct centre_range *range = &gone->ranges[i];

        if (range->told <= last || range->first > first || range->last < first)
            continue;
        if (range->last >= last)
            return true;
        first = range->last + 1;
    }
    return false;
}
