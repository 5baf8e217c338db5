/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/evidence.h"

#include "courier/marks.h"
#include "courier/witnessing.h"
#include "fleet/witness_memory.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/clock.h"

#define LOOK_US INT64_C(2000000) /* how often it looks at others: a node makes a checkpoint a second */
#define PIECES 4                 /* of what waits, in a turn */

struct evidence {
    struct evidence_self self;
    struct marks marks;
    struct witnessing witnessing;
    int64_t look_us; /* when it looks next */
    bool is_forked;
    struct why problem;
};

static bool key_of(void *context, struct span node, unsigned char key[SIGN_PUBLIC_BYTES])
{
    struct down_roster *roster = context;
    const struct roster_node *found = roster_find(roster->now, node);

    if (found != NULL)
        memcpy(key, found->key, SIGN_PUBLIC_BYTES);
    return found != NULL;
}

enum code evidence_new(const struct evidence_self *self, struct evidence **out, struct why *why)
{
    struct evidence *evidence = mem_zalloc(sizeof *evidence);
    enum code code;

    *out = evidence;
    if (evidence == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    evidence->self = *self;
    evidence->witnessing = (struct witnessing){.store = self->store, .fleet = self->fleet, .node = self->node, .key = self->key,
                                               .key_of = key_of, .context = self->roster};
    code = marks_init(&evidence->marks, self->audit, self->fleet, self->node, self->key, why);
    if (code == CODE_OK)
        code = witness_memory_is_forked(self->store, self->node, &evidence->is_forked, why);
    if (code != CODE_OK)
        evidence_free(out);
    return code;
}

void evidence_free(struct evidence **evidence)
{
    if (*evidence != NULL)
        marks_fini(&(*evidence)->marks);
    mem_free(*evidence);
    *evidence = NULL;
}

void evidence_anew(struct evidence *evidence)
{
    marks_anew(&evidence->marks);
}

bool evidence_is_forked(const struct evidence *evidence)
{
    return evidence->is_forked;
}

const char *evidence_problem(const struct evidence *evidence)
{
    return evidence->problem.text;
}

/* ---- a turn ------------------------------------------------------------------------------------------------------- */

static enum code ship_marks(struct evidence *evidence, struct pg *pg, int64_t shipped_seq, struct why *why)
{
    bool more = true;
    enum code code = CODE_OK;

    for (int i = 0; i < PIECES && more && code == CODE_OK; i++)
        code = marks_turn(&evidence->marks, pg, shipped_seq, &more, why);
    return code;
}

/* What anybody told of this node: itself, or its witness. */
static enum code hear_fork(struct evidence *evidence, struct pg *pg, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code;

    if (evidence->is_forked)
        return CODE_OK;
    code = pg_ask(pg, "SELECT seq, told_by, coalesce(what, '') FROM callgate.fork_read()", NULL, 0, &rows, why);
    if (code == CODE_OK && pg_rows_count(rows) > 0) {
        log_error("fleet", "this node is forked, as '%.*s' has told of row %lld: there are two records of it%s%.*s. It denies "
                  "until it comes back under another name (`callgate fleet rejoin`)", SPAN_ARG(pg_rows_bytes(rows, 0, 1)),
                  (long long)pg_rows_int(rows, 0, 0), pg_rows_bytes(rows, 0, 2).len > 0 ? "; " : "",
                  SPAN_ARG(pg_rows_bytes(rows, 0, 2)));
        evidence->is_forked = true;
        code = witness_memory_fork(evidence->self.store, evidence->self.node, pg_rows_bytes(rows, 0, 1),
                                   pg_rows_int(rows, 0, 0), pg_rows_bytes(rows, 0, 2), why);
    }
    pg_rows_free(&rows);
    return code;
}

static enum code look_at_others(struct evidence *evidence, struct pg *pg, struct why *why)
{
    struct why problem = {""};
    bool more = true;
    enum code code = CODE_OK;

    for (int i = 0; i < PIECES && more && code == CODE_OK; i++)
        code = witnessing_turn(&evidence->witnessing, pg, (uint64_t)(clock_wall_us() / 1000000), &more, &problem, why);
    if (code == CODE_OK && problem.text[0] != '\0' && strcmp(problem.text, evidence->problem.text) != 0)
        log_warn("fleet", "%s", problem.text);
    if (code == CODE_OK)
        evidence->problem = problem;
    return code;
}

enum code evidence_turn(struct evidence *evidence, struct pg *pg, int64_t now_us, int64_t shipped_seq, struct why *why)
{
    enum code code = hear_fork(evidence, pg, why);

    if (code == CODE_OK && !evidence->is_forked)
        code = ship_marks(evidence, pg, shipped_seq, why);
    if (code == CODE_OK && now_us >= evidence->look_us) {
        code = look_at_others(evidence, pg, why);
        evidence->look_us = now_us + LOOK_US;
    }
    return code;
}
