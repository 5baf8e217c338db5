/* SPDX-License-Identifier: Apache-2.0 */
/* How a struct query becomes SQL: over one file, where SQLite finds the rows by its indices in a sealed file, and by looking
 * through one that is written; or over a fleet's centre, where PostgreSQL does.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code. */
#ifndef QUERY_QUERY_PRIV_H
#define QUERY_QUERY_PRIV_H

#include "base/buf.h"
#include "crypto/digest.h"
#include "db/db.h"
#include "query/query.h"

#define QUERY_PARAMETERS_MAX (40 + AUDIT_TENANTS_MAX + 2 * OPTION_VALUES_MAX)

/* A statement's text and what is bound to it, in order. */
struct query_sql {
    struct buf text;
    struct db_value parameter[QUERY_PARAMETERS_MAX];
    size_t count;
    struct buf quoted; /* --text as JSON writes it */
    char session[2 * DIGEST_BYTES];
    bool is_of_centre; /* PostgreSQL's, not SQLite's */
};

/* Where what came of a call stands. */
enum query_of {
    QUERY_OF_FILE = 0, /* in `outcome AS o` */
    QUERY_OF_FILES,    /* or in `later AS k`, where what files behind this one have of a call is; see reader_later */
    QUERY_OF_CENTRE    /* PostgreSQL is asked, and all of a call stands in `call AS d` */
};

/* What a statement gives. */
struct query_shape {
    const char *head;  /* what follows SELECT, to the first condition of WHERE: of `decision AS d`, or what stands for it */
    const char *order; /* NULL: none */
    int64_t after_seq; /* ?1 in the head, or $1, where it has one */
    struct span node;  /* and $2 */
    int64_t upto;      /* and $3 */
    const char *tenant; /* its column; NULL: d.tenant */
    const char *session; /* at the centre, as hexadecimal; NULL: d.session */
    enum query_of of;
};

/* Writes the statement and what is bound to it. `sql` is the caller's to end (query__fini), whatever is returned; its text ends
 * with a NUL. Returns: as query__select. */
enum code query__write(const struct query *query, const struct query_shape *shape, struct query_sql *sql) MUST_USE;
/* A statement that is ready to be stepped. `sql` must live as long as it (query__fini), whatever is returned.
 * Returns: CODE_OK; CODE_LIMIT where the filters' texts are too long; CODE_NOMEM. */
enum code query__select(struct db *db, const struct query *query, const struct query_shape *shape, struct query_sql *sql,
                        struct db_stmt **stmt) MUST_USE;
void query__fini(struct query_sql *sql);

/* Whether a filter asks for what an outcome says. */
bool query__asks_outcome(const struct query *query);
/* The head of a statement for the numbers of decisions. */
const char *query__head(const struct query *query, bool has_later);

/* Decisions, with their outcomes where a filter or a column asks for these. */
#define QUERY_DECISIONS " FROM decision AS d"
#define QUERY_OUTCOMES QUERY_DECISIONS " LEFT JOIN outcome AS o ON o.decision = d.seq"
#define QUERY_OUTCOMES_LATER QUERY_OUTCOMES " LEFT JOIN temp.later AS k ON k.decision = d.seq"

/* What was appended, in the order in which the view `call` and an export have it. */
#define QUERY_LATER_OF_DECISION(X) \
    X(groups) X(scopes) X(issuer) X(token_key) X(claims) X(claims_bytes) X(plan) X(plan_step) X(definition) \
    X(api_key) X(agent) X(agent_from) X(actors) X(client_says) X(via) X(agent_rule)
#define QUERY_LATER_OF_OUTCOME(X) \
    X(answer_rule) X(answer_effect) X(answer_found) X(answer_rules) X(answer_undecided) X(server_withheld)
#define QUERY_NAME(name) #name,
#define QUERY_NEXT(name) ", " #name
#define QUERY_NEXT_D(name) ", d." #name
#define QUERY_NEXT_O(name) ", o." #name

/* A column of the outcome, wherever it stands. */
#define QUERY_OUTCOME(of, column) \
    ((of) == QUERY_OF_CENTRE ? "d." column : (of) == QUERY_OF_FILES ? "coalesce(o." column ", k." column ")" : "o." column)

#define QUERY_CALL "SELECT * FROM call WHERE seq = ?"

/* What audit_restrict was told; NULL: nothing. */
const struct span *query__tenants(size_t *count);

/* Hands out a row, unless it is another tenant's than are asked for. Takes: overlay: NULL, or a row whose columns take the
 * place of those with the same names. */
enum code query__give(struct db_stmt *stmt, struct db_stmt *overlay, query_row_fn row, void *context) MUST_USE;

#endif
