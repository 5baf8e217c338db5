/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/ledger.h"

enum code ledger_begin(struct ledger *ledger)
{
    enum code code;

    buf_clear(&ledger->leaves);
    ledger->leaf_count = 0;
    code = db_begin(ledger->db);
    return code == CODE_OK ? ledger_check_others(ledger) : code;
}

enum code ledger_commit(struct ledger *ledger)
{
    enum code code = db_commit(ledger->db);

    if (code == CODE_OK)
        code = ledger_check_place(ledger);
    if (code == CODE_OK)
        ledger->committed = ledger->tip;
    return code;
}

static enum code know_head(struct ledger *ledger, struct head *head)
{
    enum code code;

    if (head->known)
        return CODE_OK;
    db_bind_text(ledger->find_head, 1, span_of(head->tenant, head->len));
    code = db_step(ledger->find_head);
    head->seq = 0;
    if (code == CODE_OK && db_blob(ledger->find_head, 1).len == DIGEST_BYTES) {
        head->seq = (uint64_t)db_int(ledger->find_head, 0);
        memcpy(head->hash, db_blob(ledger->find_head, 1).at, DIGEST_BYTES);
    }
    db_reset(ledger->find_head);
    head->known = code == CODE_OK || code == CODE_NOT_FOUND;
    return head->known ? CODE_OK : code;
}

/* Keeps a leaf for the notary. Where a leaf finds no room all are dropped, and the notary reads the file. */
static void note_leaf(struct ledger *ledger, const unsigned char hash[DIGEST_BYTES], const struct head *head)
{
    uint32_t len = head != NULL ? head->len : UINT32_MAX;
    size_t bytes = sizeof len + DIGEST_BYTES + (head != NULL ? len : 0);
    char *at;

    if (buf_reserve(&ledger->leaves, bytes, &at) != CODE_OK) {
        buf_clear(&ledger->leaves);
        ledger->leaf_count = 0;
        return;
    }
    memcpy(at, &len, sizeof len);
    memcpy(at + sizeof len, hash, DIGEST_BYTES);
    if (head != NULL)
        memcpy(at + sizeof len + DIGEST_BYTES, head->tenant, len);
    buf_commit(&ledger->leaves, bytes);
    ledger->leaf_count++;
}

/* Fills in what every row has in the same places: seq, tenant_previous. */
static enum code append(struct ledger *ledger, enum row_table table, struct row_value *values, struct head *head,
                        const struct row_value *outside)
{
    enum { SEQ = 0, TENANT_PREVIOUS = 2 };
    unsigned char hash[DIGEST_BYTES];
    enum code code = CODE_OK;

    _Static_assert((int)D_SEQ == SEQ && (int)O_SEQ == SEQ && (int)E_SEQ == SEQ, "the same places");
    _Static_assert((int)D_TENANT_PREVIOUS == TENANT_PREVIOUS && (int)O_TENANT_PREVIOUS == TENANT_PREVIOUS &&
                   (int)E_TENANT_PREVIOUS == TENANT_PREVIOUS, "the same places");
    if (head != NULL)
        code = know_head(ledger, head);
    if (code != CODE_OK)
        return code;
    values[SEQ] = row_int((int64_t)ledger->tip.seq + 1);
    values[TENANT_PREVIOUS] = head != NULL && head->seq != 0 ? row_blob(head->hash, DIGEST_BYTES) : row_null();
    row_hash(table, values, ledger->tip.hash, hash);
    code = insert_row(ledger->insert[table], values, hash, outside);
    if (code != CODE_OK)
        return code;
    ledger->tip.seq++;
    memcpy(ledger->tip.hash, hash, DIGEST_BYTES);
    if (ledger->keeps_leaves)
        note_leaf(ledger, hash, head);
    if (head != NULL)
        heads_move(head, ledger->tip.seq, hash, ledger->committed.seq);
    return CODE_OK;
}

static struct row_value digest_or_null(bool is_there, const unsigned char digest[DIGEST_BYTES])
{
    return is_there ? row_blob(digest, DIGEST_BYTES) : row_null();
}

static struct row_value size_or_null(bool is_there, uint64_t bytes)
{
    return is_there ? row_int((int64_t)bytes) : row_null();
}

static void fill_decision(struct ledger *ledger, const struct ring_decision *from, const struct span *texts,
                          struct row_value values[D_COUNT])
{
    bool denied = from->verdict != AUDIT_PERMIT;

#define NUMBER(NAME, name) values[D_##NAME] = row_int((int64_t)from->name);
#define TEXT(NAME, name) values[D_##NAME] = row_text(texts[TEXT_##NAME]);
#define SIZE(NAME, name, text) values[D_##NAME] = size_or_null(from->has_##text, from->name);
#define DIGEST(NAME, name, there) values[D_##NAME] = digest_or_null(from->there, from->name);
    DECISION_TABLE(ROW_SKIP, ROW_SKIP, NUMBER, TEXT, TEXT, SIZE, DIGEST)
#undef NUMBER
#undef TEXT
#undef SIZE
#undef DIGEST
    values[D_NODE] = row_text(span_text(ledger->node));
    values[D_ARGUMENTS_DIGEST] = row_blob(from->arguments_digest, DIGEST_BYTES);
    values[D_ARGUMENTS_CUT] = row_int(from->arguments_cut);
    values[D_VERDICT] = row_text(span_text(audit_verdict_text(from->verdict)));
    values[D_REASON] = row_text(span_text(reason_name(from->reason)));
    values[D_POLICY_VERSION] = from->policy_version != 0 ? row_int((int64_t)from->policy_version) : row_null();
    values[D_API_KEY] = from->api_key != 0 ? row_int(from->api_key) : row_null();
    values[D_STATUS] = denied && from->status != 0 ? row_int(from->status) : row_null();
    values[D_LATENCY] = denied ? row_int(from->latency_us) : row_null();
}

enum code ledger_decision(struct ledger *ledger, const struct ring_decision *decision, const struct span *texts,
                          uint64_t *seq)
{
    struct row_value values[D_COUNT];
    struct row_value outside[OUTSIDE_COUNT] = {
        [OUTSIDE_SALT] = row_blob(decision->salt, ROW_SALT_BYTES),
#define KEPT(NAME, name) [OUTSIDE_##NAME] = row_text(texts[TEXT_##NAME]),
        DECISION_OUTSIDE_TABLE(ROW_SKIP, KEPT)
#undef KEPT
    };
    struct head *head = NULL;
    enum code code = CODE_OK;

    if (texts[TEXT_TENANT].at != NULL)
        code = heads_find(&ledger->heads, texts[TEXT_TENANT], &head);
    if (code != CODE_OK)
        return code;
    fill_decision(ledger, decision, texts, values);
    code = append(ledger, ROW_DECISION, values, head, outside);
    if (code == CODE_OK && decision->expects_outcome)
        code = permits_add(&ledger->permits, ledger->tip.seq, head, decision->salt);
    if (code == CODE_OK && decision->is_told_later && decision->expects_outcome)
        permits_find(&ledger->permits, ledger->tip.seq)->is_told_later = true;
    *seq = ledger->tip.seq;
    return code;
}

static struct row_value salted_or_null(const struct permit *permit, bool is_there, const unsigned char of[DIGEST_BYTES],
                                       unsigned char digest[DIGEST_BYTES])
{
    if (is_there)
        digest_of_two(span_of(permit->salt, ROW_SALT_BYTES), span_of(of, DIGEST_BYTES), digest);
    return digest_or_null(is_there, digest);
}

enum code ledger_outcome(struct ledger *ledger, uint64_t decision, const struct audit_result *from)
{
    struct permit *permit = permits_find(&ledger->permits, decision);
    struct head *head;
    struct row_value values[O_COUNT], outside[ANSWER_COUNT] = {row_null(), row_null()};
    unsigned char digest[DIGEST_BYTES], before[DIGEST_BYTES];
    enum code code;

    if (permit == NULL || permit->closing) /* a second outcome, or a decision that expects none */
        return CODE_INVALID;
    head = permit->head;
#define NUMBER(NAME, name) values[O_##NAME] = row_int((int64_t)from->name);
#define TEXT(NAME, name) values[O_##NAME] = row_text(from->name);
    OUTCOME_TABLE(ROW_SKIP, NUMBER, TEXT, TEXT)
#undef NUMBER
#undef TEXT
    values[O_TENANT] = head != NULL ? row_text(span_of(head->tenant, head->len)) : row_null();
    values[O_DECISION] = row_int((int64_t)decision);
    values[O_OUTCOME] = row_text(span_text(audit_outcome_text(from->outcome)));
    values[O_REASON] = row_text(span_text(reason_name(from->reason)));
    values[O_STATUS] = from->status != 0 ? row_int(from->status) : row_null();
    values[O_ERROR_CODE] = from->has_error_code ? row_int(from->error_code) : row_null();
    values[O_RESPONSE_DIGEST] = salted_or_null(permit, from->has_digest, from->response_digest, digest);
    values[O_RESPONSE_DIGEST_BEFORE] = salted_or_null(permit, from->has_digest_before, from->response_digest_before, before);
    values[O_SERVER_WITHHELD] = size_or_null(from->server_withheld > 0, from->server_withheld);
    values[O_LATENCY] = from->outcome == OUTCOME_UNKNOWN ? row_null() : row_int(from->latency_us);
    values[O_UPSTREAM] = from->upstream_us >= 0 ? row_int(from->upstream_us) : row_null();
    values[O_ANSWER_BYTES] = from->answer.at != NULL ? row_int((int64_t)from->answer_bytes) : row_null();
    values[O_ANSWER_DIGEST] = digest_or_null(from->answer.at != NULL, from->answer_digest);
    if (from->answer.at != NULL) {
        outside[ANSWER_SALT] = row_blob(from->answer_salt, ROW_SALT_BYTES);
        outside[ANSWER_TEXT] = row_text(from->answer);
    }
    code = append(ledger, ROW_OUTCOME, values, head, outside);
    if (code == CODE_OK)
        permit->closing = true;
    return code;
}

enum code ledger_event(struct ledger *ledger, const struct audit_event *event)
{
    struct row_value values[E_COUNT] = {
#define NUMBER(NAME, name) [E_##NAME] = row_int(event->name),
#define TEXT(NAME, name) [E_##NAME] = row_text(event->name),
        EVENT_TABLE(ROW_SKIP, NUMBER, TEXT, TEXT)
#undef NUMBER
#undef TEXT
    };
    struct head *head = NULL;
    enum code code = CODE_OK;

    if (event->tenant.at != NULL)
        code = heads_find(&ledger->heads, event->tenant, &head);
    return code == CODE_OK ? append(ledger, ROW_EVENT, values, head, NULL) : code;
}

enum code ledger_close_permits(struct ledger *ledger, enum reason reason, int64_t time_us)
{
    struct audit_result result = {.time_us = time_us, .outcome = OUTCOME_UNKNOWN, .reason = reason, .upstream_us = -1};
    enum code code = CODE_OK;

    for (size_t i = 0; i < ledger->permits.size && code == CODE_OK; i++) {
        const struct permit *permit = &ledger->permits.slots[i];

        result.reason = permit->is_told_later ? REASON_UNREPORTED : reason;
        if (permit->seq != 0 && !permit->closing)
            code = ledger_outcome(ledger, permit->seq, &result);
    }
    return code;
}

enum code ledger_find_open(struct ledger *ledger, uint64_t after)
{
    struct db_stmt *stmt;
    /* Each start closes the permits that were open before it, so that no open one is older than the last start. A permit of an
     * earlier file has no salt here, and needs none: this gate saw no response that would be digested with it. */
    enum code code = db_select(ledger->db,
                               "SELECT p.decision, p.tenant, NULL FROM permit_start AS p WHERE NOT EXISTS (SELECT 1 FROM "
                               "outcome AS o WHERE o.decision = p.decision) UNION ALL "
                               "SELECT d.seq, d.tenant, d.salt FROM decision AS d WHERE d.seq > max(?1, coalesce("
                               "(SELECT max(seq) FROM event WHERE kind = 'start'), 0)) AND d.expects_outcome = 1 "
                               "AND NOT EXISTS (SELECT 1 FROM outcome AS o WHERE o.decision = d.seq) ORDER BY 1",
                               DB_VALUES(db_of_int((int64_t)after)), &stmt);

    while (db_next(&stmt, &code)) {
        struct span tenant = db_text(stmt, 1), salt = db_blob(stmt, 2);
        unsigned char kept[ROW_SALT_BYTES] = {0};
        struct head *head = NULL;

        if (salt.len == sizeof kept)
            memcpy(kept, salt.at, sizeof kept);
        if (tenant.at != NULL)
            code = heads_find(&ledger->heads, tenant, &head);
        if (code == CODE_OK && permits_find(&ledger->permits, (uint64_t)db_int(stmt, 0)) == NULL)
            code = permits_add(&ledger->permits, (uint64_t)db_int(stmt, 0), head, kept);
    }
    return code;
}
