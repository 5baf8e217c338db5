/* SPDX-License-Identifier: Apache-2.0 */
/* A real PostgreSQL for a unit test, which tests/integration/lib/fleet.py starts and which is told what to do over a pipe.
 *
 * Threads: the test's.
 * Owns: the server and its folder.
 * Lifetime: pg_server_start to pg_server_finish, which cmocka takes as a group's set-up and end.
 * Errors: the test fails. */
#ifndef FAKES_PG_SERVER_H
#define FAKES_PG_SERVER_H

#include "pg/pg.h"

#include <stdio.h>
#include <sys/types.h>

/* url: as fleet: has it; local: the superuser's, over the Unix socket; root: the authority's certificate. There is a database
 * `callgate` with a role `tester` (`secret words`), which may all. */
struct pg_server {
    pid_t pid;
    FILE *to, *from;
    char folder[64], url[512], local[512], root[256], port[16];
};
extern struct pg_server pg_server;

/* False: there is none here, which it says; the tests are skipped then. */
bool pg_server_is_there(void);
int pg_server_start(void **state);
int pg_server_finish(void **state);
void pg_server_tell(const char *word); /* kill, start, pause, resume */

struct pg *pg_server_open(struct pg_place place);
void pg_server_ask(struct pg *pg, const char *sql);
int64_t pg_server_number(struct pg *pg, const char *sql);

#endif
