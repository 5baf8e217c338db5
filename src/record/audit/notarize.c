/* SPDX-License-Identifier: Apache-2.0 */
/* Between the writer and the notary. A checkpoint is a row of a table of its own and not of the chain, so that the last one
 * can cover every row. An event names it, so that it is missed if somebody takes it out. The event comes once in so many
 * rows or once a minute: one a second would be half of a quiet log, and each would make the next checkpoint due. */
#include "audit/writer_priv.h"

#include "audit/kept_priv.h"
#include "audit/mark_priv.h"
#include "base/bug.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/json.h"
#include "os/clock.h"

#define KEY_BEGINS "{\"key\":\""

static enum code put_event(struct audit *audit, uint64_t size, const unsigned char root[DIGEST_BYTES], int64_t time_us)
{
    struct buf text;
    enum code code;

    buf_init(&text, AUDIT_JSON_BYTES);
    code = buf_addf(&text, "{\"root\":\"");
    if (code == CODE_OK)
        code = base64_encode(span_of(root, DIGEST_BYTES), &text);
    if (code == CODE_OK)
        code = buf_addf(&text, "\",\"size\":%llu}", (unsigned long long)size);
    if (code == CODE_OK)
        code = writer__event(audit, "checkpoint", time_us, buf_peek(&text));
    buf_fini(&text);
    return code;
}

enum code writer__put_checkpoint(struct ledger *ledger, const struct checkpoint *checkpoint)
{
    struct db_stmt *stmt = ledger->put_checkpoint;

    db_bind_int(stmt, 1, (int64_t)checkpoint->size);
    db_bind_int(stmt, 2, checkpoint->time_us);
    db_bind_blob(stmt, 3, span_of(checkpoint->peaks, checkpoint->peaks_len));
    db_bind_text(stmt, 4, span_of(checkpoint->note, checkpoint->note_len));
    return db_run(stmt);
}

static bool needs_event(const struct audit *audit)
{
    return audit->checkpoint->size - audit->checkpoint_event_seq >= audit->notary.conf.rows ||
           clock_monotonic_us() - audit->checkpoint_event_us >= (int64_t)audit->notary.conf.name_ms * 1000;
}

enum code writer__put_damage(struct audit *audit)
{
    if (audit->damage == NULL)
        audit->damage = atomic_exchange(&audit->notary.damage, NULL);
    return audit->damage != NULL ? kept__put_damage(&audit->ledger, audit->damage, clock_wall_us()) : CODE_OK;
}

enum code writer__checkpoint(struct audit *audit)
{
    enum code code = writer__put_damage(audit);

    if (audit->checkpoint == NULL)
        audit->checkpoint = notary__take(&audit->notary);
    if (code != CODE_OK || audit->checkpoint == NULL)
        return code;
    code = writer__put_checkpoint(&audit->ledger, audit->checkpoint);
    audit->names_checkpoint = code == CODE_OK && needs_event(audit);
    if (audit->names_checkpoint)
        code = put_event(audit, audit->checkpoint->size, audit->checkpoint->root, clock_wall_us());
    if (code == CODE_OK && audit->checkpoint->mark != NULL && audit->checkpoint->size > audit->ledger.begin_seq)
        code = mark__put(&audit->ledger, audit->checkpoint,
                         audit->ledger.tip.seq - audit->started_seq >= audit->notary.conf.rows);
    return code;
}

enum code writer__checkpoint_last(struct audit *audit)
{
    const struct ledger *ledger = &audit->ledger;
    enum code code = notary__sign(&audit->notary, ledger->tip.seq, buf_peek(&ledger->leaves), ledger->leaf_count,
                                  &audit->rotation.checkpoint);

    return code == CODE_OK ? writer__put_checkpoint(&audit->ledger, audit->rotation.checkpoint) : code;
}

void writer__checkpoint_settled(struct audit *audit, bool is_durable)
{
    struct checkpoint *checkpoint = audit->rotation.checkpoint;

    audit->rotation.checkpoint = NULL;
    if (checkpoint != NULL && is_durable)
        notary__hand_over(&audit->notary, checkpoint);
    else
        mem_free(checkpoint);
}

void writer__push_leaves(struct audit *audit, uint64_t own)
{
    const struct ledger *ledger = &audit->ledger;

    if (audit->notary.is_on)
        notary__push(&audit->notary, ledger->committed.seq, buf_peek(&ledger->leaves), ledger->leaf_count, own);
}

void writer__committed(struct audit *audit)
{
    uint64_t own = 0;

    if (audit->checkpoint != NULL && audit->names_checkpoint) {
        audit->checkpoint_event_seq = audit->checkpoint->size;
        audit->checkpoint_event_us = clock_monotonic_us();
        own = 1;
    }
    audit->names_checkpoint = false;
    if (audit->checkpoint != NULL && audit->checkpoint->mark != NULL)
        atomic_store(&audit->notary.marked, audit->checkpoint->size);
    checkpoint__free(audit->checkpoint);
    audit->checkpoint = NULL;
    mem_free(audit->damage);
    audit->damage = NULL;
    writer__push_leaves(audit, own);
}

/* Records, once, what a person said of a change of the key. */
static enum code put_key_change(struct audit *audit, int64_t time_us)
{
    struct audit_key_change *change = &audit->notary.conf.key_change;
    const struct audit_event event = {.time_us = time_us, .kind = SPAN_LIT("checkpoint_key"), .actor = change->actor,
                                      .detail = change->detail};

    *change = (struct audit_key_change){0};
    return ledger_event(&audit->ledger, &event);
}

/* Records the key where it differs from the last one. Nobody vouches for a key that changed so, but that is no reason to sign
 * nothing. */
static enum code put_key(struct audit *audit, int64_t time_us)
{
    struct db_stmt *stmt;
    struct span key;
    bool is_other;
    struct buf text;
    enum code code = db_prepare(audit->ledger.db, "SELECT json_extract(detail, '$.key') FROM event WHERE "
                                "kind = 'checkpoint_key' AND json_valid(detail) ORDER BY seq DESC LIMIT 1", &stmt);

    if (code != CODE_OK)
        return code;
    buf_init(&text, AUDIT_JSON_BYTES);
    code = buf_add_text(&text, KEY_BEGINS);
    if (code == CODE_OK)
        code = notary__describe_key(&audit->notary, &text);
    key = span_part(buf_peek(&text), sizeof KEY_BEGINS - 1, SIZE_MAX);
    if (code == CODE_OK)
        code = db_step(stmt);
    is_other = code == CODE_OK && !span_equals(db_text(stmt, 0), key);
    if (is_other)
        log_warn("audit", "checkpoints are signed with %.*s from now on, and with %.*s until now: no word of the old key "
                 "vouches for the new one, so that verifying takes both; `callgate audit rotate-key` changes a key with its "
                 "word, and with --lost says why there is none", SPAN_ARG(key), SPAN_ARG(db_text(stmt, 0)));
    if (is_other || code == CODE_NOT_FOUND) {
        code = buf_add_text(&text, "\"}");
        if (code == CODE_OK)
            code = writer__event(audit, "checkpoint_key", time_us, buf_peek(&text));
    }
    db_finalize(&stmt);
    buf_fini(&text);
    return code;
}

static enum code put_last(struct audit *audit, int64_t time_us)
{
    struct db_stmt *stmt;
    struct note note;
    enum code code = db_find(audit->ledger.db, "SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1", NULL, 0, &stmt);

    if (code == CODE_OK && note_read(db_text(stmt, 0), &note) == CODE_OK) {
        audit->checkpoint_event_seq = note.size;
        code = put_event(audit, note.size, note.root, time_us);
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code writer__checkpoint_start(struct audit *audit, int64_t time_us)
{
    enum code code = audit->notary.is_on ? put_last(audit, time_us) : CODE_OK;

    audit->checkpoint_event_us = clock_monotonic_us();
    if (code == CODE_OK && audit->notary.is_on && audit->notary.conf.key_change.detail.len > 0)
        return put_key_change(audit, time_us);
    return code == CODE_OK && audit->notary.is_on ? put_key(audit, time_us) : code;
}

enum code writer__checkpoint_end(struct audit *audit)
{
    enum code code;

    if (audit->checkpoint == NULL)
        audit->checkpoint = notary__take(&audit->notary);
    if (audit->checkpoint == NULL || audit->ledger.db == NULL)
        return CODE_OK;
    code = ledger_begin(&audit->ledger);
    if (code == CODE_OK)
        code = writer__put_checkpoint(&audit->ledger, audit->checkpoint);
    return code == CODE_OK ? ledger_commit(&audit->ledger) : code;
}

enum code audit_checkpoint_key(const struct audit *audit, struct buf *out)
{
    return audit->notary.is_on ? notary__describe_key(&audit->notary, out) : CODE_NOT_FOUND;
}
