/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one trail against each other: each begins where the one before it ended, and an erasure that is recorded in one of
 * them reaches into those before. */
#include "evidence/verify_priv.h"

#include "files/trail.h"
#include "rows/schema.h"

enum code verify__read_erasures(struct db *db, const char *sql, struct arena *arena, struct erasure **list)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, sql, &stmt);

    while (db_next(&stmt, &code)) {
        struct erasure *erasure = arena_zalloc(arena, sizeof *erasure);
        struct span tenant = db_text(stmt, 1);
        const char *copy = arena_dup(arena, tenant.at, tenant.len);

        if (erasure == NULL || copy == NULL) {
            code = CODE_NOMEM;
            continue;
        }
        *erasure = (struct erasure){*list, {tenant.at != NULL ? copy : NULL, tenant.len}, db_int(stmt, 0), db_int(stmt, 2)};
        *list = erasure;
    }
    return code;
}

static enum code make(struct verify_sequence **out, struct why *why)
{
    struct verify_sequence *sequence = mem_zalloc(sizeof *sequence);

    *out = sequence;
    if (sequence == NULL)
        return why_set(why, CODE_NOMEM, "%s", code_text(CODE_NOMEM));
    arena_init(&sequence->arena, (size_t)16 << 20);
    return CODE_OK;
}

static enum code read_events(struct verify_sequence *sequence, struct db *db)
{
    enum code code = verify__read_erasures(db, VERIFY_ERASURES, &sequence->arena, &sequence->erasures);

    if (code == CODE_OK)
        code = losses_read(&sequence->losses, db);
    return code == CODE_OK ? successions_read(&sequence->successions, db) : code;
}

enum code verify_sequence_of(struct db *db, struct verify_sequence **sequence, struct why *why)
{
    enum code code = make(sequence, why);

    if (code != CODE_OK)
        return code;
    (*sequence)->read_to = INT64_MAX;
    code = read_events(*sequence, db);
    if (code != CODE_OK) {
        (void)why_set(why, code, "%s", db_error(db));
        verify_sequence_free(sequence);
    }
    return code;
}

enum code verify_sequence_new(const struct trail *trail, struct verify_sequence **out, struct why *why)
{
    enum code code = make(out, why);

    if (code != CODE_OK)
        return code;
    (*out)->read_to = trail->count > 0 ? trail->files[trail->count - 1].last_seq : 0;
    for (size_t i = 0; i < trail->count && code == CODE_OK; i++) {
        struct db *db;

        code = db_open(trail->files[i].path, DB_LOOK, &db, why);
        if (code != CODE_OK)
            break;
        code = audit_take_views(db);
        if (code == CODE_OK)
            code = read_events(*out, db);
        if (code == CODE_IO) /* a damaged page, which is told when the file's turn comes */
            code = CODE_OK;
        else if (code != CODE_OK)
            (void)why_set(why, code, "%s: %s", trail->files[i].path, db_error(db));
        db_close(&db);
    }
    if (code != CODE_OK)
        verify_sequence_free(out);
    return code;
}

enum code verify_sequence_renew(const struct trail *trail, struct verify_sequence *sequence, struct why *why)
{
    struct verify_sequence *fresh, before;
    enum code code = verify_sequence_new(trail, &fresh, why);

    if (code != CODE_OK)
        return code;
    before = *sequence;
    sequence->arena = fresh->arena;
    sequence->erasures = fresh->erasures;
    sequence->losses = fresh->losses;
    sequence->successions = fresh->successions;
    sequence->read_to = fresh->read_to;
    fresh->arena = before.arena;
    fresh->erasures = before.erasures;
    fresh->losses = before.losses;
    verify_sequence_free(&fresh);
    return CODE_OK;
}

enum code verify__standing_init(struct verify_standing *standing)
{
    enum code code = heads_init(&standing->heads);

    return code == CODE_OK ? permits_init(&standing->permits) : code;
}

void verify__standing_fini(struct verify_standing *standing)
{
    permits_fini(&standing->permits);
    heads_fini(&standing->heads);
}

void verify_sequence_forget(struct verify_sequence *sequence)
{
    verify__standing_fini(&sequence->standing);
    sequence->has_before = sequence->has_mark = false;
}

void verify_sequence_free(struct verify_sequence **sequence)
{
    if (*sequence == NULL)
        return;
    verify_sequence_forget(*sequence);
    arena_fini(&(*sequence)->arena);
    mem_free(*sequence);
    *sequence = NULL;
}

/* ---- against the file before ------------------------------------------------------------------------------------- */

static bool same_tenant(const struct head *a, const struct head *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return span_equals(span_of(a->tenant, a->len), span_of(b->tenant, b->len));
}

static void compare_permits(struct verifier *verifier, const struct permits *before)
{
    const struct permits *began = &verifier->began.permits;
    size_t found = 0;

    for (size_t i = 0; i < before->size; i++) {
        const struct permit *permit = &before->slots[i], *here;

        if (permit->seq == 0)
            continue;
        here = permits_find(began, permit->seq);
        found += here != NULL;
        if (here == NULL || !same_tenant(here->head, permit->head))
            verify__fault(verifier, 0, "permit_start", "decision", "the permit %llu had no outcome when the file before was "
                          "sealed, and is not carried over as it was", (unsigned long long)permit->seq);
    }
    if (found < began->count)
        verify__fault(verifier, 0, "permit_start", "decision", "%zu of its permits had none to wait for in the file before",
                      began->count - found);
}

static enum code compare_heads(struct verifier *verifier, const struct heads *before)
{
    struct heads *began = &verifier->began.heads;
    struct head **list = mem_array(before->count + 1, sizeof *list);
    size_t known = 0;
    enum code code = list != NULL ? CODE_OK : CODE_NOMEM;

    if (code == CODE_OK)
        heads_list(before, list);
    for (size_t i = 0; i < before->count && code == CODE_OK; i++) {
        struct head *here;

        if (!list[i]->known)
            continue;
        known++;
        code = heads_find(began, span_of(list[i]->tenant, list[i]->len), &here);
        if (code == CODE_OK &&
            (!here->known || here->seq != list[i]->seq || memcmp(here->hash, list[i]->hash, DIGEST_BYTES) != 0))
            verify__fault(verifier, 0, "tenant_start", "hash", "it does not begin where tenant '%.*s' stood when the file "
                          "before was sealed", list[i]->len > 100 ? 100 : (int)list[i]->len, list[i]->tenant);
    }
    mem_free(list);
    if (code == CODE_OK && began->count > known)
        verify__fault(verifier, 0, "tenant_start", "tenant", "the file before knows %zu tenants fewer",
                      began->count - known);
    return code;
}

static enum code compare_marks(struct verifier *verifier, const struct verify_sequence *before)
{
    unsigned char digest[DIGEST_BYTES] = {0};
    struct db_stmt *stmt;
    enum code code = db_find(verifier->db, "SELECT note FROM checkpoint ORDER BY size LIMIT 1", NULL, 0, &stmt);

    if (code == CODE_OK)
        digest_of(db_text(stmt, 0), digest);
    db_finalize(&stmt);
    if (code == CODE_NOT_FOUND && verify__awaits(verifier, verifier->begin))
        return CODE_OK;
    if (before->has_mark && (code == CODE_NOT_FOUND || memcmp(digest, before->mark, DIGEST_BYTES) != 0))
        verify__fault(verifier, 0, "checkpoint", "note", "the first one is not the last one of the file before");
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code verify__continue(struct verifier *verifier)
{
    const struct verify_sequence *before = verifier->conf->sequence;
    enum code code;

    if (before == NULL || !before->has_before)
        return CODE_OK;
    if (!before->is_sealed)
        verify__fault(verifier, 0, "file", "previous", "the file before it does not end with an event `sealed`");
    if (before->seq != verifier->begin || memcmp(before->hash, verifier->previous, DIGEST_BYTES) != 0)
        verify__fault(verifier, 0, "file", "previous", "it does not go on where the file before it ended, with row %lld",
                      (long long)before->seq);
    if (!verifier->has_checkpoints)
        return CODE_OK;
    compare_permits(verifier, &before->standing.permits);
    code = compare_heads(verifier, &before->standing.heads);
    return code == CODE_OK && before->is_sealed ? compare_marks(verifier, before) : code;
}

void verify__leave(struct verifier *verifier)
{
    struct verify_sequence *sequence = verifier->conf->sequence;

    if (sequence == NULL)
        return;
    verify_sequence_forget(sequence);
    sequence->has_before = true;
    sequence->seq = verifier->seq;
    memcpy(sequence->hash, verifier->hash, DIGEST_BYTES);
    sequence->is_sealed = verifier->report->is_sealed;
    sequence->has_mark = verifier->report->checkpoints > 0;
    memcpy(sequence->mark, verifier->last_mark, DIGEST_BYTES);
    sequence->standing = (struct verify_standing){verifier->heads, verifier->permits};
    verifier->heads = (struct heads){0};
    verifier->permits = (struct permits){0};
}
