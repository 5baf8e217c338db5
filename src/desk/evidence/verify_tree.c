/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints against the tree that grows with the rows: those of the database, and those that somebody kept elsewhere. */
#include "evidence/verify_priv.h"


#include <stdio.h>
#include <stdlib.h>

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* NOTE_SIGNED with *by_given, where it is one of the keys that were given, or one that vouches that far by what follows from
 * them. */
static enum note_check check_note(const struct verifier *verifier, const struct note *note, size_t *by, bool *by_given)
{
    enum note_check check = keyring_verify(&verifier->keys, note, by);

    *by_given = check == NOTE_SIGNED && *by < verifier->given &&
                (verifier->keys.ends[*by] == 0 || note->size <= verifier->keys.ends[*by]);
    return check;
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static enum code stand(struct heads *heads, struct span tenant, int64_t seq, struct span hash)
{
    struct head *head;
    enum code code = heads_find(heads, tenant, &head);

    if (code != CODE_OK)
        return code;
    head->known = true;
    head->seq = (uint64_t)seq;
    memcpy(head->hash, hash.at, DIGEST_BYTES);
    return CODE_OK;
}

static enum code read_starts(struct verifier *verifier)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(verifier->db, "SELECT tenant, seq, hash FROM tenant_start", &stmt);

    while (db_next(&stmt, &code)) {
        struct span tenant = db_text(stmt, 0), hash = db_blob(stmt, 2);
        int64_t seq = db_int(stmt, 1);

        if (hash.len != DIGEST_BYTES || seq <= 0 || seq > verifier->begin) {
            verify__fault(verifier, 0, "tenant_start", "hash", "it names a row that does not stand before this file");
            continue;
        }
        code = stand(&verifier->heads, tenant, seq, hash);
        if (code == CODE_OK && verifier->conf->sequence != NULL)
            code = stand(&verifier->began.heads, tenant, seq, hash);
        if (code == CODE_OK)
            code = tenants_set(&verifier->tenants, tenant, (uint64_t)seq, (const unsigned char *)hash.at);
        if (code == CODE_LIMIT)
            code = CODE_OK;
    }
    return code;
}

/* A file that continues another begins with the tree as that one left it. */
static enum code read_first(struct verifier *verifier)
{
    struct db_stmt *stmt;
    enum code code = db_find(verifier->db, "SELECT size, peaks, note FROM checkpoint ORDER BY size LIMIT 1", NULL, 0, &stmt);

    if (code == CODE_OK) {
        struct span rest, origin = span_cut(db_text(stmt, 2), '\n', &rest);

        (void)snprintf(verifier->origin, sizeof verifier->origin, "%.*s", SPAN_ARG(origin));
        verifier->has_tree = verifier->begin == 0 ||
                             (db_int(stmt, 0) == verifier->begin &&
                              merkle_load(&verifier->tree, (uint64_t)verifier->begin, db_blob(stmt, 1)));
        if (!verifier->has_tree)
            verify__fault(verifier, 0, "checkpoint", "size", "the file continues another, and does not begin with its "
                          "last checkpoint, which covers %lld rows", (long long)verifier->begin);
    }
    verifier->has_tree = verifier->has_tree || verifier->begin == 0;
    verifier->has_tenants = verifier->has_tree && !verifier->is_cut;
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static int by_size(const void *left, const void *right)
{
    const struct verify_outside *a = left, *b = right;

    return (a->size > b->size) - (a->size < b->size);
}

static void doubt_outside(struct verifier *verifier, struct span piece)
{
    verify__fault(verifier, 0, "heads", "note", "what stands at byte %zu is no checkpoint as it was signed: the file of them "
                  "was damaged or changed", (size_t)(piece.at - verifier->conf->heads.at));
}

/* One that is of no row here: nothing but its own signature says whether it was changed. */
static bool is_sound(const struct verifier *verifier, const struct note *note)
{
    size_t by = 0;

    return note_is_named(note) && keyring_verify(&verifier->keys, note, &by) != NOTE_FORGED;
}

/* Those of other logs are left out, unless there are no others. */
static enum code read_outside(struct verifier *verifier)
{
    struct span rest = verifier->conf->heads, text, origin = span_text(verifier->origin), other = SPAN_NONE;
    struct verify_outside *more;
    enum note_piece piece;
    size_t room = 0;

    while ((piece = note_scan(&rest, &text)) != NOTE_NONE) {
        struct note note;

        more = mem_room(verifier->outside, &room, verifier->outside_count + 1, sizeof *more);
        if (more == NULL)
            return CODE_NOMEM;
        verifier->outside = more;
        if (piece == NOTE_DAMAGED)
            doubt_outside(verifier, text);
        if (piece != NOTE_WHOLE || note_read(text, &note) != CODE_OK)
            continue;
        verifier->outside_seen++;
        if (origin.len == 0 || span_equals(note.origin, origin)) {
            verifier->outside[verifier->outside_count++] = (struct verify_outside){note.size, text};
            continue;
        }
        other = note.origin;
        verifier->report->heads_elsewhere++;
        if (!is_sound(verifier, &note))
            doubt_outside(verifier, text);
    }
    if (verifier->outside_count > 0)
        qsort(verifier->outside, verifier->outside_count, sizeof verifier->outside[0], by_size);
    else if (other.at != NULL)
        verify__fault(verifier, 0, "heads", "origin", "the checkpoints kept outside are of another log, %.*s: the whole file "
                      "was replaced", SPAN_ARG(other));
    return CODE_OK;
}

/* The file's, or the trail's. */
static enum code follow_keys(struct verifier *verifier)
{
    struct successions own = {.count = 0};
    const struct successions *all = &own;
    enum code code = CODE_OK;

    if (verifier->conf->sequence != NULL)
        all = &verifier->conf->sequence->successions;
    else
        code = successions_read(&own, verifier->db);
    successions_follow(all, &verifier->keys);
    return code;
}

enum code verify__begin_tree(struct verifier *verifier)
{
    enum code code = verify__has_checkpoints(verifier->db, &verifier->has_checkpoints);

    verifier->agreed = verifier->begin;
    if (verifier->conf->keys != NULL)
        verifier->keys = *verifier->conf->keys;
    if (code == CODE_OK)
        code = follow_keys(verifier);
    verifier->given = verifier->keys.count;
    if (code == CODE_OK)
        code = keyring_read(&verifier->keys, verifier->db);
    if (code == CODE_OK && verifier->conf->sequence == NULL)
        code = losses_read(&verifier->losses, verifier->db);
    else if (code == CODE_OK)
        verifier->losses = verifier->conf->sequence->losses;
    if (code == CODE_OK)
        code = tenants_init(&verifier->tenants);
    verifier->has_tree = verifier->has_tenants = verifier->begin == 0;
    if (code == CODE_OK && verifier->has_checkpoints)
        code = read_first(verifier);
    if (code == CODE_OK && verifier->has_checkpoints)
        code = read_starts(verifier);
    return code == CODE_OK ? read_outside(verifier) : code;
}

void verify__fini_tree(struct verifier *verifier)
{
    mem_free(verifier->outside);
    tenants_fini(&verifier->tenants);
}

/* ---- one checkpoint by itself ------------------------------------------------------------------------------------ */

static void blame(struct verify_mark *mark, const char *field, const char *fault)
{
    if (mark->fault != NULL)
        return;
    mark->field = field;
    mark->fault = fault;
}

void verify__judge_mark(const struct verifier *verifier, struct db_stmt *stmt, struct verify_mark *mark)
{
    struct span text = db_text(stmt, 3);

    *mark = (struct verify_mark){.size = db_int(stmt, 0), .peaks = db_blob(stmt, 2)};
    digest_of(text, mark->digest);
    if (note_read(text, &mark->note) != CODE_OK) {
        blame(mark, "note", "it is no signed checkpoint");
        return;
    }
    if (mark->note.size != (uint64_t)mark->size)
        blame(mark, "size", "it is not the number that its note was signed for");
    if (mark->note.time_us != db_int(stmt, 1))
        blame(mark, "time_us", "it is not the time that its note was signed for");
    if (!span_is(mark->note.origin, verifier->origin))
        blame(mark, "note", "its note is of another log than the first one's");
    switch (check_note(verifier, &mark->note, &mark->by, &mark->is_proof)) {
    case NOTE_SIGNED:
        return;
    case NOTE_FORGED:
        blame(mark, "note", "its signature is not of this text");
        return;
    case NOTE_OTHER_KEY:
        break;
    }
    if (verifier->keys.count > 0 || mark->size != verifier->begin) /* killed before its first row: named in the file before */
        blame(mark, "note", "it is signed with a key that no event names");
}

/* ---- against the rows -------------------------------------------------------------------------------------------- */

/* Takes: agreed: up to where the rows are those of somebody's checkpoint. */
static void disagree(struct verifier *verifier, const char *table, long long agreed, long long size)
{
    if (!verifier->tree_is_broken && size <= agreed)
        verify__fault(verifier, 0, table, "peaks", "the tree that the file begins with is not that of the checkpoint over %lld "
                      "rows", size);
    else if (!verifier->tree_is_broken)
        verify__fault(verifier, agreed + 1, table, "root", "among rows %lld to %lld is one that the checkpoint over %lld rows "
                      "was not made of", agreed + 1, size, size);
    verifier->tree_is_broken = true;
}

/* The tenants' last rows; a checkpoint without them says nothing of them. */
static enum code check_tenants(struct verifier *verifier, const struct verify_mark *mark)
{
    unsigned char root[DIGEST_BYTES];
    enum code code;

    if (!mark->note.has_tenants || !verifier->has_tenants)
        return CODE_OK;
    code = tenants_root(&verifier->tenants, root);
    if (code == CODE_OK && (mark->note.tenants != verifier->tenants.heads.count ||
                            memcmp(root, mark->note.tenants_root, DIGEST_BYTES) != 0))
        verify__fault(verifier, mark->size, "checkpoint", "tenants", "the last rows of the tenants are not those it names");
    return code;
}

enum code verify__last_seq(const struct verifier *verifier, int64_t *last)
{
    const struct verify_source *source = verifier->conf->source;
    enum code code = CODE_OK;

    if (source != NULL)
        *last = source->last;
    else
        code = db_number(verifier->db, ROW_MAX_SEQ, NULL, 0, last);
    if (code == CODE_OK && *last < verifier->begin)
        *last = verifier->begin;
    return code;
}

enum code verify__mark(struct verifier *verifier, const struct verify_mark *mark)
{
    unsigned char root[DIGEST_BYTES], peaks[MERKLE_PEAKS * DIGEST_BYTES];
    int64_t there;
    enum code code;

    if (mark->size > verifier->last) { /* made since, or of rows that are gone */
        code = verify__last_seq(verifier, &there);
        if (code == CODE_OK && mark->size > there)
            verify__fault(verifier, there + 1, "checkpoint", "size", "it covers %lld rows, but the last one is %lld: the end "
                          "was cut off", (long long)mark->size, (long long)there);
        return code;
    }
    if (mark->fault != NULL)
        verify__fault(verifier, mark->size, "checkpoint", mark->field, "%s", mark->fault);
    if (mark->fault != NULL || !verifier->has_tree || mark->size < verifier->begin)
        return CODE_OK;
    merkle_root(&verifier->tree, root);
    if ((uint64_t)mark->size != verifier->tree.size || memcmp(root, mark->note.root, DIGEST_BYTES) != 0) {
        disagree(verifier, "checkpoint", verifier->agreed, mark->size);
        return CODE_OK;
    }
    if (!span_equals(mark->peaks, span_of(peaks, merkle_save(&verifier->tree, peaks))))
        verify__fault(verifier, mark->size, "checkpoint", "peaks", "they are not those of its tree");
    verifier->agreed = mark->size;
    verifier->agreed_by = mark->by;
    verifier->report->checkpoints++;
    memcpy(verifier->last_mark, mark->digest, DIGEST_BYTES);
    if (mark->is_proof)
        verifier->report->proven_seq = (uint64_t)mark->size;
    return check_tenants(verifier, mark);
}

enum code verify__named(struct verifier *verifier, const struct verify_row *event)
{
    const struct verify_source *source = verifier->conf->source;
    int64_t is_there = 0;
    enum code code;

    if (!verifier->has_checkpoints)
        return CODE_OK;
    code = db_number(verifier->db, "SELECT 1 FROM checkpoint WHERE json_valid(?1) AND size = json_extract(?1, '$.size') "
                     "AND instr(note, char(10) || json_extract(?1, '$.root') || char(10)) > 0 UNION ALL "
                     "SELECT 1 WHERE json_valid(?1) AND CAST(json_extract(?1, '$.size') AS INTEGER) > ?2", /* it may come yet */
                     DB_VALUES(db_of_text(event->detail), db_of_int(source != NULL ? source->marked : INT64_MAX)), &is_there);
    if (code == CODE_OK && is_there == 0)
        verify__fault(verifier, event->seq, "event", "detail", "the checkpoint that it names is not there");
    return code;
}

/* The checkpoint that a succession is signed over must be one of this file's. */
static enum code check_succession(struct verifier *verifier, int64_t seq, struct span text, struct span key)
{
    struct succession succession;
    struct note_key named;
    struct db_stmt *stmt = NULL;
    struct note note;
    enum code code = CODE_NOT_FOUND;
    bool is_good = succession_read(text, &succession) == CODE_OK && note_key_read(key, &named) == CODE_OK &&
                   memcmp(named.public, succession.after.public, SIGN_PUBLIC_BYTES) == 0 && succession.size < (uint64_t)seq &&
                   span_is(span_text(succession.origin), verifier->origin);

    if (is_good)
        code = db_find(verifier->db, "SELECT note FROM checkpoint WHERE size = ?",
                       DB_VALUES(db_of_int((int64_t)succession.size)), &stmt);
    is_good = is_good && code == CODE_OK && note_read(db_text(stmt, 0), &note) == CODE_OK &&
              memcmp(note.root, succession.root, DIGEST_BYTES) == 0;
    if (!is_good)
        verify__fault(verifier, seq, "event", "detail", "the change of the key of checkpoints that it tells of is not signed "
                      "with both keys over rows of this file");
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static bool is_given(const struct verifier *verifier, struct span text)
{
    struct note_key key;

    return note_key_read(text, &key) == CODE_OK && keyring_find(&verifier->keys, &key) < verifier->given;
}

enum code verify__key_told(struct verifier *verifier, const struct verify_row *event)
{
    struct db_stmt *stmt;
    enum code code = db_find(verifier->db, "SELECT json_extract(?1, '$.note'), json_extract(?1, '$.key'), "
                             "json_extract(?1, '$.lost') WHERE json_valid(?1)", DB_VALUES(db_of_text(event->detail)), &stmt);

    if (code == CODE_OK && db_text(stmt, 0).at != NULL)
        code = check_succession(verifier, event->seq, db_text(stmt, 0), db_text(stmt, 1));
    if (code == CODE_OK && db_text(stmt, 2).at != NULL && verifier->given > 0 &&
        !(is_given(verifier, db_text(stmt, 1)) && is_given(verifier, db_text(stmt, 2))))
        verify__doubt(verifier, "row %lld says that the key of checkpoints before it was lost, and why: no word of that key "
                      "vouches for the one behind it. Who trusts both gives both (--key)", (long long)event->seq);
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static bool is_signed_outside(struct verifier *verifier, const struct verify_outside *outside, const struct note *note,
                              bool *by_given)
{
    unsigned char digest[DIGEST_BYTES];
    bool needs_given = verifier->given > 0;
    enum note_check check;
    size_t by = 0;

    digest_of(outside->note, digest);
    *by_given = false;
    if (verifier->agreed == (int64_t)outside->size && memcmp(digest, verifier->last_mark, DIGEST_BYTES) == 0 &&
        (!needs_given || verifier->report->proven_seq == outside->size)) {
        *by_given = needs_given;
        return true; /* the database's own, and judged with it */
    }
    check = check_note(verifier, note, &by, by_given);
    if (needs_given) /* one that was replaced signs the end of its last run, too, which the next one proves */
        return check == NOTE_SIGNED && by < verifier->given;
    return check == NOTE_SIGNED || (check == NOTE_OTHER_KEY && verifier->keys.count == 0 && note_is_named(note));
}

/* Where the database's own checkpoint over as many rows agrees, whoever wrote the rows signed it, too. */
static long long agreed_outside(const struct verifier *verifier, const struct verify_outside *outside)
{
    int64_t kept = (int64_t)verifier->report->heads_seq;

    if ((int64_t)outside->size > verifier->agreed)
        return verifier->agreed;
    return kept > verifier->begin ? kept : verifier->begin;
}

/* Of rows that somebody went on without. */
static bool is_lost(struct verifier *verifier, const struct verify_outside *outside, const struct note *note)
{
    const struct loss *loss = losses_find(&verifier->losses, note);

    if (loss == NULL)
        return false;
    verifier->heads_lost++;
    verifier->lost_size = outside->size > verifier->lost_size ? outside->size : verifier->lost_size;
    verifier->lost_by = loss->seq;
    return true;
}

/* About rows before or behind this file. In a trail each is judged with the file that it is about. */
static void pass_over(struct verifier *verifier, const struct verify_outside *outside, const struct note *note)
{
    verifier->report->heads_elsewhere++;
    if (!verifier->conf->follows && !is_sound(verifier, note))
        doubt_outside(verifier, outside->note);
}

/* Stands at the tree that the checkpoint is of. */
static void check_outside(struct verifier *verifier, const struct verify_outside *outside)
{
    unsigned char root[DIGEST_BYTES];
    struct note note;
    bool by_given;

    if (note_read(outside->note, &note) != CODE_OK)
        return;
    if (outside->size < (uint64_t)verifier->begin || !verifier->has_tree) {
        pass_over(verifier, outside, &note);
        return;
    }
    if (!is_signed_outside(verifier, outside, &note, &by_given)) {
        verify__fault(verifier, 0, "heads", "note", "the checkpoint over %llu rows is not signed with the key",
                      (unsigned long long)outside->size);
        return;
    }
    merkle_root(&verifier->tree, root);
    if (outside->size != verifier->tree.size || memcmp(root, note.root, DIGEST_BYTES) != 0) {
        if (is_lost(verifier, outside, &note))
            return;
        disagree(verifier, "heads", agreed_outside(verifier, outside), (long long)outside->size);
        return;
    }
    verifier->agreed = (int64_t)outside->size;
    verifier->report->heads++;
    verifier->report->heads_seq = outside->size;
    if (by_given && outside->size > verifier->report->proven_seq)
        verifier->report->proven_seq = outside->size;
}

static void check_outside_below(struct verifier *verifier, int64_t seq)
{
    while (verifier->outside_next < verifier->outside_count &&
           (seq < 0 || verifier->outside[verifier->outside_next].size < (uint64_t)seq))
        check_outside(verifier, &verifier->outside[verifier->outside_next++]);
}

enum code verify__add_leaf(struct verifier *verifier, const struct verify_row *row)
{
    enum code code = CODE_OK;

    if (row->seq > 0)
        check_outside_below(verifier, row->seq);
    if (verifier->has_tree)
        merkle_add(&verifier->tree, row->leaf);
    if (verifier->has_tenants && row->tenant.at != NULL && row->seq > 0)
        code = tenants_set(&verifier->tenants, row->tenant, (uint64_t)row->seq, verifier->hash);
    if (code == CODE_LIMIT) {
        verifier->has_tenants = false;
        code = CODE_OK;
    }
    return code;
}

/* Those over more rows than there are: behind these here are left those that nobody explained. */
static size_t count_beyond(struct verifier *verifier)
{
    size_t left = verifier->outside_next;

    for (size_t i = left; i < verifier->outside_count; i++) {
        const struct verify_outside *outside = &verifier->outside[i];
        struct note note;

        if (note_read(outside->note, &note) != CODE_OK)
            continue;
        if (!is_sound(verifier, &note))
            doubt_outside(verifier, outside->note);
        else if (!is_lost(verifier, outside, &note))
            verifier->outside[left++] = *outside;
    }
    verifier->outside_count = left;
    return left - verifier->outside_next;
}

static void tell_losses(struct verifier *verifier)
{
    if (verifier->heads_lost > 0)
        verify__fault(verifier, verifier->lost_by, "heads", "size", "%llu checkpoints kept outside, up to one over %llu rows, "
                      "are of rows that are gone: this event, loss_accepted, says who went on without them, and why",
                      (unsigned long long)verifier->heads_lost, (unsigned long long)verifier->lost_size);
    for (size_t i = 0; i < verifier->losses.count; i++)
        verifier->report->losses += verifier->losses.at[i].seq > verifier->begin && verifier->losses.at[i].seq <= verifier->seq;
}

/* A file behind this one excuses checkpoints over more rows. Where nobody asks for that file, whoever signed them must have
 * signed the seal, too: anybody can call a file sealed, and sign that himself. */
static bool is_excused(const struct verifier *verifier, const struct verify_outside *largest)
{
    const struct verify_report *report = verifier->report;
    struct note note;
    size_t by = 0;

    if (!report->is_sealed || verifier->conf->ends_trail)
        return false;
    if (verifier->conf->sequence != NULL || report->heads_seq == (uint64_t)verifier->seq)
        return true;
    return verifier->agreed == verifier->seq && note_read(largest->note, &note) == CODE_OK &&
           keyring_verify(&verifier->keys, &note, &by) == NOTE_SIGNED && by == verifier->agreed_by;
}

enum code verify__end_tree(struct verifier *verifier)
{
    struct verify_report *report = verifier->report;
    size_t beyond;

    check_outside_below(verifier, verifier->seq + 1);
    beyond = count_beyond(verifier);
    tell_losses(verifier);
    if (beyond > 0 && is_excused(verifier, &verifier->outside[verifier->outside_count - 1])) {
        report->heads_elsewhere += report->heads_behind = beyond;
        report->heads_behind_seq = verifier->outside[verifier->outside_count - 1].size;
    } else if (beyond > 0) {
        verify__fault(verifier, verifier->seq + 1, "heads", "size", "a checkpoint kept outside covers %llu rows, but the last "
                      "one is %lld: the end was cut off, or an older copy put in its place",
                      (unsigned long long)verifier->outside[verifier->outside_count - 1].size, (long long)verifier->seq);
    }
    if (verifier->given > 0 && report->proven_seq > 0 && verifier->agreed > (int64_t)report->proven_seq)
        verify__fault(verifier, (int64_t)report->proven_seq + 1, "checkpoint", "key", "rows %llu to %lld are signed with "
                      "another key than those that were given; if the gate had or has another one, give that, too",
                      (unsigned long long)report->proven_seq + 1, (long long)verifier->agreed);
    return CODE_OK;
}
