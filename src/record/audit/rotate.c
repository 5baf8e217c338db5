/* SPDX-License-Identifier: Apache-2.0 */
/* No call may be written for as long as this takes:
 *
 *   1. what waits, `sealed` as the file's last row and a checkpoint over all of it, in one commit
 *                                              killed from here on: the next start goes on in this file
 *   2. the next file, with what goes on in it, made and synced
 *   3. the link set to it                      killed from here on: the next start goes on in the new file
 *   4. the folder synced, before a row is committed there
 *
 * The finisher takes care of the file that was left. */
#include "audit/writer_priv.h"

#include "audit/rotate_priv.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/json.h"
#include "os/clock.h"
#include "os/pause.h"
#include "os/file.h"

#include <stdio.h>
#include <string.h>

#define RETRY_US 1000000
#define LOOK_US 1000          /* until the next try; what the notary hashes meanwhile need not be hashed in the pause */
#define WAIT_US 2000000       /* so long it waits for the notary before the log says so */

/* ---- the new file ------------------------------------------------------------------------------------------------ */

static enum code put_head(struct db_stmt *put, struct span tenant, int64_t seq, struct span hash)
{
    db_bind_text(put, 1, tenant);
    db_bind_int(put, 2, seq);
    db_bind_blob(put, 3, hash);
    return db_run(put);
}

/* Puts the heads that this file began with, then replaces those that its rows have moved. */
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
        heads_list(&ledger->heads, list);
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

static enum code make_next(struct audit *audit, struct ledger *next)
{
    int64_t now = clock_wall_us();
    enum code code = ledger_make(next, &audit->ledger, now);

    if (code == CODE_OK)
        code = put_heads(&audit->ledger, next->db);
    if (code == CODE_OK)
        code = put_permits(&audit->ledger, next->db);
    if (code == CODE_OK && audit->rotation.checkpoint != NULL) /* the tree goes on from it */
        code = writer__put_checkpoint(next, audit->rotation.checkpoint);
    return code == CODE_OK ? ledger_made(next, now) : code;
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

static enum code describe_seal(const struct audit *audit, struct buf *text)
{
    const char *doubt = audit->ledger.place.doubt;

    (void)buf_addf(text, "{\"file\":");
    (void)json_write_string(text, span_text(files_base(audit->ledger.file)));
    (void)buf_addf(text, ",\"open_permits\":%zu", audit->ledger.permits.count - audit->closing_count);
    if (doubt[0] != '\0') {
        (void)buf_addf(text, ",\"why\":");
        (void)json_write_string(text, span_text(doubt));
    }
    (void)buf_add_byte(text, '}');
    return buf_code(text);
}

/* Whether the notary need not read the file for what is in the transaction, nor for one event more. */
static bool leaves_fit(const struct ledger *ledger)
{
    return ledger->leaf_count == ledger->tip.seq - ledger->committed.seq &&
           buf_room(&ledger->leaves) >= LEDGER_EVENT_LEAF_BYTES;
}

enum code rotate__seal(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    struct audit_event event = {.time_us = clock_wall_us(), .kind = SPAN_LIT("sealed"), .actor = span_text(rotation->actor)};
    struct buf text;
    enum code code;

    if (audit->notary.is_on && !leaves_fit(&audit->ledger)) { /* many rows of long tenants came at once */
        rotation->seals = false;
        return CODE_OK;
    }
    buf_init(&text, AUDIT_JSON_BYTES);
    code = describe_seal(audit, &text);
    if (code == CODE_OK && audit->ledger.place.is_changed) /* readers know an audit's file by these numbers */
        code = ledger_put_numbers(&audit->ledger);
    if (code == CODE_OK) {
        event.detail = buf_peek(&text);
        code = ledger_event(&audit->ledger, &event);
    }
    buf_fini(&text);
    return code == CODE_OK && audit->notary.is_on ? writer__checkpoint_last(audit) : code;
}

static void put_off(struct audit *audit, const char *what, enum code code)
{
    struct rotation *rotation = &audit->rotation;

    if (strcmp(rotation->waits_for, what) != 0)
        log_warn("audit", "%s: is not sealed yet: %s%s%s", audit->ledger.file, what, code != CODE_OK ? ": " : "",
                 code != CODE_OK ? code_text(code) : "");
    (void)snprintf(rotation->waits_for, sizeof rotation->waits_for, "%s", what);
    rotation->due_us = clock_monotonic_us() + pause_us(RETRY_US);
}

/* Makes the next file and goes on in it. A failure before the link is set changes nothing. */
static enum code go_on(struct audit *audit)
{
    struct ledger next = {.path = audit->ledger.path, .is_open_ended = audit->ledger.is_open_ended};
    enum code code = make_next(audit, &next);

    if (code == CODE_OK)
        code = files_link(audit->ledger.path, next.file);
    if (code != CODE_OK) {
        ledger_close(&next);
        if (next.file[0] != '\0')
            files_remove(next.file);
        return code;
    }
    (void)snprintf(audit->rotation.sealed, sizeof audit->rotation.sealed, "%s", audit->ledger.file);
    ledger_goes_on(&audit->ledger, &next);
    keeper_follow(&audit->keeper, audit->ledger.file);
    return CODE_OK;
}

static void begin_next(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;

    rotation->begins = true;
    rotation->wanted = false;
    rotation->waits_for[0] = '\0';
    atomic_fetch_add(&audit->rotations, 1);
    audit->keeper.wal_pages = audit->checkpoint_pages = 0;
    if (audit->erasing.phase != ERASE_IDLE) { /* with the first rows of the file, since a start looks only there */
        audit->erasing.phase = ERASE_RECORD;
        audit->erasing.due_us = 0;
        erase__turn(audit);
    }
}

/* Seals the file together with what waits in the rings, so that calls wait no longer than they must. */
static void rotate(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    int64_t began_us = clock_monotonic_us();
    enum code code = CODE_OK;
    bool sealed;

    rotation->seals = true;
    rotation->unsealed[0] = '\0';
    sealed = writer__batch(audit) && rotation->seals;
    rotation->seals = false;
    if (sealed)
        code = go_on(audit);
    writer__checkpoint_settled(audit, sealed);
    notary__release(&audit->notary);
    if (!sealed && !atomic_load(&audit->shared.down))
        put_off(audit, "too much came at once", CODE_OK);
    if (!sealed)
        return;
    if (code != CODE_OK) {
        put_off(audit, "the next file cannot be made", code);
        return;
    }
    begin_next(audit);
    if (!atomic_load(&audit->shared.down)) /* the erasure's row may have failed: the file is closed then */
        (void)writer__batch(audit);
    log_info("audit", "%s: sealed in %lld us; the audit goes on in %s", files_base(rotation->sealed),
             (long long)(clock_monotonic_us() - began_us), files_base(audit->ledger.file));
    finisher_follow(&audit->finisher, audit->ledger.file);
}

void rotate__turn(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;

    if (rotation->since_us == 0)
        rotation->since_us = clock_monotonic_us();
    rotation->due_us = clock_monotonic_us() + LOOK_US;
    if (notary__seize(&audit->notary))
        rotate(audit);
    else if (clock_monotonic_us() - rotation->since_us >= WAIT_US)
        put_off(audit, "its last checkpoints are not signed yet", CODE_OK);
    else
        notary__wake(&audit->notary);
    if (!rotation->wanted)
        rotation->since_us = 0;
}

/* ---- a file whose schema is not the gate's ------------------------------------------------------------------------ */

/* Nothing is in doubt where it returns CODE_OK: the file ends with its seal, or as it did. */
static enum code seal_alone(struct audit *audit)
{
    struct rotation *rotation = &audit->rotation;
    struct ledger *ledger = &audit->ledger;
    enum code code = ledger->place.is_other ? CODE_INVALID : ledger_begin(ledger);

    (void)snprintf(rotation->actor, sizeof rotation->actor, "gate");
    (void)snprintf(rotation->unsealed, sizeof rotation->unsealed, "%s", ledger->place.doubt);
    rotation->seals = true;
    if (code == CODE_OK)
        code = rotate__seal(audit);
    if (code == CODE_OK && rotation->seals) {
        rotation->seals = false;
        audit->in_doubt = ledger->tip;
        rotation->unsealed[0] = '\0';
        return ledger_commit(ledger);
    }
    rotation->seals = false;
    db_rollback(ledger->db);
    ledger->tip = ledger->committed;
    buf_clear(&ledger->leaves);
    ledger->leaf_count = 0;
    writer__checkpoint_settled(audit, false);
    if (!ledger->place.is_other) /* a row may be in its tree that is in no file */
        notary__distrust(&audit->notary);
    return audit->notary.is_on ? notary__sign(&audit->notary, ledger->tip.seq, SPAN_NONE, 0, &rotation->checkpoint) : CODE_OK;
}

/* A checkpoint that says less than the one that the next file begins with has no place there. */
static void drop_waiting(struct audit *audit)
{
    checkpoint__free(audit->checkpoint);
    checkpoint__free(notary__take(&audit->notary));
    audit->checkpoint = NULL;
    audit->names_checkpoint = false;
}

enum code rotate__leave(struct audit *audit, struct why *why)
{
    struct ledger *ledger = &audit->ledger;
    struct why doubt;
    enum code code;

    (void)why_set(&doubt, CODE_INVALID, "%s: %s", ledger->file, ledger->place.doubt);
    buf_clear(&ledger->leaves);
    ledger->leaf_count = 0;
    writer__push_leaves(audit, 0);
    if (!notary__seize(&audit->notary))
        return why_set(why, CODE_BUSY, "%s, and its last checkpoints are not signed yet", doubt.text);
    drop_waiting(audit);
    lock_take(&audit->keeper.commit_lock);
    code = seal_alone(audit);
    lock_give(&audit->keeper.commit_lock);
    if (code == CODE_OK)
        code = go_on(audit);
    writer__checkpoint_settled(audit, code == CODE_OK);
    if (code != CODE_OK)
        notary__distrust(&audit->notary);
    notary__release(&audit->notary);
    if (code != CODE_OK)
        return why_set(why, code, "%s, and the next file cannot be begun (%s)", doubt.text, code_text(code));
    begin_next(audit);
    return ledger->db != NULL ? CODE_OK : why_set(why, CODE_IO, "%s: cannot be written", ledger->file);
}

/* ---- the first rows ----------------------------------------------------------------------------------------------- */

enum code rotate__digest_begin(struct db *db, struct buf *out)
{
    unsigned char sum[DIGEST_BYTES];
    struct db_stmt *row = NULL;
    struct digest digest;
    enum code code = db_select(db, "SELECT quote(tenant) || ',' || quote(seq) || ',' || quote(hash) FROM (SELECT 1 AS part, "
                               "tenant, seq, hash FROM tenant_start UNION ALL SELECT 2, tenant, decision, NULL FROM "
                               "permit_start) ORDER BY part, tenant, seq", NULL, 0, &row);

    digest_init(&digest);
    while (db_next(&row, &code)) {
        struct span line = db_text(row, 0);

        digest_add(&digest, line.at, line.len);
        digest_add(&digest, "\n", 1);
    }
    digest_final(&digest, sum);
    return code == CODE_OK ? base64_encode(span_of(sum, sizeof sum), out) : code;
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
        code = json_write_string(&text, span_text(files_base(audit->rotation.sealed)));
    if (code == CODE_OK && audit->rotation.unsealed[0] != '\0')
        code = buf_add_text(&text, ",\"unsealed\":");
    if (code == CODE_OK && audit->rotation.unsealed[0] != '\0')
        code = json_write_string(&text, span_text(audit->rotation.unsealed));
    if (code == CODE_OK)
        code = buf_add_text(&text, ",\"begins\":\"");
    if (code == CODE_OK)
        code = rotate__digest_begin(audit->ledger.db, &text);
    if (code == CODE_OK)
        code = buf_add_text(&text, "\"}");
    if (code == CODE_OK)
        code = writer__event(audit, "continued", now, buf_peek(&text));
    buf_fini(&text);
    return code == CODE_OK ? writer__checkpoint_start(audit, now) : code;
}
