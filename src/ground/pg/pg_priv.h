/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of pg/ share: a connection, what it waits for, and failures as codes.
 *
 * Threads: as pg.h.
 * Owns: as pg.h.
 * Lifetime: as pg.h.
 * Errors: as pg.h. */
#ifndef PG_PG_PRIV_H
#define PG_PG_PRIV_H

#include "base/buf.h"
#include "pg/pg.h"

#include <libpq-fe.h>

#define PG__GRACE_MS 1000 /* how long after the server should have ended a statement we still listen */

struct pg {
    PGconn *conn;
    bool is_lost;
    int wait_ms;
    char state[6];
    struct buf rows; /* of a COPY, that are not on their way yet */
    enum code copy;  /* the first failure of a COPY */
    char server[128]; /* the host and port that it is connected to, for sentences */
};

struct pg_rows {
    PGresult *result;
};

/* open.c: what a URL may say, as libpq's options, ours behind them. */
#define PG__OPTIONS_MAX 40
struct pg__options {
    const char *names[PG__OPTIONS_MAX], *values[PG__OPTIONS_MAX]; /* NULL-terminated */
    size_t count;
    PQconninfoOption *parsed;
    char *user, *password; /* wiped and freed */
    char root[1024];
    char settings[512];
};
enum code pg__options_read(const struct pg_place *place, struct pg__options *options, struct why *why) MUST_USE;
void pg__options_fini(struct pg__options *options);

/* When a wait that begins now ends, on the clock of clock_monotonic_us. */
int64_t pg__until(int wait_ms);
/* Waits until the socket takes or has bytes. CODE_IO: not until then. Takes: conn: its socket may change between two calls. */
enum code pg__wait(PGconn *conn, bool to_write, int64_t until_us) MUST_USE;
/* Sends all that waits to be sent, while it reads what comes meanwhile. */
enum code pg__flush(struct pg *pg, int64_t until_us) MUST_USE;
/* The next result, or NULL where there is none more. */
enum code pg__result(struct pg *pg, int64_t until_us, PGresult **result) MUST_USE;
bool pg__is_copy(const PGresult *result);
/* The connection is of no use any more: `doing` had no answer, or its socket failed. Returns: CODE_IO. */
enum code pg__lose(struct pg *pg, struct why *why, const char *doing);
/* What a result that failed says, as a code and a sentence. */
enum code pg__failed(struct pg *pg, const PGresult *result, struct why *why);
/* The first line of what the library or the server says, without what deceives a terminal. */
void pg__line(const char *text, char *out, size_t size);

#endif
