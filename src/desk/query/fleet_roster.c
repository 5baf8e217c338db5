/* SPDX-License-Identifier: Apache-2.0 */
#include "query/fleet_roster.h"

#define AT_ONCE 8

/* CODE_EXISTS: none of these is good, and there may be more below. */
static enum code look_below(struct pg *pg, int64_t *below, const unsigned char *root, const char *fleet, struct roster **out,
                            struct why *refused, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, "SELECT number, text, signature FROM callgate.roster WHERE number < $1 AND octet_length(text) "
                            "<= $2 ORDER BY number DESC LIMIT $3",
                            PG_VALUES(pg_of_int(*below), pg_of_int(ROSTER_TEXT_BYTES), pg_of_int(AT_ONCE)), &rows, why);

    for (size_t i = 0; code == CODE_OK && i < pg_rows_count(rows) && *out == NULL; i++) {
        struct why fault = {""};

        *below = pg_rows_int(rows, i, 0);
        code = roster_read(pg_rows_bytes(rows, i, 1), pg_rows_bytes(rows, i, 2), root, fleet, out, &fault);
        if (code == CODE_NOMEM)
            *why = fault;
        else if (code != CODE_OK)
            *refused = fault;
        code = code == CODE_NOMEM ? code : CODE_OK;
    }
    if (code == CODE_OK && *out == NULL)
        code = pg_rows_count(rows) == AT_ONCE ? CODE_EXISTS : CODE_NOT_FOUND;
    pg_rows_free(&rows);
    return code;
}

enum code fleet_roster_newest(struct pg *pg, const unsigned char root[SIGN_PUBLIC_BYTES], const char *fleet,
                              struct roster **out, struct why *refused, struct why *why)
{
    int64_t below = INT64_MAX;
    enum code code = CODE_EXISTS;

    *out = NULL;
    refused->text[0] = '\0';
    while (code == CODE_EXISTS)
        code = look_below(pg, &below, root, fleet, out, refused, why);
    if (code == CODE_NOT_FOUND)
        return why_set(why, code, refused->text[0] != '\0' ? "%s" : "%sthe centre has no roster, so that nobody can say who "
                       "signs", refused->text);
    return code;
}
