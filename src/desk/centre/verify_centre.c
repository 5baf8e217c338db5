/* SPDX-License-Identifier: Apache-2.0 */
#include "centre/verify_centre.h"

#include "base/num.h"
#include "centre/centre_rows.h"
#include "rows/walk.h"

#include <stdarg.h>
#include <stdio.h>

#define LAST_UP_TO "greatest(" \
    "(SELECT max(seq) FROM callgate.decision WHERE node = $1 AND seq <= $2), " \
    "(SELECT max(seq) FROM callgate.outcome WHERE node = $1 AND seq <= $2), " \
    "(SELECT max(seq) FROM callgate.event WHERE node = $1 AND seq <= $2), " \
    "(SELECT max(seq) FROM callgate.day_link WHERE node = $1 AND seq <= $2))"
#define FIRST_ROW "least(" \
    "(SELECT min(seq) FROM callgate.decision WHERE node = $1), (SELECT min(seq) FROM callgate.outcome WHERE node = $1), " \
    "(SELECT min(seq) FROM callgate.event WHERE node = $1))"

/* A node's trail as it stands at the centre. */
struct standing {
    int64_t last;            /* row; 0: none */
    int64_t marked;          /* so many rows the last checkpoint is over */
    bool is_cut;             /* its beginning went with its days: up to `cut`, whose hash this is */
    int64_t cut;
    unsigned char cut_hash[DIGEST_BYTES];
    struct centre_gone gone; /* what never came */
    struct pg_rows *files;   /* seq, hash, by seq */
    size_t first_file;       /* of these, the one that holds the first row that is left */
};

struct run {
    struct pg *pg;
    const struct verify_centre_conf *conf;
    struct verify_centre_report *report;
    struct why *why;
    struct standing standing;
    struct centre_rows rows;
    struct verify_sequence *sequence;
    struct keyring keys;
};

static struct pg_value node_of(const struct run *run)
{
    return pg_of_text(run->conf->node);
}

void centre_fault(struct verify_report *report, int64_t seq, const char *table, const char *field, const char *format, ...)
{
    va_list args;

    report->is_proven = false;
    va_start(args, format);
    verify_fault_add(report->fault, &report->fault_count, seq, table, field, format, args);
    va_end(args);
}

/* ---- where it stands ---------------------------------------------------------------------------------------------- */

/* The last checkpoint before the first row that is left, where rows before it are gone: day_drop keeps hashes from there on. */
static enum code find_cut(struct run *run)
{
    struct standing *standing = &run->standing;
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(run->pg, "SELECT l.seq, l.hash FROM callgate.day_link AS l JOIN callgate.checkpoint AS c "
                            "ON c.node = l.node AND c.size = l.seq WHERE l.node = $1 AND l.seq < coalesce(" FIRST_ROW
                            ", 9223372036854775807) AND EXISTS (SELECT FROM callgate.day_proof AS p WHERE p.node = $1) "
                            "ORDER BY l.seq DESC LIMIT 1", PG_VALUES(node_of(run)), &rows, run->why);

    if (code == CODE_OK && pg_rows_count(rows) == 1 && pg_rows_bytes(rows, 0, 1).len == DIGEST_BYTES) {
        standing->is_cut = true;
        standing->cut = pg_rows_int(rows, 0, 0);
        memcpy(standing->cut_hash, pg_rows_bytes(rows, 0, 1).at, DIGEST_BYTES);
        run->report->dropped_seq = standing->cut;
    }
    pg_rows_free(&rows);
    return code;
}

/* A node that had given away its first files when it came into the fleet. */
static void begin_at_given(struct run *run)
{
    struct standing *standing = &run->standing;
    int64_t before = pg_rows_count(standing->files) > 0 ? pg_rows_int(standing->files, 0, 0) : 0;

    if (standing->is_cut || before <= 0 || !centre_gone_has(&standing->gone, 1, before))
        return;
    standing->is_cut = true;
    standing->cut = before;
    run->report->given_away += before;
}

static enum code find_standing(struct run *run)
{
    struct standing *standing = &run->standing;
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(run->pg, "SELECT coalesce(" CENTRE_LAST_ROW ", 0), coalesce((SELECT max(size) FROM "
                            "callgate.checkpoint WHERE node = $1), 0)", PG_VALUES(node_of(run)), &rows, run->why);

    standing->last = code == CODE_OK ? pg_rows_int(rows, 0, 0) : 0;
    standing->marked = code == CODE_OK ? pg_rows_int(rows, 0, 1) : 0;
    run->report->last_seq = standing->last;
    pg_rows_free(&rows);
    if (code == CODE_OK)
        code = find_cut(run);
    if (code == CODE_OK)
        code = pg_ask(run->pg, "SELECT seq, hash FROM callgate.file WHERE node = $1 ORDER BY seq LIMIT 100000",
                      PG_VALUES(node_of(run)), &standing->files, run->why);
    if (code == CODE_OK)
        begin_at_given(run);
    if (code != CODE_OK || !standing->is_cut)
        return code;
    while (standing->first_file + 1 < pg_rows_count(standing->files) &&
           pg_rows_int(standing->files, standing->first_file + 1, 0) <= standing->cut)
        standing->first_file++;
    return CODE_OK;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static struct centre_file file_at(const struct standing *standing, size_t at)
{
    size_t count = pg_rows_count(standing->files);
    struct centre_file file = {.is_first = at == 0, .last = INT64_MAX};

    file.before = at < count ? pg_rows_int(standing->files, at, 0) : 0;
    if (at + 1 < count)
        file.last = pg_rows_int(standing->files, at + 1, 0);
    if (standing->is_cut && at == standing->first_file) {
        file.is_first = false;
        file.before = standing->cut;
    }
    return file;
}

/* Where rows at a file's end were given away before they came, it ends before them, and the next one goes on from none.
 * *is_short: that is so. */
static enum code end_before_given(struct run *run, struct centre_file *file, bool *is_short)
{
    int64_t last;
    enum code code;

    *is_short = false;
    if (!centre_gone_has(&run->standing.gone, file->last, file->last))
        return CODE_OK;
    code = pg_number(run->pg, "SELECT coalesce(" LAST_UP_TO ", 0)", PG_VALUES(node_of(run), pg_of_int(file->last)), &last,
                     run->why);
    last = last > file->before ? last : file->before;
    if (code != CODE_OK || last == file->last || !centre_gone_has(&run->standing.gone, last + 1, file->last))
        return code;
    run->report->given_away += file->last - last;
    file->last = last;
    *is_short = true;
    return CODE_OK;
}

/* What is told of the last file is told of the whole, too. */
static enum code end_file(struct run *run, bool is_last, struct verify_report *report)
{
    if (run->rows.moved_seq != 0)
        centre_fault(report, run->rows.moved_seq, "day", "day", "it lies in another day than its own: it would go before its "
                                                                "time, "
                     "or is not found by its day");
    run->rows.moved_seq = 0;
    return is_last ? centre_words(run->pg, run->conf, &run->standing.gone, run->report,
                                  report, run->why) : CODE_OK;
}

/* What a file that goes on from none begins with: its own row, or the last that went with its day. */
static void note_begin(const struct standing *standing, size_t at, struct verify_source *source)
{
    struct span hash = at < pg_rows_count(standing->files) ? pg_rows_bytes(standing->files, at, 1) : SPAN_NONE;

    source->cut_seq = at == standing->first_file && standing->is_cut ? standing->cut : pg_rows_int(standing->files, at, 0);
    memcpy(source->cut_hash, standing->cut_hash, DIGEST_BYTES);
    if (hash.len == DIGEST_BYTES && pg_rows_int(standing->files, at, 0) == source->cut_seq)
        memcpy(source->cut_hash, hash.at, DIGEST_BYTES);
}

static enum code verify_source(struct run *run, size_t at, bool is_last, const struct centre_file *file,
                               struct verify_source *source)
{
    struct verify_conf conf = {.source = source, .keys = &run->keys, .sequence = run->sequence, .ends_trail = is_last,
                               .follows = at > run->standing.first_file && !source->is_cut, .progress = run->conf->progress,
                               .context = run->conf->context};
    struct verify_report report;
    char name[160];
    enum code code;

    (void)snprintf(name, sizeof name, "%.*s at the centre%s", SPAN_ARG(run->conf->node), is_last ? "" : ", file");
    if (!is_last)
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), " %zu", at + 1);
    conf.path = name;
    code = centre_rows_begin(&run->rows, file, run->sequence, source);
    if (code == CODE_OK)
        code = audit_verify(&conf, &report, run->why);
    if (code == CODE_OK)
        code = end_file(run, is_last, &report);
    if (code == CODE_OK)
        run->conf->tell(run->conf->context, &conf, &report);
    return code;
}

/* Takes: *is_cut: whether it goes on from no file; then, whether the next one does. */
static enum code verify_file(struct run *run, size_t at, bool is_last, bool *is_cut)
{
    const struct standing *standing = &run->standing;
    struct centre_file file = file_at(standing, at);
    struct verify_source source = {.marked = standing->marked, .is_cut = *is_cut};
    enum code code = CODE_OK;

    *is_cut = false;
    if (!is_last)
        code = end_before_given(run, &file, is_cut);
    if (code != CODE_OK)
        return code;
    source.last = is_last ? standing->last : file.last;
    if (source.is_cut) {
        note_begin(standing, at, &source);
        verify_sequence_forget(run->sequence);
    }
    return verify_source(run, at, is_last, &file, &source);
}

/* What its events say of the whole trail. */
static enum code read_events(struct run *run)
{
    struct pieces events;
    enum code code = pieces_init(&events);

    if (code == CODE_OK)
        code = centre_rows_events(&run->rows, &events);
    if (code == CODE_OK)
        code = verify_sequence_of(events.db, &run->sequence, run->why);
    if (code == CODE_OK)
        code = centre_gone_read(&run->standing.gone, events.db);
    pieces_fini(&events);
    return code;
}

static enum code verify_files(struct run *run)
{
    size_t count = pg_rows_count(run->standing.files), at = run->standing.first_file;
    bool is_cut = run->standing.is_cut;
    enum code code = CODE_OK;

    if (count == 0) /* which is a fault of the one that there must be */
        count = 1;
    for (; at < count && code == CODE_OK; at++)
        code = verify_file(run, at, at + 1 == count, &is_cut);
    return code;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

enum code verify_centre(struct pg *pg, const struct verify_centre_conf *conf, struct verify_centre_report *report,
                        struct why *why)
{
    struct run run = {.pg = pg, .conf = conf, .report = report, .why = why};
    struct note_key key;
    enum code code = centre_rows_init(&run.rows, pg, conf->node, why);

    *report = (struct verify_centre_report){.last_seq = 0};
    for (size_t i = 0; conf->key_of(conf->context, conf->node, i, &key); i++)
        keyring_add(&run.keys, &key);
    if (code == CODE_OK)
        code = read_events(&run);
    if (code == CODE_OK)
        code = find_standing(&run);
    if (code == CODE_OK && run.standing.last > 0)
        code = verify_files(&run);
    report->hollow = run.rows.hollow;
    pg_rows_free(&run.standing.files);
    centre_gone_fini(&run.standing.gone);
    verify_sequence_free(&run.sequence);
    centre_rows_fini(&run.rows);
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%.*s at the centre: %s", SPAN_ARG(conf->node), code_text(code));
    return code;
}
