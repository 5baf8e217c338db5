/* SPDX-License-Identifier: Apache-2.0 */
/* The other side of a proof: schema/audit-format.md, "Proofs". Whoever does not trust this program has tools/verify-audit. */
#include "evidence/prove.h"

#include "base/num.h"
#include "evidence/verify_priv.h"
#include "json/text.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_ARENA_BYTES ((size_t)1 << 30)
#define EXTRA_BYTES ((size_t)1 << 30)

struct proof {
    struct proof_report *report;
    struct span rest; /* what is not read yet */
    unsigned char hash[MERKLE_PROOF_MAX][DIGEST_BYTES];
    size_t count;
};

static bool refuse(struct proof *proof, const char *format, ...) PRINTF_LIKE(2, 3);

/* Returns: false, so that `return refuse(...)` reads well. */
static bool refuse(struct proof *proof, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (proof->report->fault[0] == '\0')
        (void)vsnprintf(proof->report->fault, sizeof proof->report->fault, format, args);
    va_end(args);
    return false;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static struct span next_line(struct proof *proof)
{
    return span_cut(proof->rest, '\n', &proof->rest);
}

/* The rest of a line that begins with `word` and a blank; at == NULL: it does not. */
static struct span take_word(struct proof *proof, const char *word)
{
    struct span rest, line = next_line(proof);

    return span_is(span_cut(line, ' ', &rest), word) ? rest : SPAN_NONE;
}

static bool read_hash(struct span text, unsigned char hash[DIGEST_BYTES])
{
    struct buf bytes;
    bool right;

    buf_init(&bytes, 2 * DIGEST_BYTES);
    right = base64_decode(text, &bytes) == CODE_OK && buf_len(&bytes) == DIGEST_BYTES;
    if (right)
        memcpy(hash, buf_peek(&bytes).at, DIGEST_BYTES);
    buf_fini(&bytes);
    return right;
}

static bool read_hashes(struct proof *proof)
{
    for (struct span line = next_line(proof); line.len > 0; line = next_line(proof))
        if (proof->count == MERKLE_PROOF_MAX || !read_hash(line, proof->hash[proof->count++]))
            return refuse(proof, "a line of the proof is no hash");
    return true;
}

static bool read_note(struct proof *proof, const struct keyring *keys, struct note *note)
{
    struct span text;
    size_t by;

    if (!note_next(&proof->rest, &text) || note_read(text, note) != CODE_OK)
        return refuse(proof, "the checkpoint in it is no signed note");
    if (keys == NULL)
        return true;
    proof->report->is_signed = keyring_verify(keys, note, &by) == NOTE_SIGNED;
    return proof->report->is_signed || refuse(proof, "the checkpoint over %llu rows is not signed with the key",
                                              (unsigned long long)note->size);
}

/* ---- a row in a checkpoint --------------------------------------------------------------------------------------- */

/* What the row says of itself: its table and its number, the first column. */
static bool read_row(struct proof *proof, struct span extra, uint64_t index, unsigned char leaf[DIGEST_BYTES])
{
    struct buf bytes;
    struct span row;
    unsigned char hash[DIGEST_BYTES];
    uint64_t seq = 0;
    bool right = false;

    buf_init(&bytes, EXTRA_BYTES);
    if (base64_decode(extra, &bytes) == CODE_OK && buf_len(&bytes) >= DIGEST_BYTES + 10) {
        row = span_part(buf_peek(&bytes), DIGEST_BYTES, SIZE_MAX);
        for (int i = 0; i < 8; i++)
            seq = seq << 8 | (unsigned char)row.at[2 + i];
        right = strchr("DOE", row.at[0]) != NULL && row.at[1] == 1 && seq == index + 1;
        (void)snprintf(proof->report->what, sizeof proof->report->what, "row %llu, of %s", (unsigned long long)seq,
                       row.at[0] == 'D' ? "decision" : row.at[0] == 'O' ? "outcome" : "event");
    }
    digest_of(buf_peek(&bytes), hash);
    merkle_leaf(span_of(hash, sizeof hash), leaf);
    buf_fini(&bytes);
    return right || refuse(proof, "what `extra` holds is no row with the number that `index` says");
}

static bool check_row(struct proof *proof, const struct keyring *keys)
{
    struct proof_report *report = proof->report;
    struct span extra = take_word(proof, "extra"), index_text = take_word(proof, "index");
    unsigned char leaf[DIGEST_BYTES];
    struct note note;
    uint64_t index;
    size_t len;

    if (extra.at == NULL || num_u64(index_text, &index) != CODE_OK)
        return refuse(proof, "its lines `extra` and `index` are missing");
    if (!read_row(proof, extra, index, leaf) || !read_hashes(proof) || !read_note(proof, keys, &note))
        return false;
    if (!merkle_is_in(leaf, index, note.size, (const unsigned char (*)[DIGEST_BYTES])proof->hash, proof->count, note.root))
        return refuse(proof, "the row is not the one that the checkpoint over %llu rows covers", (unsigned long long)note.size);
    len = strlen(report->what);
    (void)snprintf(report->what + len, sizeof report->what - len, ", is in the checkpoint over %llu rows of %.*s",
                   (unsigned long long)note.size, SPAN_ARG(note.origin));
    return true;
}

/* ---- two checkpoints --------------------------------------------------------------------------------------------- */

static bool check_consistency(struct proof *proof, const struct keyring *keys)
{
    struct note old, note;

    if (!read_hashes(proof) || !read_note(proof, keys, &old) || !read_note(proof, keys, &note))
        return false;
    if (!span_equals(old.origin, note.origin))
        return refuse(proof, "the two checkpoints are of different logs");
    if (!merkle_goes_on(old.size, old.root, note.size, note.root, (const unsigned char (*)[DIGEST_BYTES])proof->hash,
                        proof->count))
        return refuse(proof, "the checkpoint over %llu rows does not go on from that over %llu",
                      (unsigned long long)note.size, (unsigned long long)old.size);
    (void)snprintf(proof->report->what, sizeof proof->report->what,
                   "the checkpoint over %llu rows of %.*s holds all that the one over %llu rows held",
                   (unsigned long long)note.size, SPAN_ARG(note.origin), (unsigned long long)old.size);
    return true;
}

/* ---- a tenant's rows --------------------------------------------------------------------------------------------- */

/* A column's value; *left: members that no column has taken yet. */
static bool read_value(struct arena *arena, const struct json_node *node, struct row_value *value, uint32_t *left)
{
    const struct json_node *hex;
    void *bytes;
    int64_t number;

    *value = row_null();
    if (node == NULL)
        return true;
    (*left)--;
    if (node->type == JSON_STRING) {
        *value = row_text(span_of(node->text.at != NULL ? node->text.at : "", node->text.len));
        return true;
    }
    if (node->type == JSON_NUMBER && num_i64(node->raw, &number) == CODE_OK) {
        *value = row_int(number);
        return true;
    }
    hex = node->type == JSON_OBJECT && node->count == 1 ? json_member(node, SPAN_LIT("hex")) : NULL;
    if (hex == NULL || hex->type != JSON_STRING)
        return false;
    bytes = arena_alloc(arena, hex->text.len / 2 + 1);
    if (bytes == NULL || num_unhex(hex->text, bytes, hex->text.len / 2) != CODE_OK)
        return false;
    *value = row_blob(bytes, hex->text.len / 2);
    return true;
}

static bool read_columns(struct arena *arena, const struct json_node *line, struct walk_row *row)
{
    const struct json_node *table = json_member(line, SPAN_LIT("table"));
    const struct row_shape *shape;
    uint32_t left = line->count - 2; /* but for `table` and `before` */
    bool right = true;

    *row = (struct walk_row){.table = ROW_FILE};
    for (int i = ROW_DECISION; i < ROW_TABLES && table != NULL; i++)
        if (span_is(table->text, row_shape((enum row_table)i)->name))
            row->table = (enum row_table)i;
    if (row->table == ROW_FILE)
        return false;
    shape = row_shape(row->table);
    for (int i = 0; i < shape->count && right; i++)
        right = read_value(arena, json_member(line, span_text(shape->columns[i])), &row->values[i], &left);
    for (int i = 0; i < shape->outside && right; i++)
        right = read_value(arena, json_member(line, span_text(shape->outside_columns[i])), &row->outside[i], &left);
    row->seq = row->values[0].number;
    return right && left == 0;
}

/* A line of the proof as a row, with its hash computed from that of the row before it. */
static bool read_line(struct span line, struct arena *arena, struct walk_row *row, unsigned char hash[DIGEST_BYTES])
{
    const struct json_node *root, *before;
    unsigned char previous[DIGEST_BYTES];
    struct json_fault fault;
    struct buf canonical;
    bool right;

    arena_reset(arena);
    buf_init(&canonical, LINE_ARENA_BYTES);
    right = json_read(line, &json_file_rules, &canonical, arena, &root, &fault) == CODE_OK && root->type == JSON_OBJECT;
    before = right ? json_member(root, SPAN_LIT("before")) : NULL;
    right = before != NULL && num_unhex(before->text, previous, sizeof previous) == CODE_OK && read_columns(arena, root, row);
    if (right)
        row_hash(row->table, row->values, previous, hash);
    for (int i = 0; right && i < row_shape(row->table)->count; i++) /* what is kept must not stay in the buffer */
        right = row->values[i].kind != ROW_TEXT ||
                (row->values[i].bytes.at = arena_dup(arena, row->values[i].bytes.at, row->values[i].bytes.len)) != NULL;
    for (int i = 0; right && i < ROW_OUTSIDE_MAX; i++)
        right = row->outside[i].kind != ROW_TEXT ||
                (row->outside[i].bytes.at = arena_dup(arena, row->outside[i].bytes.at, row->outside[i].bytes.len)) != NULL;
    buf_fini(&canonical);
    return right;
}

/* A tenant's last row at some checkpoint. */
struct bound {
    uint64_t seq; /* 0: it had none */
    unsigned char hash[DIGEST_BYTES];
};

struct tenant_check {
    struct verifier verifier; /* for its permits and erasures only */
    struct verify_report ignored;
    struct span tenant;
    struct bound last;        /* the last row so far; at first, where the tenant stood when the file began */
    uint64_t begin;           /* rows up to this one are in files before */
    uint64_t size;            /* those behind this one are in no line: the checkpoint does not cover them */
    uint64_t erased;          /* calls without their values */
    uint64_t erasures_behind; /* events behind the checkpoint that took some, as a line says */
};

static bool check_line(struct proof *proof, struct tenant_check *check, const struct walk_row *row,
                       const unsigned char hash[DIGEST_BYTES])
{
    struct verify_values values = verify__values(&check->verifier, row);
    struct verify_row digested;
    long long seq = row->seq;

    verify__digest(row, &digested);
    if (!span_equals(digested.tenant, check->tenant))
        return refuse(proof, "row %lld is of another tenant", seq);
    if (row->seq <= (int64_t)check->begin || row->seq <= (int64_t)check->last.seq)
        return refuse(proof, "row %lld does not stand in its order", seq);
    if (check->last.seq == 0 && digested.previous_kind != ROW_NULL)
        return refuse(proof, "row %lld names an earlier row of the tenant, and nothing in the proof binds that one: the first "
                      "rows were left out, or it is of the form before 0.2 over a file that continues another; ask for a new "
                      "one", seq);
    if (check->last.seq != 0 &&
        (digested.previous_kind != ROW_BLOB || memcmp(digested.previous, check->last.hash, DIGEST_BYTES) != 0))
        return refuse(proof, "row %lld does not follow row %llu: a row of the tenant is missing, or was changed", seq,
                      (unsigned long long)check->last.seq);
    if (values.fault != NULL)
        return refuse(proof, "row %lld, %s: %s", seq, values.field, values.fault);
    check->erased += values.is_erased;
    if (row->table == ROW_OUTCOME && permits_find(&check->verifier.permits, (uint64_t)digested.decision) == NULL &&
        (digested.decision <= 0 || digested.decision > (int64_t)check->begin))
        return refuse(proof, "row %lld: row %lld is no permit that waits for an outcome", seq, (long long)digested.decision);
    if (row->table == ROW_OUTCOME)
        permits_remove(&check->verifier.permits, (uint64_t)digested.decision);
    memcpy(check->last.hash, hash, DIGEST_BYTES);
    check->last.seq = (uint64_t)row->seq;
    proof->report->rows++;
    return true;
}

static bool add_erasure(struct tenant_check *check, int64_t seq, int64_t before_us)
{
    struct erasure *erasure = arena_zalloc(&check->verifier.arena, sizeof *erasure);

    if (erasure == NULL)
        return false;
    *erasure = (struct erasure){check->verifier.erasures, check->tenant, seq, before_us};
    check->verifier.erasures = erasure;
    return true;
}

/* A line of table `erasure`: which event, that the checkpoint does not cover, took values away. It is the file's word alone. */
static bool read_erasure(struct proof *proof, struct tenant_check *check, struct span line)
{
    struct json_text read;
    int64_t seq, before_us;
    bool right = json_text_read(&read, line, &json_file_rules, LINE_ARENA_BYTES) == CODE_OK && read.root->count == 4 &&
                 span_equals(json_member_text(read.root, "tenant"), check->tenant) &&
                 json_member_number(read.root, "seq", 1, INT64_MAX, &seq) &&
                 json_member_number(read.root, "before_us", INT64_MIN, INT64_MAX, &before_us) && (uint64_t)seq > check->size;

    json_text_fini(&read);
    if (!right)
        return refuse(proof, "a line about an erasure is not as the format has it, or is of a row that the checkpoint covers");
    check->erasures_behind++;
    return add_erasure(check, seq, before_us) || refuse(proof, "not enough memory");
}

static bool is_erasure(const struct walk_row *row)
{
    return row->table == ROW_EVENT && row->values[E_KIND].kind == ROW_TEXT && span_is(row->values[E_KIND].bytes, "erased");
}

static bool keep_erasure(struct tenant_check *check, const struct walk_row *row)
{
    struct json_text detail;
    int64_t before_us = 0;

    if (json_text_read(&detail, row->values[E_DETAIL].bytes, &json_file_rules, LINE_ARENA_BYTES) == CODE_OK)
        (void)json_member_number(detail.root, "before_us", INT64_MIN, INT64_MAX, &before_us);
    json_text_fini(&detail);
    return add_erasure(check, row->seq, before_us);
}

/* Twice over the lines: erasures stand behind what they vouch for. */
static bool check_lines(struct proof *proof, struct tenant_check *check)
{
    static const unsigned char no_salt[ROW_SALT_BYTES];
    unsigned char hash[DIGEST_BYTES];
    struct arena arena;
    bool right = true;

    arena_init(&arena, LINE_ARENA_BYTES);
    for (int round = 0; round < 2 && right; round++) {
        struct span rest = proof->rest;

        while (rest.len > 0 && right) {
            struct span line = span_cut(rest, '\n', &rest);
            struct walk_row row;

            if (line.len == 0)
                continue;
            if (span_starts_with(line, SPAN_LIT("{\"table\":\"erasure\","))) {
                right = round == 1 || read_erasure(proof, check, line);
                continue;
            }
            right = read_line(line, &arena, &row, hash) || refuse(proof, "a line is no row as the format has it");
            if (right && round == 0 && is_erasure(&row))
                right = keep_erasure(check, &row) || refuse(proof, "not enough memory");
            if (right && round == 1)
                right = check_line(proof, check, &row, hash);
            if (right && round == 1 && row.table == ROW_DECISION && row.values[D_EXPECTS_OUTCOME].number == 1)
                right = permits_add(&check->verifier.permits, (uint64_t)row.seq, NULL, no_salt) == CODE_OK;
        }
    }
    arena_fini(&arena);
    proof->rest = SPAN_NONE;
    return right;
}

/* A proof's rows come from no file, and no source stands in place of one. */
static const struct verify_conf rows_of_a_proof = {.path = NULL};

static bool check_tenant_rows(struct proof *proof, struct tenant_check *check, const struct bound *last)
{
    bool right;

    check->verifier.report = &check->ignored;
    check->verifier.conf = &rows_of_a_proof;
    arena_init(&check->verifier.arena, LINE_ARENA_BYTES);
    right = permits_init(&check->verifier.permits) == CODE_OK && check_lines(proof, check);
    if (right && (check->last.seq != last->seq || memcmp(check->last.hash, last->hash, DIGEST_BYTES) != 0))
        right = refuse(proof, "the last row is %llu, but the checkpoint binds row %llu: rows are missing at the end",
                       (unsigned long long)check->last.seq, (unsigned long long)last->seq);
    permits_fini(&check->verifier.permits);
    arena_fini(&check->verifier.arena);
    return right;
}

static void say_tenant(const struct proof *proof, const struct tenant_check *check, const struct note *note)
{
    char *what = proof->report->what;
    int len = snprintf(what, sizeof proof->report->what, "these %llu rows are all of tenant '%.*s' from row %llu to row %llu "
                       "of %.*s", (unsigned long long)proof->report->rows, check->tenant.len < 60 ? (int)check->tenant.len : 60,
                       check->tenant.at, (unsigned long long)check->begin + 1, (unsigned long long)note->size,
                       SPAN_ARG(note->origin));

    if (check->erased > 0 && len > 0 && (size_t)len < sizeof proof->report->what)
        (void)snprintf(what + len, sizeof proof->report->what - (size_t)len, "; the values of %llu calls were erased%s",
                       (unsigned long long)check->erased,
                       check->erasures_behind > 0 ? ", also by events behind these rows, of which there is the file's word"
                                                  : "");
}

/* The tenant's last row at a checkpoint, the proof that this binds it, and the checkpoint. */
static bool read_bound(struct proof *proof, const struct keyring *keys, struct span tenant, struct bound *bound,
                       struct note *note)
{
    struct span seq_text = take_word(proof, "seq"), hash_text = take_word(proof, "hash");
    struct span index_text = take_word(proof, "index");
    unsigned char leaf[DIGEST_BYTES];
    uint64_t index;

    if (num_u64(seq_text, &bound->seq) != CODE_OK || !read_hash(hash_text, bound->hash) ||
        num_u64(index_text, &index) != CODE_OK)
        return refuse(proof, "its lines `seq`, `hash` and `index` are not as the format has them");
    proof->count = 0;
    if (!read_hashes(proof) || !read_note(proof, keys, note))
        return false;
    tenants_leaf(tenant, bound->seq, bound->hash, leaf);
    if (bound->seq == 0 || bound->seq > note->size || !note->has_tenants ||
        !merkle_is_in(leaf, index, note->tenants, (const unsigned char (*)[DIGEST_BYTES])proof->hash, proof->count,
                      note->tenants_root))
        return refuse(proof, "the tenant's last row is not the one that the checkpoint over %llu rows binds",
                      (unsigned long long)note->size);
    return true;
}

/* Where the tenant stood at the first checkpoint of a file that continues another: a row of it that a file before holds. */
static bool read_beginning(struct proof *proof, const struct keyring *keys, struct span tenant, const struct note *note,
                           struct bound *first, uint64_t *begin)
{
    struct note before;

    if (next_line(proof).len != 0 || !read_bound(proof, keys, tenant, first, &before))
        return refuse(proof, "where the tenant stood before its first row is not there as the format has it");
    if (!span_equals(before.origin, note->origin) || before.size > note->size)
        return refuse(proof, "the checkpoint that it begins with is not an earlier one of the same log");
    *begin = before.size;
    return true;
}

static bool check_tenant_proof(struct proof *proof, const struct keyring *keys, struct span wanted, bool continues)
{
    struct span name = take_word(proof, "tenant");
    struct tenant_check check = {.begin = 0};
    struct bound last;
    struct buf tenant;
    struct note note;
    bool right;

    buf_init(&tenant, 65536);
    right = name.at != NULL && base64_decode(name, &tenant) == CODE_OK;
    if (!right)
        right = refuse(proof, "its line `tenant` is not as the format has it");
    else if (wanted.at != NULL && !span_equals(wanted, buf_peek(&tenant)))
        right = refuse(proof, "it is of another tenant");
    right = right && read_bound(proof, keys, buf_peek(&tenant), &last, &note);
    if (right && continues)
        right = read_beginning(proof, keys, buf_peek(&tenant), &note, &check.last, &check.begin);
    check.tenant = buf_peek(&tenant);
    check.size = right ? note.size : 0;
    right = right && check_tenant_rows(proof, &check, &last);
    if (right)
        say_tenant(proof, &check, &note);
    buf_fini(&tenant);
    return right;
}

/* ---- any --------------------------------------------------------------------------------------------------------- */

bool audit_is_proof(struct span text)
{
    struct span rest, line = span_cut(text, '\n', &rest);

    return span_is(line, PROOF_ROW) || span_is(line, PROOF_CONSISTENCY) || span_is(line, PROOF_TENANT) ||
           span_is(line, PROOF_TENANT_ON);
}

enum code audit_check_proof(struct span text, const struct keyring *keys, struct span tenant, struct proof_report *report)
{
    struct proof *proof = mem_zalloc(sizeof *proof);
    struct span line;
    bool right;

    *report = (struct proof_report){.what = ""};
    if (proof == NULL)
        return CODE_NOMEM;
    proof->report = report;
    line = span_cut(text, '\n', &proof->rest);
    if (span_is(line, PROOF_ROW))
        right = check_row(proof, keys);
    else if (span_is(line, PROOF_CONSISTENCY))
        right = check_consistency(proof, keys);
    else if (span_is(line, PROOF_TENANT) || span_is(line, PROOF_TENANT_ON))
        right = check_tenant_proof(proof, keys, tenant, span_is(line, PROOF_TENANT_ON));
    else
        right = refuse(proof, "it is no proof");
    if (right && proof->rest.len > 0)
        right = refuse(proof, "something stands behind it that is no part of it");
    if (!right && report->fault[0] == '\0')
        (void)refuse(proof, "not enough memory");
    mem_free(proof);
    return CODE_OK;
}
