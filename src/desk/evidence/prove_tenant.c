/* SPDX-License-Identifier: Apache-2.0 */
/* One tenant's rows for its own auditor: first the proof that a checkpoint binds the last of them; in a file that continues
 * another, the proof that its first checkpoint binds the one before them; then all of them, each with the hash of the row
 * before it in the whole file. Of other tenants it shows hashes only. */
#include "evidence/prove_priv.h"

#include "files/reader.h"
#include "proof/tenants.h"
#include "base/num.h"
#include "json/json.h"

#define LINE_BYTES ((size_t)1 << 30)

/* ---- the head ---------------------------------------------------------------------------------------------------- */

static enum code set(struct tenants *tenants, struct span tenant, int64_t seq, struct span hash)
{
    if (tenant.at == NULL || hash.len != DIGEST_BYTES)
        return CODE_OK;
    return tenants_set(tenants, tenant, (uint64_t)seq, (const unsigned char *)hash.at);
}

/* Every tenant's last row when the file began. */
static enum code read_starts(const struct prover *prover, struct tenants *tenants)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(prover->db, "SELECT tenant, seq, hash FROM tenant_start", &stmt);

    while (db_next(&stmt, &code))
        code = set(tenants, db_text(stmt, 0), db_int(stmt, 1), db_blob(stmt, 2));
    return code;
}

/* What they were at the checkpoint. */
static enum code read_rows(const struct prover *prover, struct tenants *tenants)
{
    struct walk leaves;
    struct leaf leaf;
    enum code code = walk_leaves(&leaves, prover->db, 1, (int64_t)prover->read.size);

    if (code != CODE_OK)
        return code;
    while (code == CODE_OK && (code = walk_next_leaf(&leaves, &leaf)) == CODE_OK)
        code = set(tenants, leaf.tenant, leaf.seq, leaf.hash);
    walk_fini(&leaves);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static void add_path(const struct tenants *tenants, size_t index, struct buf *out)
{
    struct merkle_range ranges[MERKLE_PROOF_MAX];
    size_t count = merkle_path(index, tenants->listed, ranges);

    for (size_t i = 0; i < count; i++) {
        struct merkle tree = {.size = 0};
        unsigned char root[DIGEST_BYTES];

        for (uint64_t leaf = ranges[i].begin; leaf < ranges[i].end; leaf++)
            merkle_add(&tree, tenants->leaf[leaf]);
        merkle_root(&tree, root);
        prove__add_hash(out, root);
    }
}

/* The tenant's last row, the proof that the note binds it, and the note. */
static enum code add_bound(const struct tenants *tenants, size_t index, struct span note, struct buf *out)
{
    const struct head *head = tenants->sorted[index];

    buf_addf(out, "seq %llu\nhash ", (unsigned long long)head->seq);
    prove__add_hash(out, head->hash);
    buf_addf(out, "index %zu\n", index);
    add_path(tenants, index, out);
    buf_add_byte(out, '\n');
    buf_add_span(out, note);
    return buf_add_byte(out, '\n');
}

/* The place of the tenant among all, whose tree the note must bind. CODE_NOT_FOUND without a sentence: it has no row. */
static enum code find_bound(const struct prover *prover, struct tenants *tenants, struct span tenant, const struct note *note,
                            size_t *index)
{
    unsigned char root[DIGEST_BYTES];
    enum code code = tenants_root(tenants, root);

    if (code == CODE_OK && !note->has_tenants)
        return why_set(prover->why, CODE_NOT_FOUND, "%s: the checkpoint over %llu rows binds no heads of tenants", prover->path,
                       (unsigned long long)note->size);
    if (code == CODE_OK && memcmp(root, note->tenants_root, DIGEST_BYTES) != 0)
        return why_set(prover->why, CODE_INVALID, "%s: the tenants' rows are not those of the checkpoint over %llu rows; see "
                       "`callgate audit verify`", prover->path, (unsigned long long)note->size);
    *index = 0;
    while (code == CODE_OK && *index < tenants->listed &&
           !span_equals(span_of(tenants->sorted[*index]->tenant, tenants->sorted[*index]->len), tenant))
        (*index)++;
    return code == CODE_OK && *index == tenants->listed ? CODE_NOT_FOUND : code;
}

/* Nothing for a tenant that had no row before the file began: its first row says so itself. */
static enum code add_beginning(const struct prover *prover, struct tenants *tenants, struct span tenant, struct buf *out)
{
    struct note note;
    struct db_stmt *stmt;
    struct buf text;
    size_t index;
    enum code code = read_starts(prover, tenants);

    if (code != CODE_OK || prover->start.size == 0)
        return code;
    buf_init(&text, NOTE_BYTES);
    code = db_find(prover->db, "SELECT note FROM checkpoint WHERE size = ?1",
                   DB_VALUES(db_of_int((int64_t)prover->start.size)), &stmt);
    if (code == CODE_OK)
        code = buf_add_span(&text, db_text(stmt, 0));
    db_finalize(&stmt);
    if (code == CODE_OK && note_read(buf_peek(&text), &note) != CODE_OK)
        code = CODE_INVALID;
    if (code == CODE_OK)
        code = find_bound(prover, tenants, tenant, &note, &index);
    if (code == CODE_OK)
        code = add_bound(tenants, index, buf_peek(&text), out);
    buf_fini(&text);
    return code == CODE_NOT_FOUND && prover->why->text[0] == '\0' ? CODE_OK : code;
}

static enum code write_head(const struct prover *prover, struct span tenant, struct buf *out)
{
    struct tenants tenants;
    struct buf begin;
    size_t index;
    enum code code = tenants_init(&tenants);

    buf_init(&begin, NOTE_BYTES + 65536);
    if (code == CODE_OK)
        code = add_beginning(prover, &tenants, tenant, &begin);
    if (code == CODE_OK)
        code = read_rows(prover, &tenants);
    if (code == CODE_OK)
        code = find_bound(prover, &tenants, tenant, &prover->read, &index);
    if (code == CODE_NOT_FOUND && prover->why->text[0] == '\0')
        code = why_set(prover->why, code, "%s: tenant '%.*s' has no row up to row %llu", prover->path,
                       tenant.len < 100 ? (int)tenant.len : 100, tenant.at, (unsigned long long)prover->read.size);
    if (code == CODE_OK) {
        buf_addf(out, "%s\ntenant ", buf_len(&begin) > 0 ? PROOF_TENANT_ON : PROOF_TENANT);
        base64_encode(tenant, out);
        buf_add_byte(out, '\n');
        add_bound(&tenants, index, buf_peek(&prover->note), out);
        code = buf_add_span(out, buf_peek(&begin));
    }
    tenants_fini(&tenants);
    buf_fini(&begin);
    return code;
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static void add_hex(struct buf *out, struct span bytes)
{
    char *at;

    if (buf_fail(out, buf_reserve(out, 2 * bytes.len, &at)) != CODE_OK)
        return;
    num_hex(bytes.at, bytes.len, at);
    buf_commit(out, 2 * bytes.len);
}

/* A member that is NULL is left out. */
static void add_member(struct buf *out, const char *name, const struct row_value *value)
{
    if (value->kind != ROW_NULL)
        buf_addf(out, ",\"%s\":", name);
    switch (value->kind) {
    case ROW_INT:
        buf_addf(out, "%lld", (long long)value->number);
        return;
    case ROW_TEXT:
        (void)json_write_string(out, value->bytes);
        return;
    case ROW_BLOB:
        buf_add_text(out, "{\"hex\":\"");
        add_hex(out, value->bytes);
        buf_add_text(out, "\"}");
        return;
    case ROW_FOREIGN:
        buf_add_text(out, "null");
        return;
    case ROW_NULL:
        return;
    }
}

static enum code add_line(struct buf *out, const struct walk_row *row, const unsigned char before[DIGEST_BYTES])
{
    const struct row_shape *shape = row_shape(row->table);

    buf_addf(out, "{\"table\":\"%s\",\"before\":\"", shape->name);
    add_hex(out, span_of(before, DIGEST_BYTES));
    buf_add_byte(out, '"');
    for (int i = 0; i < shape->count; i++)
        add_member(out, shape->columns[i], &row->values[i]);
    for (int i = 0; i < shape->outside; i++)
        add_member(out, shape->outside_columns[i], &row->outside[i]);
    return buf_add(out, "}\n", 2);
}

static bool is_of(const struct walk_row *row, struct span tenant)
{
    int at = row->table == ROW_DECISION ? (int)D_TENANT : row->table == ROW_OUTCOME ? (int)O_TENANT : (int)E_TENANT;

    return row->values[at].kind == ROW_TEXT && span_equals(row->values[at].bytes, tenant);
}

static enum code write_rows(const struct prover *prover, struct span tenant, struct buf *line, prove_put_fn put, void *context)
{
    unsigned char before[DIGEST_BYTES];
    struct walk walk;
    struct walk_row row;
    enum code code = reader_hash(prover->db, (int64_t)prover->start.size, before);

    if (code == CODE_OK)
        code = walk_init(&walk, prover->db, 1, (int64_t)prover->read.size);
    if (code != CODE_OK)
        return code;
    while (code == CODE_OK && (code = walk_next(&walk, &row)) == CODE_OK) {
        buf_clear(line);
        if (is_of(&row, tenant)) {
            code = add_line(line, &row, before);
            if (code == CODE_OK)
                code = put(context, buf_peek(line));
        }
        if (row.hash.bytes.len == DIGEST_BYTES)
            memcpy(before, row.hash.bytes.at, DIGEST_BYTES);
    }
    walk_fini(&walk);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* What erased values of these rows and stands behind them: without it, who checks the proof misses them. */
static enum code write_erasures(const struct prover *prover, struct span tenant, struct buf *line, prove_put_fn put,
                                void *context)
{
    struct db_stmt *stmt;
    enum code code = db_select(prover->db, "SELECT seq, before_us FROM erasure WHERE tenant = ? AND seq > ? ORDER BY seq",
                               DB_VALUES(db_of_text(tenant), db_of_int((int64_t)prover->read.size)), &stmt);

    while (db_next(&stmt, &code)) {
        buf_clear(line);
        buf_add_text(line, "{\"table\":\"erasure\",\"tenant\":");
        (void)json_write_string(line, tenant);
        code = buf_addf(line, ",\"seq\":%lld,\"before_us\":%lld}\n", (long long)db_int(stmt, 0), (long long)db_int(stmt, 1));
        if (code == CODE_OK)
            code = put(context, buf_peek(line));
    }
    return code;
}

enum code audit_prove_tenant(const char *path, struct span tenant, uint64_t size, prove_put_fn put, void *context,
                             struct why *why)
{
    struct prover prover;
    struct buf text;
    enum code code = prove__open(&prover, path, size, why);

    buf_init(&text, LINE_BYTES);
    if (code == CODE_OK)
        code = write_head(&prover, tenant, &text);
    if (code == CODE_OK)
        code = put(context, buf_peek(&text));
    if (code == CODE_OK)
        code = write_erasures(&prover, tenant, &text, put, context);
    if (code == CODE_OK)
        code = write_rows(&prover, tenant, &text, put, context);
    code = prove__fail(&prover, code);
    buf_fini(&text);
    prove__close(&prover);
    return code;
}
