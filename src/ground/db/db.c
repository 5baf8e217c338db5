/* SPDX-License-Identifier: Apache-2.0 */
#include "db/db_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "base/num.h"
#include "db/db.h"
#include "os/clock.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_WAIT_MS 5000

struct db {
    sqlite3 *handle;
    struct db_stmt *begin, *commit; /* NULL: not needed yet */
    struct gather *gather;          /* db_gather_wal, or NULL */
    int wal_pages;
    const atomic_bool *stop;        /* db_stop_when, or NULL */
    int64_t until_us;               /* db_take_views; 0: no limit */
    bool holds_back;                /* db_hold_back */
    bool is_at_rest;   /* opened as a file that does not change, which `was` describes as it was then */
    struct stat was;
};

struct sqlite3 *db__handle(struct db *db)
{
    return db->handle;
}

enum code db__code_of(int result)
{
    switch (result & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return CODE_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT: /* db_stop_when */
        return CODE_BUSY;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
        return CODE_LIMIT;
    case SQLITE_NOMEM:
        return CODE_NOMEM;
    case SQLITE_NOTADB:
        return CODE_INVALID;
    case SQLITE_CONSTRAINT:
        return result == SQLITE_CONSTRAINT_UNIQUE || result == SQLITE_CONSTRAINT_PRIMARYKEY ||
                       result == SQLITE_CONSTRAINT_ROWID
                   ? CODE_EXISTS
                   : CODE_IO;
    default:
        return CODE_IO;
    }
}

static void configure_library(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* no numbers that nobody reads, for a lock at every allocation */
    (void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0); /* nor 85 KiB of pages for a connection that reads a few */
    db__past_register();
    db__gather_register();
}

void db__configure(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, configure_library);
}

/* SQLite would make the file with 0644 less the umask; its -wal and -shm files take the main file's mode. */
static enum code make_file(const char *path, struct why *why)
{
    int fd = file_make(path, O_RDWR | O_EXCL, 0640);

    if (fd < 0 && errno == EEXIST)
        return CODE_OK;
    if (fd < 0)
        return why_set(why, errno == ENOSPC ? CODE_LIMIT : CODE_IO, "%s: cannot be made: %s; check the folder", path,
                       strerror(errno));
    (void)fchmod(fd, 0640); /* whatever the umask is */
    (void)close(fd);
    return CODE_OK;
}

static int harden(sqlite3 *handle)
{
    static const struct { int option, value; } settings[] = {
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    int result = SQLITE_OK;

    for (size_t i = 0; i < sizeof settings / sizeof settings[0] && result == SQLITE_OK; i++)
        result = sqlite3_db_config(handle, settings[i].option, settings[i].value, NULL);
    (void)sqlite3_busy_timeout(handle, BUSY_WAIT_MS);
    return result;
}

/* Opening is lazy: only a read tells whether this is a database. What SQLite puts aside stays in memory: a confined process may
 * make no file in a folder for temporary ones, and what is being erased must not stand in one. */
static int try_open(const char *name, int flags, bool alone, const char *vfs, struct db *db)
{
    int result = sqlite3_open_v2(name, &db->handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);

    if (result == SQLITE_OK)
        result = harden(db->handle);
    if (result == SQLITE_OK && alone) /* before the -wal file is looked at, so that SQLite makes its index anew */
        result = sqlite3_exec(db->handle, "PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(db->handle, "PRAGMA temp_store = MEMORY; SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    return result;
}

/* Opens it as a file that does not change: without locks, without a -wal or a journal, and without making a file beside it. */
static int open_at_rest(const char *path, struct db *db)
{
    char name[4 * 4096], *at = name + sizeof "file:" - 1;

    if (strlen(path) >= 4096 || stat(path, &db->was) != 0)
        return SQLITE_CANTOPEN;
    memcpy(name, "file:", sizeof "file:" - 1);
    for (; *path != '\0'; path++) {
        if (strchr("%?#", *path) == NULL) {
            *at++ = *path;
            continue;
        }
        *at++ = '%';
        num_hex(path, 1, at);
        at += 2;
    }
    memcpy(at, "?immutable=1", sizeof "?immutable=1");
    db->is_at_rest = true;
    return try_open(name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, false, NULL, db);
}

static bool is_some_beside(const char *path, const char *suffix)
{
    struct stat there;

    return db__stat_beside(path, suffix, &there) && there.st_size > 0;
}

static bool is_other(const char *path, const struct stat *was)
{
    struct stat is;

    return stat(path, &is) != 0 || is.st_ino != was->st_ino || is.st_size != was->st_size ||
           is.st_mtim.tv_sec != was->st_mtim.tv_sec || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec;
}

bool db_has_changed(const struct db *db)
{
    return db->is_at_rest && is_other(sqlite3_db_filename(db->handle, "main"), &db->was);
}

bool db_has_moved(const struct db *db)
{
    int moved = 0;

    return sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || moved != 0;
}

/* SQLite lacks its -shm file, and may not make it: a sealed file in a folder of archives. */
static bool needs_rest(const char *path, int result)
{
    return ((result & 0xff) == SQLITE_READONLY || (result & 0xff) == SQLITE_CANTOPEN) && !is_some_beside(path, "-wal");
}

static bool seems_at_rest(const char *path)
{
    struct stat there;

    return !db__is_without_wal(path) && !db__stat_beside(path, "-wal", &there);
}

static void close_again(struct db *db)
{
    (void)sqlite3_close(db->handle);
    db->handle = NULL; /* the file may be gone by now, so that nothing is opened */
    db->is_at_rest = false;
}

static int open_to_read(const char *path, enum db_mode mode, struct db *db)
{
    int result;

    if (mode == DB_LOOK && seems_at_rest(path)) {
        result = open_at_rest(path, db);
        /* For who reads without locks, whoever begins to write makes a damaged one of it for a moment. */
        if (result == SQLITE_OK || (seems_at_rest(path) && !is_other(path, &db->was)))
            return result;
        close_again(db);
    }
    result = try_open(path, SQLITE_OPEN_READONLY, false, mode != DB_READ ? DB__PAST_VFS : NULL, db);
    if (result == SQLITE_OK || !needs_rest(path, result))
        return result;
    close_again(db);
    return open_at_rest(path, db);
}

static enum code open_handle(const char *path, enum db_mode mode, struct db *db, struct why *why)
{
    int flags = SQLITE_OPEN_READWRITE;
    int result;

    if (mode == DB_CREATE && strcmp(path, ":memory:") == 0)
        flags |= SQLITE_OPEN_CREATE;
    result = mode < DB_WRITE ? open_to_read(path, mode, db) : try_open(path, flags, mode == DB_ALONE, DB__GATHER_VFS, db);
    if (result == SQLITE_OK)
        return CODE_OK;
    return why_set(why, db__code_of(result), "%s: %s", path,
                   db->handle != NULL ? sqlite3_errmsg(db->handle) : sqlite3_errstr(result));
}

/* Whoever opens a FIFO waits for its other end, and so does SQLite. So nothing is opened that is not a regular file, or has
 * such a thing beside it. Files that PAST_VFS hides are not looked at, since they are not opened. */
static enum code refuse_others(const char *path, enum db_mode mode, struct why *why)
{
    static const char *const around[] = {"-journal", "-wal", "-shm"};
    bool is_past = mode == DB_PAST || mode == DB_LOOK;
    struct stat there;

    if (stat(path, &there) != 0)
        return CODE_OK;
    if (!S_ISREG(there.st_mode))
        return why_set(why, CODE_INVALID, S_ISDIR(there.st_mode) ? "%s: is a folder; name the database in it"
                                                                 : "%s: is no file; name the database", path);
    if (is_past && db__is_without_wal(path))
        return CODE_OK;
    for (size_t i = is_past; i < sizeof around / sizeof around[0]; i++)
        if (db__stat_beside(path, around[i], &there) && !S_ISREG(there.st_mode))
            return why_set(why, CODE_INVALID, "%s%s: is no file; take it away", path, around[i]);
    return CODE_OK;
}

enum code db_check_modes(const char *path, struct why *why)
{
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    char names[128] = "";
    struct stat there;

    for (size_t i = 0, len = 0; i < sizeof ends / sizeof ends[0]; i++, len = strlen(names))
        if (db__stat_beside(path, ends[i], &there) && (there.st_mode & (S_IWGRP | S_IWOTH)) != 0)
            (void)snprintf(names + len, sizeof names - len, "%s%s (mode %04o)", len > 0 ? ", " : "", ends[i],
                           there.st_mode & 07777u);
    if (names[0] == '\0')
        return CODE_OK;
    return why_set(why, CODE_DENIED, "%s%s: may be written by others than its owner; find out whether somebody did, then "
                   "chmod go-w what is named", path, names);
}

enum code db_open(const char *path, enum db_mode mode, struct db **out, struct why *why)
{
    bool is_file = strcmp(path, ":memory:") != 0;
    struct db *db;
    enum code code = CODE_OK;

    *out = NULL;
    db__configure();
    if (is_file && mode != DB_CREATE && access(path, F_OK) != 0)
        return why_set(why, errno == ENOENT ? CODE_NOT_FOUND : CODE_IO, "%s: %s", path, strerror(errno));
    if (is_file)
        code = refuse_others(path, mode, why);
    if (code == CODE_OK && is_file && mode >= DB_WRITE)
        code = db_check_modes(path, why);
    if (code == CODE_OK && is_file && mode == DB_CREATE)
        code = make_file(path, why);
    if (code != CODE_OK)
        return code;
    db = mem_zalloc(sizeof *db);
    if (db == NULL)
        return why_set(why, CODE_NOMEM, "%s: out of memory", path);
    code = open_handle(path, mode, db, why);
    if (code != CODE_OK)
        db_close(&db);
    *out = db;
    return code;
}

void db_close(struct db **db)
{
    if (*db == NULL)
        return;
    db_finalize(&(*db)->begin);
    db_finalize(&(*db)->commit);
    /* SQLite refuses only while a statement lives, and its holder should have finalised that before. */
    BUG_ON(sqlite3_close((*db)->handle) == SQLITE_BUSY);
    mem_free((*db)->gather);
    mem_free(*db);
    *db = NULL;
}

const char *db_wal_path(const struct db *db)
{
    return sqlite3_filename_wal(sqlite3_db_filename(db->handle, "main"));
}

const char *db_error(const struct db *db)
{
    return db == NULL ? "the database is not open" : sqlite3_errmsg(db->handle);
}

bool db_has_failed(const struct db *db)
{
    int result = db == NULL ? SQLITE_MISUSE : sqlite3_errcode(db->handle) & 0xff;

    return result != SQLITE_OK && result != SQLITE_ROW && result != SQLITE_DONE;
}

bool db_is_refused(const struct db *db)
{
    return (sqlite3_errcode(db->handle) & 0xff) == SQLITE_CONSTRAINT;
}

enum code db_why(struct why *why, enum code code, const struct db *db, const char *doing)
{
    if (code == CODE_OK)
        return code;
    return why_set(why, code, "%s failed: %s", doing,
                   code == CODE_NOMEM ? "not enough memory" : db == NULL ? code_text(code) : db_error(db));
}

void db_busy_wait(struct db *db, int wait_ms)
{
    (void)sqlite3_busy_timeout(db->handle, wait_ms);
}

void db_take_tables_alone(struct db *db)
{
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

bool db_is_late(const struct db *db)
{
    return db->until_us != 0 && clock_monotonic_us() >= db->until_us;
}

static int is_over(void *context)
{
    const struct db *db = context;

    return (db->stop != NULL && atomic_load(db->stop)) || db_is_late(db);
}

/* SQLite asks one function, whatever ends a statement. */
static void ask_whether_over(struct db *db)
{
    sqlite3_progress_handler(db->handle, 100000, db->stop != NULL || db->until_us != 0 ? is_over : NULL, db);
}

void db_take_views(struct db *db, int within_ms)
{
    db->until_us = clock_monotonic_us() + within_ms * INT64_C(1000);
    ask_whether_over(db);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
}

void db_stop_when(struct db *db, const atomic_bool *stop)
{
    db->stop = stop;
    ask_whether_over(db);
}

void db_keep_wal(struct db *db)
{
    int keep = 1;

    (void)sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static int note_wal_pages(void *context, sqlite3 *handle, const char *name, int pages)
{
    struct db *db = context;

    (void)handle;
    (void)name;
    db->wal_pages = pages;
    return SQLITE_OK;
}

void db_watch_wal(struct db *db)
{
    (void)sqlite3_wal_hook(db->handle, note_wal_pages, db); /* takes the place of automatic checkpoints */
}

int db_wal_pages(const struct db *db)
{
    return db->wal_pages;
}

enum code db_exec(struct db *db, const char *sql)
{
    return db__code_of(sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

enum code db_gather_wal(struct db *db)
{
    if (db->gather == NULL)
        db->gather = mem_alloc(sizeof *db->gather);
    return db->gather != NULL ? db_exec(db, "PRAGMA synchronous = FULL") : CODE_NOMEM;
}

static enum code run_kept(struct db *db, struct db_stmt **stmt, const char *sql)
{
    enum code code = *stmt != NULL ? CODE_OK : db_prepare(db, sql, stmt);

    return code == CODE_OK ? db_run(*stmt) : code;
}

void db_hold_back(struct db *db, bool holds)
{
    db->holds_back = holds;
}

/* Whether a transaction is open that what was held back stands in. */
static bool goes_on(const struct db *db)
{
    return db->holds_back && !sqlite3_get_autocommit(db->handle);
}

enum code db_begin(struct db *db)
{
    return goes_on(db) ? CODE_OK : run_kept(db, &db->begin, "BEGIN IMMEDIATE");
}

enum code db_commit(struct db *db)
{
    enum code code;

    if (goes_on(db))
        return CODE_OK;
    db__gather_begin(db, db->gather);
    code = run_kept(db, &db->commit, "COMMIT");
    db__gather_end(db, db->gather, code == CODE_OK);
    return code;
}

void db_rollback(struct db *db)
{
    if (!sqlite3_get_autocommit(db->handle)) /* on a full disk SQLite may have rolled back by itself */
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

enum code db_prepare(struct db *db, const char *sql, struct db_stmt **out)
{
    struct db_stmt *stmt = mem_zalloc(sizeof *stmt);
    int result;

    *out = NULL;
    if (stmt == NULL)
        return CODE_NOMEM;
    stmt->db = db->handle;
    result = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt->handle, NULL);
    if (result != SQLITE_OK) {
        mem_free(stmt);
        return db__code_of(result);
    }
    *out = stmt;
    return CODE_OK;
}

void db_finalize(struct db_stmt **stmt)
{
    if (*stmt == NULL)
        return;
    (void)sqlite3_finalize((*stmt)->handle); /* repeats the last step's result, which was reported */
    mem_free(*stmt);
    *stmt = NULL;
}

static void note_bind(struct db_stmt *stmt, int result)
{
    BUG_ON(result == SQLITE_RANGE || result == SQLITE_MISUSE);
    if (result != SQLITE_OK && stmt->fault == SQLITE_OK)
        stmt->fault = result;
}

void db_bind_int(struct db_stmt *stmt, int at, int64_t value)
{
    note_bind(stmt, sqlite3_bind_int64(stmt->handle, at, value));
}

void db_bind_text(struct db_stmt *stmt, int at, struct span value)
{
    note_bind(stmt, sqlite3_bind_text64(stmt->handle, at, value.at, value.len, SQLITE_STATIC, SQLITE_UTF8));
}

void db_bind_blob(struct db_stmt *stmt, int at, struct span value)
{
    note_bind(stmt, sqlite3_bind_blob64(stmt->handle, at, value.at, value.len, SQLITE_STATIC));
}

void db_bind_null(struct db_stmt *stmt, int at)
{
    note_bind(stmt, sqlite3_bind_null(stmt->handle, at));
}

enum code db_step(struct db_stmt *stmt)
{
    int result = stmt->fault != SQLITE_OK ? stmt->fault : sqlite3_step(stmt->handle);

    return result == SQLITE_DONE ? CODE_NOT_FOUND : db__code_of(result);
}

/* As db_run, but leaves the bindings for the next run: each span must live until its parameter is bound anew or cleared. The
 * bytes of a span may change between two runs. */
static enum code run_again(struct db_stmt *stmt)
{
    enum code code = db_step(stmt);

    BUG_ON(code == CODE_OK);
    (void)sqlite3_reset(stmt->handle); /* repeats the last step's result, which was reported */
    stmt->fault = SQLITE_OK;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code db_insert_again(struct db_stmt *stmt)
{
    enum code code = run_again(stmt);

    return code == CODE_OK && sqlite3_changes(stmt->db) != 1 ? CODE_IO : code;
}

enum code db_run(struct db_stmt *stmt)
{
    enum code code = run_again(stmt);

    (void)sqlite3_clear_bindings(stmt->handle);
    return code;
}

void db_reset(struct db_stmt *stmt)
{
    (void)sqlite3_reset(stmt->handle);
    (void)sqlite3_clear_bindings(stmt->handle);
    stmt->fault = SQLITE_OK;
}

int64_t db_last_id(struct db *db)
{
    return sqlite3_last_insert_rowid(db->handle);
}

int64_t db_changes(const struct db *db)
{
    return sqlite3_changes(db->handle);
}
