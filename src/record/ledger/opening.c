/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/ledger.h"

#include "ledger/ledger_place_priv.h"
#include "files/reader.h"
#include "rows/schema.h"
#include "rows/walk.h"
#include "base/bug.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/file.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_ROWS 64 /* the last rows, whose hashes are checked at every opening */
#define LEAVES_BYTES ((size_t)256 * 1024)
#define SETTINGS "PRAGMA cache_size = -1024; PRAGMA secure_delete = ON"

enum code ledger_init(struct ledger *ledger, const char *path, const char *node)
{
    *ledger = (struct ledger){.path = mem_dup(path, strlen(path)), .node = mem_dup(node, strlen(node))};
    buf_init(&ledger->leaves, LEAVES_BYTES);
    if (ledger->path == NULL || ledger->node == NULL || heads_init(&ledger->heads) != CODE_OK ||
        permits_init(&ledger->permits) != CODE_OK) {
        ledger_fini(ledger);
        return CODE_NOMEM;
    }
    return CODE_OK;
}

void ledger_fini(struct ledger *ledger)
{
    ledger_close(ledger);
    permits_fini(&ledger->permits);
    heads_fini(&ledger->heads);
    buf_fini(&ledger->leaves);
    mem_free(ledger->path);
    mem_free(ledger->node);
    *ledger = (struct ledger){0};
}

void ledger_close(struct ledger *ledger)
{
    if (ledger->db == NULL)
        return;
    db_rollback(ledger->db);
    for (int i = 0; i < ROW_TABLES; i++)
        insert_free(&ledger->insert[i]);
    db_finalize(&ledger->find_head);
    db_finalize(&ledger->ask_version);
    db_finalize(&ledger->put_checkpoint);
    db_close(&ledger->db);
    place__forget(&ledger->place);
}

/* The row that says where the file stands in the chain; the first file's follows nothing. */
static enum code put_file_row(struct ledger *ledger, const struct ledger_tip *before, int64_t time_us)
{
    static const unsigned char zeros[DIGEST_BYTES];
    unsigned char id[16];
    struct row_value values[F_COUNT] = {
        [F_SEQ] = row_int(before != NULL ? (int64_t)before->seq : 0), [F_FORMAT] = row_int(1), [F_CREATED] = row_int(time_us),
        [F_ID] = row_blob(id, sizeof id), [F_PREVIOUS] = before != NULL ? row_blob(before->hash, DIGEST_BYTES) : row_null(),
    };
    enum code code = insert_new(ledger->db, ROW_FILE, &ledger->insert[ROW_FILE]);

    random_bytes(id, sizeof id);
    row_hash(ROW_FILE, values, before != NULL ? before->hash : zeros, ledger->tip.hash);
    ledger->tip.seq = before != NULL ? before->seq : 0;
    return code == CODE_OK ? insert_row(ledger->insert[ROW_FILE], values, ledger->tip.hash, NULL) : code;
}

enum code ledger_put_numbers(struct ledger *ledger)
{
    char pragmas[96];

    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", AUDIT_APPLICATION_ID,
                   AUDIT_SCHEMA_VERSION);
    return db_exec(ledger->db, pragmas);
}

/* Makes the tables and the file's row, inside the caller's transaction. */
static enum code make_tables(struct ledger *ledger, const struct ledger_tip *before, int64_t time_us)
{
    enum code code = db_exec(ledger->db, audit_schema);

    if (code == CODE_OK)
        code = ledger_put_numbers(ledger);
    return code == CODE_OK ? put_file_row(ledger, before, time_us) : code;
}

/* Makes the schema in one transaction: all or nothing. A second gate that opens the file finds it made. */
static enum code make_schema(struct ledger *ledger, int64_t time_us)
{
    enum code code = db_begin(ledger->db);

    if (code == CODE_OK)
        code = make_tables(ledger, NULL, time_us);
    if (code == CODE_OK)
        code = db_commit(ledger->db);
    if (code != CODE_OK)
        db_rollback(ledger->db);
    return code;
}

static void note_object(void *context, const char *field, struct span name, const char *fault)
{
    (void)name;
    (void)fault;
    if (strcmp(field, "object") == 0)
        *(bool *)context = false;
}

static bool has_own_tables(struct db *db)
{
    bool are_own = true;

    return audit_differences(db, note_object, &are_own) == CODE_OK && are_own;
}

static enum code check_kind(struct ledger *ledger, bool *fresh, struct why *why)
{
    int64_t version, application, tables;
    enum code code = db_number(ledger->db, "PRAGMA user_version", NULL, 0, &version);

    if (code == CODE_OK)
        code = db_number(ledger->db, "PRAGMA application_id", NULL, 0, &application);
    if (code == CODE_OK)
        code = db_number(ledger->db, "SELECT count(*) FROM sqlite_schema", NULL, 0, &tables);
    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", ledger->file, db_error(ledger->db));
    *fresh = tables == 0;
    if (*fresh || has_own_tables(ledger->db)) /* where its numbers are others, somebody has changed them */
        return CODE_OK;
    if (application != AUDIT_APPLICATION_ID || version < 1)
        return why_set(why, CODE_INVALID, "%s: is a database, but no audit trail; name another file", ledger->path);
    return audit_refuse_other(ledger->db, ledger->path, why);
}

/* IGNORE: a checkpoint that a commit in doubt already wrote comes a second time. */
static enum code prepare_checkpoint(struct ledger *ledger)
{
    return db_prepare(ledger->db, "INSERT OR IGNORE INTO checkpoint VALUES (?, ?, ?, ?)", &ledger->put_checkpoint);
}

static enum code prepare_all(struct ledger *ledger)
{
    enum code code = prepare_checkpoint(ledger);

    for (int i = ROW_DECISION; i < ROW_TABLES && code == CODE_OK; i++)
        code = insert_new(ledger->db, (enum row_table)i, &ledger->insert[i]);
    if (code == CODE_OK)
        code = db_prepare(ledger->db, "SELECT seq, hash FROM tenant_start WHERE tenant = ?", &ledger->find_head);
    if (code == CODE_OK)
        code = db_prepare(ledger->db, "PRAGMA data_version", &ledger->ask_version);
    return code;
}

/* Checks that WAL mode is on: where the file system cannot share memory, SQLite stays in another mode and says nothing. */
static enum code check_wal(struct ledger *ledger)
{
    struct db_stmt *stmt;
    enum code code = db_find(ledger->db, "PRAGMA journal_mode", NULL, 0, &stmt);

    if (code == CODE_OK && !span_is(db_text(stmt, 0), "wal"))
        code = CODE_IO;
    db_finalize(&stmt);
    return code;
}

static enum code set_up_connection(struct ledger *ledger)
{
    enum code code;

    db_busy_wait(ledger->db, LEDGER_BUSY_WAIT_MS);
    db_keep_wal(ledger->db);
    db_take_tables_alone(ledger->db);
    db_watch_wal(ledger->db);
    code = db_exec(ledger->db, "PRAGMA journal_mode = WAL; " SETTINGS);
    if (code == CODE_OK)
        code = db_gather_wal(ledger->db);
    return code == CODE_OK ? check_wal(ledger) : code;
}

static enum code set_up(struct ledger *ledger, int64_t time_us, struct why *why)
{
    bool fresh;
    enum code code = check_kind(ledger, &fresh, why);

    if (code != CODE_OK)
        return code;
    code = set_up_connection(ledger);
    if (code == CODE_OK)
        code = fresh ? make_schema(ledger, time_us) : place__check_schema(ledger);
    if (code == CODE_OK && ledger->place.is_other) /* what it holds is read, so that the next file goes on behind it */
        db_take_views(ledger->db, AUDIT_VIEWS_MS);
    else if (code == CODE_OK)
        code = prepare_all(ledger);
    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", ledger->file, db_error(ledger->db));
    return CODE_OK;
}

/* Sets the tip to where the chain stood when the file began. Sets *continues: there was a file before it. */
static enum code start_of_chain(struct ledger *ledger, int64_t *first, bool *continues)
{
    struct db_stmt *stmt;
    struct walk_row row;
    enum code code = walk_file(ledger->db, &stmt, &row);

    if (code != CODE_OK)
        return code == CODE_NOT_FOUND ? CODE_INVALID : code;
    *first = row.seq;
    *continues = row.values[F_PREVIOUS].kind == ROW_BLOB;
    ledger->begin_seq = (uint64_t)row.seq;
    if (row.hash.bytes.len == DIGEST_BYTES)
        memcpy(ledger->tip.hash, row.hash.bytes.at, DIGEST_BYTES);
    ledger->tip.seq = (uint64_t)row.seq;
    db_finalize(&stmt);
    return CODE_OK;
}

/* Checks the numbers and hashes of the last rows. `audit verify` checks what lies before them. */
static enum code check_rows(struct ledger *ledger, struct walk *walk, int64_t before, struct why *why)
{
    bool is_first = before < 0; /* the row before is not known, so that the first row's hash is taken as it is */
    struct walk_row row;
    unsigned char hash[DIGEST_BYTES];
    enum code code;

    while ((code = walk_next(walk, &row)) == CODE_OK) {
        if (!is_first) {
            if ((uint64_t)row.seq != ledger->tip.seq + 1)
                return why_set(why, CODE_INVALID, "%s: row %llu is missing; keep the file as evidence and name another",
                               ledger->file, (unsigned long long)ledger->tip.seq + 1);
            row_hash(row.table, row.values, ledger->tip.hash, hash);
        }
        if (row.hash.bytes.len != DIGEST_BYTES ||
            (!is_first && memcmp(row.hash.bytes.at, hash, DIGEST_BYTES) != 0))
            return why_set(why, CODE_INVALID,
                           "%s: row %lld is not what was written; keep the file as evidence and name another",
                           ledger->file, (long long)row.seq);
        is_first = false;
        ledger->tip.seq = (uint64_t)row.seq;
        memcpy(ledger->tip.hash, row.hash.bytes.at, DIGEST_BYTES);
        ledger->is_open_ended = row.table != ROW_EVENT || !span_is(row.values[E_KIND].bytes, "stop");
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code check_tail(struct ledger *ledger, struct why *why)
{
    struct walk walk;
    int64_t first = 0, last, from;
    bool continues = false;
    enum code code = start_of_chain(ledger, &first, &continues);

    if (code == CODE_OK)
        code = db_number(ledger->db, ROW_MAX_SEQ, NULL, 0, &last);
    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", ledger->file, db_error(ledger->db));
    ledger->is_open_ended = last == 0 && continues; /* killed before the first row after a rotation */
    from = last - TAIL_ROWS > first ? last - TAIL_ROWS : first + 1;
    code = walk_init(&walk, ledger->db, from, INT64_MAX);
    if (code == CODE_OK) {
        code = check_rows(ledger, &walk, from == first + 1 ? first : -1, why);
        if (code != CODE_OK && why != NULL && why->text[0] == '\0') /* before another statement clears the error */
            (void)why_set(why, code, "%s: its last rows cannot be read: %s; keep the file as evidence and name another",
                          ledger->file, db_error(ledger->db));
        walk_fini(&walk);
        return code;
    }
    return why_set(why, code, "%s: %s", ledger->file, db_error(ledger->db));
}

/* Whether the last row that this gate knows to be durable is in the file. */
static bool is_known_to(const struct ledger *ledger)
{
    unsigned char hash[DIGEST_BYTES];

    return ledger->committed.seq > ledger->begin_seq &&
           reader_hash(ledger->db, (int64_t)ledger->committed.seq, hash) == CODE_OK &&
           memcmp(hash, ledger->committed.hash, DIGEST_BYTES) == 0;
}

static enum code take_heads(struct ledger *ledger, const char *sql, uint64_t after, uint64_t known)
{
    struct db_stmt *row = NULL;
    enum code code = db_select(ledger->db, sql, DB_VALUES(db_of_int((int64_t)after)), &row);

    while (db_next(&row, &code)) {
        struct span hash = db_blob(row, 2);
        struct head *head;

        code = hash.len == DIGEST_BYTES ? heads_find(&ledger->heads, db_text(row, 0), &head) : CODE_INVALID;
        if (code != CODE_OK)
            continue;
        heads_move(head, (uint64_t)db_int(row, 1), (const unsigned char *)hash.at, known);
        head->known = true;
    }
    return code;
}

enum code ledger_read_heads(struct ledger *ledger, uint64_t known, uint64_t marked)
{
    enum code code = CODE_OK;

    if (known > 0)
        heads_undo(&ledger->heads, known);
    else
        heads_forget(&ledger->heads);
    if (known == 0 && marked > 0)
        code = take_heads(ledger, "SELECT tenant, seq, hash FROM tenant_head WHERE seq > ?1", ledger->begin_seq, 0);
    if (code != CODE_OK)
        return code;
    return take_heads(ledger,
                      "SELECT tenant, seq, hash FROM decision WHERE seq > ?1 AND tenant IS NOT NULL UNION ALL "
                      "SELECT tenant, seq, hash FROM outcome WHERE seq > ?1 AND tenant IS NOT NULL UNION ALL "
                      "SELECT tenant, seq, hash FROM event WHERE seq > ?1 AND tenant IS NOT NULL ORDER BY seq",
                      known > 0 ? known : marked, known);
}

/* Names the audit's first file. */
static enum code name_first(struct ledger *ledger, int64_t time_us, struct why *why)
{
    enum code code = files_name(ledger->path, time_us, 1, ledger->file);

    return code == CODE_OK ? code : why_set(why, code, "%s: the path is too long", ledger->path);
}

static enum code link_first(struct ledger *ledger, struct why *why)
{
    if (files_link(ledger->path, ledger->file) == CODE_OK && file_sync_folder(ledger->path))
        return CODE_OK;
    return why_set(why, CODE_IO, "%s: cannot be made a link to %s: %s; check the folder", ledger->path, ledger->file,
                   strerror(errno));
}

/* Copies all of the -wal file into the file once more, since a sync may have failed when the last gate copied it. */
static void copy_anew(struct ledger *ledger)
{
    struct why why = {""};

    if (access(ledger->file, W_OK) != 0 && files_may_write(ledger->file, true) == CODE_OK)
        log_info("audit", "%s: was not writable any more, and is again", ledger->file);
    if (db_absorb_wal(ledger->file, &why) == CODE_BUSY)
        ledger_doubt(ledger, "somebody had it open when the gate started");
}

enum code ledger_open(struct ledger *ledger, enum db_mode mode, int64_t time_us, struct why *why)
{
    bool is_first = ledger->file[0] == '\0', opens_first = !place__is_known(ledger);
    enum code code = is_first ? name_first(ledger, time_us, why) : place__expect(ledger, why);

    if (code == CODE_OK && !is_first)
        files_disarm(ledger->file);
    if (code == CODE_OK) /* before anybody trusts what the -wal file says */
        code = db_rewrite_wal(ledger->file, why);
    if (code == CODE_OK && opens_first && !is_first)
        copy_anew(ledger);
    if (code == CODE_OK)
        code = db_open(ledger->file, mode, &ledger->db, why);
    if (code != CODE_OK)
        return code;
    code = set_up(ledger, time_us, why);
    if (code == CODE_OK && is_first)
        code = link_first(ledger, why);
    if (code == CODE_OK)
        code = check_tail(ledger, why);
    if (code != CODE_OK && ledger->place.is_other)
        code = why_set(why, CODE_INVALID, "%s, and its last rows cannot be read; keep the file as evidence and name another",
                       ledger->place.fault.text);
    if (code == CODE_OK && !opens_first) {
        code = ledger_read_heads(ledger, is_known_to(ledger) ? ledger->committed.seq : 0, 0);
        if (code != CODE_OK)
            (void)why_set(why, code, "%s: %s", ledger->file, db_error(ledger->db));
    }
    place__remember(ledger);
    if (code == CODE_OK && db_has_moved(ledger->db)) /* since it was opened */
        code = why_set(why, CODE_NOT_FOUND, "%s " PLACE_GONE, ledger->file);
    if (code == CODE_OK)
        ledger->committed = ledger->tip;
    else
        ledger_close(ledger);
    return code;
}

/* Gives the next file the owner, group and mode of the one before, so that whoever could read the audit still can. Where
 * the gate may not do that, its own user and group stay. */
static void take_after(const char *before, const char *next)
{
    struct stat there;

    if (stat(before, &there) != 0)
        return;
    if (chown(next, there.st_uid, there.st_gid) != 0 && chown(next, (uid_t)-1, there.st_gid) != 0)
        log_info("audit", "%s: the next file cannot be given to its group: %s", before, strerror(errno));
    (void)chmod(next, (there.st_mode & 0755) | 0600); /* who else may write it has opened its mode: db_check_modes */
}

/* The new file counts only when the link names it, so that it is synced once, when it is filled. */
enum code ledger_make(struct ledger *next, const struct ledger *ledger, int64_t time_us)
{
    enum code code = files_beside(next->path, FILES_NEXT, next->file);

    if (code != CODE_OK)
        return code;
    files_remove(next->file);
    code = db_open(next->file, DB_CREATE, &next->db, NULL);
    if (code != CODE_OK)
        return code;
    take_after(ledger->file, next->file);
    db_take_tables_alone(next->db);
    code = db_exec(next->db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; " SETTINGS "; BEGIN");
    if (code == CODE_OK)
        code = make_tables(next, &ledger->tip, time_us);
    return code == CODE_OK ? prepare_checkpoint(next) : code;
}

static enum code give_name(struct ledger *next, int64_t time_us)
{
    char named[FILES_PATH_BYTES];
    struct stat there;
    enum code code = files_name(next->path, time_us, next->tip.seq + 1, named);

    if (code == CODE_OK && lstat(named, &there) == 0)
        code = CODE_EXISTS;
    if (code == CODE_OK && rename(next->file, named) != 0)
        code = CODE_IO;
    if (code == CODE_OK)
        (void)snprintf(next->file, sizeof next->file, "%s", named);
    return code;
}

enum code ledger_made(struct ledger *next, int64_t time_us)
{
    enum code code = db_commit(next->db);

    if (code == CODE_OK)
        code = db_gather_wal(next->db);
    if (code == CODE_OK) /* this change syncs all that was written before it */
        code = db_exec(next->db, "PRAGMA journal_mode = WAL");
    ledger_close(next); /* SQLite goes by the name under which it opened the file */
    if (code == CODE_OK)
        code = give_name(next, time_us);
    if (code == CODE_OK)
        code = db_open(next->file, DB_WRITE, &next->db, NULL);
    if (code == CODE_OK)
        code = set_up_connection(next);
    if (code == CODE_OK)
        code = prepare_all(next);
    if (code == CODE_OK)
        place__remember(next);
    return code;
}

void ledger_goes_on(struct ledger *ledger, struct ledger *next)
{
    enum { BEGIN = offsetof(struct ledger, file), END = offsetof(struct ledger, committed) };

    place__clear(ledger);
    ledger_close(ledger);
    memcpy((char *)ledger + BEGIN, (char *)next + BEGIN, END - BEGIN);
    ledger->committed = ledger->tip;
    ledger->begin_seq = ledger->tip.seq;
    heads_forget(&ledger->heads);
    heads_trim(&ledger->heads);
}
