/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/witnessing.h"

#include "courier/marks.h"
#include "fleet/witness_memory.h"
#include "proof/cosign.h"

#include "base/log.h"

#define MOST_MARKS 64
#define MOST_ROWS (1 << 20) /* between two checkpoints, where there are 16,384 as a rule; 32 MiB of hashes */
#define DAY_US INT64_C(86400000000)

/* One node that is looked at. */
struct looking {
    const struct witnessing *self;
    struct pg *pg;
    struct span node;
    struct note_key key;
    struct witness seen;
    int64_t cosigns;         /* size of the checkpoint that goes on, and is cosigned; 0: none yet */
    struct buf *text;        /* of that one */
    struct why *problem, *why;
};

static enum code complain_of(struct looking *looking, enum code code, const char *what, int64_t size)
{
    return why_set(looking->problem, code, "the checkpoint of '%.*s' over %lld rows at the centre %s; it is not cosigned",
                   SPAN_ARG(looking->node), (long long)size, what);
}

/* CODE_OK: it is that node's, by its own key. */
static enum code read_mark(struct looking *looking, struct span text, int64_t size, struct note *note)
{
    if (note_read(text, note) != CODE_OK || note->size != (uint64_t)size)
        return complain_of(looking, CODE_INVALID, "is no checkpoint over so many", size);
    if (note_verify(note, &looking->key) != NOTE_SIGNED)
        return complain_of(looking, CODE_INVALID, "is not signed by that node", size);
    return CODE_OK;
}

/* ---- where to begin ------------------------------------------------------------------------------------------------ */

static bool is_cosigned(const struct looking *looking, const struct pg_rows *rows, const struct note *note)
{
    struct span by = pg_rows_bytes(rows, 0, 3);
    struct note_key key;
    uint64_t time_s;

    marks_name(looking->self->fleet, by, key.name);
    return !span_equals(by, looking->node) && looking->self->key_of(looking->self->context, by, key.public) &&
           cosign_check(note->text, pg_rows_bytes(rows, 0, 4), &key, &time_s) == NOTE_SIGNED;
}

/* With what another node has cosigned; else with the first one that there is, which the node alone vouches for. */
static enum code begin(struct looking *looking)
{
    struct pg_rows *rows = NULL;
    struct note note;
    bool has_begun = false;
    enum code code = pg_ask(looking->pg, "SELECT size, peaks, note, cosigner, line FROM callgate.witness_begin($1)",
                            PG_VALUES(pg_of_text(looking->node)), &rows, looking->why);

    if (code == CODE_OK && pg_rows_count(rows) == 1 &&
        read_mark(looking, pg_rows_bytes(rows, 0, 2), pg_rows_int(rows, 0, 0), &note) == CODE_OK && is_cosigned(looking, rows,
                                                                                                                &note))
        has_begun = witness_begin(&looking->seen, &note, pg_rows_bytes(rows, 0, 1));
    pg_rows_free(&rows);
    if (code != CODE_OK || has_begun)
        return code;
    code = pg_ask(looking->pg, "SELECT size, peaks, note FROM callgate.witness_marks($1, 0, 1)",
                  PG_VALUES(pg_of_text(looking->node)),
                  &rows, looking->why);
    if (code == CODE_OK && pg_rows_count(rows) == 0)
        code = CODE_NOT_FOUND;
    if (code == CODE_OK)
        code = read_mark(looking, pg_rows_bytes(rows, 0, 2), pg_rows_int(rows, 0, 0), &note);
    if (code == CODE_OK && !witness_begin(&looking->seen, &note, pg_rows_bytes(rows, 0, 1)))
        code = complain_of(looking, CODE_INVALID, "has not the tree that it signs", pg_rows_int(rows, 0, 0));
    if (code == CODE_OK)
        log_info("fleet", "begins as a witness of '%.*s', with its checkpoint over %lld rows", SPAN_ARG(looking->node),
                 (long long)note.size);
    pg_rows_free(&rows);
    return code;
}

/* ---- one after the other ------------------------------------------------------------------------------------------- */

static enum code tell_fork(struct looking *looking, int64_t size)
{
    struct why what = {""};
    enum code code;

    (void)why_set(&what, CODE_INVALID, "its checkpoint over %lld rows does not go on from the one over %llu rows, which '%.*s' "
                  "has seen", (long long)size, (unsigned long long)looking->seen.tree.size, SPAN_ARG(looking->self->node));
    log_error("fleet", "'%.*s' is forked: %s", SPAN_ARG(looking->node), what.text);
    (void)why_set(looking->problem, CODE_INVALID, "'%.*s' is forked: %s", SPAN_ARG(looking->node), what.text);
    code = witness_memory_fork(looking->self->store, looking->node, looking->self->node, size, span_text(what.text),
                               looking->why);
    if (code == CODE_OK)
        code = pg_ask(looking->pg, "SELECT callgate.fork_found($1, $2, $3)",
                      PG_VALUES(pg_of_text(looking->node), pg_of_int(size), pg_of_text(span_text(what.text))), NULL,
                      looking->why);
    return code;
}

/* Of the rows between. Two days before the checkpoint's: a call may last over midnight. */
static enum code ask_hashes(struct looking *looking, const struct note *note, uint64_t first, struct pg_rows **rows)
{
    int64_t day = note->time_us / DAY_US - 2;

    day = day < -719162 ? -719162 : day > 2932896 ? 2932896 : day; /* the years 1 to 9999 */
    return pg_ask(looking->pg, "SELECT callgate.witness_hashes($1, $2, $3, date '1970-01-01' + $4::int8::int4)",
                  PG_VALUES(pg_of_text(looking->node), pg_of_int((int64_t)first), pg_of_int((int64_t)note->size),
                            pg_of_int(day)),
                  rows, looking->why);
}

/* CODE_OK: it goes on, and is the last that was seen. */
static enum code check_mark(struct looking *looking, const struct note *note)
{
    enum witness_verdict verdict = WITNESS_OTHER_LOG;
    struct pg_rows *rows = NULL;
    uint64_t first;
    enum code code = CODE_OK;

    if (witness_needs(&looking->seen, note, &first)) {
        if (note->size - first >= MOST_ROWS)
            return complain_of(looking, CODE_LIMIT, "is too many rows behind the one before it", (int64_t)note->size);
        code = ask_hashes(looking, note, first, &rows);
        if (code == CODE_OK && pg_rows_null(rows, 0, 0))
            code = complain_of(looking, CODE_NOT_FOUND, "covers rows that are not there", (int64_t)note->size);
        if (code == CODE_OK)
            verdict = witness_check(&looking->seen, note, pg_rows_bytes(rows, 0, 0));
        pg_rows_free(&rows);
    } else {
        verdict = witness_check(&looking->seen, note, SPAN_NONE);
    }
    if (code == CODE_OK && verdict == WITNESS_OLDER)
        return CODE_OK;
    if (code == CODE_OK && verdict != WITNESS_GOES_ON) { /* another log under this name, or another past */
        code = tell_fork(looking, (int64_t)note->size);
        return code == CODE_OK ? CODE_EXISTS : code;
    }
    return code;
}

static enum code take_marks(struct looking *looking, const struct pg_rows *rows)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < pg_rows_count(rows) && code == CODE_OK; i++) {
        struct note note;

        code = read_mark(looking, pg_rows_bytes(rows, i, 2), pg_rows_int(rows, i, 0), &note);
        if (code == CODE_OK)
            code = check_mark(looking, &note);
        if (code != CODE_OK || note.size != looking->seen.tree.size)
            continue;
        buf_clear(looking->text);
        code = buf_add_span(looking->text, note.text);
        looking->cosigns = (int64_t)note.size;
    }
    return code;
}

/* Remembered before it is said: a witness that forgot what it has cosigned could cosign another past. */
static enum code cosign(struct looking *looking, uint64_t time_s)
{
    const struct witnessing *self = looking->self;
    char name[NOTE_ORIGIN_BYTES];
    struct buf line;
    enum code code = witness_memory_save(self->store, looking->node, &looking->seen, looking->why);

    buf_init(&line, NOTE_BYTES);
    marks_name(self->fleet, self->node, name);
    if (code == CODE_OK)
        code = cosign_line(buf_peek(looking->text), span_text(name), self->key, time_s, &line);
    if (code == CODE_OK)
        code = pg_ask(looking->pg, "SELECT callgate.cosign($1, $2, $3)",
                      PG_VALUES(pg_of_text(looking->node), pg_of_int(looking->cosigns), pg_of_bytes(buf_peek(&line))), NULL,
                      looking->why);
    buf_fini(&line);
    return code;
}

/* The first one that is asked for is the one that was seen last: it must still be there, and be that. */
static enum code look(struct looking *looking, uint64_t time_s, bool *more)
{
    struct pg_rows *rows = NULL;
    enum code code, taken;

    code = pg_ask(looking->pg, "SELECT size, peaks, note FROM callgate.witness_marks($1, $2, $3)",
                  PG_VALUES(pg_of_text(looking->node), pg_of_int((int64_t)looking->seen.tree.size - 1),
                            pg_of_int(MOST_MARKS)), &rows,
                  looking->why);
    taken = code == CODE_OK ? take_marks(looking, rows) : CODE_OK;
    *more |= code == CODE_OK && taken == CODE_OK && pg_rows_count(rows) == MOST_MARKS;
    pg_rows_free(&rows);
    if (code == CODE_OK && looking->cosigns > 0)
        code = cosign(looking, time_s);
    return looking->why->text[0] != '\0' && code == CODE_OK ? taken : code;
}

static enum code look_at(const struct witnessing *self, struct pg *pg, struct span node, int64_t last, uint64_t time_s,
                         bool *more,
                         struct why *problem, struct why *why)
{
    struct looking looking = {.self = self, .pg = pg, .node = node, .problem = problem, .why = why};
    struct buf text;
    enum code code;

    marks_name(self->fleet, node, looking.key.name);
    if (!self->key_of(self->context, node, looking.key.public))
        return CODE_OK; /* nobody in the fleet, whatever the centre says */
    code = witness_memory_load(self->store, node, &looking.seen, why);
    if (code == CODE_OK && last < (int64_t)looking.seen.tree.size) {
        (void)why_set(problem, CODE_NOT_FOUND, "the centre has no checkpoint of '%.*s' over more than %lld rows, and this node "
                                               "has "
                      "seen one over %llu: the end was cut off there, or an older copy put in its place", SPAN_ARG(node),
                      (long long)last, (unsigned long long)looking.seen.tree.size);
        return CODE_OK;
    }
    if (code == CODE_OK && last == (int64_t)looking.seen.tree.size)
        return CODE_OK;
    buf_init(&text, NOTE_BYTES);
    looking.text = &text;
    if (code == CODE_NOT_FOUND)
        code = begin(&looking);
    if (code == CODE_OK)
        code = look(&looking, time_s, more);
    buf_fini(&text);
    return why->text[0] == '\0' && (code == CODE_NOT_FOUND || code == CODE_INVALID) ? CODE_OK : code;
}

enum code witnessing_turn(const struct witnessing *self, struct pg *pg, uint64_t time_s, bool *more, struct why *problem,
                          struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, "SELECT node, size FROM callgate.witnessed() WHERE size IS NOT NULL", NULL, 0, &rows, why);

    *more = false;
    problem->text[0] = '\0';
    for (size_t i = 0; i < pg_rows_count(rows) && code == CODE_OK; i++)
        code = look_at(self, pg, pg_rows_bytes(rows, i, 0), pg_rows_int(rows, i, 1), time_s, more, problem, why);
    pg_rows_free(&rows);
    return code;
}
