/* SPDX-License-Identifier: Apache-2.0 */
/* Asks audit.db for calls: rows of the view `call`, by indexed and other filters. Reads only.
 *
 * Threads: one.
 * Owns: nothing; a row's texts live during the callback.
 * Lifetime: one call.
 * Errors: enum code with a sentence; what the callback returns ends the query and is returned. */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "args/command.h"
#include "files/trail.h"
#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>

enum query_order {
    QUERY_NEWEST_FORWARD = 0, /* `limit` takes the newest, told oldest first */
    QUERY_NEWEST_FIRST,
    QUERY_OLDEST_FIRST        /* `limit` takes the oldest */
};

/* Texts with at == NULL and numbers of 0 do not filter. Texts are exact, but a '*' in one stands for any characters. */
struct query {
    struct span tenant, correlation, principal, agent, tool, method, upstream, verdict, reason, rule, outcome, client;
    struct span via;            /* the tool in whose call another stood */
    struct span node;           /* the gate's machine; at a fleet's centre, its name in the fleet */
    const struct option_values *groups, *scopes; /* of who asked, each of them among others; NULL: any */
    struct span answer, answer_rule, detector; /* what was done to the answer, by which rule among others, finding what */
    struct span session;        /* the 32 bytes of the SHA-256 of what the agent sent */
    struct span text;           /* anywhere in the call, the arguments included; ASCII letters match either case */
    int64_t status, policy_version;
    int64_t since_us, until_us; /* UTC; until is exclusive */
    int64_t after_seq;          /* decisions above this number */
    int64_t before_seq;         /* and below this one */
    uint64_t limit;             /* so many; 0: all */
    enum query_order order;
    void (*looked)(void *context, int64_t at); /* now and then: rows from this one on were looked through; NULL: nobody asks */
    void *context;
};

struct query_value {
    struct span text;  /* as text; at == NULL: NULL */
    bool is_number;
};

struct query_row {
    int count;
    const char *const *names; /* columns of the view `call` */
    const struct query_value *values;
};

typedef enum code (*query_row_fn)(void *context, const struct query_row *row);

/* Takes: *more, set where `limit` left rows out. */
enum code audit_query(const struct trail *trail, const struct query *query, query_row_fn row, void *context, bool *more,
                      struct why *why) MUST_USE;

/* Appends what is asked of each file as one statement, with its values, for sqlite3 over a database with the view `call`. */
enum code audit_query_sql(const struct query *query, struct buf *out) MUST_USE;

/* From now on, whatever is asked in this process is asked of these tenants' rows alone; an event or a refusal that is no
 * tenant's is not among them. Takes: tenants: at most AUDIT_TENANTS_MAX, which live as long as the process. */
#define AUDIT_TENANTS_MAX 64
void audit_restrict(const struct span *tenants, size_t count);
bool audit_is_restricted(void);
bool audit_may_see(struct span tenant);

/* The names of the view's columns, ended by NULL. */
const char *const *audit_columns(void);

/* The value of a column; at == NULL where it is NULL or there is no such column. */
struct span query_value(const struct query_row *row, const char *name);

#endif
