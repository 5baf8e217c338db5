/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/verify_priv.h"

#include "rows/schema.h"
#include "files/trail.h"
#include "os/clock.h"

#include <sys/stat.h>
#include <time.h>

#define MOVING_STEPS 50 /* looks in the second that a rotation is given */

/* Where the rows before the first one are gone. */
static enum code begin_cut(struct verifier *verifier, const struct verify_source *source)
{
    verifier->continues = true;
    verifier->begin = verifier->seq = source->cut_seq;
    memcpy(verifier->hash, source->cut_hash, DIGEST_BYTES);
    memcpy(verifier->previous, source->cut_hash, DIGEST_BYTES);
    return CODE_OK;
}

static enum code check_file(struct verifier *verifier)
{
    static const unsigned char zeros[DIGEST_BYTES];
    const unsigned char *before = zeros;
    unsigned char hash[DIGEST_BYTES];
    struct db_stmt *stmt;
    struct walk_row row;
    enum code code = walk_file(verifier->db, &stmt, &row);

    if (code == CODE_NOT_FOUND && verifier->is_cut)
        return begin_cut(verifier, verifier->conf->source);
    if (code == CODE_NOT_FOUND) {
        verify__fault(verifier, 0, "file", "seq", "the row that says what this file is is missing");
        return CODE_OK;
    }
    if (code != CODE_OK)
        return code;
    verifier->continues = row.values[F_PREVIOUS].kind == ROW_BLOB;
    if (verifier->continues && row.values[F_PREVIOUS].bytes.len == DIGEST_BYTES)
        before = (const unsigned char *)row.values[F_PREVIOUS].bytes.at;
    memcpy(verifier->previous, before, DIGEST_BYTES);
    row_hash(ROW_FILE, row.values, before, hash);
    if (!verify__holds(&row.hash, hash) || row.seq < 0)
        verify__fault(verifier, 0, "file", "contents", "its contents or its hash are not what was written");
    verifier->begin = row.seq > 0 ? row.seq : 0;
    verifier->seq = row.seq;
    memcpy(verifier->hash, hash, DIGEST_BYTES);
    if (row.hash.kind == ROW_BLOB && row.hash.bytes.len == DIGEST_BYTES)
        memcpy(verifier->hash, row.hash.bytes.at, DIGEST_BYTES);
    if (db_step(stmt) == CODE_OK)
        verify__fault(verifier, 0, "file", "seq", "there is more than one row");
    db_finalize(&stmt);
    return CODE_OK;
}

static bool is_recorded(const struct verifier *verifier, int64_t seq, struct span tenant, int64_t before_us)
{
    for (const struct erasure *erasure = verifier->erasures; erasure != NULL; erasure = erasure->next)
        if (erasure->seq == seq && erasure->before_us == before_us && span_equals(erasure->tenant, tenant))
            return true;
    return false;
}

/* What the table says must be recorded, in the same commit as it says it. A sealed file by itself has only its word for what
 * files behind it record. */
static enum code check_erasures(struct verifier *verifier)
{
    bool alone = verifier->conf->sequence == NULL;
    struct db_stmt *stmt = NULL;
    int64_t sealed;
    enum code code = db_number(verifier->db, "SELECT max(seq) FROM event WHERE kind = 'sealed' AND seq = (" ROW_MAX_SEQ ")",
                               NULL, 0, &sealed);

    if (code == CODE_OK)
        code = db_prepare(verifier->db, "SELECT seq, tenant, before_us FROM erasure AS l WHERE NOT EXISTS (SELECT 1 FROM ("
                          VERIFY_ERASURES " AND seq = l.seq) AS e WHERE e.tenant IS l.tenant AND e.before_us = l.before_us)",
                          &stmt);
    while (db_next(&stmt, &code)) {
        int64_t seq = db_int(stmt, 0);

        if (alone && sealed > 0 && seq > sealed)
            verifier->report->erasures_elsewhere++;
        else if (is_recorded(verifier, seq, db_text(stmt, 1), db_int(stmt, 2)))
            continue;
        else if (!alone && seq > verifier->conf->sequence->read_to && verifier->conf->may_retry)
            code = CODE_BUSY;
        else
            verify__fault(verifier, 0, "erasure", "seq", "no row %lld records such an erasure", (long long)seq);
    }
    if (code == CODE_OK && verifier->report->erasures_elsewhere > 0)
        code = verify__read_erasures(verifier->db, "SELECT seq, tenant, before_us FROM erasure WHERE seq > ("
                                     ROW_MAX_SEQ ")", &verifier->arena, &verifier->erasures);
    return code;
}

static enum code read_erasures(struct verifier *verifier)
{
    enum code code = CODE_OK;

    if (verifier->conf->sequence != NULL)
        verifier->erasures = verifier->conf->sequence->erasures;
    else
        code = verify__read_erasures(verifier->db, VERIFY_ERASURES, &verifier->arena, &verifier->erasures);
    return code == CODE_OK && verifier->has_checkpoints ? check_erasures(verifier) : code;
}

static enum code wait_for(struct heads *heads, struct permits *permits, int64_t decision, struct span tenant)
{
    static const unsigned char no_salt[ROW_SALT_BYTES];
    struct head *head = NULL;
    enum code code = tenant.at != NULL ? heads_find(heads, tenant, &head) : CODE_OK;

    return code == CODE_OK ? permits_add(permits, (uint64_t)decision, head, no_salt) : code;
}

/* Permits whose outcomes this file has to bring, or one behind it. */
static enum code read_permits(struct verifier *verifier)
{
    struct verify_standing *began = &verifier->began;
    struct db_stmt *stmt;
    enum code code;

    if (!verifier->has_checkpoints)
        return CODE_OK;
    code = db_prepare(verifier->db, "SELECT decision, tenant FROM permit_start", &stmt);
    while (db_next(&stmt, &code)) {
        int64_t decision = db_int(stmt, 0);

        if (decision <= 0 || decision > verifier->begin) {
            verify__fault(verifier, 0, "permit_start", "decision", "%lld does not stand before this file", (long long)decision);
            continue;
        }
        code = wait_for(&verifier->heads, &verifier->permits, decision, db_text(stmt, 1));
        if (code == CODE_OK && verifier->conf->sequence != NULL)
            code = wait_for(&began->heads, &began->permits, decision, db_text(stmt, 1));
    }
    return code;
}

/* A damaged page is a fault of the file: what can be read is checked. A source that cannot be reached is none. */
static enum code survive(struct verifier *verifier, enum code code, const char *table)
{
    if (code != CODE_IO || verifier->conf->source != NULL)
        return code;
    verify__fault(verifier, 0, table, "page", "cannot be read whole: the file is damaged");
    return CODE_OK;
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

#define SLICE_ROWS 8192 /* in one read transaction, so that a gate beside us can begin its -wal file anew */
#define WAL_GROWTH_BYTES ((off_t)8 << 20)
#define REST_MS 100
#define STRAY_LOOKS 20

/* Checkpoints in the order of their sizes; what is wrong with each by itself is judged when it is read. */
struct marks {
    struct db_stmt *stmt;
    struct verify_mark mark;
    int64_t from;   /* sizes below this one were taken */
    enum code code; /* CODE_OK: `mark` is one; CODE_NOT_FOUND: there are no more */
};

static void next_mark(const struct verifier *verifier, struct marks *marks)
{
    marks->code = db_step(marks->stmt);
    if (marks->code == CODE_OK)
        verify__judge_mark(verifier, marks->stmt, &marks->mark);
}

static enum code begin_marks(const struct verifier *verifier, struct marks *marks)
{
    enum code code;

    marks->code = CODE_NOT_FOUND;
    if (!verifier->has_checkpoints)
        return CODE_OK;
    code = db_select(verifier->db, "SELECT size, time_us, peaks, note FROM checkpoint WHERE size >= ? ORDER BY size",
                     DB_VALUES(db_of_int(marks->from)), &marks->stmt);
    if (code == CODE_OK)
        next_mark(verifier, marks);
    return code;
}

/* Those that stand before the row with this number; INT64_MAX: all that are left. */
static enum code take_marks(struct verifier *verifier, struct marks *marks, int64_t seq)
{
    enum code code = CODE_OK;

    while (code == CODE_OK && marks->code == CODE_OK && (marks->mark.size < seq || seq == INT64_MAX)) {
        code = verify__mark(verifier, &marks->mark);
        marks->from = marks->mark.size < INT64_MAX ? marks->mark.size + 1 : INT64_MAX;
        next_mark(verifier, marks);
    }
    return code;
}

/* Checkpoints before the row with this number, and the hashes that were kept of rows that stood before it. */
static enum code come_to(struct verifier *verifier, struct marks *marks, int64_t seq)
{
    struct db_stmt *stmt;
    enum code code;

    if (verifier->conf->source == NULL || seq == verifier->seq + 1)
        return take_marks(verifier, marks, seq);
    code = db_select(verifier->db, "SELECT seq, hash, tenant FROM kept WHERE seq > ? AND seq < ? ORDER BY seq",
                     DB_VALUES(db_of_int(verifier->seq), db_of_int(seq)), &stmt);
    while (db_next(&stmt, &code)) {
        code = take_marks(verifier, marks, db_int(stmt, 0));
        if (code == CODE_OK)
            code = verify__passed(verifier, db_int(stmt, 0), db_blob(stmt, 1), db_text(stmt, 2));
    }
    return code == CODE_OK ? take_marks(verifier, marks, seq) : code;
}

/* Takes: walk: a file's rows; NULL: they are the source's. *first: number of the last one, or of that which the next slice
 * begins with. Two rows that share a number, which is a fault, are of one slice.
 * Returns: CODE_NOT_FOUND behind the last. */
static enum code take_rows(struct verifier *verifier, struct marks *marks, struct walk *walk, int64_t *first)
{
    const struct verify_source *source = verifier->conf->source;
    struct walk_row row;
    enum code code = CODE_OK;

    for (int rows = 0; code == CODE_OK && (walk != NULL || rows < SLICE_ROWS); rows++) {
        bool is_enough;

        code = walk != NULL ? walk_next(walk, &row) : source->next(source->context, &row);
        if (code != CODE_OK)
            break;
        is_enough = walk != NULL && rows >= SLICE_ROWS && row.seq != *first;
        *first = row.seq;
        if (is_enough)
            break;
        code = come_to(verifier, marks, row.seq);
        if (code == CODE_OK)
            code = verify__walked(verifier, &row);
    }
    return code;
}

static enum code walk_slice(struct verifier *verifier, struct marks *marks, int64_t *first)
{
    struct walk walk;
    enum code code;

    if (verifier->conf->source != NULL)
        return take_rows(verifier, marks, NULL, first);
    code = walk_init(&walk, verifier->db, *first, verifier->last);
    if (code != CODE_OK)
        return code;
    code = take_rows(verifier, marks, &walk, first);
    walk_fini(&walk);
    return code;
}

/* Behind the last row stand the checkpoints over it, and those of rows that are gone. */
static enum code check_slice(struct verifier *verifier, struct marks *marks, int64_t *first)
{
    bool is_file = verifier->conf->source == NULL; /* into a source's database what it keeps is put meanwhile */
    enum code code = is_file ? db_exec(verifier->db, "BEGIN") : CODE_OK, taken;

    if (code == CODE_OK)
        code = begin_marks(verifier, marks);
    if (code == CODE_OK)
        code = walk_slice(verifier, marks, first);
    taken = code == CODE_NOT_FOUND ? come_to(verifier, marks, INT64_MAX) : CODE_OK;
    if (taken == CODE_OK && marks->code != CODE_OK && marks->code != CODE_NOT_FOUND) {
        taken = survive(verifier, marks->code, "checkpoint");
        marks->from = INT64_MAX; /* told once */
    }
    db_finalize(&marks->stmt);
    if (is_file)
        db_rollback(verifier->db);
    return taken == CODE_OK ? code : taken;
}

/* A -wal file that grows while rows are read back to back is given a moment without a reader. */
static void rest(const struct verifier *verifier, off_t *wal_bytes)
{
    struct stat there;

    if (verifier->conf->source != NULL || stat(db_wal_path(verifier->db), &there) != 0)
        return;
    if (*wal_bytes >= 0 && there.st_size >= *wal_bytes + WAL_GROWTH_BYTES)
        (void)nanosleep(&(struct timespec){.tv_nsec = REST_MS * 1000000}, NULL);
    else if (*wal_bytes >= 0)
        return;
    *wal_bytes = there.st_size;
}

static enum code check_rows(struct verifier *verifier)
{
    const struct verify_conf *conf = verifier->conf;
    struct marks marks = {.from = INT64_MIN};
    int64_t first = INT64_MIN;
    off_t wal_bytes = -1;
    enum code code = CODE_OK;

    while (code == CODE_OK) {
        rest(verifier, &wal_bytes);
        code = check_slice(verifier, &marks, &first);
        if (conf->progress != NULL)
            conf->progress(conf->context, (uint64_t)(verifier->seq - verifier->begin),
                           (uint64_t)(verifier->last - verifier->begin));
    }
    if (code == CODE_IO && conf->source == NULL) { /* a damaged page: what can be read was checked */
        verify__fault(verifier, verifier->seq + 1, "entry", "page", "what follows row %lld cannot be read: the file is damaged",
                      (long long)verifier->seq);
        code = CODE_NOT_FOUND;
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* What SQLite would roll into the file, or read in its place. One that a gate is just using is gone in a moment. */
static void doubt_stray(struct verifier *verifier)
{
    const char *suffix;
    struct stat is;

    if (verifier->conf->source != NULL)
        return;
    for (int i = 0; (suffix = db_stray(verifier->conf->path, &is)) != NULL && i < STRAY_LOOKS; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = REST_MS * 1000000}, NULL);
    if (suffix != NULL)
        verify__doubt(verifier, "a %s stands beside the file and is no part of it%s; it was not read. A gate that was killed "
                      "may have left it, and whoever may write in the folder; the next start removes it", suffix,
                      strcmp(suffix, "-wal") == 0       ? ": SQLite would read rows from it"
                      : strcmp(suffix, "-journal") == 0 ? ": SQLite would roll the file back by it"
                                                        : "");
}

static enum code close_report(struct verifier *verifier)
{
    struct verify_report *report = verifier->report;
    enum code code;

    verify__resolve(verifier);
    if (verifier->stopped)
        verify__report_open(verifier, "was stopped");
    doubt_stray(verifier);
    code = verify__end_tree(verifier);
    if (code == CODE_OK)
        code = survive(verifier, verify__end_signed(verifier), "entry");
    report->under_way = verifier->permits.count;
    report->last_seq = report->rows > 0 ? verifier->seq : 0;
    memcpy(report->head, verifier->hash, DIGEST_BYTES);
    return code;
}

static enum code count_checkpoints(struct verifier *verifier)
{
    if (!verifier->has_checkpoints)
        return CODE_OK;
    return db_exec(verifier->db, "SELECT count(hash) FROM tenant_start; SELECT count(peaks), count(note) FROM checkpoint");
}

/* What the file says by itself: most of the work, which needs no other file. */
static enum code check_alone(struct verifier *verifier)
{
    const struct verify_source *source = verifier->conf->source;
    enum code code;

    verifier->is_cut = source != NULL && source->is_cut;
    code = survive(verifier, check_file(verifier), "file");
    verifier->now_us = clock_wall_us();
    if (code == CODE_OK) /* from here on the file may grow, but not below this row */
        code = survive(verifier, verify__last_seq(verifier, &verifier->last), "entry");
    if (code == CODE_OK)
        code = survive(verifier, verify__begin_tree(verifier), "checkpoint");
    if (code == CODE_OK)
        code = survive(verifier, read_erasures(verifier), "event");
    if (code == CODE_OK)
        code = survive(verifier, read_permits(verifier), "permit_start");
    if (code == CODE_OK && source == NULL)
        code = verify__find_indices(verifier);
    verifier->part = VERIFY_ROWS;
    if (code == CODE_OK)
        code = survive(verifier, check_rows(verifier), "entry");
    if (code != CODE_OK || source != NULL) /* what is around the evidence is a file's */
        return code;
    verifier->part = VERIFY_SCHEMA;
    if (code == CODE_OK)
        code = survive(verifier, verify__schema(verifier), "sqlite_schema");
    verifier->part = VERIFY_INDICES;
    if (code == CODE_OK)
        code = survive(verifier, count_checkpoints(verifier), "checkpoint");
    return code == CODE_OK ? survive(verifier, verify__indices(verifier), "index") : code;
}

static void tell_faults(const struct verifier *verifier)
{
    struct verify_report *report = verifier->report;

    for (enum verify_part part = 0; part < VERIFY_PARTS; part++) {
        const struct verify_faults *faults = &verifier->faults[part];

        for (size_t i = 0; i < faults->count && i < VERIFY_FAULTS_MAX && report->fault_count + i < VERIFY_FAULTS_MAX; i++)
            report->fault[report->fault_count + i] = faults->fault[i];
        report->fault_count += faults->count;
    }
}

static enum code check_all(struct verifier *verifier)
{
    const struct verify_conf *conf = verifier->conf;
    enum code code = check_alone(verifier);

    if (code == CODE_OK && conf->await_before != NULL)
        code = conf->await_before(conf->context);
    verifier->part = VERIFY_SEAM;
    if (code == CODE_OK)
        code = verify__continue(verifier);
    verifier->part = VERIFY_END;
    if (code == CODE_OK)
        code = close_report(verifier);
    tell_faults(verifier);
    return code;
}

static enum code check_kind(struct verifier *verifier, const char *path, struct why *why)
{
    int64_t tables, application = 0;
    enum code code = db_number(verifier->db, "PRAGMA application_id", NULL, 0, &application);

    if (code == CODE_OK && application == AUDIT_EXPORT_ID)
        return why_set(why, CODE_INVALID, "%s: is an export, which proves nothing: verify the audit that it was made of", path);
    if (code == CODE_OK)
        code = db_number(verifier->db, "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND "
                         "name IN ('file', 'decision', 'outcome', 'event')", NULL, 0, &tables);
    if (code == CODE_OK && tables != 4)
        code = why_set(why, CODE_INVALID, "%s: is a database, but no audit trail", path);
    if (code == CODE_OK)
        code = audit_take_views(verifier->db);
    return code == CODE_OK ? audit_refuse_other(verifier->db, path, why) : code;
}

/* Each commit that empties values comes behind one that notes which erasure does. */
static enum code newest_erasure(struct db *db, int64_t *seq)
{
    return db_number(db, "SELECT max(coalesce((SELECT max(seq) FROM erasure), 0), coalesce((SELECT max(seq) FROM event "
                     "WHERE kind = 'erased'), 0))", NULL, 0, seq);
}

/* Whether values of it were erased since it was looked at, so that what was read of it may be of before and of after. */
static bool has_changed(const struct verifier *verifier)
{
    int64_t newest = 0, known = 0;

    for (const struct erasure *erasure = verifier->erasures; erasure != NULL; erasure = erasure->next)
        known = erasure->seq > known ? erasure->seq : known;
    return db_has_changed(verifier->db) ||
           (verifier->report->fault_count > 0 && newest_erasure(verifier->db, &newest) == CODE_OK && newest > known);
}

static bool has_moved(const struct verify_conf *conf, bool may_move)
{
    if (conf->has_moved == NULL)
        return false;
    for (int i = 0; i < MOVING_STEPS && may_move && !conf->has_moved(conf->context); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000000 / MOVING_STEPS}, NULL);
    return conf->has_moved(conf->context);
}

static enum code begin(struct verifier *verifier, struct why *why)
{
    const struct verify_conf *conf = verifier->conf;
    enum code code = conf->source != NULL ? CODE_OK : check_kind(verifier, conf->path, why);

    db_stop_when(verifier->db, conf->stop);
    if (code == CODE_OK)
        code = heads_init(&verifier->heads);
    if (code == CODE_OK)
        code = permits_init(&verifier->permits);
    return code == CODE_OK && conf->sequence != NULL ? verify__standing_init(&verifier->began) : code;
}

static void end(struct verifier *verifier)
{
    verify__fini_tree(verifier);
    verify__standing_fini(&verifier->began);
    permits_fini(&verifier->permits);
    heads_fini(&verifier->heads);
    arena_fini(&verifier->arena);
    if (verifier->conf->source == NULL)
        db_close(&verifier->db);
}

enum code audit_verify(const struct verify_conf *conf, struct verify_report *report, struct why *why)
{
    struct verifier verifier = {.conf = conf, .report = report, .db = conf->source != NULL ? conf->source->db : NULL};
    enum code code = conf->source != NULL ? CODE_OK : trail_open_as(conf->path, DB_LOOK, &verifier.db, why);

    *report = (struct verify_report){0};
    if (code != CODE_OK)
        return has_moved(conf, false) ? CODE_BUSY : code;
    arena_init(&verifier.arena, (size_t)16 << 20);
    code = begin(&verifier, why);
    if (code == CODE_OK)
        code = check_all(&verifier);
    if (code == CODE_BUSY && db_is_late(verifier.db)) /* once more would take as long */
        code = why_set(why, CODE_LIMIT, "%s: a view stands in a table's place, and is not read to its end in a minute; keep "
                       "the file as evidence", conf->path);
    if (code != CODE_OK && code != CODE_INVALID && why->text[0] == '\0')
        (void)why_set(why, code, "%s: %s", conf->path, code_text(code));
    if (conf->may_retry && (code == CODE_OK || db_has_changed(verifier.db)) && has_changed(&verifier))
        code = CODE_BUSY;
    if (has_moved(conf, code == CODE_OK && report->is_sealed && conf->ends_trail))
        code = why_set(why, CODE_BUSY, "%s was rotated meanwhile; verify it again", conf->path);
    if (code == CODE_OK)
        verify__leave(&verifier);
    end(&verifier);
    return code;
}
