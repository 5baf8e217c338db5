/* SPDX-License-Identifier: Apache-2.0 */
/* The tables by which rows are found, on all cores: each part by itself against its rows, and the index of outcomes. */
#include "audit/verify_priv.h"

#include "audit/part_priv.h"
#include "os/thread.h"

#include <stdatomic.h>
#include <stdio.h>

#define THREADS_MAX 16

struct finding {
    const char *path;
    uint64_t *parts;
    size_t count;
    bool *differs;            /* of each part */
    atomic_size_t next;       /* 0: the index; 1: the first part ... */
    _Atomic(enum code) code;  /* the first failure */
    enum code index_code;
    char index_text[200];     /* what is wrong with the index; empty: nothing */
};

/* The index by which the view `call` finds a permit's outcome. */
static enum code check_index(struct finding *finding, struct db *db)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "PRAGMA integrity_check('outcome')", &stmt);

    if (code == CODE_OK)
        code = db_step(stmt);
    if (code == CODE_OK && !span_is(db_text(stmt, 0), "ok"))
        (void)snprintf(finding->index_text, sizeof finding->index_text, "%.*s", SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
    return code;
}

static enum code check_part(struct finding *finding, struct db *db, size_t at)
{
    bool matches = true;
    enum code code = part__matches(db, finding->parts[at], &matches);

    finding->differs[at] = code == CODE_OK && !matches;
    return code;
}

static void work(void *argument)
{
    struct finding *finding = argument;
    struct db *db;
    enum code code = db_open(finding->path, DB_READ, &db, NULL);

    while (code == CODE_OK) {
        size_t at = atomic_fetch_add(&finding->next, 1);

        if (at > finding->count)
            break;
        if (at == 0)
            finding->index_code = check_index(finding, db);
        else
            code = check_part(finding, db, at - 1);
    }
    db_close(&db);
    if (code != CODE_OK) {
        enum code none = CODE_OK;

        (void)atomic_compare_exchange_strong(&finding->code, &none, code);
        atomic_store(&finding->next, finding->count + 1);
    }
}

static enum code read_parts(struct verifier *verifier, struct finding *finding)
{
    struct db_stmt *stmt;
    uint64_t next = 0;
    size_t room = 0;
    enum code code = db_exec(verifier->db, "SELECT 1 FROM lookup LIMIT 1"); /* read it even where no part needs it */

    if (code == CODE_OK)
        code = db_prepare(verifier->db, "SELECT part FROM part ORDER BY part", &stmt);
    if (code != CODE_OK)
        return code;
    while ((code = db_step(stmt)) == CODE_OK) {
        uint64_t part = (uint64_t)db_int(stmt, 0);

        if (finding->count == room) {
            uint64_t *more = mem_resize(finding->parts, (room = room * 2 + 64) * sizeof *more);

            if (more == NULL) {
                code = CODE_NOMEM;
                break;
            }
            finding->parts = more;
        }
        finding->parts[finding->count++] = part;
        if (part != next && (next != 0 || !verifier->continues))
            verify__fault(verifier, 0, "part", "part", "part %llu is missing", (unsigned long long)next);
        next = part + 1;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* One thread that does not start leaves its share to the others. */
static enum code run_threads(const struct verifier *verifier, struct finding *finding)
{
    unsigned count = verifier->conf->threads != 0 ? verifier->conf->threads : thread_cores();
    struct thread threads[THREADS_MAX] = {{.started = false}};

    for (unsigned i = 1; i < count && i < THREADS_MAX; i++)
        if (thread_start(&threads[i], "verify", work, finding, NULL) != CODE_OK)
            break;
    work(finding);
    for (unsigned i = 1; i < THREADS_MAX; i++)
        thread_join(&threads[i]);
    return atomic_load(&finding->code);
}

static void tell(struct verifier *verifier, const struct finding *finding)
{
    for (size_t i = 0; i < finding->count; i++)
        if (finding->differs[i])
            verify__fault(verifier, 0, "lookup", "part", "part %llu does not find its rows; the rows are judged above",
                          (unsigned long long)finding->parts[i]);
    if (finding->index_text[0] != '\0')
        verify__fault(verifier, 0, "outcome", "index", "%s", finding->index_text);
    if (finding->index_code == CODE_IO)
        verify__fault(verifier, 0, "outcome", "page", "cannot be read whole: the file is damaged");
}

enum code verify__finding(struct verifier *verifier)
{
    struct finding finding = {.path = verifier->conf->path};
    enum code code = read_parts(verifier, &finding);

    if (code == CODE_OK) {
        finding.differs = mem_array(finding.count + 1, sizeof *finding.differs);
        code = finding.differs != NULL ? run_threads(verifier, &finding) : CODE_NOMEM;
    }
    if (code == CODE_OK || code == CODE_IO)
        tell(verifier, &finding);
    mem_free(finding.differs);
    mem_free(finding.parts);
    if (code == CODE_OK && finding.index_code != CODE_IO)
        code = finding.index_code;
    return code;
}
