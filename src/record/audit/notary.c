/* SPDX-License-Identifier: Apache-2.0 */
/* The notary is a thread of its own, since three blocks of SHA-256 a row and a signature must not stand between a call and
 * its commit, and a slow disk under the file of checkpoints must not hold up the keeper. Rows for which the queue had no
 * room are read from the file. */
#include "audit/mark_priv.h"

#include "rows/walk.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/clock.h"
#include "os/pause.h"
#include "os/sandbox.h"

#include <limits.h>
#include <stdio.h>

#define QUEUE_BYTES ((size_t)1 << 20)
#define QUEUE_ROWS 4096   /* so many rows wake it early, so that the queue need not be large */
#define INTERVAL_MS 1000
#define ROWS ((uint64_t)16384)
#define NAME_MS 60000     /* so that checkpoints which somebody takes out are missed, but for those of the last minute */
#define PAUSE_MS 1000     /* after a failure */
#define LOOK_MS 1000      /* how often it looks at the file of checkpoints */
#define MARK_ROWS 65536   /* after so many rows, or so long, a checkpoint gets a mark */
#define MARK_US INT64_C(60000000)

/* ---- the origin -------------------------------------------------------------------------------------------------- */

/* The log is named after its first file. A file that continues another begins with that one's last checkpoint, which
 * has the name. */
static enum code find_origin(struct notary *notary, struct ledger *ledger)
{
    struct db_stmt *stmt;
    enum code code = db_find(ledger->db, "SELECT f.id, (SELECT note FROM checkpoint ORDER BY size LIMIT 1), "
                             "f.previous IS NOT NULL FROM file AS f", NULL, 0, &stmt);
    char hex[NOTE_ORIGIN_ID + 1] = {0};

    if (code == CODE_OK && db_int(stmt, 2) == 1 && db_text(stmt, 1).at != NULL) {
        struct span rest, origin = span_cut(db_text(stmt, 1), '\n', &rest);

        (void)snprintf(notary->origin, sizeof notary->origin, "%.*s", SPAN_ARG(origin));
    } else if (code == CODE_OK) {
        num_hex(db_blob(stmt, 0).at, db_blob(stmt, 0).len < 16 ? db_blob(stmt, 0).len : 16, hex);
        (void)snprintf(notary->origin, sizeof notary->origin, NOTE_ORIGIN "%s", hex);
    }
    db_finalize(&stmt);
    return code;
}

/* Tells the signer where the log stands. It takes the gate's word for this once. */
static enum code begin_signer(struct notary *notary, struct db *db)
{
    unsigned char peaks[MERKLE_PEAKS * DIGEST_BYTES];
    enum code code = notary__load_tree(notary, db);

    return code == CODE_OK ? signer_begin(notary->conf.signer, notary->origin, notary->tree.size,
                                          span_of(peaks, merkle_save(&notary->tree, peaks)))
                           : code;
}

enum code notary__init(struct notary *notary, const struct audit_checkpoints *conf, struct ledger *ledger,
                       struct ring_shared *shared, struct why *why)
{
    enum code code;

    *notary = (struct notary){.path = ledger->path, .conf = *conf, .shared = shared,
                              .queue_last = ledger->committed.seq, .wake_rows = UINT64_MAX};
    if (conf->key == NULL && conf->signer == NULL)
        return CODE_OK;
    if (notary->conf.interval_ms == 0)
        notary->conf.interval_ms = INTERVAL_MS;
    if (notary->conf.name_ms == 0)
        notary->conf.name_ms = NAME_MS;
    if (notary->conf.rows == 0)
        notary->conf.rows = ROWS;
    lock_init(&notary->lock);
    lock_init(&notary->work);
    lock_init(&notary->file_lock);
    notary->is_on = true;
    buf_init(&notary->queue, QUEUE_BYTES);
    buf_init(&notary->taken, QUEUE_BYTES);
    if (conf->file != NULL)
        notary->file = mem_dup(conf->file, strlen(conf->file));
    if (conf->file != NULL && notary->file == NULL)
        return CODE_NOMEM;
    code = find_origin(notary, ledger);
    if (code == CODE_OK && conf->signer != NULL)
        code = begin_signer(notary, ledger->db);
    return code == CODE_OK ? code : why_set(why, code, "%s: %s", ledger->path, db_error(ledger->db));
}

void notary__fini(struct notary *notary)
{
    if (!notary->is_on)
        return;
    checkpoint__free(atomic_exchange(&notary->ready, NULL));
    mem_free(atomic_exchange(&notary->damage, NULL));
    mem_free(notary->untold);
    mem_free(notary->file);
    buf_fini(&notary->queue);
    buf_fini(&notary->taken);
    tenants_fini(&notary->tenants);
    (void)pthread_mutex_destroy(&notary->lock);
    (void)pthread_mutex_destroy(&notary->work);
    (void)pthread_mutex_destroy(&notary->file_lock);
    *notary = (struct notary){.is_on = false};
}

enum code notary__public(const struct notary *notary, unsigned char public[SIGN_PUBLIC_BYTES])
{
    if (notary->conf.signer == NULL)
        return sign_key_public(notary->conf.key, public);
    memcpy(public, signer_public(notary->conf.signer), SIGN_PUBLIC_BYTES);
    return CODE_OK;
}

enum code notary__describe_key(const struct notary *notary, struct buf *out)
{
    unsigned char public[SIGN_PUBLIC_BYTES];
    enum code code = notary__public(notary, public);

    return code == CODE_OK ? note_key_write(span_text(notary->origin), public, out) : code;
}

void checkpoint__free(struct checkpoint *checkpoint)
{
    if (checkpoint != NULL)
        mark__free(&checkpoint->mark);
    mem_free(checkpoint);
}

/* ---- from the writer --------------------------------------------------------------------------------------------- */

void notary__push(struct notary *notary, uint64_t last, struct span leaves, uint64_t count, uint64_t own)
{
    bool is_due = count > own, pokes;

    if (!notary->is_on)
        return;
    lock_take(&notary->lock);
    if (notary->queue_last + count != last || buf_put(&notary->queue, leaves) != CODE_OK) {
        buf_clear(&notary->queue); /* what the queue held is read from the file */
        notary->queue_count = 0;
        if (buf_put(&notary->queue, leaves) != CODE_OK)
            count = 0;
    }
    notary->queue_last = last;
    notary->queue_count += count;
    notary->queue_own += own;
    if (is_due && atomic_load_explicit(&notary->unsigned_since_us, memory_order_relaxed) == 0)
        atomic_store(&notary->unsigned_since_us, clock_monotonic_us());
    pokes = notary->queue_count >= notary->wake_rows || (count == 0 && notary->wake_rows == 1);
    if (pokes)
        notary->wake_rows = UINT64_MAX;
    lock_give(&notary->lock);
    if (pokes)
        thread_poke(&notary->thread);
}

void notary__wake(struct notary *notary)
{
    if (notary->is_on)
        thread_poke(&notary->thread);
}

void notary__distrust(struct notary *notary)
{
    if (!notary->is_on)
        return;
    lock_take(&notary->lock);
    notary->is_distrusted = true;
    lock_give(&notary->lock);
}

struct checkpoint *notary__take(struct notary *notary)
{
    if (atomic_load_explicit(&notary->ready, memory_order_relaxed) == NULL)
        return NULL;
    return atomic_exchange(&notary->ready, NULL);
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static void add_row(struct notary *notary, uint64_t seq, struct span hash, struct span tenant)
{
    unsigned char leaf[DIGEST_BYTES];

    merkle_leaf(hash, leaf);
    merkle_add(&notary->tree, leaf);
    if (notary->conf.signer != NULL)
        signer_add(notary->conf.signer, notary->tree.size, leaf);
    notary__set_tenant(notary, tenant, seq, hash);
}

static enum code read_rows(struct notary *notary, struct db *db, uint64_t last)
{
    uint64_t first = notary->tree.size + 1;
    struct walk leaves;
    struct leaf leaf;
    enum code code = walk_leaves(&leaves, db, (int64_t)first, (int64_t)last);

    if (code != CODE_OK)
        return code;
    while ((code = walk_next_leaf(&leaves, &leaf)) == CODE_OK) {
        if ((uint64_t)leaf.seq != notary->tree.size + 1) {
            code = CODE_INVALID; /* a gap: nothing is signed over it */
            break;
        }
        add_row(notary, (uint64_t)leaf.seq, leaf.hash, leaf.tenant);
    }
    walk_fini(&leaves);
    notary->fresh += notary->tree.size + 1 - first;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code load(struct notary *notary, struct db *db)
{
    enum code code = notary__load_tree(notary, db);

    if (notary->conf.signer != NULL)
        signer_rewind(notary->conf.signer);
    tenants_fini(&notary->tenants);
    notary->mark_us = 0;
    notary->fresh = 0;
    notary->has_tenants = code == CODE_OK && tenants_init(&notary->tenants) == CODE_OK;
    if (code == CODE_OK && notary->has_tenants)
        code = notary__load_tenants(notary, db);
    notary->is_loaded = code == CODE_OK;
    return code;
}

/* Brings the tree up to `last` from the file: at the start, and where the queue had no room. */
static enum code catch_up(struct notary *notary, uint64_t last)
{
    struct db *db;
    int64_t there;
    enum code code = db_open(notary->path, DB_PAST, &db, NULL);

    if (code != CODE_OK)
        return code;
    code = db_exec(db, "PRAGMA cache_size = -256; BEGIN");
    if (code == CODE_OK && !notary->is_loaded) {
        code = load(notary, db);
        if (code == CODE_OK) /* the tenants' last rows are those of all that is there */
            code = db_number(db, ROW_MAX_SEQ, NULL, 0, &there);
        if (code == CODE_OK && (uint64_t)there > last)
            last = (uint64_t)there;
    }
    if (code == CODE_OK)
        code = read_rows(notary, db, last);
    db_close(&db);
    return code;
}

static void read_queue(struct notary *notary, uint64_t seq)
{
    struct span rest = buf_peek(&notary->taken);

    for (; rest.len > 0; seq++) {
        struct span tenant = SPAN_NONE;
        uint32_t len;

        memcpy(&len, rest.at, sizeof len);
        if (len != UINT32_MAX)
            tenant = span_part(rest, sizeof len + DIGEST_BYTES, len);
        if (seq == notary->tree.size + 1) { /* rows that were read from the file may be in the queue, too */
            add_row(notary, seq, span_part(rest, sizeof len, DIGEST_BYTES), tenant);
            notary->fresh++;
        }
        rest = span_part(rest, sizeof len + DIGEST_BYTES + tenant.len, SIZE_MAX);
    }
}

/* Takes the rows that wait in the queue into the tree. */
static enum code drain(struct notary *notary)
{
    struct buf empty = notary->taken;
    uint64_t count, own;
    enum code code = CODE_OK;

    lock_take(&notary->lock);
    notary->taken = notary->queue;
    notary->queue = empty;
    notary->wanted = notary->queue_last > notary->wanted ? notary->queue_last : notary->wanted;
    count = notary->queue_count;
    own = notary->queue_own;
    notary->queue_count = notary->queue_own = 0;
    notary->is_loaded = notary->is_loaded && !notary->is_distrusted;
    notary->is_distrusted = false;
    lock_give(&notary->lock);
    if (!notary->is_loaded || notary->tree.size < notary->wanted - count)
        code = catch_up(notary, notary->wanted - count);
    if (code == CODE_OK)
        read_queue(notary, notary->wanted - count + 1);
    buf_clear(&notary->taken);
    notary->fresh -= own < notary->fresh ? own : notary->fresh;
    return code;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static enum code sign_note(struct notary *notary, const struct note *note, bool is_tentative, struct span text, struct buf *out)
{
    unsigned char signature[SIGN_BYTES];
    enum code code;

    if (notary->conf.signer == NULL)
        return note_sign(text, note->origin, notary->conf.key, out);
    code = signer_sign(notary->conf.signer, note, is_tentative, signature);
    return code == CODE_OK ? note_seal(text, note->origin, signer_public(notary->conf.signer), signature, out) : code;
}

static enum code write_note(struct notary *notary, bool is_tentative, struct checkpoint *checkpoint)
{
    struct note note = {.origin = span_text(notary->origin), .size = checkpoint->size, .time_us = checkpoint->time_us,
                        .has_tenants = notary->has_tenants, .tenants = notary->tenants.heads.count};
    struct buf text, whole;
    enum code code = CODE_OK;

    buf_init(&text, NOTE_BYTES);
    buf_init(&whole, NOTE_BYTES);
    memcpy(note.root, checkpoint->root, DIGEST_BYTES);
    if (note.has_tenants)
        code = tenants_root(&notary->tenants, note.tenants_root);
    if (code == CODE_OK)
        code = note_write(&note, &text);
    if (code == CODE_OK)
        code = sign_note(notary, &note, is_tentative, buf_peek(&text), &whole);
    if (code == CODE_OK) {
        checkpoint->note_len = buf_len(&whole);
        memcpy(checkpoint->note, buf_peek(&whole).at, checkpoint->note_len);
    }
    buf_fini(&whole);
    buf_fini(&text);
    return code;
}

/* Makes a checkpoint of the tree as it stands. Takes: is_tentative: its last rows are not durable yet. */
static enum code make_checkpoint(struct notary *notary, bool is_tentative, struct checkpoint **made)
{
    struct checkpoint *checkpoint = mem_zalloc(sizeof *checkpoint);
    enum code code;

    *made = NULL;
    if (checkpoint == NULL)
        return CODE_NOMEM;
    checkpoint->size = notary->tree.size;
    checkpoint->time_us = clock_wall_us();
    checkpoint->peaks_len = merkle_save(&notary->tree, checkpoint->peaks);
    merkle_root(&notary->tree, checkpoint->root);
    code = write_note(notary, is_tentative, checkpoint);
    if (code != CODE_OK) {
        mem_free(checkpoint);
        return code;
    }
    notary->fresh = 0;
    notary->fresh_us = 0;
    *made = checkpoint;
    return CODE_OK;
}

/* ---- for the writer ---------------------------------------------------------------------------------------------- */

bool notary__seize(struct notary *notary)
{
    bool is_ready;

    if (!notary->is_on)
        return true;
    if (pthread_mutex_trylock(&notary->work) != 0)
        return false;
    lock_take(&notary->lock);
    is_ready = notary->is_loaded && !notary->is_distrusted && notary->tree.size >= notary->queue_last - notary->queue_count;
    lock_give(&notary->lock);
    if (is_ready || (!notary->thread.started && drain(notary) == CODE_OK))
        return true;
    lock_give(&notary->work);
    thread_poke(&notary->thread);
    return false;
}

void notary__release(struct notary *notary)
{
    if (notary->is_on)
        lock_give(&notary->work);
}

enum code notary__sign(struct notary *notary, uint64_t last, struct span leaves, uint64_t count, struct checkpoint **made)
{
    enum code code = drain(notary);

    *made = NULL;
    if (code == CODE_OK)
        code = buf_add_span(&notary->taken, leaves);
    if (code == CODE_OK)
        read_queue(notary, last - count + 1);
    buf_clear(&notary->taken);
    if (code == CODE_OK && notary->tree.size != last)
        code = CODE_INVALID;
    return code == CODE_OK ? make_checkpoint(notary, true, made) : code;
}

void notary__hand_over(struct notary *notary, struct checkpoint *checkpoint)
{
    if (notary->conf.signer != NULL)
        signer_keep(notary->conf.signer);
    lock_take(&notary->lock);
    mem_free(notary->untold);
    notary->untold = checkpoint;
    lock_give(&notary->lock);
    thread_poke(&notary->thread);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static bool is_due(const struct notary *notary, bool stopping, int64_t due_us)
{
    /* Rows that the writer did not call durable are not signed. */
    if (notary->fresh == 0 || notary->tree.size > notary->wanted)
        return false;
    return stopping || notary->fresh >= notary->conf.rows || clock_monotonic_us() >= due_us;
}

/* Takes the checkpoint that the writer has made. It is told before the notary's own, which covers more rows. */
static void take_untold(struct notary *notary, struct checkpoint *told)
{
    struct checkpoint *untold;

    lock_take(&notary->lock);
    untold = notary->untold;
    notary->untold = NULL;
    lock_give(&notary->lock);
    if (untold != NULL)
        *told = *untold;
    mem_free(untold);
}

/* What a turn of the thread leaves to be done without the lock. */
struct turn {
    struct checkpoint told[2]; /* the writer's and the own one; size 0: none */
    uint64_t fresh;
    int64_t due_us;
};

/* Adds a mark of the tenants as they stand, where one is due. Where it is lost on its way, the next checkpoint gets one. */
static void add_mark(struct notary *notary, struct checkpoint *made)
{
    int64_t now_us = clock_monotonic_us();

    if (!notary->has_tenants || (made->size - notary->mark_size < MARK_ROWS && now_us - notary->mark_us < MARK_US))
        return;
    made->mark = mark__make(&notary->tenants, atomic_load(&notary->marked));
    notary->mark_us = now_us;
    notary->mark_size = made->size;
}

static enum code work(struct notary *notary, bool stopping, struct turn *turn)
{
    enum code code = drain(notary);
    struct checkpoint *made = NULL, *passed_over;

    take_untold(notary, &turn->told[0]);
    if (notary->fresh == 0)
        notary->fresh_us = 0;
    else if (notary->fresh_us == 0)
        notary->fresh_us = clock_monotonic_us();
    turn->due_us = notary->fresh_us + (int64_t)notary->conf.interval_ms * 1000;
    if (code == CODE_OK && is_due(notary, stopping, turn->due_us))
        code = make_checkpoint(notary, false, &made);
    turn->fresh = notary->fresh;
    if (made == NULL)
        return code;
    turn->told[1] = *made;
    turn->told[1].mark = NULL;
    add_mark(notary, made);
    passed_over = atomic_exchange(&notary->ready, made); /* a checkpoint that the writer has not taken yet covers fewer rows */
    if (passed_over != NULL && passed_over->mark != NULL)
        notary->mark_us = 0;
    checkpoint__free(passed_over);
    ring_wake_writer(notary->shared, RING_DOZES);
    return CODE_OK;
}

static void wait_for_work(struct notary *notary, const struct turn *turn, bool failed)
{
    int64_t left_us = turn->due_us - clock_monotonic_us();
    int due_ms = failed ? pause_ms(PAUSE_MS) : turn->fresh == 0 ? INT_MAX : left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
    uint64_t enough = notary->conf.rows < QUEUE_ROWS ? notary->conf.rows : QUEUE_ROWS;
    bool waits;

    lock_take(&notary->lock);
    enough = turn->fresh == 0 ? 1 : enough;
    waits = failed || notary->queue_count < enough;
    if (waits)
        notary->wake_rows = enough;
    lock_give(&notary->lock);
    if (waits)
        (void)!thread_rest(&notary->thread, due_ms < LOOK_MS ? due_ms : LOOK_MS);
    lock_take(&notary->lock);
    notary->wake_rows = UINT64_MAX;
    lock_give(&notary->lock);
}

/* Publishes what a turn has made. What it covers waits no longer; rows that came meanwhile wait since the turn began. */
static void publish(struct notary *notary, const struct turn *turn, int64_t began_us)
{
    bool is_kept = true;

    for (size_t i = 0; i < sizeof turn->told / sizeof turn->told[0]; i++) {
        uint64_t size = turn->told[i].size;

        if (size == 0)
            continue;
        is_kept = notary__publish(notary, &turn->told[i]);
        lock_take(&notary->lock);
        if (is_kept)
            atomic_store(&notary->unsigned_since_us, notary->queue_last > size + notary->queue_own ? began_us : 0);
        lock_give(&notary->lock);
        atomic_store(&notary->fault, is_kept ? CHECKPOINT_WELL : CHECKPOINT_UNWRITTEN);
    }
}

static void run_notary(void *argument)
{
    struct notary *notary = argument;
    bool complained = false, stopping;

    sandbox_narrow(SANDBOX_NOTARY);
    do {
        struct turn turn = {.fresh = 0};
        int64_t began_us = clock_monotonic_us();
        enum code code;

        stopping = atomic_load(&notary->thread.is_stopping);
        lock_take(&notary->work);
        code = work(notary, stopping, &turn);
        lock_give(&notary->work);
        publish(notary, &turn, began_us);
        notary__look(notary);
        if (code != CODE_OK)
            atomic_store(&notary->fault, code == CODE_DENIED ? CHECKPOINT_FORKED : CHECKPOINT_UNSIGNED);
        if (code != CODE_OK && !complained)
            log_warn("audit", "%s: no checkpoint can be made: %s; trying again", notary->path, code_text(code));
        complained = code != CODE_OK;
        if (!stopping)
            wait_for_work(notary, &turn, complained);
    } while (!stopping);
}

enum code notary__start(struct notary *notary, struct why *why)
{
    if (!notary->is_on)
        return CODE_OK;
    return thread_start(&notary->thread, "audit-notary", run_notary, notary, why);
}

void notary__stop(struct notary *notary)
{
    if (notary->is_on)
        thread_stop(&notary->thread);
}
