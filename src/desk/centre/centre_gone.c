/* SPDX-License-Identifier: Apache-2.0 */
#include "centre/centre_gone.h"

#include "base/mem.h"

static enum code add(struct centre_gone *gone, int64_t first, int64_t last)
{
    struct centre_range *more = mem_room(gone->ranges, &gone->room, gone->count + 1, sizeof *more);

    if (more == NULL)
        return CODE_NOMEM;
    gone->ranges = more;
    gone->ranges[gone->count++] = (struct centre_range){first, last};
    return CODE_OK;
}

enum code centre_gone_read(struct centre_gone *gone, struct db *events)
{
    struct db_stmt *stmt;
    int64_t to = 0; /* all rows up to here were given away, sooner or later */
    enum code code = db_prepare(events, "SELECT json_extract(detail, '$.first'), json_extract(detail, '$.last'), "
                                "coalesce(json_extract(detail, '$.shipped'), -1) FROM event WHERE kind = 'retired' AND "
                                "json_valid(detail) ORDER BY seq", &stmt);

    while (db_next(&stmt, &code)) {
        int64_t first = db_int(stmt, 0), last = db_int(stmt, 1), shipped = db_int(stmt, 2);
        int64_t before = first > to ? first - 1 : to; /* the event before it may have gone with its day */

        before = before > shipped ? before : shipped;
        if (before < last)
            code = add(gone, before + 1, last);
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
    for (size_t i = 0; i < gone->count && first <= last; i++)
        if (gone->ranges[i].first <= first && gone->ranges[i].last >= first)
            first = gone->ranges[i].last + 1;
    return first > last;
}
