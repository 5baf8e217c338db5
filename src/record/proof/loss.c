/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/loss.h"

#include <stdio.h>

enum code losses_read(struct losses *losses, struct db *db)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT seq, json_extract(detail, '$.size'), json_extract(detail, '$.time_us'), "
                                "json_extract(detail, '$.origin') FROM event WHERE kind = 'loss_accepted' AND "
                                "json_valid(detail) ORDER BY seq", &stmt);

    while (db_next(&stmt, &code)) {
        struct loss *loss = &losses->at[losses->count];

        if (losses->count == LOSSES_MAX)
            continue;
        *loss = (struct loss){.seq = db_int(stmt, 0), .size = (uint64_t)db_int(stmt, 1), .time_us = db_int(stmt, 2)};
        (void)snprintf(loss->origin, sizeof loss->origin, "%.*s", SPAN_ARG(db_text(stmt, 3)));
        losses->count++;
    }
    return code;
}

const struct loss *losses_find(const struct losses *losses, const struct note *note)
{
    for (size_t i = 0; i < losses->count; i++) {
        const struct loss *loss = &losses->at[i];

        if (note->size <= loss->size && note->time_us <= loss->time_us && span_is(note->origin, loss->origin))
            return loss;
    }
    return NULL;
}
