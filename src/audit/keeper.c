/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/keeper_priv.h"

#include "base/log.h"
#include "os/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PAUSE_MS 1000 /* after a failure */
#define SETTLE_TRIES 600
#define WARN_PAGES 16384 /* 64 MiB of WAL: somebody reads for very long */

enum code keeper__init(struct keeper *keeper, const char *path, struct ring_shared *shared, struct why *why)
{
    *keeper = (struct keeper){.path = path, .shared = shared, .wake_fd = -1, .warned_pages = WARN_PAGES};
    (void)pthread_mutex_init(&keeper->commit_lock, NULL);
    (void)pthread_mutex_init(&keeper->work_lock, NULL);
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->wake_fd < 0)
        return why_set(why, CODE_IO, "the audit's keeper has no eventfd: %s", strerror(errno));
    return CODE_OK;
}

void keeper__fini(struct keeper *keeper)
{
    erase__sealed_fini(&keeper->erase);
    ledger__close(&keeper->ahead);
    ledger__close(&keeper->old);
    db_close(&keeper->db);
    if (keeper->wake_fd >= 0)
        (void)close(keeper->wake_fd);
    keeper->wake_fd = -1;
    (void)pthread_mutex_destroy(&keeper->commit_lock);
    (void)pthread_mutex_destroy(&keeper->work_lock);
}

void keeper__poke(struct keeper *keeper)
{
    uint64_t one = 1;

    while (write(keeper->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

void keeper__ask_checkpoint(struct keeper *keeper)
{
    if (!atomic_exchange(&keeper->checkpoint_wanted, true))
        keeper__poke(keeper);
}

void keeper__ask_next(struct keeper *keeper)
{
    atomic_store(&keeper->next, KEEPER_NEXT_ASKED);
    keeper__poke(keeper);
}

void keeper__ask_settle(struct keeper *keeper)
{
    keeper->settle_tries = SETTLE_TRIES;
    keeper__poke(keeper);
}

static enum code ready_connection(struct keeper *keeper)
{
    uint64_t generation = atomic_load(&keeper->generation);
    enum code code;

    if (keeper->db != NULL && generation != keeper->generation_seen)
        db_close(&keeper->db);
    if (keeper->db != NULL)
        return CODE_OK;
    keeper->generation_seen = generation;
    code = db_open(keeper->path, DB_WRITE, &keeper->db, NULL);
    if (code == CODE_OK) {
        db_busy_wait(keeper->db, 0); /* a checkpoint that has to wait is tried again later */
        code = db_exec(keeper->db, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -256");
    }
    if (code != CODE_OK)
        db_close(&keeper->db);
    return code;
}

static enum code checkpoint(struct keeper *keeper, const char *pragma, int64_t *pages_left, bool *busy)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(keeper->db, pragma, &stmt);

    if (code != CODE_OK)
        return code;
    code = db_step(stmt); /* one row: busy, pages in the WAL, pages copied */
    *busy = code == CODE_OK && db_int(stmt, 0) != 0;
    *pages_left = code == CODE_OK ? db_int(stmt, 1) - db_int(stmt, 2) : -1;
    db_finalize(&stmt);
    return code;
}

/* Nobody knows what of the two files is on the disk. The pages are copied once more, and the writer opens anew, which writes
 * the -wal file once more. */
static void distrust(struct keeper *keeper)
{
    if (db_copy_again(keeper->db) != CODE_OK)
        log_info("audit", "%s: somebody else copies its -wal file", keeper->path);
    atomic_store(&keeper->is_in_doubt, true);
    ring__wake_writer(keeper->shared, RING_DOZES);
}

/* Two rounds beside the commits copy nearly everything; the last pages and the return to the WAL's beginning need the
 * writer to hold still, and are short by then. */
static enum code run_checkpoint(struct keeper *keeper, bool *busy)
{
    int64_t left;
    enum code code = ready_connection(keeper);

    if (code != CODE_OK)
        return code;
    for (int round = 0; round < 2 && code == CODE_OK; round++)
        code = checkpoint(keeper, "PRAGMA wal_checkpoint(PASSIVE)", &left, busy);
    if (code == CODE_OK) {
        (void)pthread_mutex_lock(&keeper->commit_lock);
        code = checkpoint(keeper, "PRAGMA wal_checkpoint(RESTART)", &left, busy);
        (void)pthread_mutex_unlock(&keeper->commit_lock);
    }
    if (code == CODE_IO)
        distrust(keeper);
    if (code == CODE_OK && left > (int64_t)keeper->warned_pages) {
        keeper->warned_pages *= 2;
        log_warn("audit", "%s-wal has grown to %lld MiB: somebody has kept a read of it open; end that query", keeper->path,
                 (long long)left / 256);
    }
    return code;
}

static enum code run_next(struct keeper *keeper)
{
    bool busy = false;
    enum code code = rotate__prepare(keeper->path, &keeper->ahead);

    if (code == CODE_OK) { /* what is copied now is not copied in the pause */
        keeper->is_held = rotate__hold(keeper->path);
        code = run_checkpoint(keeper, &busy);
    }
    if (code != CODE_OK || busy)
        rotate__give_up(keeper->path, &keeper->ahead);
    atomic_store(&keeper->next, code != CODE_OK ? KEEPER_NEXT_FAILED : busy ? KEEPER_NEXT_READ : KEEPER_NEXT_READY);
    ring__wake_writer(keeper->shared, RING_DOZES);
    return code;
}

/* Somebody may have one open for long. Returns: whether to try again. */
static bool settle(struct keeper *keeper)
{
    if (keeper->settle_tries > 0) {
        ledger__close(&keeper->old); /* before: they know their -shm file by the name that is the next one's now */
        if (atomic_load(&keeper->generation) != keeper->generation_seen)
            db_close(&keeper->db);
        if (!keeper->is_held)
            rotate__let_go(keeper->path);
        keeper->settle_tries = rotate__settle(keeper->path) ? keeper->settle_tries - 1 : 0;
    }
    return keeper->settle_tries > 0;
}

/* What was asked. */
static enum code work(struct keeper *keeper)
{
    enum code code = CODE_OK;
    bool busy;

    if (atomic_load(&keeper->checkpoint_wanted)) {
        code = run_checkpoint(keeper, &busy);
        atomic_store(&keeper->checkpoint_wanted, code != CODE_OK);
    }
    if (code == CODE_OK && atomic_load(&keeper->next) == KEEPER_NEXT_ASKED)
        code = run_next(keeper);
    return code;
}

static void wait_for_work(struct keeper *keeper, int timeout_ms)
{
    struct pollfd watch = {.fd = keeper->wake_fd, .events = POLLIN};
    uint64_t count;

    (void)poll(&watch, 1, timeout_ms);
    if (read(keeper->wake_fd, &count, sizeof count) < 0)
        return; /* EAGAIN: nobody poked */
}

static void run(void *argument)
{
    struct keeper *keeper = argument;
    bool complained = false;

    sandbox_narrow(SANDBOX_KEEPER);
    while (!atomic_load(&keeper->stopping)) {
        bool again, at_once = false, wait = false;
        enum code code;

        (void)pthread_mutex_lock(&keeper->work_lock);
        code = work(keeper);
        again = settle(keeper);
        if (atomic_load(&keeper->erase.state) == ERASE_ASKED)
            at_once = erase__sealed_step(&keeper->erase, keeper->path, &wait);
        if (code != CODE_OK) {
            if (!complained)
                log_warn("audit", "%s: checkpoint: %s; trying again", keeper->path, code_text(code));
            complained = true;
            db_close(&keeper->db);
        } else {
            complained = false;
        }
        (void)pthread_mutex_unlock(&keeper->work_lock);
        wait_for_work(keeper, code != CODE_OK || again || wait ? PAUSE_MS : at_once ? 0 : -1);
    }
    (void)settle(keeper);
}

enum code keeper__start(struct keeper *keeper, struct why *why)
{
    keeper->settle_tries = SETTLE_TRIES; /* what a gate that was killed had sealed */
    return thread_start(&keeper->thread, "audit-keeper", run, keeper, why);
}

void keeper__stop(struct keeper *keeper)
{
    atomic_store(&keeper->stopping, true);
    keeper__poke(keeper);
    thread_join(&keeper->thread);
    rotate__let_go(keeper->path); /* for a rotation that waited in vain */
}
