/* SPDX-License-Identifier: Apache-2.0 */
#include "centre/centre_words.h"

#include "files/reader.h"
#include "proof/cosign.h"
#include "rows/walk.h"

#include <inttypes.h>
#include <stdio.h>

#define PAGE_ROWS 8192
#define CLOCK_US (INT64_C(600) * 1000000) /* so far a node's clock may be before its witness's */

struct asking {
    struct pg *pg;
    const struct verify_centre_conf *conf;
    const struct centre_gone *gone;
    struct verify_centre_report *said;
    struct verify_report *report;
    struct why *why;
};

static struct pg_value node_of(const struct asking *asking)
{
    return pg_of_text(asking->conf->node);
}

/* ---- where it ends ------------------------------------------------------------------------------------------------ */

static enum code check_cursor(struct asking *asking)
{
    struct verify_report *report = asking->report;
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(asking->pg, "SELECT seq, hash FROM callgate.trail_cursor WHERE node = $1",
                            PG_VALUES(node_of(asking)), &rows, asking->why);

    if (code == CODE_OK && pg_rows_count(rows) == 0)
        centre_fault(report, 0, "trail_cursor", "seq", "nothing says up to where its rows are here");
    else if (code == CODE_OK && pg_rows_int(rows, 0, 0) != asking->said->last_seq)
        centre_fault(report, asking->said->last_seq + 1, "trail_cursor", "seq", "the node has put rows here up to %lld, but "
                     "the last one is %lld: the end was cut off, or rows were put in", (long long)pg_rows_int(rows, 0, 0),
                     (long long)asking->said->last_seq);
    else if (code == CODE_OK && !span_equals(pg_rows_bytes(rows, 0, 1), span_of(report->head, DIGEST_BYTES)))
        centre_fault(report, asking->said->last_seq, "trail_cursor", "hash", "the last row that the node put is another one");
    pg_rows_free(&rows);
    return code;
}

static enum code check_fork(struct asking *asking)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(asking->pg, "SELECT seq, told_by, coalesce(what, '') FROM callgate.trail_fork WHERE node = $1 "
                                        "ORDER BY told "
                            "LIMIT 1", PG_VALUES(node_of(asking)), &rows, asking->why);

    if (code == CODE_OK && pg_rows_count(rows) == 1)
        centre_fault(asking->report, pg_rows_int(rows, 0, 0), "trail_fork", "seq", "the node is forked, as %.*s has told: "
                     "there are two records of it%s%.*s", SPAN_ARG(pg_rows_bytes(rows, 0, 1)),
                     pg_rows_bytes(rows, 0, 2).len > 0 ? "; " : "",
                     SPAN_ARG(pg_rows_bytes(rows, 0, 2)));
    pg_rows_free(&rows);
    return code;
}

static enum code check_pairs(struct asking *asking)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(asking->pg, "SELECT o.seq FROM callgate.outcome AS o JOIN callgate.decision AS d ON d.node = "
                            "o.node AND d.seq = o.decision WHERE o.node = $1 AND d.day <> o.day ORDER BY o.seq LIMIT 1",
                            PG_VALUES(node_of(asking)), &rows, asking->why);

    if (code == CODE_OK && pg_rows_count(rows) == 1)
        centre_fault(asking->report, pg_rows_int(rows, 0, 0), "outcome", "day", "it lies in another day than its decision");
    pg_rows_free(&rows);
    return code;
}

/* ---- who cosigned ------------------------------------------------------------------------------------------------- */

static void fault_cosigned(struct asking *asking, int64_t size, struct span by, const char *what)
{
    centre_fault(asking->report, size, "cosignature", "line", "the cosignature of '%.*s' over %lld rows %s",
                 by.len > 64 ? 64 : (int)by.len,
                 by.at, (long long)size, what);
}

static void doubt_clock(struct asking *asking, const struct note *note, struct span by, uint64_t time_s)
{
    struct verify_report *report = asking->report;

    if (report->doubt_count == VERIFY_DOUBTS_MAX)
        return;
    (void)snprintf(report->doubt[report->doubt_count++], sizeof report->doubt[0], "the node dates its checkpoint over %llu "
                                                                                  "rows at %lld "
                   "s, and '%.*s' cosigned it at %llu s: a clock is wrong, or was set", (unsigned long long)note->size,
                   (long long)(note->time_us / 1000000), SPAN_ARG(by), (unsigned long long)time_s);
}

/* Witnesses look within seconds, unless they are away: only a checkpoint that is dated behind its cosignature cannot be. One
 * that
 * waited for long may have waited for a node. */
static bool is_apart(const struct note *note, uint64_t time_s)
{
    return time_s < INT64_MAX / 2000000 && note->time_us > (int64_t)time_s * 1000000 + CLOCK_US;
}

static bool is_line_of(struct asking *asking, struct span by, struct span text, struct span line, uint64_t *time_s)
{
    struct note_key key;

    for (size_t i = 0; asking->conf->key_of(asking->conf->context, by, i, &key); i++)
        if (cosign_check(text, line, &key, time_s) == NOTE_SIGNED)
            return true;
    return false;
}

/* One line of a witness. *told: a clock was told of already. */
static void check_line(struct asking *asking, const struct pg_rows *rows, size_t at, bool *told)
{
    struct verify_centre_report *said = asking->said;
    int64_t size = pg_rows_int(rows, at, 0);
    struct span by = pg_rows_bytes(rows, at, 1);
    struct note_key key;
    struct note note;
    uint64_t time_s = 0;

    if (pg_rows_null(rows, at, 3)) {
        fault_cosigned(asking, size, by, "is of a checkpoint that is not here");
        return;
    }
    if (note_read(pg_rows_bytes(rows, at, 3), &note) != CODE_OK || note.size != (uint64_t)size)
        return; /* the checkpoint's own fault, which the verifier has told */
    if (span_equals(by, asking->conf->node)) {
        fault_cosigned(asking, size, by, "is the node's own: nobody is a witness of himself");
        return;
    }
    if (!asking->conf->key_of(asking->conf->context, by, 0, &key)) {
        fault_cosigned(asking, size, by, "is of nobody in the fleet");
        return;
    }
    if (!is_line_of(asking, by, note.text, pg_rows_bytes(rows, at, 2), &time_s)) {
        fault_cosigned(asking, size, by, "is not of that node's key, or of another checkpoint");
        return;
    }
    said->cosignatures++;
    said->cosigned_seq = size;
    (void)snprintf(said->cosigner, sizeof said->cosigner, "%.*s", SPAN_ARG(by));
    if (!*told && is_apart(&note, time_s)) {
        doubt_clock(asking, &note, by, time_s);
        *told = true;
    }
}

static enum code check_cosignatures(struct asking *asking)
{
    struct pg_rows *rows = NULL;
    struct span by = SPAN_LIT("");
    int64_t size = INT64_MIN;
    bool told = false;
    char last[64] = "";
    enum code code;
    size_t count;

    do {
        code = pg_ask(asking->pg, "SELECT s.size, s.cosigner, s.line, c.note FROM callgate.cosignature AS s LEFT JOIN "
                      "callgate.checkpoint AS c USING (node, size) WHERE s.node = $1 AND (s.size, s.cosigner) > ($2, $3) "
                      "ORDER BY s.size, s.cosigner LIMIT 8192", PG_VALUES(node_of(asking), pg_of_int(size),
                                                                          pg_of_text(by)), &rows,
                      asking->why);
        count = code == CODE_OK ? pg_rows_count(rows) : 0;
        for (size_t i = 0; i < count; i++)
            check_line(asking, rows, i, &told);
        if (count > 0) {
            size = pg_rows_int(rows, count - 1, 0);
            (void)snprintf(last, sizeof last, "%.*s", SPAN_ARG(pg_rows_bytes(rows, count - 1, 1)));
            by = span_text(last);
        }
        pg_rows_free(&rows);
    } while (code == CODE_OK && count == PAGE_ROWS);
    return code;
}

/* ---- against the node's files -------------------------------------------------------------------------------------- */

/* Rows of the centre by their numbers, a page at a time. */
struct page {
    struct pg_rows *rows;
    size_t at;
    int64_t last; /* behind this number none was asked for yet */
};

static enum code turn(struct asking *asking, struct page *page)
{
    pg_rows_free(&page->rows);
    page->at = 0;
    return pg_ask(asking->pg, "SELECT seq, hash FROM (SELECT seq, hash FROM callgate.decision WHERE node = $1 AND seq > $2 AND "
                              "seq <= $3 "
                  "UNION ALL SELECT seq, hash FROM callgate.outcome WHERE node = $1 AND seq > $2 AND seq <= $3 "
                  "UNION ALL SELECT seq, hash FROM callgate.event WHERE node = $1 AND seq > $2 AND seq <= $3 "
                  "UNION ALL SELECT seq, hash FROM callgate.day_link WHERE node = $1 AND seq > $2 AND seq <= $3) AS r ORDER BY "
                  "seq",
                  PG_VALUES(node_of(asking), pg_of_int(page->last),
                            pg_of_int(page->last + PAGE_ROWS)), &page->rows, asking->why);
}

/* The centre's hash of a row; at == NULL: it has none. Numbers are asked for in their order. */
static enum code hash_there(struct asking *asking, struct page *page, int64_t seq, struct span *hash)
{
    enum code code = CODE_OK;

    *hash = SPAN_NONE;
    while (code == CODE_OK && (page->rows == NULL || seq > page->last + PAGE_ROWS)) {
        if (page->rows != NULL)
            page->last += PAGE_ROWS;
        if (seq > page->last + PAGE_ROWS)
            page->last = seq - 1;
        code = turn(asking, page);
    }
    while (page->at < pg_rows_count(page->rows) && pg_rows_int(page->rows, page->at, 0) < seq)
        page->at++;
    if (page->at < pg_rows_count(page->rows) && pg_rows_int(page->rows, page->at, 0) == seq)
        *hash = pg_rows_bytes(page->rows, page->at, 1);
    return code;
}

static enum code compare_leaf(struct asking *asking, struct page *page, const struct leaf *leaf, bool *differs)
{
    struct verify_centre_report *said = asking->said;
    struct span hash = SPAN_NONE;
    enum code code = CODE_OK;

    said->here_seq = leaf->seq;
    if (leaf->seq <= said->dropped_seq || leaf->seq > said->last_seq)
        return CODE_OK;
    code = hash_there(asking, page, leaf->seq, &hash);
    if (code != CODE_OK)
        return code;
    if (span_equals(hash, leaf->hash)) {
        said->same++;
    } else if (!*differs && !(hash.at == NULL && centre_gone_has(asking->gone, leaf->seq, leaf->seq))) {
        *differs = true;
        centre_fault(asking->report, leaf->seq, "entry", "hash", hash.at == NULL ? "the node's files have this row, and the "
                                                                                   "centre has not"
                                                                                 : "the node's files have another row of this "
                                                                                   "number");
    }
    return CODE_OK;
}

static enum code compare_file(struct asking *asking, struct page *page, const char *path, bool *differs)
{
    struct walk walk;
    struct leaf leaf;
    struct db *db;
    enum code code = trail_open(path, &db, asking->why);

    if (code != CODE_OK)
        return code;
    db_take_tables_alone(db);
    code = walk_leaves(&walk, db, 1, INT64_MAX);
    while (code == CODE_OK && (code = walk_next_leaf(&walk, &leaf)) == CODE_OK)
        code = compare_leaf(asking, page, &leaf, differs);
    walk_fini(&walk);
    if (code != CODE_NOT_FOUND)
        (void)reader_why(asking->why, code, path, db);
    db_close(&db);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code compare(struct asking *asking)
{
    const struct trail *trail = asking->conf->against;
    struct page page = {.last = asking->said->dropped_seq};
    bool differs = false;
    enum code code = CODE_OK;

    for (size_t i = 0; i < trail->count && code == CODE_OK; i++)
        code = compare_file(asking, &page, trail->files[i].path, &differs);
    if (code == CODE_OK && asking->said->here_seq < asking->said->last_seq)
        centre_fault(asking->report, asking->said->here_seq + 1, "entry", "seq", "the node's files end before this row, which "
                                                                                 "the centre has");
    pg_rows_free(&page.rows);
    return code;
}

enum code centre_words(struct pg *pg, const struct verify_centre_conf *conf, const struct centre_gone *gone,
                       struct verify_centre_report *said, struct verify_report *report, struct why *why)
{
    struct asking asking = {pg, conf, gone, said, report, why};
    enum code code = check_cursor(&asking);

    if (code == CODE_OK)
        code = check_fork(&asking);
    if (code == CODE_OK)
        code = check_pairs(&asking);
    if (code == CODE_OK)
        code = check_cosignatures(&asking);
    return code == CODE_OK && conf->against != NULL ? compare(&asking) : code;
}
