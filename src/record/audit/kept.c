/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint is written after the rows that it covers are durable, so that a crash or a power cut never leaves the file
 * of checkpoints ahead of the database. */
#include "audit/kept_priv.h"

#include "audit/rotate_priv.h"
#include "proof/keyring.h"
#include "ledger/ledger.h"
#include "proof/loss.h"
#include "files/reader.h"
#include "files/trail.h"
#include "rows/walk.h"
#include "base/log.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_BYTES ((size_t)1 << 20)
#define UNTOLD 2         /* a gate that is killed may leave so many checkpoints in the database that the file does not have */
#define TREE_ROWS 65536 /* rows that are read again, where a checkpoint in the database covers the others */

struct survey {
    const struct notary *notary;
    struct keyring keys;     /* the gate's own key is the first */
    struct losses losses;
    struct span text;
    size_t begins;           /* where the text begins in its file */
    bool is_missing, is_read, is_no_file;
    int error;               /* errno of the reading that failed */
    uint64_t damaged;
    size_t damaged_at;
    /* The largest notes that no loss explains. own: of this log, under any key that its events name. mine: of these, under the
     * gate's own key, since whoever can write the database can name another key in it. other: of other logs, under the gate's
     * own key. */
    struct note own, mine, other;
    struct note lost;        /* the one that says that something is lost */
    bool has_own, has_mine, has_mark; /* mark: a checkpoint of the database is under the gate's own key */
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static enum code read_at(int fd, off_t from, size_t len, struct buf *text)
{
    char *at;
    size_t got = 0;
    enum code code = buf_reserve(text, len, &at);

    while (code == CODE_OK && got < len) {
        ssize_t n = pread(fd, at + got, len - got, from + (off_t)got);

        if (n < 0 && errno != EINTR)
            return CODE_IO;
        if (n == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    if (code == CODE_OK)
        buf_commit(text, got);
    return code;
}

/* Reads the file's end; where the file is larger, from the first whole note on. A link or what is no ordinary file is not
 * read, since nothing is appended there. */
static enum code read_end(const char *path, struct buf *text, struct survey *survey)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    struct stat there;
    enum code code = CODE_OK;

    if (fd < 0) {
        survey->is_missing = errno == ENOENT;
        survey->error = errno;
        return survey->is_missing ? CODE_OK : CODE_IO;
    }
    if (fstat(fd, &there) != 0)
        code = CODE_IO;
    else if (S_ISREG(there.st_mode)) {
        off_t from = there.st_size > (off_t)TAIL_BYTES ? there.st_size - (off_t)TAIL_BYTES : 0;

        code = read_at(fd, from, (size_t)(there.st_size - from), text);
        survey->is_read = code == CODE_OK;
        survey->text = buf_peek(text);
        survey->begins = (size_t)from;
        while (from > 0 && survey->text.len > 0 && !span_starts_with(survey->text, SPAN_LIT("\n\n\n")))
            survey->text = span_part(survey->text, 1, SIZE_MAX);
        survey->begins += buf_len(text) - survey->text.len;
    }
    survey->is_no_file = code == CODE_OK && !S_ISREG(there.st_mode);
    survey->error = errno;
    (void)close(fd);
    return code;
}

/* ---- its notes --------------------------------------------------------------------------------------------------- */

static void take_larger(struct note *kept, const struct note *note)
{
    if (note->size > kept->size || (note->size == kept->size && note->time_us > kept->time_us))
        *kept = *note;
}

/* Returns: false: none of the log's keys signed it, or not this text. */
static bool take_note(struct survey *survey, const struct note *note)
{
    bool is_own = span_is(note->origin, survey->notary->origin);
    size_t by = 0;
    enum note_check check = keyring_verify(&survey->keys, note, &by);

    if (check == NOTE_FORGED || !note_is_named(note) || (is_own && check != NOTE_SIGNED))
        return false;
    survey->has_own = survey->has_own || is_own;
    survey->has_mine = survey->has_mine || (is_own && by == 0);
    if (check != NOTE_SIGNED || losses_find(&survey->losses, note) != NULL)
        return true;
    if (is_own)
        take_larger(&survey->own, note);
    if (by == 0)
        take_larger(is_own ? &survey->mine : &survey->other, note);
    return true;
}

static void look(struct survey *survey)
{
    struct span rest = survey->text, piece;
    enum note_piece kind;

    survey->own = survey->mine = survey->other = (struct note){.size = 0};
    survey->damaged = 0;
    while ((kind = note_scan(&rest, &piece)) != NOTE_NONE) {
        struct note note;

        if (kind == NOTE_TORN || (kind == NOTE_WHOLE && note_read(piece, &note) == CODE_OK && take_note(survey, &note)))
            continue;
        if (survey->damaged++ == 0)
            survey->damaged_at = survey->begins + (size_t)(piece.at - survey->text.at);
    }
}

/* ---- against the rows -------------------------------------------------------------------------------------------- */

/* Loads the tree at the last checkpoint of the database up to `reach`; the empty tree where there is none. Nobody asks who
 * signed that one, since no other tree grows to a root that is signed. */
static enum code load_base(struct db *db, uint64_t reach, struct merkle *tree)
{
    unsigned char root[DIGEST_BYTES];
    struct db_stmt *row = NULL;
    struct note note;
    enum code code = db_find(db, "SELECT size, peaks, note FROM checkpoint WHERE size <= ?1 ORDER BY size DESC LIMIT 1",
                             DB_VALUES(db_of_int((int64_t)reach)), &row);

    *tree = (struct merkle){.size = 0};
    if (code == CODE_OK && (note_read(db_text(row, 2), &note) != CODE_OK ||
                            !merkle_load(tree, (uint64_t)db_int(row, 0), db_blob(row, 1)) ||
                            (merkle_root(tree, root), memcmp(root, note.root, DIGEST_BYTES) != 0)))
        *tree = (struct merkle){.size = 0};
    db_finalize(&row);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* Reads the rows behind `reach`, and those before it that no checkpoint covers. CODE_INVALID: they are not all there. */
static enum code root_of(struct db *db, uint64_t reach, uint64_t size, unsigned char root[DIGEST_BYTES])
{
    struct merkle tree;
    struct walk leaves;
    struct leaf row;
    enum code code = load_base(db, reach, &tree);

    if (code != CODE_OK)
        return code;
    code = walk_leaves(&leaves, db, (int64_t)tree.size + 1, (int64_t)size);
    if (code != CODE_OK)
        return code;
    while ((code = walk_next_leaf(&leaves, &row)) == CODE_OK) {
        unsigned char leaf[DIGEST_BYTES];

        if ((uint64_t)row.seq != tree.size + 1)
            break;
        merkle_leaf(row.hash, leaf);
        merkle_add(&tree, leaf);
    }
    walk_fini(&leaves);
    merkle_root(&tree, root);
    if (code != CODE_OK && code != CODE_NOT_FOUND)
        return code;
    return code == CODE_NOT_FOUND && tree.size == size ? CODE_OK : CODE_INVALID;
}

/* Finds the first checkpoint of the statement that the gate's own key signed, or with by_any any key of the log. */
static enum code find_mark(const struct survey *survey, struct db *db, const char *sql, bool by_any, struct note *note,
                           unsigned char root[DIGEST_BYTES])
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, sql, &stmt);
    bool found = false;
    size_t by = 0;

    while (code == CODE_OK && !found && (code = db_step(stmt)) == CODE_OK)
        found = note_read(db_text(stmt, 0), note) == CODE_OK && keyring_verify(&survey->keys, note, &by) == NOTE_SIGNED &&
                (by_any || by == 0) && span_is(note->origin, survey->notary->origin);
    if (found)
        memcpy(root, note->root, DIGEST_BYTES); /* its texts are gone with the statement */
    db_finalize(&stmt);
    return code;
}

/* Whether the gate's own key signed a checkpoint of the statement, and that over so many rows. CODE_NOT_FOUND: it did not. */
static enum code is_ours(const struct survey *survey, struct db *db, const char *sql, uint64_t rows)
{
    unsigned char root[DIGEST_BYTES];
    struct note note;
    enum code code = find_mark(survey, db, sql, false, &note, root);

    return code == CODE_OK && note.size < rows ? CODE_NOT_FOUND : code;
}

static enum code hold_against(const struct survey *survey, const struct note *note, const struct ledger *ledger,
                              struct kept *kept)
{
    const char *file = survey->notary->file, *path = ledger->path;
    uint64_t begin = ledger->begin_seq, reach = note->size > begin + TREE_ROWS ? note->size - TREE_ROWS : begin;
    unsigned char root[DIGEST_BYTES];
    enum code code;

    if (note->size > kept->rows) {
        kept->loss = "shorter";
        (void)why_set(&kept->found, CODE_INVALID, "%s: a checkpoint over %llu rows is signed, and %s ends with row %llu: it is "
                      "an older copy, its -wal file is lost, or its end was cut off", file, (unsigned long long)note->size,
                      path, (unsigned long long)kept->rows);
        return CODE_OK;
    }
    if (note->size >= begin) {
        code = root_of(ledger->db, reach, note->size, root);
        if (code == CODE_OK && memcmp(root, note->root, DIGEST_BYTES) != 0)
            code = CODE_INVALID;
    } else { /* the note is of files before this one, whose first checkpoint must be signed, too */
        code = is_ours(survey, ledger->db, "SELECT note FROM checkpoint ORDER BY size LIMIT 1", begin);
        code = code == CODE_NOT_FOUND && note == &survey->mine ? CODE_INVALID : code == CODE_NOT_FOUND ? CODE_OK : code;
    }
    if (code != CODE_INVALID)
        return code;
    kept->loss = "other";
    (void)why_set(&kept->found, CODE_INVALID, "%s: the signed checkpoint over %llu rows is not of the rows in %s: they are "
                  "of another history", file, (unsigned long long)note->size, path);
    return CODE_OK;
}

static enum code find_loss(struct survey *survey, const struct ledger *ledger, struct kept *kept)
{
    const struct note *notes[] = {&survey->own, &survey->mine};
    enum code code = CODE_OK;

    kept->loss = NULL;
    for (size_t i = 0; i < sizeof notes / sizeof notes[0] && code == CODE_OK && kept->loss == NULL; i++) {
        if (notes[i]->size > 0)
            code = hold_against(survey, notes[i], ledger, kept);
        survey->lost = *notes[i];
    }
    if (code != CODE_OK || kept->loss != NULL || survey->other.size == 0 || survey->has_mine)
        return code;
    code = is_ours(survey, ledger->db, "SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1", 0);
    if (code != CODE_NOT_FOUND)
        return code;
    kept->loss = "replaced";
    survey->lost = survey->other;
    (void)why_set(&kept->found, CODE_INVALID, "%s: its checkpoints, up to one over %llu rows, are signed with this gate's "
                  "key, and none is of %s, which begins anew: the file was taken away", survey->notary->file,
                  (unsigned long long)survey->other.size, ledger->path);
    return CODE_OK;
}

/* Measures up to which size and time checkpoints are explained by this loss once it is accepted. */
static void measure(const struct survey *survey, struct kept *kept)
{
    const struct note *lost = &survey->lost;
    struct span rest = survey->text, piece;
    struct note note;

    kept->size = lost->size;
    kept->time_us = lost->time_us;
    memcpy(kept->root, lost->root, DIGEST_BYTES);
    (void)snprintf(kept->origin, sizeof kept->origin, "%.*s", SPAN_ARG(lost->origin));
    while (note_next(&rest, &piece))
        if (note_read(piece, &note) == CODE_OK && span_equals(note.origin, lost->origin) && note.time_us > kept->time_us &&
            note.size <= lost->size)
            kept->time_us = note.time_us;
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

/* Whether the row is there as it was chained behind the one before it. */
static enum code is_row(struct db *db, int64_t seq, bool *holds)
{
    unsigned char before[DIGEST_BYTES], hash[DIGEST_BYTES];
    struct walk_row row;
    struct walk walk;
    enum code code = reader_hash(db, seq - 1, before);

    *holds = false;
    if (code == CODE_OK)
        code = walk_init(&walk, db, seq, seq);
    if (code != CODE_OK)
        return code == CODE_NOT_FOUND || code == CODE_INVALID ? CODE_OK : code;
    code = walk_next(&walk, &row);
    if (code == CODE_OK) {
        row_hash(row.table, row.values, before, hash);
        *holds = row.hash.bytes.len == DIGEST_BYTES && memcmp(row.hash.bytes.at, hash, DIGEST_BYTES) == 0;
    }
    walk_fini(&walk);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* Whether the row is in the tree of the next checkpoint under the gate's own key, or with by_any any key of the log, as it was
 * written. The tree does not say that of a number, since two rows may share one. */
static enum code is_signed(const struct survey *survey, struct db *db, int64_t seq, bool by_any, bool *is)
{
    unsigned char root[DIGEST_BYTES], there[DIGEST_BYTES];
    char next[512];
    struct note mark;
    enum code code;

    *is = false;
    (void)snprintf(next, sizeof next, "SELECT note FROM checkpoint WHERE size BETWEEN %lld AND (" ROW_MAX_SEQ ") ORDER BY size",
                   (long long)seq);
    code = find_mark(survey, db, next, by_any, &mark, root);
    if (code == CODE_OK) /* the note may stand in a row of another size */
        code = mark.size < (uint64_t)seq ? CODE_NOT_FOUND : root_of(db, (uint64_t)seq - 1, mark.size, there);
    if (code == CODE_OK && memcmp(root, there, DIGEST_BYTES) == 0)
        code = is_row(db, seq, is);
    return code == CODE_NOT_FOUND || code == CODE_INVALID ? CODE_OK : code;
}

static enum code new_survey(const struct notary *notary, struct survey **survey)
{
    *survey = mem_zalloc(sizeof **survey);
    if (*survey == NULL)
        return CODE_NOMEM;
    (*survey)->notary = notary;
    (*survey)->keys.count = 1;
    return notary__public(notary, (*survey)->keys.keys[0].public);
}

enum code kept__is_signed(const struct notary *notary, struct db *db, int64_t seq, bool *is)
{
    struct survey *survey;
    enum code code = new_survey(notary, &survey);

    *is = false;
    if (code == CODE_OK)
        code = is_signed(survey, db, seq, false, is);
    mem_free(survey);
    return code;
}

/* Adds a file's accepted losses, as far as they are signed. Whoever cuts rows off can write such an event behind them or over
 * one of them, but cannot sign it; a gate that goes on after a loss signs it at once. */
static enum code take_losses(struct survey *survey, struct db *db)
{
    struct losses *losses = &survey->losses;
    size_t from = losses->count, kept = from;
    enum code code = losses_read(losses, db);

    for (size_t i = from; i < losses->count && code == CODE_OK; i++) {
        bool is = false;

        code = is_signed(survey, db, losses->at[i].seq, !survey->has_mine, &is);
        if (is)
            losses->at[kept++] = losses->at[i];
    }
    losses->count = kept;
    return code;
}

/* Losses and keys of all files of the trail: a note may outlive the file whose events explain it. */
static enum code read_trail(const char *path, struct survey *survey, struct why *why)
{
    struct trail trail = {0};
    enum code code = trail_find(path, true, &trail, why);

    survey->losses.count = 0;
    for (size_t i = 0; i < trail.count && code == CODE_OK; i++) {
        struct db *db = NULL;

        code = db_open(trail.files[i].path, DB_PAST, &db, why);
        if (code == CODE_OK)
            code = keyring_read(&survey->keys, db);
        if (code == CODE_OK)
            code = take_losses(survey, db);
        db_close(&db);
    }
    trail_fini(&trail);
    return code;
}

/* Checks the rows behind the last checkpoint that a key of the log signed. */
static enum code check_unsigned(struct survey *survey, const struct ledger *ledger, struct kept *kept)
{
    static const char *const sql = "SELECT note FROM checkpoint ORDER BY size DESC";
    unsigned char root[DIGEST_BYTES];
    struct note mark;
    enum code code = find_mark(survey, ledger->db, sql, false, &mark, root);

    survey->has_mark = code == CODE_OK;
    if (code == CODE_NOT_FOUND) /* the gate's key is a new one */
        code = find_mark(survey, ledger->db, sql, true, &mark, root);
    if (code == CODE_OK || code == CODE_NOT_FOUND)
        code = kept__check_unsigned(survey->notary, ledger, code == CODE_OK ? &mark : NULL, kept);
    return code;
}

/* What a file begins with beside its checkpoint is in no row, but its first row names it. Where nobody signed that row yet, the
 * start tells of it as of others that are unsigned. */
static enum code check_begin(const struct survey *survey, const struct ledger *ledger, struct kept *kept)
{
    int64_t first = (int64_t)ledger->begin_seq + 1, from = kept->unsigned_rows.from;
    struct db_stmt *row = NULL;
    struct buf begins;
    bool is = true;
    enum code code = CODE_OK;

    buf_init(&begins, AUDIT_JSON_BYTES);
    if ((int64_t)kept->rows >= first && (from == 0 || from > first))
        code = is_signed(survey, ledger->db, first, !survey->has_mark, &is);
    if (code == CODE_OK)
        code = db_find(ledger->db, "SELECT detail ->> 'begins' FROM event WHERE seq = ?1 AND kind = 'continued' AND "
                       "json_type(detail, '$.begins') = 'text'", DB_VALUES(db_of_int(first)), &row);
    if (code == CODE_OK)
        code = rotate__digest_begin(ledger->db, &begins);
    is = is && (code != CODE_OK || span_equals(db_text(row, 0), buf_peek(&begins)));
    db_finalize(&row);
    buf_fini(&begins);
    if (is || (code != CODE_OK && code != CODE_NOT_FOUND))
        return code == CODE_NOT_FOUND ? CODE_OK : code;
    kept->loss = "begin";
    (void)snprintf(kept->origin, sizeof kept->origin, "%s", survey->notary->origin);
    (void)why_set(&kept->found, CODE_INVALID, "%s: what its file begins with, in the tables tenant_start and permit_start and "
                  "in row %lld, is not what was written", ledger->path, (long long)first);
    return CODE_OK;
}

static void describe_damage(const struct survey *survey, enum code code, bool must_hold, struct kept *kept)
{
    const char *file = survey->notary->file;

    if (code != CODE_OK)
        (void)why_set(&kept->damage, code, "%s: cannot be read: %s; what it held cannot be compared", file,
                      strerror(survey->error));
    else if (survey->is_no_file)
        (void)why_set(&kept->damage, CODE_INVALID, "%s: " NOTARY_NO_FILE "; what it held cannot be compared", file);
    else if (survey->is_missing && must_hold)
        (void)why_set(&kept->damage, CODE_INVALID, "%s: is missing, though checkpoints were made", file);
    else if (survey->damaged > 0)
        (void)why_set(&kept->damage, CODE_INVALID, "%s: %llu places are no checkpoints as they were signed, the first at byte "
                      "%zu: it was damaged or changed", file, (unsigned long long)survey->damaged, survey->damaged_at);
    else if (must_hold && !survey->has_own && survey->is_read)
        (void)why_set(&kept->damage, CODE_INVALID, "%s: holds no checkpoint of this log, though some were made", file);
    if (kept->damage.text[0] != '\0')
        log_warn("audit", "%s", kept->damage.text);
}

static enum code compare_file(struct survey *survey, const struct ledger *ledger, struct kept *kept, struct why *why)
{
    const struct notary *notary = survey->notary;
    struct buf text;
    int64_t marks = 0;
    enum code code, reading = CODE_OK;

    buf_init(&text, TAIL_BYTES);
    code = db_number(ledger->db, "SELECT count(*) FROM (SELECT 1 FROM checkpoint LIMIT 3)", NULL, 0, &marks);
    if (code == CODE_OK) {
        reading = read_end(notary->file, &text, survey);
        look(survey);
        code = reading == CODE_NOMEM ? reading : find_loss(survey, ledger, kept);
    }
    if (code == CODE_OK && (kept->loss != NULL || survey->damaged > 0) && read_trail(ledger->path, survey, why) == CODE_OK) {
        look(survey);
        code = find_loss(survey, ledger, kept);
    }
    if (code == CODE_OK)
        describe_damage(survey, reading, marks > (ledger->is_open_ended ? UNTOLD : 0), kept);
    if (code == CODE_OK && kept->loss != NULL)
        measure(survey, kept);
    buf_fini(&text);
    return code;
}

enum code kept__compare(const struct notary *notary, const struct ledger *ledger, struct kept *kept, struct why *why)
{
    struct survey *survey;
    enum code code;

    *kept = (struct kept){.rows = ledger->tip.seq};
    if (!notary->is_on)
        return CODE_OK;
    code = new_survey(notary, &survey);
    if (code == CODE_OK)
        code = keyring_read(&survey->keys, ledger->db);
    if (code == CODE_OK && notary->file != NULL)
        code = compare_file(survey, ledger, kept, why);
    if (code == CODE_OK)
        code = check_unsigned(survey, ledger, kept);
    if (code == CODE_OK && kept->loss == NULL && ledger->begin_seq > 0)
        code = check_begin(survey, ledger, kept);
    mem_free(survey);
    return code;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static enum code put(struct ledger *ledger, const char *kind, struct span actor, int64_t time_us, const struct buf *detail)
{
    const struct audit_event event = {.time_us = time_us, .kind = span_text(kind), .actor = actor, .detail = buf_peek(detail)};

    return ledger_event(ledger, &event);
}

static enum code put_loss(struct ledger *ledger, const struct kept *kept, const struct audit_loss *accepted, int64_t time_us,
                          struct buf *text)
{
    enum code code = buf_addf(text, "{\"fault\":\"%s\",\"origin\":", kept->loss);

    if (code == CODE_OK)
        code = json_write_string(text, span_text(kept->origin));
    if (code == CODE_OK)
        code = buf_add_text(text, ",\"root\":\"");
    if (code == CODE_OK)
        code = base64_encode(span_of(kept->root, DIGEST_BYTES), text);
    if (code == CODE_OK)
        code = buf_addf(text, "\",\"rows\":%llu,\"size\":%llu,\"time_us\":%lld,\"why\":", (unsigned long long)kept->rows,
                        (unsigned long long)kept->size, (long long)kept->time_us);
    if (code == CODE_OK)
        code = json_write_string(text, span_text(accepted->why));
    if (code == CODE_OK)
        code = buf_add_byte(text, '}');
    return code == CODE_OK ? put(ledger, "loss_accepted", span_text(accepted->actor), time_us, text) : code;
}

enum code kept__put_damage(struct ledger *ledger, const struct why *damage, int64_t time_us)
{
    struct buf text;
    enum code code;

    buf_init(&text, AUDIT_JSON_BYTES);
    code = buf_add_text(&text, "{\"text\":");
    if (code == CODE_OK)
        code = json_write_string(&text, span_text(damage->text));
    if (code == CODE_OK)
        code = buf_add_byte(&text, '}');
    if (code == CODE_OK)
        code = put(ledger, "heads_damaged", SPAN_LIT("gate"), time_us, &text);
    buf_fini(&text);
    return code;
}

enum code kept__record(struct ledger *ledger, const struct kept *kept, const struct audit_loss *accepted, int64_t time_us)
{
    struct buf text;
    enum code code = CODE_OK;

    buf_init(&text, AUDIT_JSON_BYTES);
    if (kept->loss != NULL && strcmp(kept->loss, "begin") == 0)
        ledger_doubt(ledger, "what it begins with was changed");
    if (kept->loss != NULL)
        code = put_loss(ledger, kept, accepted, time_us, &text);
    buf_clear(&text);
    if (code == CODE_OK && kept->unsigned_rows.from != 0) {
        const struct kept_unsigned *rows = &kept->unsigned_rows;

        code = buf_addf(&text, "{\"from\":%lld,\"newest_us\":%lld,\"oldest_us\":%lld,\"to\":%lld}", (long long)rows->from,
                        (long long)rows->newest_us, (long long)rows->oldest_us, (long long)rows->to);
        if (code == CODE_OK)
            code = put(ledger, "unsigned_rows", SPAN_LIT("gate"), time_us, &text);
    }
    buf_fini(&text);
    if (code == CODE_OK && kept->damage.text[0] != '\0')
        code = kept__put_damage(ledger, &kept->damage, time_us);
    return code;
}
