/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/ledger_priv.h"

#include "audit/schema.h"
#include "audit/walk.h"
#include "base/bug.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TAIL_ROWS 64 /* whose hashes are checked at every opening */
#define LEAVES_BYTES ((size_t)256 * 1024)
#define SETTINGS "PRAGMA cache_size = -1024; PRAGMA secure_delete = ON"

enum code ledger__init(struct ledger *ledger, const char *path, const char *node)
{
    *ledger = (struct ledger){.path = mem_dup(path, strlen(path)), .node = mem_dup(node, strlen(node))};
    buf_init(&ledger->leaves, LEAVES_BYTES);
    if (ledger->path == NULL || ledger->node == NULL || heads__init(&ledger->heads) != CODE_OK ||
        permits__init(&ledger->permits) != CODE_OK) {
        ledger__fini(ledger);
        return CODE_NOMEM;
    }
    return CODE_OK;
}

void ledger__fini(struct ledger *ledger)
{
    ledger__close(ledger);
    permits__fini(&ledger->permits);
    heads__fini(&ledger->heads);
    buf_fini(&ledger->leaves);
    mem_free(ledger->path);
    mem_free(ledger->node);
    *ledger = (struct ledger){0};
}

void ledger__close(struct ledger *ledger)
{
    if (ledger->db == NULL)
        return;
    db_rollback(ledger->db);
    for (int i = 0; i < ROW_TABLES; i++)
        insert__free(&ledger->insert[i]);
    db_finalize(&ledger->begin);
    db_finalize(&ledger->commit);
    db_finalize(&ledger->find_head);
    db_finalize(&ledger->put_checkpoint);
    db_close(&ledger->db);
}

static enum code make_file_row(struct ledger *ledger, int64_t time_us)
{
    static const unsigned char zeros[DIGEST_BYTES];
    unsigned char id[16], hash[DIGEST_BYTES];
    struct row_value values[F_COUNT] = {
        [F_SEQ] = row_int(0), [F_FORMAT] = row_int(1), [F_CREATED] = row_int(time_us),
        [F_ID] = row_blob(id, sizeof id), [F_PREVIOUS] = row_null(),
    };

    random_bytes(id, sizeof id);
    row__hash(ROW_FILE, values, zeros, hash);
    return insert__row(ledger->insert[ROW_FILE], values, hash, NULL);
}

/* All or nothing, in one transaction; whoever comes second finds it done. */
static enum code make_schema(struct ledger *ledger, int64_t time_us)
{
    char pragmas[96];
    enum code code = db_begin(ledger->db);

    if (code == CODE_OK)
        code = db_exec(ledger->db, audit__schema);
    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", AUDIT_APPLICATION_ID,
                   AUDIT_SCHEMA_VERSION);
    if (code == CODE_OK)
        code = db_exec(ledger->db, pragmas);
    if (code == CODE_OK)
        code = insert__new(ledger->db, ROW_FILE, &ledger->insert[ROW_FILE]);
    if (code == CODE_OK)
        code = make_file_row(ledger, time_us);
    if (code == CODE_OK)
        code = db_commit(ledger->db);
    if (code != CODE_OK)
        db_rollback(ledger->db);
    return code;
}

static enum code check_kind(struct ledger *ledger, bool *fresh, bool *older, struct why *why)
{
    int64_t version, application, tables;
    enum code code = db_number(ledger->db, "PRAGMA user_version", &version);

    if (code == CODE_OK)
        code = db_number(ledger->db, "PRAGMA application_id", &application);
    if (code == CODE_OK)
        code = db_number(ledger->db, "SELECT count(*) FROM sqlite_schema", &tables);
    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", ledger->path, db_error(ledger->db));
    *fresh = tables == 0;
    *older = !*fresh && version < AUDIT_SCHEMA_VERSION;
    if (!*fresh && (application != AUDIT_APPLICATION_ID || version < 1))
        return why_set(why, CODE_INVALID, "%s: is a database, but no audit trail; name another file", ledger->path);
    return *fresh ? CODE_OK : audit__refuse_newer(ledger->db, ledger->path, why);
}

static enum code prepare_all(struct ledger *ledger)
{
    enum code code = CODE_OK;

    for (int i = ROW_DECISION; i < ROW_TABLES && code == CODE_OK; i++)
        code = insert__new(ledger->db, (enum row_table)i, &ledger->insert[i]);
    if (code == CODE_OK)
        code = db_prepare(ledger->db, "BEGIN IMMEDIATE", &ledger->begin);
    if (code == CODE_OK)
        code = db_prepare(ledger->db, "COMMIT", &ledger->commit);
    if (code == CODE_OK)
        code = db_prepare(ledger->db, "SELECT seq, hash FROM tenant_start WHERE tenant = ?", &ledger->find_head);
    if (code == CODE_OK) /* one that a commit in doubt wrote already comes a second time */
        code = db_prepare(ledger->db, "INSERT OR IGNORE INTO checkpoint VALUES (?, ?, ?, ?)", &ledger->put_checkpoint);
    return code;
}

/* Where the file system cannot share memory, SQLite stays in another mode without a word. */
static enum code check_wal(struct ledger *ledger)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(ledger->db, "PRAGMA journal_mode", &stmt);

    if (code == CODE_OK)
        code = db_step(stmt);
    if (code == CODE_OK && !span_is(db_text(stmt, 0), "wal"))
        code = CODE_IO;
    db_finalize(&stmt);
    return code;
}

static enum code set_up(struct ledger *ledger, int64_t time_us, struct why *why)
{
    bool fresh, older = false;
    enum code code = check_kind(ledger, &fresh, &older, why);

    if (code != CODE_OK)
        return code;
    db_busy_wait(ledger->db, LEDGER_BUSY_WAIT_MS);
    db_keep_wal(ledger->db);
    code = db_exec(ledger->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; " SETTINGS);
    if (code == CODE_OK)
        code = check_wal(ledger);
    if (code == CODE_OK) /* what the last gate copied may have met with a sync that failed */
        code = db_copy_again(ledger->db);
    if (code == CODE_OK && fresh)
        code = make_schema(ledger, time_us);
    if (code == CODE_OK && older)
        code = audit__migrate(ledger->db, &ledger->migrated_from);
    if (code == CODE_OK)
        code = prepare_all(ledger);
    db_watch_wal(ledger->db);
    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", ledger->path, db_error(ledger->db));
    return CODE_OK;
}

/* Takes the row that the chain stood at: seq and hash. *continues: there was a file before. */
static enum code start_of_chain(struct ledger *ledger, int64_t *first, bool *continues)
{
    struct db_stmt *stmt;
    struct walk_row row;
    enum code code = walk__file(ledger->db, &stmt, &row);

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

/* The last rows' numbers and hashes. What lies before them is `audit verify`'s to check. */
static enum code check_rows(struct ledger *ledger, struct walk *walk, int64_t before, struct why *why)
{
    bool is_first = before < 0; /* nothing known of the row before: its hash is taken as given */
    struct walk_row row;
    unsigned char hash[DIGEST_BYTES];
    enum code code;

    while ((code = walk__next(walk, &row)) == CODE_OK) {
        if (!is_first) {
            if ((uint64_t)row.seq != ledger->tip.seq + 1)
                return why_set(why, CODE_INVALID, "%s: row %llu is missing; keep the file as evidence and name another",
                               ledger->path, (unsigned long long)ledger->tip.seq + 1);
            row__hash(row.table, row.values, ledger->tip.hash, hash);
        }
        if (row.hash.bytes.len != DIGEST_BYTES ||
            (!is_first && memcmp(row.hash.bytes.at, hash, DIGEST_BYTES) != 0))
            return why_set(why, CODE_INVALID,
                           "%s: row %lld is not what was written; keep the file as evidence and name another",
                           ledger->path, (long long)row.seq);
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
        code = db_number(ledger->db, ROW_MAX_SEQ, &last);
    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", ledger->path, db_error(ledger->db));
    ledger->is_open_ended = last == 0 && continues; /* killed before the first row after a rotation */
    from = last - TAIL_ROWS > first ? last - TAIL_ROWS : first + 1;
    code = walk__init(&walk, ledger->db, from, INT64_MAX);
    if (code == CODE_OK) {
        code = check_rows(ledger, &walk, from == first + 1 ? first : -1, why);
        if (code != CODE_OK && why != NULL && why->text[0] == '\0') /* before other statements end well */
            (void)why_set(why, code, "%s: its last rows cannot be read: %s; keep the file as evidence and name another",
                          ledger->path, db_error(ledger->db));
        walk__fini(&walk);
        return code;
    }
    return why_set(why, code, "%s: %s", ledger->path, db_error(ledger->db));
}

/* Of all tenants that have rows in this file; those that have none are in its table tenant_start. */
static enum code read_heads(struct ledger *ledger)
{
    struct db_stmt *stmt;
    enum code code;

    heads__forget(&ledger->heads);
    code = db_prepare(ledger->db,
                      "SELECT tenant, seq, hash FROM decision WHERE tenant IS NOT NULL UNION ALL "
                      "SELECT tenant, seq, hash FROM outcome WHERE tenant IS NOT NULL UNION ALL "
                      "SELECT tenant, seq, hash FROM event WHERE tenant IS NOT NULL ORDER BY seq",
                      &stmt);
    if (code != CODE_OK)
        return code;
    while ((code = db_step(stmt)) == CODE_OK) {
        struct span hash = db_blob(stmt, 2);
        struct head *head;

        code = heads__find(&ledger->heads, db_text(stmt, 0), &head);
        if (code != CODE_OK || hash.len != DIGEST_BYTES)
            break;
        head->seq = (uint64_t)db_int(stmt, 1);
        memcpy(head->hash, hash.at, DIGEST_BYTES);
        head->known = true;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

bool ledger__is_in_place(const struct ledger *ledger)
{
    struct stat there;

    return stat(ledger->path, &there) == 0 && there.st_dev == ledger->device && there.st_ino == ledger->inode;
}

/* SQLite would take a -wal file for that of any database of its name, and spoil both. */
static enum code check_place(const struct ledger *ledger, struct why *why)
{
    char wal[4096];
    struct stat there;

    if (ledger->inode != 0 && !ledger__is_in_place(ledger))
        return why_set(why, CODE_NOT_FOUND, "%s " LEDGER_GONE, ledger->path);
    if (stat(ledger->path, &there) == 0 && there.st_size > 0)
        return CODE_OK;
    if ((size_t)snprintf(wal, sizeof wal, "%s-wal", ledger->path) < sizeof wal && stat(wal, &there) == 0 && there.st_size > 0)
        return why_set(why, CODE_INVALID, "%s is missing, but the last rows of one are in %s: put the file back, or take both "
                       "away", ledger->path, wal);
    return CODE_OK;
}

uint64_t ledger__bytes(const struct ledger *ledger)
{
    struct stat there;

    return stat(ledger->path, &there) == 0 ? (uint64_t)there.st_size : 0;
}

void ledger__remember_place(struct ledger *ledger)
{
    struct stat there;

    if (ledger->inode == 0 && stat(ledger->path, &there) == 0) {
        ledger->device = there.st_dev;
        ledger->inode = there.st_ino;
    }
}

enum code ledger__open(struct ledger *ledger, enum db_mode mode, int64_t time_us, struct why *why)
{
    enum code code = check_place(ledger, why);

    if (code == CODE_OK) /* before anybody trusts what it says */
        code = db_rewrite_wal(ledger->path, why);
    if (code == CODE_OK)
        code = db_open_gathering(ledger->path, mode, &ledger->db, why);
    if (code != CODE_OK)
        return code;
    ledger__remember_place(ledger);
    code = set_up(ledger, time_us, why);
    if (code == CODE_OK)
        code = check_tail(ledger, why);
    if (code == CODE_OK) {
        code = read_heads(ledger);
        if (code != CODE_OK)
            (void)why_set(why, code, "%s: %s", ledger->path, db_error(ledger->db));
    }
    ledger->committed = ledger->tip;
    if (code != CODE_OK)
        ledger__close(ledger);
    return code;
}

enum code ledger__open_ahead(struct ledger *ahead, const char *next)
{
    enum code code;

    *ahead = (struct ledger){0};
    code = db_open_ahead(next, &ahead->db, NULL);
    if (code == CODE_OK) /* who fills it syncs it */
        code = db_exec(ahead->db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; " SETTINGS);
    if (code == CODE_OK)
        code = insert__new(ahead->db, ROW_FILE, &ahead->insert[ROW_FILE]);
    if (code == CODE_OK)
        code = prepare_all(ahead);
    if (code != CODE_OK)
        ledger__close(ahead);
    return code;
}

static void swap_connections(struct ledger *one, struct ledger *other)
{
    enum { BEGIN = offsetof(struct ledger, db), END = offsetof(struct ledger, tip) };
    unsigned char kept[END - BEGIN];

    memcpy(kept, (char *)one + BEGIN, sizeof kept);
    memcpy((char *)one + BEGIN, (char *)other + BEGIN, sizeof kept);
    memcpy((char *)other + BEGIN, kept, sizeof kept);
}

enum code ledger__goes_on(struct ledger *ledger, struct ledger *ahead, const unsigned char file_hash[DIGEST_BYTES])
{
    enum code code = db_arrive(ahead->db);

    swap_connections(ledger, ahead);
    memcpy(ledger->tip.hash, file_hash, DIGEST_BYTES);
    ledger->committed = ledger->tip;
    ledger->begin_seq = ledger->tip.seq;
    ledger->inode = 0;
    ledger__remember_place(ledger);
    heads__forget(&ledger->heads);
    heads__trim(&ledger->heads);
    if (code != CODE_OK)
        return code;
    db_busy_wait(ledger->db, LEDGER_BUSY_WAIT_MS);
    db_keep_wal(ledger->db);
    db_watch_wal(ledger->db);
    code = db_exec(ledger->db, "PRAGMA synchronous = FULL");
    return code == CODE_OK ? check_wal(ledger) : code;
}
