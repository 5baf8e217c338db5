/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done beside the calls is done by the keeper before: an empty file with its tables and a connection to it, nearly
 * all of the WAL copied, and a second name for this file (rotate__hold), so that its names can change without a sync between.
 * Then no call may be written for a few syncs:
 *
 *   1. what waits, `sealed` as the file's last row and a checkpoint over all of it, in one commit
 *                                              killed from here on: the next start goes on in this file
 *   2. beside it, PATH.next filled with what goes on, and synced
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
#define WORK_WAIT_US 2000000  /* for the notary */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* ---- the new file ------------------------------------------------------------------------------------------------ */

static enum code put_file_row(struct audit *audit, struct ledger *ahead)
{
    const struct ledger *ledger = &audit->ledger;
    unsigned char id[16];
    struct row_value values[F_COUNT] = {
        [F_SEQ] = row_int((int64_t)ledger->tip.seq), [F_FORMAT] = row_int(1), [F_CREATED] = row_int(clock_wall_us()),
        [F_ID] = row_blob(id, sizeof id), [F_PREVIOUS] = row_blob(ledger->tip.hash, DIGEST_BYTES),
    };

    random_bytes(id, sizeof id);
    row__hash(ROW_FILE, values, ledger->tip.hash, audit->rotation.file_hash);
    return insert__row(ahead->insert[ROW_FILE], values, audit->rotation.file_hash, NULL);
}

static enum code put_head(struct db_stmt *put, struct span tenant, int64_t seq, struct span hash)
{
    db_bind_text(put, 1, tenant);
    db_bind_int(put, 2, seq);
    db_bind_blob(put, 3, hash);
    return db_run(put);
}

/* What this file began with first, then what its rows made of it. */
static enum code put_heads(struct ledger *ledger, struct db *db)
{
    struct head **list = mem_array(ledger->heads.count + 1, sizeof *list);
    struct db_stmt *put = NULL, *get = NULL;
    enum code code = list == NULL ? CODE_NOMEM : db_prepare(db, "INSERT OR REPLACE INTO tenant_start VALUES (?, ?, ?)", &put);

    if (code == CODE_OK)
        code = db_prepare(ledger->db, "SELECT tenant, seq, hash FROM tenant_start", &get);
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

        if (permit->seq == 0 || permit->closing)
            continue;
        db_bind_int(put, 1, (int64_t)permit->seq);
        db_bind_text(put, 2, permit->head != NULL ? span_of(permit->head->tenant, permit->head->len) : SPAN_NONE);
        code = db_run(put);
    }
    db_finalize(&put);
    return code;
}

/* Beside the writer's sync of this file. */
static void sync_next(void *argument)
{
    struct rotation *rotation = argument;

    rotation->filled = rotate__sync(rotation->next);
}

static void begin_sync(struct rotation *rotation)
{
    struct why why;

    if (thread_start(&rotation->syncs, "audit-sync", sync_next, rotation, &why) != CODE_OK)
        sync_next(rotation);
}

/* With what goes on behind the transaction that is open. */
static enum code fill_next(struct audit *audit)
{
    struct ledger *ahead = &audit->keeper.ahead;
    enum code code = db_run(ahead->begin);

    if (code == CODE_OK)
        code = put_file_row(audit, ahead);
    if (code == CODE_OK)
        code = put_heads(&audit->ledger, ahead->db);
    if (code == CODE_OK)
        code = put_permits(&audit->ledger, ahead->db);
    if (code == CODE_OK && audit->rotation.checkpoint != NULL) /* the tree goes on from it */
        code = writer__put_checkpoint(ahead, audit->rotation.checkpoint);
    if (code == CODE_OK)
        code = db_run(ahead->commit);
    return code == CODE_OK ? db_exec(ahead->db, "PRAGMA journal_mode = WAL") : code; /* its -wal file is made when it is used */
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
        code = buf_addf(&text, ",\"open_permits\":%zu}", audit->ledger.permits.count - audit->closing_count);
    if (code == CODE_OK) {
        event.detail = buf_peek(&text);
        code = ledger__event(&audit->ledger, &event);
    }
    buf_fini(&text);
    return code;
}

enum code rotate__seal(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    const struct ledger *ledger = &audit->ledger;
    enum code code = put_sealed(audit);

    if (code == CODE_OK && audit->notary.is_on && ledger->leaf_count != ledger->tip.seq - ledger->committed.seq) {
        rotation->seals = false; /* many rows of long tenants came at once; see ledger->leaves */
        return CODE_OK;
    }
    if (code == CODE_OK && audit->notary.is_on)
        code = writer__checkpoint_last(audit);
    if (code != CODE_OK)
        return code;
    rotation->filled = fill_next(audit);
    if (rotation->filled == CODE_OK)
        begin_sync(rotation);
    return CODE_OK;
}

/* With what waits in the rings: it does not wait longer for us than it must. Returns: false where the file goes on. */
static bool seal(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    bool sealed;

    rotation->seals = true;
    sealed = writer__batch(audit) && rotation->seals;
    thread_join(&rotation->syncs);
    rotation->seals = false;
    writer__checkpoint_told(audit, sealed);
    notary__release(&audit->notary);
    return sealed;
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

static bool remove_beside(const char *path, const char *suffix)
{
    char beside[ROTATE_PATH_BYTES];

    (void)snprintf(beside, sizeof beside, "%s%s", path, suffix);
    return unlink(beside) == 0 || errno == ENOENT;
}

/* SQLite must find nothing of the old file beside the new one. What has the old one open keeps its own. */
static enum code change_names(const struct audit *audit)
{
    const char *path = audit->ledger.path;
    struct stat there;

    if (!remove_beside(path, "-wal") || !remove_beside(path, "-shm"))
        return CODE_IO;
    if (stat(audit->rotation.sealed, &there) != 0 &&
        (rename(path, audit->rotation.sealed) != 0 || !file_sync_folder(path)))
        return CODE_IO;
    return rename(audit->rotation.next, path) == 0 ? CODE_OK : CODE_IO; /* synced before the first row; see rotate__begin */
}

/* From here on rows can only be written when the new file is open: what fails is a fault like any other. */
static enum code change_files(struct audit *audit)
{
    struct keeper *keeper = &audit->keeper;
    enum code code = change_names(audit);

    if (code != CODE_OK)
        return code;
    atomic_fetch_add(&keeper->generation, 1);
    code = ledger__goes_on(&audit->ledger, &keeper->ahead, audit->rotation.file_hash);
    keeper->old = keeper->ahead; /* to close it takes as long as a sync */
    keeper->ahead = (struct ledger){0};
    audit->rotation.begins = true;
    atomic_fetch_add(&audit->rotations, 1);
    audit->wal_pages = audit->checkpoint_pages = 0;
    return code;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

enum step { STEP_DONE = 0, STEP_UNSEALED, STEP_FAILED };

/* Of a file that is sealed. Returns: STEP_UNSEALED where it goes on; nothing was lost then. */
static enum step run(struct audit *audit, enum code *code, const char **what)
{
    audit->keeper.is_held = audit->keeper.is_held && rotate__is_held(audit->ledger.path);
    *what = "the next file cannot be written";
    *code = audit->rotation.filled;
    if (*code != CODE_OK)
        return STEP_UNSEALED;
    *what = "somebody reads it";
    db_busy_wait(audit->ledger.db, READER_WAIT_MS);
    *code = audit->keeper.is_held ? writer__copy_wal(audit) : writer__empty_wal(audit);
    db_busy_wait(audit->ledger.db, LEDGER_BUSY_WAIT_MS);
    if (*code != CODE_OK)
        return *code == CODE_BUSY ? STEP_UNSEALED : STEP_FAILED;
    *what = "its new name is another file's, or cannot be given";
    *code = link_sealed(audit);
    if (*code != CODE_OK)
        return STEP_UNSEALED;
    *code = change_files(audit);
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

static void give_up(struct audit *audit)
{
    rotate__give_up(audit->ledger.path, &audit->keeper.ahead);
    atomic_store(&audit->keeper.next, KEEPER_NEXT_NONE);
}

static void rotate(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    int64_t began_us = clock_monotonic_us();
    const char *what = "";
    enum code code;
    enum step step;

    (void)snprintf(rotation->next, sizeof rotation->next, "%s.next", audit->ledger.path);
    if (!seal(audit)) {
        give_up(audit);
        if (!atomic_load(&audit->shared.down))
            put_off(audit, "too much came at once", CODE_OK);
        return;
    }
    step = run(audit, &code, &what);
    atomic_store(&audit->keeper.next, KEEPER_NEXT_NONE);
    if (step != STEP_DONE)
        rotate__tidy_name(&audit->ledger);
    if (step == STEP_FAILED) {
        ledger__close(&audit->keeper.ahead);
        ledger__close(&audit->keeper.old);
        db_close(&audit->keeper.db); /* its -wal and -shm files may have lost their names */
        writer__go_down(audit, code);
        return;
    }
    if (step == STEP_UNSEALED) {
        give_up(audit);
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
    bool waited;

    if (rotation->since_us == 0)
        rotation->since_us = clock_monotonic_us();
    rotation->due_us = clock_monotonic_us() + LOOK_US;
    waited = clock_monotonic_us() - rotation->since_us >= WORK_WAIT_US;
    if (atomic_load(&keeper->next) != KEEPER_NEXT_READY)
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
