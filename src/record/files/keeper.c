/* SPDX-License-Identifier: Apache-2.0 */
#include "files/keeper.h"

#include "base/lock.h"
#include "base/log.h"
#include "db/db.h"
#include "os/pause.h"
#include "os/sandbox.h"

#include <stdio.h>

#define PAUSE_MS 1000 /* after a failure */

void keeper_init(struct keeper *keeper, const char *file, struct ring_shared *shared)
{
    *keeper = (struct keeper){.shared = shared};
    (void)snprintf(keeper->file, sizeof keeper->file, "%s", file);
    lock_init(&keeper->commit_lock);
}

void keeper_fini(struct keeper *keeper)
{
    db_close(&keeper->db);
    (void)pthread_mutex_destroy(&keeper->commit_lock);
}

void keeper_ask_checkpoint(struct keeper *keeper)
{
    if (!atomic_exchange(&keeper->checkpoint_wanted, true))
        thread_poke(&keeper->thread);
}

void keeper_follow(struct keeper *keeper, const char *file)
{
    lock_take(&keeper->commit_lock);
    (void)snprintf(keeper->file, sizeof keeper->file, "%s", file);
    atomic_store(&keeper->keeps_off, false);
    atomic_fetch_add(&keeper->generation, 1);
    lock_give(&keeper->commit_lock);
}

static enum code ready_connection(struct keeper *keeper)
{
    char file[FILES_PATH_BYTES];
    enum code code;

    if (keeper->db != NULL && atomic_load(&keeper->generation) != keeper->generation_seen)
        db_close(&keeper->db);
    if (keeper->db != NULL)
        return CODE_OK;
    lock_take(&keeper->commit_lock);
    keeper->generation_seen = atomic_load(&keeper->generation);
    (void)snprintf(file, sizeof file, "%s", keeper->file);
    lock_give(&keeper->commit_lock);
    keeper->why.text[0] = '\0';
    code = db_open(file, DB_WRITE, &keeper->db, &keeper->why);
    if (code == CODE_OK) {
        db_keep_wal(keeper->db);
        db_busy_wait(keeper->db, 0); /* a checkpoint that has to wait is tried again later */
        code = db_exec(keeper->db, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -256");
    }
    if (code != CODE_OK)
        db_close(&keeper->db);
    return code;
}

static enum code checkpoint(struct keeper *keeper, const char *pragma)
{
    struct db_stmt *stmt;
    enum code code = db_find(keeper->db, pragma, NULL, 0, &stmt);

    if (code == CODE_OK) /* one row: busy, pages in the WAL, pages copied */
        keeper->copied = db_int(stmt, 1) == db_int(stmt, 2) ? (int)db_int(stmt, 1) : 0;
    db_finalize(&stmt);
    return code;
}

/* Whether the WAL has pages that are not copied. Then no commit can begin it anew until they are. Where it has none, a
 * checkpoint beside commits is not begun: SQLite before 3.51.3 may take the WAL that a commit begins anew at that very moment
 * for the old one, and leave its first pages out for good (https://sqlite.org/wal.html#walresetbug). */
static bool has_more(struct keeper *keeper)
{
    int pages;

    lock_take(&keeper->commit_lock);
    pages = atomic_load(&keeper->wal_pages);
    lock_give(&keeper->commit_lock);
    return pages != 0 && pages != keeper->copied;
}

/* Two rounds beside the commits copy nearly everything. For the last pages, and to begin the WAL anew, the writer has to
 * hold still; this is short by then. Pages that somebody's read keeps back are copied another time; where the WAL gets too
 * large the writer leaves the file. */
static enum code run_checkpoint(struct keeper *keeper)
{
    enum code code = atomic_load(&keeper->keeps_off) ? CODE_DOWN : ready_connection(keeper);

    for (int round = 0; round < 2 && code == CODE_OK && has_more(keeper); round++)
        code = checkpoint(keeper, "PRAGMA wal_checkpoint(PASSIVE)");
    if (code == CODE_OK) {
        lock_take(&keeper->commit_lock);
        if (!atomic_load(&keeper->keeps_off))
            code = checkpoint(keeper, "PRAGMA wal_checkpoint(RESTART)");
        lock_give(&keeper->commit_lock);
    }
    if (code == CODE_IO) { /* nobody knows what of the two files is on the disk */
        atomic_store(&keeper->keeps_off, true);
        atomic_store(&keeper->is_in_doubt, true);
        ring_wake_writer(keeper->shared, RING_DOZES);
    }
    return code == CODE_DOWN || code == CODE_BUSY ? CODE_OK : code;
}

static void run_keeper(void *argument)
{
    struct keeper *keeper = argument;
    int wait_ms = 0; /* above 0: what was done last has failed, which was told then */

    sandbox_narrow(SANDBOX_KEEPER);
    while (thread_rest(&keeper->thread, wait_ms)) {
        enum code code = CODE_OK;

        /* before the checkpoint, so that a request meanwhile starts another one */
        if (atomic_exchange(&keeper->checkpoint_wanted, false))
            code = run_checkpoint(keeper);
        if (code != CODE_OK) {
            if (wait_ms <= 0)
                log_warn("audit", "%s: checkpoint: %s; trying again", keeper->file,
                         keeper->why.text[0] != '\0' ? keeper->why.text : code_text(code));
            db_close(&keeper->db);
            atomic_store(&keeper->checkpoint_wanted, true);
        }
        wait_ms = code != CODE_OK ? pause_ms(PAUSE_MS) : -1;
    }
}

enum code keeper_start(struct keeper *keeper, struct why *why)
{
    return thread_start(&keeper->thread, "audit-keeper", run_keeper, keeper, why);
}

void keeper_stop(struct keeper *keeper)
{
    thread_stop(&keeper->thread);
}
