/* SPDX-License-Identifier: Apache-2.0 */
/* What a server keeps of a password, made here: the password itself never gets to the server, nor into its log. */
#include "pg/pg_priv.h"

#include <stdio.h>

enum code pg_verifier(struct pg *pg, const char *role, const char *password, char *out, size_t size, struct why *why)
{
    char *made = PQencryptPasswordConn(pg->conn, password, role, "scram-sha-256");
    int written = made != NULL ? snprintf(out, size, "%s", made) : -1;

    PQfreemem(made);
    return written > 0 && (size_t)written < size ? CODE_OK : why_set(why, CODE_NOMEM, "a password could not be made ready");
}
