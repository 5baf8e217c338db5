/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL, connected as the program needs it: over TLS with the server's whole name proved, by SCRAM bound to that TLS,
 * and by nothing that the environment or a home folder says.
 *
 * Threads: a connection belongs to one thread. The first pg_open takes PG* out of the environment, so call it while no other
 *   thread asks the environment.
 * Owns: the connection; rows belong to their holder and are freed by pg_rows_free.
 * Lifetime: pg_open to pg_close. Rows outlive their connection.
 * Errors: enum code by the server's SQLSTATE. CODE_IO: away, too slow, read-only, shutting down: try again later, on a new
 *   connection where pg_is_lost; CODE_DENIED: the server does not let us in, or do this; CODE_EXISTS: a broken uniqueness;
 *   CODE_BUSY: another transaction is in the way; CODE_LIMIT: its disk or memory is full; CODE_NOT_FOUND: no such table,
 *   function or database; CODE_INVALID: the URL, or a value; CODE_NOMEM. A sentence never holds a password. Nothing waits
 *   longer than pg_place says. */
#ifndef PG_PG_H
#define PG_PG_H

#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pg;
struct pg_rows;

#define PG_WAIT_MS 10000 /* what a statement may take, where a place says nothing else */

/* Where a database is, and as whom.
 * database: a URL: `postgresql://HOST[,HOST...][:PORT]/NAME?sslmode=verify-full&sslrootcert=FILE`. Of several hosts it takes
 *   the first that takes writes. A host that is a folder (`%2Fvar%2Frun%2Fpostgresql`) is a Unix socket of this machine and
 *   needs neither of the two parameters. Other parameters are refused, and a password is, too.
 * folder: what a relative sslrootcert stands in; NULL: the working folder.
 * user: empty: the URL has one. password: empty: none is needed (a Unix socket whose server asks the system). */
struct pg_place {
    const char *database;
    const char *folder;
    struct span user, password;
    int wait_ms; /* 0: PG_WAIT_MS. The server ends a statement after it; who gets no answer for a second more gives up, and the
                  * connection is lost */
    bool is_any; /* also one that takes no writes: a standby, to read from */
};

/* Reads a place's URL without connecting. Returns: CODE_INVALID with the parameter that is wrong. */
enum code pg_check(const struct pg_place *place, struct why *why) MUST_USE;
/* What pg_open needs of the system, for who confines himself: TCP ports (of the folder of a Unix socket none), and a file. */
#define PG_PORTS_MAX 8
struct pg_needs {
    uint16_t ports[PG_PORTS_MAX];
    size_t port_count;
    char root[1024]; /* sslrootcert; "": there is none */
};
enum code pg_needs(const struct pg_place *place, struct pg_needs *needs, struct why *why) MUST_USE;
/* Takes: application: how the server's administrators see us, in ASCII. Blocks up to 5 s a host. */
enum code pg_open(const struct pg_place *place, const char *application, struct pg **out, struct why *why) MUST_USE;
void pg_close(struct pg **pg); /* *pg may be NULL */

bool pg_is_lost(const struct pg *pg);             /* nothing more comes of this connection */
int pg_socket(const struct pg *pg);               /* to wait for a notice; -1: lost */
const char *pg_sqlstate(const struct pg *pg);     /* five characters of what failed last; "" where the server said none */

/* A parameter, `$1` first. Spans are borrowed for the call. */
enum pg_type { PG_NULL = 0, PG_INT, PG_TEXT, PG_BYTES, PG_REAL, PG_OTHER }; /* the last two: of columns alone */
struct pg_value {
    enum pg_type type; /* PG_INT: int8; PG_TEXT: text; PG_BYTES: bytea */
    int64_t number;
    struct span bytes; /* at == NULL: NULL */
};
#define PG_VALUES(...) \
    (const struct pg_value[]){__VA_ARGS__}, sizeof((const struct pg_value[]){__VA_ARGS__}) / sizeof(struct pg_value)

static inline struct pg_value pg_of_int(int64_t number)
{
    return (struct pg_value){.type = PG_INT, .number = number};
}

static inline struct pg_value pg_of_text(struct span text)
{
    return (struct pg_value){.type = PG_TEXT, .bytes = text};
}

static inline struct pg_value pg_of_bytes(struct span bytes)
{
    return (struct pg_value){.type = PG_BYTES, .bytes = bytes};
}

#define PG_VALUES_MAX 64

/* One statement. Takes: sql names what is in no schema of ours in full; `callgate` is searched, pg_temp last. out: NULL: no
 * rows are wanted. Integers, text and bytea are told by the functions below. */
enum code pg_ask(struct pg *pg, const char *sql, const struct pg_value *values, size_t count, struct pg_rows **out,
                 struct why *why) MUST_USE;
/* The first column of its first row; NULL, no row and a failure give 0. */
enum code pg_number(struct pg *pg, const char *sql, const struct pg_value *values, size_t count, int64_t *number,
                    struct why *why) MUST_USE;
/* A text of several statements without parameters and rows, in one transaction. */
enum code pg_run(struct pg *pg, const char *sql, struct why *why) MUST_USE;

/* Rows and columns count from 0. What is not there, because a server that is not believed sent less, is NULL. */
size_t pg_rows_count(const struct pg_rows *rows); /* 0 of NULL */
size_t pg_rows_columns(const struct pg_rows *rows);
const char *pg_rows_name(const struct pg_rows *rows, size_t column);
enum pg_type pg_rows_type(const struct pg_rows *rows, size_t column); /* PG_INT also of smaller integers and of bool */
bool pg_rows_null(const struct pg_rows *rows, size_t row, size_t column);
int64_t pg_rows_int(const struct pg_rows *rows, size_t row, size_t column); /* 0 of NULL, and of what is no integer */
struct span pg_rows_bytes(const struct pg_rows *rows, size_t row, size_t column); /* text or bytea; at == NULL of NULL */
void pg_rows_free(struct pg_rows **rows);

/* BEGIN / COMMIT / ROLLBACK. A commit whose answer did not come sets *unknown: it is neither made nor not made, and who asks
 * again, on another connection, must be able to find out. unknown may be NULL. */
enum code pg_begin(struct pg *pg, struct why *why) MUST_USE;
enum code pg_commit(struct pg *pg, bool *unknown, struct why *why) MUST_USE;
void pg_rollback(struct pg *pg);

/* Rows on their way into a table: `COPY t(a, b) FROM STDIN (FORMAT binary)`. A row's values follow its pg_copy_row, in their
 * order. A failure sticks and is told by pg_copy_end, which ends the COPY in any case. */
enum code pg_copy_begin(struct pg *pg, const char *sql, struct why *why) MUST_USE;
void pg_copy_row(struct pg *pg, size_t columns);
void pg_copy_int(struct pg *pg, int64_t number); /* int8 */
void pg_copy_day(struct pg *pg, int32_t days);   /* date: days since 1970-01-01 */
void pg_copy_text(struct pg *pg, struct span text);   /* at == NULL: NULL */
void pg_copy_bytes(struct pg *pg, struct span bytes); /* likewise */
void pg_copy_null(struct pg *pg);
enum code pg_copy_end(struct pg *pg, uint64_t *rows, struct why *why) MUST_USE; /* rows may be NULL */

/* LISTEN to a channel, whose name is a plain word. Afterwards pg_notified, once pg_socket is readable or at any time, says
 * whether anybody has notified since; it does not wait. */
enum code pg_listen(struct pg *pg, const char *channel, struct why *why) MUST_USE;
enum code pg_notified(struct pg *pg, bool *is_notified, struct why *why) MUST_USE;

/* Writes a text as a SQL literal, in quotes. CODE_INVALID: it holds a NUL; CODE_LIMIT: out is too small. */
enum code pg_quote_text(struct span text, char *out, size_t size) MUST_USE;

/* What the server keeps of a role's password (SCRAM-SHA-256), for CREATE ROLE ... PASSWORD. Takes: size: 256 is enough. */
enum code pg_verifier(struct pg *pg, const char *role, const char *password, char *out, size_t size, struct why *why) MUST_USE;

#endif
