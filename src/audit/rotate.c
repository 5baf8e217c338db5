/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done beside the calls is done by the keeper before: an empty file with its tables, nearly all of the WAL copied,
 * and a second name for this file (rotate__hold), so that its names can change without a sync between. Then no call may be
 * written for a few syncs:
 *
 *   1. what waits, `sealed` as the file's last row and a checkpoint over all of it, in one commit
 *                                              killed from here on: the next start goes on in this file
 *   2. PATH.next filled with what goes on, and synced beside 3
 *   3. the WAL copied                          a reader in its way: given up, and tried again later
 *   4. the file linked to its other name
 *   5. PATH.next renamed to PATH               killed from here on: the next start goes on in the new file
 *   6. the folder synced, before a row is committed there; the second name and the old WAL go after that
 *
 * The WAL is not cut off: on ext4 that takes 5 to 25 ms, longer than all syncs together.
 */
#include "audit/writer_priv.h"

#include "audit/rotate_priv.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/json.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER_WAIT_MS 5      /* for somebody's read of the file to end */
#define RETRY_US 1000000
#define LOOK_US 1000          /* what the keeper has copied and the notary has hashed until then is not done in the pause */
#define WORK_WAIT_US 2000000  /* for the index part that is being written, and for the notary */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* ---- the new file ------------------------------------------------------------------------------------------------ */

static enum code put_file_row(struct audit *audit, struct db *db)
{
    struct ledger *ledger = &audit->ledger;
    unsigned char id[16];
    struct row_value values[F_COUNT] = {
        [F_SEQ] = row_int((int64_t)ledger->tip.seq), [F_FORMAT] = row_int(1), [F_CREATED] = row_int(clock_wall_us()),
        [F_ID] = row_blob(id, sizeof id), [F_PREVIOUS] = row_blob(ledger->tip.hash, DIGEST_BYTES),
    };
    struct row_value hash = row_blob(audit->rotation.file_hash, DIGEST_BYTES);
    struct db_stmt *stmt = NULL;
    enum code code = row__prepare_insert(db, ROW_FILE, &stmt);

    random_bytes(id, sizeof id);
    row__hash(ROW_FILE, values, ledger->tip.hash, audit->rotation.file_hash);
    if (code != CODE_OK)
        return code;
    for (int i = 0; i < F_COUNT; i++)
        row__bind(stmt, i + 1, &values[i]);
    row__bind(stmt, F_COUNT + 1, &hash);
    code = db_run(stmt);
    db_finalize(&stmt);
    return code;
}

static enum code put_head(struct db_stmt *put, struct span tenant, int64_t seq, struct span hash)
{
    db_bind_text(put, 1, tenant);
    db_bind_int(put, 2, seq);
    db_bind_blob(put, 3, hash);
    return db_run(put);
}

/* Of the finding tables first, then what they do not know yet. */
static enum code put_heads(struct ledger *ledger, struct db *db)
{
    struct head **list = mem_array(ledger->heads.count + 1, sizeof *list);
    struct db_stmt *put = NULL, *get = NULL;
    enum code code = list == NULL ? CODE_NOMEM : db_prepare(db, "INSERT OR REPLACE INTO tenant_start VALUES (?, ?, ?)", &put);

    if (code == CODE_OK)
        code = db_prepare(ledger->db, "SELECT tenant, seq, hash FROM tenant_start UNION ALL "
                          "SELECT tenant, seq, hash FROM tenant_head", &get);
    while (code == CODE_OK && (code = db_step(get)) == CODE_OK)
        code = put_head(put, db_text(get, 0), db_int(get, 1), db_blob(get, 2));
    if (code == CODE_NOT_FOUND)
        code = CODE_OK;
    if (code == CODE_OK)
        heads__list(&ledger->heads, list);
    for (size_t i = 0; i < ledger->heads.count && code == CODE_OK; i++)
        if (list[i]->known && list[i]->seq != 0)
            code = put_head(put, span_of(list[i]->tenant, list[i]->len), (int64_t)list[i]->seq,
                            span_of(list[i]->hash, DIGEST_BYTES));
    db_finalize(&get);
    db_finalize(&put);
    mem_free(list);
    return code;
}

static enum code put_permits(const struct ledger *ledger, struct db *db)
{
    struct db_stmt *put = NULL;
    enum code code = db_prepare(db, "INSERT INTO permit_start VALUES (?, ?)", &put);

    for (size_t i = 0; i < ledger->permits.size && code == CODE_OK; i++) {
        const struct permit *permit = &ledger->permits.slots[i];

        if (permit->seq == 0)
            continue;
        db_bind_int(put, 1, (int64_t)permit->seq);
        db_bind_text(put, 2, permit->head != NULL ? span_of(permit->head->tenant, permit->head->len) : SPAN_NONE);
        code = db_run(put);
    }
    db_finalize(&put);
    return code;
}

/* The one that covers the sealed file, as the tree's beginning. */
static enum code put_checkpoint(struct ledger *ledger, struct db *db)
{
    struct db_stmt *get = NULL, *put = NULL;
    enum code code = db_prepare(ledger->db, "SELECT size, time_us, peaks, note FROM checkpoint ORDER BY size DESC LIMIT 1",
                                &get);

    if (code == CODE_OK)
        code = db_prepare(db, "INSERT INTO checkpoint VALUES (?, ?, ?, ?)", &put);
    if (code == CODE_OK)
        code = db_step(get);
    if (code == CODE_OK && (uint64_t)db_int(get, 0) == ledger->tip.seq) {
        db_bind_int(put, 1, db_int(get, 0));
        db_bind_int(put, 2, db_int(get, 1));
        db_bind_blob(put, 3, db_blob(get, 2));
        db_bind_text(put, 4, db_text(get, 3));
        code = db_run(put);
    }
    db_finalize(&get);
    db_finalize(&put);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* A sync of the next file beside the writer's of this one. */
struct syncing {
    struct thread thread;
    const char *path;
    enum code code;
};

static void sync_file(void *argument)
{
    struct syncing *syncing = argument;
    int fd = open(syncing->path, O_RDWR | O_CLOEXEC);

    syncing->code = fd >= 0 && fsync(fd) == 0 ? CODE_OK : CODE_IO;
    if (fd >= 0)
        (void)close(fd);
}

static void begin_sync(struct syncing *syncing, const char *path)
{
    struct why why;

    *syncing = (struct syncing){.path = path};
    if (thread_start(&syncing->thread, "audit-sync", sync_file, syncing, &why) != CODE_OK)
        sync_file(syncing);
}

static enum code end_sync(struct syncing *syncing)
{
    thread_join(&syncing->thread);
    return syncing->code;
}

static enum code fill_next(struct audit *audit, const char *next)
{
    struct db *db = NULL;
    enum code code = db_open(next, DB_WRITE, &db, NULL);

    if (code == CODE_OK)
        code = db_exec(db, "PRAGMA synchronous = OFF; BEGIN IMMEDIATE");
    if (code == CODE_OK)
        code = put_file_row(audit, db);
    if (code == CODE_OK)
        code = put_heads(&audit->ledger, db);
    if (code == CODE_OK)
        code = put_permits(&audit->ledger, db);
    if (code == CODE_OK)
        code = put_checkpoint(&audit->ledger, db);
    if (code == CODE_OK)
        code = db_commit(db);
    db_close(&db); /* copies its WAL and takes it away */
    return code;
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

static enum code put_sealed(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    struct audit_event event = {.time_us = clock_wall_us(), .kind = SPAN_LIT("sealed"), .actor = span_text(rotation->actor)};
    struct buf text;
    enum code code = rotate__name(audit->ledger.path, audit->ledger.begin_seq + 1, audit->ledger.tip.seq + 1, rotation->sealed);

    buf_init(&text, AUDIT_JSON_BYTES);
    if (code == CODE_OK)
        code = buf_addf(&text, "{\"file\":");
    if (code == CODE_OK)
        code = json_write_string(&text, span_text(base_of(rotation->sealed)));
    if (code == CODE_OK)
        code = buf_addf(&text, ",\"open_permits\":%zu}", audit->ledger.permits.count);
    event.detail = buf_peek(&text);
    if (code == CODE_OK)
        code = ledger__event(&audit->ledger, &event);
    buf_fini(&text);
    return code;
}

enum code rotate__seal(struct audit *audit)
{
    struct ledger *ledger = &audit->ledger;
    enum code code = put_sealed(audit);

    if (code == CODE_OK && audit->notary.is_on && ledger->leaf_count != ledger->tip.seq - ledger->committed.seq) {
        audit->rotation.seals = false; /* many rows of long tenants came at once; see ledger->leaves */
        return CODE_OK;
    }
    if (code == CODE_OK && audit->part != NULL) /* it is not found by; its rows are behind the last part */
        code = db_exec(ledger->db, "DELETE FROM lookup WHERE part > coalesce((SELECT max(part) FROM part), -1)");
    return code == CODE_OK && audit->notary.is_on ? writer__checkpoint_last(audit) : code;
}

/* With what waits in the rings: it does not wait longer for us than it must. Returns: false where the file goes on. */
static bool seal(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    struct part *late;
    bool sealed;

    rotation->seals = true;
    sealed = writer__batch(audit) && rotation->seals;
    rotation->seals = false;
    notary__release(&audit->notary);
    if (!sealed) {
        mem_free(rotation->checkpoint);
        rotation->checkpoint = NULL;
        return false;
    }
    if (rotation->checkpoint != NULL)
        notary__tell(&audit->notary, rotation->checkpoint);
    rotation->checkpoint = NULL;
    part__free(&audit->part);
    late = keeper__take(&audit->keeper); /* the keeper is held still; what it has sorted are rows of this file */
    part__free(&late);
    atomic_store(&audit->keeper.part_wanted, 0);
    return true;
}

static enum code link_sealed(const struct audit *audit)
{
    const char *sealed = audit->rotation.sealed;
    struct stat there;

    if (link(audit->ledger.path, sealed) == 0) /* what is held has a durable name already */
        return audit->keeper.is_held || file_sync_folder(sealed) ? CODE_OK : CODE_IO;
    if (errno != EEXIST) /* no hard links here: renamed then, which the next start understands, too */
        return stat(sealed, &there) == 0 ? CODE_EXISTS : CODE_OK;
    return stat(sealed, &there) == 0 && there.st_dev == audit->ledger.device && there.st_ino == audit->ledger.inode
               ? CODE_OK : CODE_EXISTS;
}

/* SQLite must find nothing of the old file beside the new one. What has the old one open keeps its own. */
static enum code change_names(struct audit *audit, const char *next)
{
    const char *path = audit->ledger.path;
    char beside[ROTATE_PATH_BYTES];
    struct stat there;

    (void)snprintf(beside, sizeof beside, "%s-wal", path);
    (void)unlink(beside);
    (void)snprintf(beside, sizeof beside, "%s-shm", path);
    (void)unlink(beside);
    if (stat(audit->rotation.sealed, &there) != 0 &&
        (rename(path, audit->rotation.sealed) != 0 || !file_sync_folder(path)))
        return CODE_IO;
    return rename(next, path) == 0 ? CODE_OK : CODE_IO; /* synced before the first row; see rotate__begin */
}

/* From here on rows can only be written when the new file is open: what fails is a fault like any other. */
static enum code change_files(struct audit *audit, const char *next)
{
    struct ledger *ledger = &audit->ledger;
    struct why why = {0};
    enum code code;

    db_close(&audit->keeper.db); /* it is held still; see rotate__turn */
    atomic_fetch_add(&audit->keeper.generation, 1);
    ledger__close(ledger);
    code = change_names(audit, next);
    if (code != CODE_OK)
        return code;
    memcpy(ledger->tip.hash, audit->rotation.file_hash, DIGEST_BYTES);
    ledger->committed = ledger->tip;
    ledger->inode = 0;
    ledger__remember_place(ledger);
    audit->rotation.begins = true;
    atomic_fetch_add(&audit->rotations, 1);
    code = ledger__open(ledger, DB_WRITE, clock_wall_us(), &why);
    if (code != CODE_OK)
        log_error("audit", "%s", why.text);
    audit->wal_pages = audit->checkpoint_pages = 0;
    return code;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

enum step { STEP_DONE = 0, STEP_UNSEALED, STEP_FAILED };

/* Of a file that is sealed. Returns: STEP_UNSEALED where it goes on; nothing was lost then. */
static enum step run(struct audit *audit, enum code *code, const char **what)
{
    char next[ROTATE_PATH_BYTES];
    struct syncing syncing;
    enum code synced;

    audit->keeper.is_held = audit->keeper.is_held && rotate__is_held(audit->ledger.path);
    *what = "its path is too long";
    *code = CODE_LIMIT;
    if (snprintf(next, sizeof next, "%s.next", audit->ledger.path) >= (int)sizeof next - 8)
        return STEP_UNSEALED;
    *what = "the next file cannot be written";
    *code = fill_next(audit, next);
    if (*code != CODE_OK)
        return STEP_UNSEALED;
    begin_sync(&syncing, next);
    *what = "somebody reads it";
    db_busy_wait(audit->ledger.db, READER_WAIT_MS);
    *code = audit->keeper.is_held ? writer__copy_wal(audit) : writer__empty_wal(audit);
    db_busy_wait(audit->ledger.db, LEDGER_BUSY_WAIT_MS);
    synced = end_sync(&syncing);
    if (*code != CODE_OK)
        return *code == CODE_BUSY ? STEP_UNSEALED : STEP_FAILED;
    *what = "the next file cannot be synced";
    *code = synced;
    if (*code != CODE_OK)
        return STEP_UNSEALED;
    *what = "its new name is another file's, or cannot be given";
    *code = link_sealed(audit);
    if (*code != CODE_OK)
        return STEP_UNSEALED;
    *code = change_files(audit, next);
    return *code == CODE_OK ? STEP_DONE : STEP_FAILED;
}

static void put_off(struct audit *audit, const char *what, enum code code)
{
    struct rotation *rotation = &audit->rotation;

    if (strcmp(rotation->waits_for, what) != 0)
        log_info("audit", "%s: is not sealed yet: %s%s%s", audit->ledger.path, what, code != CODE_OK ? ": " : "",
                 code != CODE_OK ? code_text(code) : "");
    (void)snprintf(rotation->waits_for, sizeof rotation->waits_for, "%s", what);
    rotation->due_us = clock_monotonic_us() + RETRY_US;
}

static void rotate(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    int64_t began_us = clock_monotonic_us();
    const char *what = "";
    enum code code;
    enum step step;

    if (!seal(audit)) {
        if (!atomic_load(&audit->shared.down))
            put_off(audit, "too much came at once", CODE_OK);
        return;
    }
    step = run(audit, &code, &what);
    atomic_store(&audit->keeper.next, KEEPER_NEXT_NONE);
    if (step != STEP_DONE)
        rotate__tidy_name(&audit->ledger);
    if (step == STEP_FAILED) {
        writer__go_down(audit, code);
        return;
    }
    if (step == STEP_UNSEALED) {
        rotate__remove_next(audit->ledger.path);
        put_off(audit, what, code);
        return;
    }
    log_info("audit", "%s: sealed as %s in %lld us", audit->ledger.path, base_of(rotation->sealed),
             (long long)(clock_monotonic_us() - began_us));
    audit->keeper.is_held = false;
    keeper__ask_settle(&audit->keeper);
    rotation->wanted = false;
    rotation->waits_for[0] = '\0';
    (void)writer__batch(audit);
}

void rotate__turn(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    struct keeper *keeper = &audit->keeper;
    bool parts = audit->part != NULL || atomic_load(&keeper->ready) != NULL, waited;

    if (rotation->since_us == 0)
        rotation->since_us = clock_monotonic_us();
    rotation->due_us = clock_monotonic_us() + LOOK_US;
    waited = clock_monotonic_us() - rotation->since_us >= WORK_WAIT_US;
    if (atomic_load(&keeper->next) != KEEPER_NEXT_READY || (parts && !waited))
        notary__wake(&audit->notary);
    switch ((enum keeper_next)atomic_load(&keeper->next)) {
    case KEEPER_NEXT_NONE:
        keeper__ask_next(keeper);
        return;
    case KEEPER_NEXT_ASKED:
        return;
    case KEEPER_NEXT_READ:
        put_off(audit, "somebody reads it", CODE_OK);
        atomic_store(&keeper->next, KEEPER_NEXT_NONE);
        return;
    case KEEPER_NEXT_FAILED:
        put_off(audit, "the next file cannot be made", CODE_OK);
        atomic_store(&keeper->next, KEEPER_NEXT_NONE);
        return;
    case KEEPER_NEXT_READY:
        break;
    }
    if (parts && !waited)
        return;
    if (pthread_mutex_trylock(&keeper->work_lock) != 0)
        return;
    if (notary__seize(&audit->notary))
        rotate(audit);
    else if (waited)
        put_off(audit, "its last checkpoints are not signed yet", CODE_OK);
    if (!rotation->wanted)
        rotation->since_us = 0;
    (void)pthread_mutex_unlock(&keeper->work_lock);
}

enum code rotate__begin(struct audit *audit)
{
    int64_t now = clock_wall_us();
    struct buf text;
    enum code code;

    if (!audit->rotation.begins)
        return CODE_OK;
    if (!file_sync_folder(audit->ledger.path)) /* with the new -wal file, which is there by now */
        return CODE_IO;
    buf_init(&text, AUDIT_JSON_BYTES);
    code = buf_addf(&text, "{\"last_seq\":%llu,\"previous\":", (unsigned long long)audit->ledger.begin_seq);
    if (code == CODE_OK)
        code = json_write_string(&text, span_text(base_of(audit->rotation.sealed)));
    if (code == CODE_OK)
        code = buf_add_byte(&text, '}');
    if (code == CODE_OK)
        code = writer__event(audit, "continued", now, buf_peek(&text));
    buf_fini(&text);
    return code == CODE_OK ? writer__checkpoint_start(audit, now) : code;
}
