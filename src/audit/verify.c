/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/verify_priv.h"

#include "audit/ledger_priv.h"
#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>

#define PROGRESS_ROWS 65536

void verify__fault(struct verifier *verifier, int64_t seq, const char *table, const char *field, const char *format, ...)
{
    struct verify_report *report = verifier->report;
    struct verify_fault *fault = &report->fault[report->fault_count];
    va_list args;

    if (report->fault_count++ >= VERIFY_FAULTS_MAX)
        return;
    fault->seq = seq;
    (void)snprintf(fault->table, sizeof fault->table, "%s", table);
    (void)snprintf(fault->field, sizeof fault->field, "%s", field);
    va_start(args, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
}

static const char *name_of(const struct walk_row *row)
{
    return row__shape(row->table)->name;
}

static bool holds(const struct row_value *value, const unsigned char digest[DIGEST_BYTES])
{
    return value->kind == ROW_BLOB && value->bytes.len == DIGEST_BYTES &&
           memcmp(value->bytes.at, digest, DIGEST_BYTES) == 0;
}

static bool says(const struct row_value *value, const char *text)
{
    return value->kind == ROW_TEXT && span_is(value->bytes, text);
}

/* ---- the chain --------------------------------------------------------------------------------------------------- */

static void check_number(struct verifier *verifier, const struct walk_row *row)
{
    int64_t gap = row->seq - verifier->seq - 1;

    if (gap < 0)
        verify__fault(verifier, row->seq, name_of(row), "seq", "the number %lld is used twice, or before the first",
                      (long long)row->seq);
    else if (gap == 1)
        verify__fault(verifier, verifier->seq + 1, "entry", "seq", "row %lld is missing", (long long)verifier->seq + 1);
    else if (gap != 0)
        verify__fault(verifier, verifier->seq + 1, "entry", "seq", "rows %lld to %lld are missing",
                      (long long)verifier->seq + 1, (long long)row->seq - 1);
}

enum suspicion { SUSPECT_EITHER = 0, SUSPECT_CONTENTS, SUSPECT_HASH };

static void resolve_suspect(struct verifier *verifier, enum suspicion what)
{
    const char *table = row__shape(verifier->suspect_table)->name;

    if (!verifier->suspects)
        return;
    verifier->suspects = false;
    switch (what) {
    case SUSPECT_CONTENTS:
        verify__fault(verifier, verifier->suspect_seq, table, "contents", "its contents are not what was written");
        return;
    case SUSPECT_HASH:
        verify__fault(verifier, verifier->suspect_seq, table, "hash", "its hash was changed; its contents are whole");
        if (verifier->last_head != NULL) /* what the tenant's next row goes on from */
            memcpy(verifier->last_head->hash, verifier->suspect_hash, DIGEST_BYTES);
        return;
    case SUSPECT_EITHER:
        break;
    }
    verify__fault(verifier, verifier->suspect_seq, table, "contents", "it, or the row before it, is not what was written");
}

/* The row after a suspect one tells what was changed: it was hashed over the suspect's true hash. */
static void check_hash(struct verifier *verifier, const struct walk_row *row)
{
    unsigned char hash[DIGEST_BYTES], other[DIGEST_BYTES];
    bool matches;

    row__hash(row->table, row->values, verifier->hash, hash);
    matches = holds(&row->hash, hash);
    if (verifier->suspects && matches) {
        resolve_suspect(verifier, SUSPECT_CONTENTS);
    } else if (verifier->suspects) {
        row__hash(row->table, row->values, verifier->suspect_hash, other);
        matches = holds(&row->hash, other);
        resolve_suspect(verifier, matches ? SUSPECT_HASH : SUSPECT_EITHER);
    }
    if (!matches) {
        verifier->suspects = true;
        verifier->suspect_seq = row->seq;
        verifier->suspect_table = row->table;
        memcpy(verifier->suspect_hash, hash, DIGEST_BYTES);
    }
    /* Goes on from what is stored, so that one changed row is one fault. */
    memcpy(verifier->hash, hash, DIGEST_BYTES);
    if (row->hash.kind == ROW_BLOB && row->hash.bytes.len == DIGEST_BYTES)
        memcpy(verifier->hash, row->hash.bytes.at, DIGEST_BYTES);
}

static enum code check_tenant(struct verifier *verifier, const struct walk_row *row, struct head **head)
{
    int at = row->table == ROW_DECISION ? (int)D_TENANT : row->table == ROW_OUTCOME ? (int)O_TENANT : (int)E_TENANT;
    const struct row_value *previous = &row->values[D_TENANT_PREVIOUS], *tenant = &row->values[at];
    bool right;
    enum code code;

    _Static_assert((int)D_TENANT_PREVIOUS == (int)O_TENANT_PREVIOUS && (int)O_TENANT_PREVIOUS == (int)E_TENANT_PREVIOUS,
                   "the same place in all");
    *head = NULL;
    if (tenant->kind != ROW_TEXT) {
        if (previous->kind != ROW_NULL)
            verify__fault(verifier, row->seq, name_of(row), "tenant_previous", "it has no tenant and names a previous row");
        return CODE_OK;
    }
    code = heads__find(&verifier->heads, tenant->bytes, head);
    if (code != CODE_OK)
        return code;
    if ((*head)->known)
        right = holds(previous, (*head)->hash);
    else
        right = previous->kind == ROW_NULL || verifier->continues;
    if (!right)
        verify__fault(verifier, row->seq, name_of(row), "tenant_previous",
                      "it does not follow the last row of its tenant");
    (*head)->known = true;
    (*head)->seq = (uint64_t)row->seq;
    memcpy((*head)->hash, verifier->hash, DIGEST_BYTES);
    return CODE_OK;
}

/* ---- values and pairing ------------------------------------------------------------------------------------------ */

static bool vouches(const struct row_value *digest, const struct row_value *salt, const struct row_value *value)
{
    struct digest sum;
    unsigned char out[DIGEST_BYTES];

    digest_init(&sum);
    digest_add(&sum, salt->bytes.at, salt->bytes.len);
    digest_add(&sum, value->bytes.at, value->bytes.len);
    digest_final(&sum, out);
    return holds(digest, out);
}

static bool was_erased(const struct verifier *verifier, const struct walk_row *row)
{
    const struct row_value *tenant = &row->values[D_TENANT];

    for (const struct erasure *erasure = verifier->erasures; erasure != NULL; erasure = erasure->next)
        if (erasure->seq > row->seq && row->values[D_TIME].number < erasure->before_us &&
            (erasure->tenant.at == NULL) == (tenant->kind == ROW_NULL) && span_equals(erasure->tenant, tenant->bytes))
            return true;
    return false;
}

static void check_values(struct verifier *verifier, const struct walk_row *row)
{
    const struct row_value *salt = &row->outside[OUTSIDE_SALT], *arguments = &row->outside[OUTSIDE_ARGUMENTS];
    const struct row_value *begin = &row->outside[OUTSIDE_BEGIN];
    bool cut = row->values[D_ARGUMENTS_CUT].number == 1, some = row->values[D_ARGUMENTS_BYTES].kind == ROW_INT;

    if (salt->kind == ROW_NULL && arguments->kind == ROW_NULL && begin->kind == ROW_NULL) {
        if (was_erased(verifier, row))
            verifier->report->erased++;
        else
            verify__fault(verifier, row->seq, "decision", "salt", "its values are gone, and no erasure of them is recorded");
        return;
    }
    if (salt->kind != ROW_BLOB || salt->bytes.len != ROW_SALT_BYTES)
        verify__fault(verifier, row->seq, "decision", "salt", "it is not what was written");
    else if (cut ? arguments->kind != ROW_NULL : (arguments->kind == ROW_TEXT) != some)
        verify__fault(verifier, row->seq, "decision", "arguments", "they are not what was written");
    else if (cut ? begin->kind != ROW_TEXT : begin->kind != ROW_NULL)
        verify__fault(verifier, row->seq, "decision", "arguments_begin", "it is not what was written");
    else if (cut && !vouches(&row->values[D_BEGIN_DIGEST], salt, begin))
        verify__fault(verifier, row->seq, "decision", "arguments_begin", "it or its salt is not what was written");
    else if (!cut && !vouches(&row->values[D_ARGUMENTS_DIGEST], salt, arguments))
        verify__fault(verifier, row->seq, "decision", "arguments", "they or their salt are not what was written");
}

static enum code check_decision(struct verifier *verifier, const struct walk_row *row, struct head *head)
{
    static const unsigned char no_salt[ROW_SALT_BYTES];

    verifier->report->decisions++;
    check_values(verifier, row);
    if (row->values[D_EXPECTS_OUTCOME].number != 1)
        return CODE_OK;
    if (!says(&row->values[D_VERDICT], "permit"))
        verify__fault(verifier, row->seq, "decision", "expects_outcome", "it is no permit and expects an outcome");
    if (permits__find(&verifier->permits, (uint64_t)row->seq) != NULL)
        return CODE_OK; /* a number used twice was told already */
    return permits__add(&verifier->permits, (uint64_t)row->seq, head, no_salt);
}

static void check_outcome(struct verifier *verifier, const struct walk_row *row, const struct head *head)
{
    int64_t decision = row->values[O_DECISION].number;
    const struct permit *permit = decision > 0 ? permits__find(&verifier->permits, (uint64_t)decision) : NULL;

    verifier->report->outcomes++;
    if (permit == NULL) {
        verify__fault(verifier, row->seq, "outcome", "decision", "row %lld is no permit that waits for an outcome",
                      (long long)decision);
        return;
    }
    if (permit->head != head)
        verify__fault(verifier, row->seq, "outcome", "tenant", "its permit %lld belongs to another", (long long)decision);
    permits__remove(&verifier->permits, (uint64_t)decision);
}

static void report_open(struct verifier *verifier, const char *when)
{
    struct permits *permits = &verifier->permits;

    for (size_t i = 0; i < permits->size; i++)
        if (permits->slots[i].seq != 0) {
            verify__fault(verifier, (int64_t)permits->slots[i].seq, "decision", "outcome",
                          "the permit has no outcome, although the gate %s after it", when);
            permits->slots[i].closing = true;
        }
    permits__drop_closed(permits);
}

static void check_event(struct verifier *verifier, const struct walk_row *row)
{
    const struct row_value *kind = &row->values[E_KIND];

    verifier->report->events++;
    verifier->stopped = says(kind, "stop");
    if (says(kind, "start"))
        report_open(verifier, "was started again");
}

static enum code check_row(struct verifier *verifier, const struct walk_row *row)
{
    struct head *head;
    enum code code;

    check_number(verifier, row);
    check_hash(verifier, row);
    code = check_tenant(verifier, row, &head);
    if (code != CODE_OK)
        return code;
    verifier->last_head = head;
    verifier->seq = row->seq;
    verifier->stopped = false;
    verifier->report->rows++;
    switch (row->table) {
    case ROW_DECISION:
        return check_decision(verifier, row, head);
    case ROW_OUTCOME:
        check_outcome(verifier, row, head);
        return CODE_OK;
    case ROW_EVENT:
        check_event(verifier, row);
        return CODE_OK;
    case ROW_FILE:
    case ROW_TABLES:
        break;
    }
    BUG_ON(true);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static enum code check_file(struct verifier *verifier)
{
    static const unsigned char zeros[DIGEST_BYTES];
    const unsigned char *before = zeros;
    unsigned char hash[DIGEST_BYTES];
    struct db_stmt *stmt;
    struct walk_row row;
    enum code code = walk__file(verifier->db, &stmt, &row);

    if (code == CODE_NOT_FOUND) {
        verify__fault(verifier, 0, "file", "seq", "the row that says what this file is is missing");
        return CODE_OK;
    }
    if (code != CODE_OK)
        return code;
    verifier->continues = row.values[F_PREVIOUS].kind == ROW_BLOB;
    if (verifier->continues && row.values[F_PREVIOUS].bytes.len == DIGEST_BYTES)
        before = (const unsigned char *)row.values[F_PREVIOUS].bytes.at;
    row__hash(ROW_FILE, row.values, before, hash);
    if (!holds(&row.hash, hash))
        verify__fault(verifier, 0, "file", "contents", "its contents or its hash are not what was written");
    verifier->seq = row.seq;
    memcpy(verifier->hash, hash, DIGEST_BYTES);
    if (row.hash.kind == ROW_BLOB && row.hash.bytes.len == DIGEST_BYTES)
        memcpy(verifier->hash, row.hash.bytes.at, DIGEST_BYTES);
    if (db_step(stmt) == CODE_OK)
        verify__fault(verifier, 0, "file", "seq", "there is more than one row");
    db_finalize(&stmt);
    return CODE_OK;
}

static enum code read_erasures(struct verifier *verifier)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(verifier->db, "SELECT seq, tenant, json_extract(detail, '$.before_us') FROM event "
                                              "WHERE kind = 'erased' AND json_valid(detail)", &stmt);

    if (code != CODE_OK)
        return code;
    while ((code = db_step(stmt)) == CODE_OK) {
        struct erasure *erasure = arena_zalloc(&verifier->arena, sizeof *erasure);
        struct span tenant = db_text(stmt, 1);
        const char *copy = arena_dup(&verifier->arena, tenant.at, tenant.len);

        if (erasure == NULL || copy == NULL) {
            code = CODE_NOMEM;
            break;
        }
        *erasure = (struct erasure){verifier->erasures, {tenant.at != NULL ? copy : NULL, tenant.len}, db_int(stmt, 0),
                                    db_int(stmt, 2)};
        verifier->erasures = erasure;
    }
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code walk_rows(struct verifier *verifier, verify_progress_fn progress, void *context)
{
    int64_t begin = verifier->seq, last;
    bool passed_index = false;
    struct walk walk;
    struct walk_row row;
    enum code code = db_number(verifier->db, LEDGER_MAX_SEQ, &last);

    if (code == CODE_OK)
        code = walk__init(&walk, verifier->db, INT64_MIN, INT64_MAX);
    if (code != CODE_OK)
        return code;
    while ((code = walk__next(&walk, &row)) == CODE_OK) {
        if (!passed_index && row.seq > verifier->indexed_seq) {
            passed_index = true;
            code = verify__heads(verifier);
        }
        if (code == CODE_OK)
            code = check_row(verifier, &row);
        if (code != CODE_OK)
            break;
        if (verifier->report->first_seq == 0)
            verifier->report->first_seq = row.seq;
        if (progress != NULL && verifier->report->rows % PROGRESS_ROWS == 0)
            progress(context, (uint64_t)(row.seq - begin), (uint64_t)(last - begin));
    }
    walk__fini(&walk);
    if (code == CODE_NOT_FOUND)
        code = passed_index ? CODE_OK : verify__heads(verifier);
    if (code == CODE_IO) { /* a damaged page: what can be read was checked */
        verify__fault(verifier, verifier->seq + 1, "entry", "page", "what follows row %lld cannot be read: %s",
                      (long long)verifier->seq, db_error(verifier->db));
        code = CODE_OK;
    }
    return code;
}

static void close_report(struct verifier *verifier)
{
    struct verify_report *report = verifier->report;

    resolve_suspect(verifier, SUSPECT_EITHER);
    if (verifier->stopped)
        report_open(verifier, "was stopped");
    report->under_way = verifier->permits.count;
    report->tenants = verifier->heads.count;
    report->last_seq = report->rows > 0 ? verifier->seq : 0;
    memcpy(report->head, verifier->hash, DIGEST_BYTES);
}

/* A damaged page is a fault of the file: what can be read is checked. */
static enum code survive(struct verifier *verifier, enum code code, const char *table)
{
    if (code != CODE_IO)
        return code;
    verify__fault(verifier, 0, table, "page", "cannot be read whole: the file is damaged");
    return CODE_OK;
}

static enum code verify_all(struct verifier *verifier, verify_progress_fn progress, void *context)
{
    enum code code = db_exec(verifier->db, "BEGIN"); /* one view of a file that may be growing */

    if (code == CODE_OK)
        code = survive(verifier, check_file(verifier), "file");
    if (code == CODE_OK)
        code = survive(verifier, read_erasures(verifier), "event");
    if (code == CODE_OK)
        code = survive(verifier, db_number(verifier->db, "SELECT max(last_seq) FROM part", &verifier->indexed_seq), "part");
    if (code == CODE_OK)
        code = survive(verifier, walk_rows(verifier, progress, context), "entry");
    if (code == CODE_OK)
        close_report(verifier);
    if (code == CODE_OK)
        code = survive(verifier, verify__lookup(verifier), "lookup");
    if (code == CODE_OK)
        code = survive(verifier, verify__index(verifier), "outcome");
    return code == CODE_OK ? survive(verifier, verify__schema(verifier), "sqlite_schema") : code;
}

static enum code check_kind(struct verifier *verifier, const char *path, struct why *why)
{
    int64_t tables;
    enum code code = db_number(verifier->db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('file', "
                                              "'decision', 'outcome', 'event')", &tables);

    return code != CODE_OK || tables == 4 ? code : why_set(why, CODE_INVALID, "%s: is a database, but no audit trail", path);
}

enum code audit_verify(const char *path, verify_progress_fn progress, void *context, struct verify_report *report,
                       struct why *why)
{
    struct verifier verifier = {.report = report};
    enum code code = db_open(path, DB_READ, &verifier.db, why);

    *report = (struct verify_report){0};
    if (code != CODE_OK)
        return code;
    arena_init(&verifier.arena, (size_t)16 << 20);
    code = check_kind(&verifier, path, why);
    if (code == CODE_OK)
        code = heads__init(&verifier.heads);
    if (code == CODE_OK)
        code = permits__init(&verifier.permits);
    if (code == CODE_OK)
        code = verify_all(&verifier, progress, context);
    if (code != CODE_OK && code != CODE_INVALID)
        (void)why_set(why, code, "%s: %s", path, code_text(code));
    db_rollback(verifier.db);
    permits__fini(&verifier.permits);
    heads__fini(&verifier.heads);
    arena_fini(&verifier.arena);
    db_close(&verifier.db);
    return code;
}
