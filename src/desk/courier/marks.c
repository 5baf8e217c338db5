/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/marks.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define MOST 256 /* of a turn */

void marks_name(struct span fleet, struct span node, char out[NOTE_ORIGIN_BYTES])
{
    (void)snprintf(out, NOTE_ORIGIN_BYTES, NOTE_ORIGIN "%.*s/%.*s", SPAN_ARG(fleet), SPAN_ARG(node));
}

enum code marks_init(struct marks *marks, const char *audit, struct span fleet, struct span node, const struct sign_key *key,
                     struct why *why)
{
    *marks = (struct marks){.key = key};
    marks_name(fleet, node, marks->name);
    return up_trail_init(&marks->trail, audit, why);
}

void marks_fini(struct marks *marks)
{
    up_trail_fini(&marks->trail);
}

void marks_anew(struct marks *marks)
{
    marks->is_placed = false;
}

/* Below its note one line more. */
static enum code add_own_line(const struct marks *marks, struct span note, struct buf *out)
{
    struct note read;
    struct buf alone;
    enum code code = note_read(note, &read);

    buf_init(&alone, NOTE_BYTES);
    if (code == CODE_OK)
        code = note_sign(read.text, span_text(marks->name), marks->key, &alone);
    if (code == CODE_OK)
        code = buf_add_span(out, note);
    if (code == CODE_OK) /* behind the text and the empty line */
        code = buf_add_span(out, span_part(buf_peek(&alone), read.text.len + 1, SIZE_MAX));
    buf_fini(&alone);
    return code;
}

/* Whether two notes say the same, whoever signed them. */
static bool is_same(struct span one, struct span other)
{
    struct note a, b;

    return note_read(one, &a) == CODE_OK && note_read(other, &b) == CODE_OK && span_equals(a.text, b.text);
}

/* Whether this node itself has signed it: nobody else tells that there are two of it. */
static bool is_own(const struct marks *marks, struct span text, int64_t size)
{
    struct note_key key;
    struct note note;

    memcpy(key.name, marks->name, sizeof key.name);
    return sign_key_public(marks->key, key.public) == CODE_OK && note_read(text, &note) == CODE_OK &&
           note.size == (uint64_t)size && note_verify(&note, &key) == NOTE_SIGNED;
}

/* Whether it went with the rows that it is over, which were given away. */
static enum code is_given_away(struct marks *marks, bool *is, struct why *why)
{
    const struct trail *trail = &marks->trail.files;

    *is = false;
    if (trail->count == 0 || marks->last >= trail->files[0].before_seq)
        return CODE_OK;
    return up_trail_is_retired(&marks->trail, marks->last, is, why);
}

/* What the centre has last must be one of ours. One that this node has signed and does not have is a second record of it,
 * unless it gave it away; any other somebody has put there, and the node goes on. */
static enum code find_place(struct marks *marks, struct pg *pg, struct why *why)
{
    struct pg_rows *rows = NULL;
    bool is_other = false, is_gone = false, is_signed;
    enum code code = pg_ask(pg, "SELECT size, note FROM callgate.checkpoint_last()", NULL, 0, &rows, why);
    struct up_mark ours = {.size = 0};

    if (code == CODE_OK && pg_rows_count(rows) == 1) {
        marks->last = pg_rows_int(rows, 0, 0);
        code = up_trail_mark(&marks->trail, marks->last, marks->last, &ours, why);
        is_signed = is_own(marks, pg_rows_bytes(rows, 0, 1), marks->last);
        is_other = code == CODE_NOT_FOUND || (code == CODE_OK && !is_same(ours.note, pg_rows_bytes(rows, 0, 1)));
        if (code == CODE_NOT_FOUND)
            code = is_given_away(marks, &is_gone, why);
        is_other = is_other && !(is_gone && is_signed);
        marks->is_forked = code == CODE_OK && is_other && is_signed;
        up_mark_free(&ours);
        if (code == CODE_OK && is_other && !marks->is_forked)
            code = why_set(why, CODE_DENIED, "the centre has a checkpoint over %lld rows in this node's name that it has not "
                           "signed: somebody put it there; take it away, no checkpoint goes up before", (long long)marks->last);
    } else if (code == CODE_OK) {
        marks->last = -1;
        marks->is_forked = false;
    }
    pg_rows_free(&rows);
    marks->is_placed = code == CODE_OK;
    return code;
}

static enum code tell_fork(const struct marks *marks, struct pg *pg, struct why *why)
{
    log_error("fleet", "the centre has a checkpoint of this node over %lld rows that this node did not make: two nodes have "
                       "this "
              "name, or this trail was changed, cut or restored from an older copy", (long long)marks->last);
    return pg_ask(pg, "SELECT callgate.fork_tell($1, NULL, NULL)", PG_VALUES(pg_of_int(marks->last)), NULL, why);
}

static enum code put_one(struct marks *marks, struct pg *pg, const struct up_mark *mark, struct why *why)
{
    int64_t is_put = 0;
    struct buf note;
    enum code code;

    buf_init(&note, NOTE_BYTES);
    code = add_own_line(marks, mark->note, &note);
    if (code != CODE_OK) /* whatever stands there instead, the verifier tells it */
        code = buf_add_span(&note, mark->note);
    if (code == CODE_OK)
        code = pg_number(pg, "SELECT callgate.checkpoint_put($1, $2, $3, $4)",
                         PG_VALUES(pg_of_int(mark->size), pg_of_int(mark->time_us), pg_of_bytes(mark->peaks),
                                   pg_of_bytes(buf_peek(&note))), &is_put, why);
    if (code == CODE_OK && is_put == 0)
        marks->is_placed = false; /* somebody else put one, or rows went: look again */
    else if (code == CODE_OK)
        marks->last = mark->size;
    buf_fini(&note);
    return code;
}

enum code marks_turn(struct marks *marks, struct pg *pg, int64_t shipped_seq, bool *more, struct why *why)
{
    bool was_forked = marks->is_forked;
    enum code code = CODE_OK;
    int count = 0;

    *more = false;
    if (!marks->is_placed)
        code = find_place(marks, pg, why);
    if (code != CODE_OK || marks->is_forked)
        return code == CODE_OK && !was_forked ? tell_fork(marks, pg, why) : code;
    while (code == CODE_OK && marks->is_placed && count++ < MOST) {
        struct up_mark mark = {.size = 0};

        code = up_trail_mark(&marks->trail, marks->last + 1, shipped_seq, &mark, why);
        if (code == CODE_OK)
            code = put_one(marks, pg, &mark, why);
        up_mark_free(&mark);
    }
    *more = code == CODE_OK;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}
