/* SPDX-License-Identifier: Apache-2.0 */
/* What is checked row after row, in the order of their numbers. */
#include "evidence/verify_priv.h"

#include "base/bug.h"

#include <stdio.h>

void verify_fault_add(struct verify_fault list[VERIFY_FAULTS_MAX], size_t *count, int64_t seq, const char *table,
                      const char *field, const char *format, va_list args)
{
    struct verify_fault *fault;

    if ((*count)++ >= VERIFY_FAULTS_MAX)
        return;
    fault = &list[*count - 1];
    fault->seq = seq;
    (void)snprintf(fault->table, sizeof fault->table, "%s", table);
    (void)snprintf(fault->field, sizeof fault->field, "%s", field);
    (void)vsnprintf(fault->text, sizeof fault->text, format, args);
}

void verify__fault(struct verifier *verifier, int64_t seq, const char *table, const char *field, const char *format, ...)
{
    struct verify_faults *faults = &verifier->faults[verifier->part];
    va_list args;

    va_start(args, format);
    verify_fault_add(faults->fault, &faults->count, seq, table, field, format, args);
    va_end(args);
}

size_t verify__evident_faults(const struct verifier *verifier)
{
    size_t count = 0;

    for (enum verify_part part = 0; part < VERIFY_INDICES; part++)
        count += verifier->faults[part].count;
    return count;
}

void verify__doubt(struct verifier *verifier, const char *format, ...)
{
    struct verify_report *report = verifier->report;
    va_list args;

    BUG_ON(report->doubt_count == VERIFY_DOUBTS_MAX);
    va_start(args, format);
    (void)vsnprintf(report->doubt[report->doubt_count++], sizeof report->doubt[0], format, args);
    va_end(args);
}

bool verify__holds(const struct row_value *value, const unsigned char digest[DIGEST_BYTES])
{
    return value->kind == ROW_BLOB && value->bytes.len == DIGEST_BYTES &&
           memcmp(value->bytes.at, digest, DIGEST_BYTES) == 0;
}

static bool says(const struct row_value *value, const char *text)
{
    return value->kind == ROW_TEXT && span_is(value->bytes, text);
}

/* ---- digesting --------------------------------------------------------------------------------------------------- */

static enum verify_event event_of(const struct row_value *kind)
{
    static const struct { const char *name; enum verify_event event; } events[] = {
        {"start", VERIFY_EVENT_START}, {"stop", VERIFY_EVENT_STOP}, {"sealed", VERIFY_EVENT_SEALED},
        {"checkpoint", VERIFY_EVENT_CHECKPOINT}, {"checkpoint_key", VERIFY_EVENT_KEY},
    };

    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (says(kind, events[i].name))
            return events[i].event;
    return VERIFY_EVENT_OTHER;
}

static enum row_kind copy_hash(const struct row_value *value, unsigned char out[DIGEST_BYTES])
{
    if (value->kind != ROW_BLOB)
        return value->kind == ROW_NULL ? ROW_NULL : ROW_FOREIGN;
    if (value->bytes.len != DIGEST_BYTES)
        return ROW_FOREIGN;
    memcpy(out, value->bytes.at, DIGEST_BYTES);
    return ROW_BLOB;
}

void verify__digest(const struct walk_row *row, struct verify_row *out)
{
    int tenant = row->table == ROW_DECISION ? (int)D_TENANT : row->table == ROW_OUTCOME ? (int)O_TENANT : (int)E_TENANT;

    _Static_assert((int)D_TENANT_PREVIOUS == (int)O_TENANT_PREVIOUS && (int)O_TENANT_PREVIOUS == (int)E_TENANT_PREVIOUS,
                   "the same place in all");
    *out = (struct verify_row){.table = row->table, .seq = row->seq};
    if (row->values[tenant].kind == ROW_TEXT)
        out->tenant = row->values[tenant].bytes;
    out->previous_kind = copy_hash(&row->values[D_TENANT_PREVIOUS], out->previous);
    out->has_hash = copy_hash(&row->hash, out->hash) == ROW_BLOB;
    if (row->table == ROW_DECISION) {
        out->expects_outcome = row->values[D_EXPECTS_OUTCOME].number == 1;
        out->is_permit = says(&row->values[D_VERDICT], "permit");
    } else if (row->table == ROW_OUTCOME) {
        out->decision = row->values[O_DECISION].number;
    } else {
        out->event = event_of(&row->values[E_KIND]);
        if (out->event == VERIFY_EVENT_CHECKPOINT || out->event == VERIFY_EVENT_KEY)
            out->detail = row->values[E_DETAIL].bytes;
    }
    merkle_leaf(span_of(out->hash, DIGEST_BYTES), out->leaf);
}

/* ---- the chain --------------------------------------------------------------------------------------------------- */

static const char *name_of(enum row_table table)
{
    return row_shape(table)->name;
}

static void check_number(struct verifier *verifier, int64_t seq, enum row_table table)
{
    int64_t gap;

    if (seq <= verifier->seq)
        verify__fault(verifier, seq, name_of(table), "seq", "the number %lld is used twice, or before the first",
                      (long long)seq);
    else if (__builtin_sub_overflow(seq, verifier->seq, &gap) || gap > 2)
        verify__fault(verifier, verifier->seq + 1, "entry", "seq", "rows %lld to %lld are missing",
                      (long long)verifier->seq + 1, (long long)seq - 1);
    else if (gap == 2)
        verify__fault(verifier, verifier->seq + 1, "entry", "seq", "row %lld is missing", (long long)verifier->seq + 1);
}

enum suspicion { SUSPECT_EITHER = 0, SUSPECT_CONTENTS, SUSPECT_HASH };

static void resolve_suspect(struct verifier *verifier, enum suspicion what)
{
    const char *table = name_of(verifier->suspect_table);

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

void verify__resolve(struct verifier *verifier)
{
    resolve_suspect(verifier, SUSPECT_EITHER);
}

/* The row after a suspect one tells what was changed: it was hashed over the suspect's true hash. */
static void check_hash(struct verifier *verifier, const struct walk_row *row)
{
    unsigned char hash[DIGEST_BYTES], other[DIGEST_BYTES];
    bool matches;

    row_hash(row->table, row->values, verifier->hash, hash);
    matches = verify__holds(&row->hash, hash);
    if (verifier->suspects && matches) {
        resolve_suspect(verifier, SUSPECT_CONTENTS);
    } else if (verifier->suspects) {
        row_hash(row->table, row->values, verifier->suspect_hash, other);
        matches = verify__holds(&row->hash, other);
        resolve_suspect(verifier, matches ? SUSPECT_HASH : SUSPECT_EITHER);
    }
    if (!matches) {
        verifier->suspects = true;
        verifier->suspect_seq = row->seq;
        verifier->suspect_table = row->table;
        memcpy(verifier->suspect_hash, hash, DIGEST_BYTES);
    }
    if (row->hash.kind != ROW_BLOB || row->hash.bytes.len != DIGEST_BYTES)
        memcpy(verifier->hash, hash, DIGEST_BYTES); /* check_row goes on from what is stored, where it is a hash */
}

static enum code check_tenant(struct verifier *verifier, const struct verify_row *row, struct head **head)
{
    bool right;
    enum code code;

    *head = NULL;
    if (row->tenant.at == NULL) {
        if (row->previous_kind != ROW_NULL)
            verify__fault(verifier, row->seq, name_of(row->table), "tenant_previous",
                          "it has no tenant and names a previous row");
        return CODE_OK;
    }
    code = heads_find(&verifier->heads, row->tenant, head);
    if (code != CODE_OK)
        return code;
    if ((*head)->known)
        right = row->previous_kind == ROW_BLOB && memcmp(row->previous, (*head)->hash, DIGEST_BYTES) == 0;
    else /* a file of the first schema does not say how tenants stood before it, and what is gone doesn't either */
        right = row->previous_kind == ROW_NULL || (verifier->continues && !verifier->has_checkpoints) || verifier->is_cut;
    if (!right)
        verify__fault(verifier, row->seq, name_of(row->table), "tenant_previous",
                      "it does not follow the last row of its tenant");
    if ((*head)->seq <= (uint64_t)verifier->begin)
        verifier->report->tenants++;
    (*head)->known = true;
    (*head)->seq = (uint64_t)row->seq;
    memcpy((*head)->hash, verifier->hash, DIGEST_BYTES);
    return CODE_OK;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool vouches(const struct row_value *digest, const struct row_value *salt, const struct row_value *value)
{
    unsigned char out[DIGEST_BYTES];

    digest_of_two(salt->bytes, value->bytes, out);
    return verify__holds(digest, out);
}

static bool was_erased(const struct verifier *verifier, const struct walk_row *row)
{
    const struct row_value *tenant = &row->values[D_TENANT];

    _Static_assert((int)D_TENANT == (int)O_TENANT && (int)D_TIME == (int)O_TIME, "the same places in both");

    for (const struct erasure *erasure = verifier->erasures; erasure != NULL; erasure = erasure->next)
        if (erasure->seq > row->seq && row->values[D_TIME].number < erasure->before_us &&
            (erasure->tenant.at == NULL) == (tenant->kind == ROW_NULL) && span_equals(erasure->tenant, tenant->bytes))
            return true;
    return false;
}

static bool are_all_null(const struct walk_row *row)
{
    int outside = row_shape(row->table)->outside;

    for (int i = 0; i < outside; i++)
        if (row->outside[i].kind != ROW_NULL)
            return false;
    return true;
}

#define IS_SALT(value) ((value)->kind == ROW_BLOB && (value)->bytes.len == ROW_SALT_BYTES)

static struct verify_values check_arguments(const struct walk_row *row)
{
    const struct row_value *salt = &row->outside[OUTSIDE_SALT], *arguments = &row->outside[OUTSIDE_ARGUMENTS];
    const struct row_value *begin = &row->outside[OUTSIDE_BEGIN];
    bool cut = row->values[D_ARGUMENTS_CUT].number == 1, some = row->values[D_ARGUMENTS_BYTES].kind == ROW_INT;

    if (cut ? arguments->kind != ROW_NULL : (arguments->kind == ROW_TEXT) != some)
        return (struct verify_values){"arguments", "they are not what was written", false, false};
    if (cut ? begin->kind != ROW_TEXT : begin->kind != ROW_NULL)
        return (struct verify_values){"arguments_begin", "it is not what was written", false, false};
    if (cut && !vouches(&row->values[D_BEGIN_DIGEST], salt, begin))
        return (struct verify_values){"arguments_begin", "it or its salt is not what was written", false, false};
    if (!cut && !vouches(&row->values[D_ARGUMENTS_DIGEST], salt, arguments))
        return (struct verify_values){"arguments", "they or their salt are not what was written", false, false};
    return (struct verify_values){.field = NULL};
}

/* A value that is there, and is what its digest says, exactly where it must be. */
static bool is_kept(const struct row_value *value, bool must, const struct row_value *digest, const struct row_value *salt)
{
    return must ? value->kind == ROW_TEXT && vouches(digest, salt, value) : value->kind == ROW_NULL;
}

static struct verify_values check_decided(const struct walk_row *row)
{
    const struct row_value *salt = &row->outside[OUTSIDE_SALT];

    if (!IS_SALT(salt))
        return (struct verify_values){"salt", "it is not what was written", false, false};
    if (!is_kept(&row->outside[OUTSIDE_PARAMS], row->values[D_PARAMS_BYTES].kind == ROW_INT,
                 &row->values[D_PARAMS_DIGEST], salt))
        return (struct verify_values){"params", "they or their salt are not what was written", false, false};
    if (!is_kept(&row->outside[OUTSIDE_CLAIMS], row->values[D_CLAIMS_BYTES].kind == ROW_INT,
                 &row->values[D_CLAIMS_DIGEST], salt))
        return (struct verify_values){"claims", "they or their salt are not what was written", false, false};
    if (!is_kept(&row->outside[OUTSIDE_QUERY],
                 row->values[D_TARGET].kind == ROW_TEXT && row->values[D_QUERY_BYTES].kind == ROW_INT,
                 &row->values[D_QUERY_DIGEST], salt))
        return (struct verify_values){"query", "it or its salt is not what was written", false, false};
    return check_arguments(row);
}

static struct verify_values check_answer(const struct walk_row *row)
{
    const struct row_value *salt = &row->outside[ANSWER_SALT];

    if (!IS_SALT(salt) || row->values[O_ANSWER_BYTES].kind != ROW_INT)
        return (struct verify_values){"answer_salt", "it is not what was written", false, false};
    if (!is_kept(&row->outside[ANSWER_TEXT], true, &row->values[O_ANSWER_DIGEST], salt))
        return (struct verify_values){"answer", "it or its salt is not what was written", false, false};
    return (struct verify_values){.field = NULL};
}

struct verify_values verify__values(const struct verifier *verifier, const struct walk_row *row)
{
    bool decided = row->table == ROW_DECISION;

    if (!decided && row->table != ROW_OUTCOME)
        return (struct verify_values){.field = NULL};
    if (are_all_null(row)) {
        if (!decided && row->values[O_ANSWER_BYTES].kind == ROW_NULL)
            return (struct verify_values){.field = NULL}; /* none was kept */
        if (was_erased(verifier, row))
            return (struct verify_values){.is_erased = decided};
        if (verifier->conf->source != NULL)
            return (struct verify_values){.is_at_home = true};
        return (struct verify_values){decided ? "salt" : "answer", "its values are gone, and no erasure of them is recorded",
                                      false, false};
    }
    return decided ? check_decided(row) : check_answer(row);
}

/* ---- pairing ----------------------------------------------------------------------------------------------------- */

static enum code check_decision(struct verifier *verifier, const struct verify_row *row, struct head *head)
{
    static const unsigned char no_salt[ROW_SALT_BYTES];

    verifier->report->decisions++;
    verifier->report->erased += row->is_erased;
    if (!row->expects_outcome)
        return CODE_OK;
    if (!row->is_permit)
        verify__fault(verifier, row->seq, "decision", "expects_outcome", "it is no permit and expects an outcome");
    if (permits_find(&verifier->permits, (uint64_t)row->seq) != NULL || row->seq <= 0)
        return CODE_OK; /* a number used twice was told already */
    return permits_add(&verifier->permits, (uint64_t)row->seq, head, no_salt);
}

static void check_outcome(struct verifier *verifier, const struct verify_row *row, const struct head *head)
{
    const struct permit *permit = row->decision > 0 ? permits_find(&verifier->permits, (uint64_t)row->decision) : NULL;

    verifier->report->outcomes++;
    if (permit == NULL && verifier->is_cut && row->decision <= verifier->begin)
        return; /* it is gone */
    if (permit == NULL) {
        verify__fault(verifier, row->seq, "outcome", "decision", "row %lld is no permit that waits for an outcome",
                      (long long)row->decision);
        return;
    }
    if (permit->head != head)
        verify__fault(verifier, row->seq, "outcome", "tenant", "its permit %lld belongs to another", (long long)row->decision);
    permits_remove(&verifier->permits, (uint64_t)row->decision);
}

void verify__report_open(struct verifier *verifier, const char *when)
{
    struct permits *permits = &verifier->permits;

    for (size_t i = 0; i < permits->size; i++)
        if (permits->slots[i].seq != 0) {
            verify__fault(verifier, (int64_t)permits->slots[i].seq, "decision", "outcome",
                          "the permit has no outcome, although the gate %s after it", when);
            permits->slots[i].closing = true;
        }
    permits_drop_closed(permits);
}

static enum code check_event(struct verifier *verifier, const struct verify_row *row)
{
    verifier->report->events++;
    verifier->stopped = row->event == VERIFY_EVENT_STOP;
    verifier->report->is_sealed = row->event == VERIFY_EVENT_SEALED;
    if (row->event == VERIFY_EVENT_START)
        verify__report_open(verifier, "was started again");
    if (row->event == VERIFY_EVENT_KEY)
        return verify__key_told(verifier, row);
    return row->event == VERIFY_EVENT_CHECKPOINT ? verify__named(verifier, row) : CODE_OK;
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

static enum code check_row(struct verifier *verifier, const struct verify_row *row)
{
    struct head *head;
    enum code code = CODE_OK;

    check_number(verifier, row->seq, row->table);
    if (row->has_hash) /* what is stored, so that one changed row is one fault */
        memcpy(verifier->hash, row->hash, DIGEST_BYTES);
    code = check_tenant(verifier, row, &head);
    if (code == CODE_OK)
        code = verify__add_leaf(verifier, row);
    if (code != CODE_OK)
        return code;
    verifier->last_head = head;
    verifier->seq = row->seq;
    verifier->stopped = verifier->report->is_sealed = false;
    if (verifier->report->rows++ == 0)
        verifier->report->first_seq = row->seq;
    switch (row->table) {
    case ROW_DECISION:
        return check_decision(verifier, row, head);
    case ROW_OUTCOME:
        check_outcome(verifier, row, head);
        return CODE_OK;
    case ROW_EVENT:
        return check_event(verifier, row);
    case ROW_FILE:
    case ROW_TABLES:
        break;
    }
    BUG_ON(true);
}

enum code verify__walked(struct verifier *verifier, const struct walk_row *row)
{
    struct verify_values values = verify__values(verifier, row);
    struct verify_row digested;
    enum code code;

    verify__note_entries(verifier, row);
    check_hash(verifier, row);
    verify__digest(row, &digested);
    digested.is_erased = values.is_erased;
    verifier->report->at_home += values.is_at_home;
    if (values.fault != NULL)
        verify__fault(verifier, row->seq, name_of(row->table), values.field, "%s", values.fault);
    code = check_row(verifier, &digested);
    if (code == CODE_OK && row->table != ROW_EVENT)
        verify__note_unsigned(verifier, row);
    return code;
}

enum code verify__passed(struct verifier *verifier, int64_t seq, struct span hash, struct span tenant)
{
    struct verify_row row = {.table = ROW_DECISION, .seq = seq, .tenant = tenant, .has_hash = hash.len == DIGEST_BYTES};
    struct head *head = NULL;
    enum code code = tenant.at != NULL ? heads_find(&verifier->heads, tenant, &head) : CODE_OK;

    resolve_suspect(verifier, SUSPECT_EITHER);
    check_number(verifier, seq, ROW_DECISION);
    if (!row.has_hash)
        verify__fault(verifier, seq, "kept", "hash", "it is no hash");
    else
        memcpy(row.hash, hash.at, DIGEST_BYTES);
    memcpy(verifier->hash, row.hash, DIGEST_BYTES);
    merkle_leaf(span_of(row.hash, DIGEST_BYTES), row.leaf);
    if (code == CODE_OK)
        code = verify__add_leaf(verifier, &row);
    if (head != NULL) {
        head->known = true;
        head->seq = (uint64_t)seq;
        memcpy(head->hash, row.hash, DIGEST_BYTES);
    }
    verifier->last_head = head;
    verifier->seq = seq;
    verifier->stopped = verifier->report->is_sealed = false;
    verifier->report->kept++;
    return code;
}
