/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is read but rows and the signed notes: what is stored of trees beside them is not trusted here. */
#include "evidence/prove_priv.h"

#include "files/reader.h"
#include "files/reader_open.h"

enum code prove__fail(const struct prover *prover, enum code code)
{
    if (code == CODE_OK || prover->why->text[0] != '\0')
        return code;
    return why_set(prover->why, code, "%s: %s", prover->path, code == CODE_IO ? db_error(prover->db) : code_text(code));
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static enum code find_note(struct prover *prover, uint64_t size, struct buf *note)
{
    struct db_stmt *stmt;
    enum code code = db_select(prover->db, "SELECT note FROM checkpoint WHERE size = ?1 OR ?1 = 0 ORDER BY size DESC LIMIT 1",
                               DB_VALUES(db_of_int((int64_t)size)), &stmt);

    if (code != CODE_OK)
        return why_set(prover->why, CODE_NOT_FOUND, "%s holds no checkpoints; a gate of this version makes them", prover->path);
    code = db_step(stmt);
    if (code == CODE_OK)
        code = buf_add_span(note, db_text(stmt, 0));
    db_finalize(&stmt);
    if (code == CODE_NOT_FOUND && size == 0)
        return why_set(prover->why, code, "%s holds no checkpoint yet", prover->path);
    if (code == CODE_NOT_FOUND)
        return why_set(prover->why, code, "%s holds no checkpoint over exactly %llu rows; `SELECT size FROM checkpoint` lists "
                       "them", prover->path, (unsigned long long)size);
    return code;
}

static enum code read_start(struct prover *prover)
{
    struct db_stmt *stmt;
    enum code code = db_find(prover->db, "SELECT f.seq, c.peaks FROM file AS f LEFT JOIN checkpoint AS c ON c.size = f.seq",
                             NULL, 0, &stmt);

    if (code == CODE_OK && db_int(stmt, 0) != 0 &&
        !merkle_load(&prover->start, (uint64_t)db_int(stmt, 0), db_blob(stmt, 1)))
        code = why_set(prover->why, CODE_NOT_FOUND, "%s does not begin with the last checkpoint of the file before it",
                       prover->path);
    db_finalize(&stmt);
    return code;
}

enum code prove__open(struct prover *prover, const char *path, uint64_t size, struct why *why)
{
    enum code code;

    *prover = (struct prover){.path = path, .why = why};
    why->text[0] = '\0';
    buf_init(&prover->note, NOTE_BYTES);
    code = reader_open(path, &prover->db, why);
    if (code == CODE_NOT_FOUND || code == CODE_INVALID)
        code = CODE_IO; /* nothing can be proven out of it, which is no answer about a row */
    if (code == CODE_OK)
        code = db_exec(prover->db, "PRAGMA cache_size = -4096");
    if (code == CODE_OK)
        code = find_note(prover, size, &prover->note);
    if (code == CODE_OK && note_read(buf_peek(&prover->note), &prover->read) != CODE_OK)
        code = why_set(why, CODE_INVALID, "%s: its checkpoint is no signed note; see `callgate audit verify`", path);
    if (code == CODE_OK)
        code = read_start(prover);
    return prove__fail(prover, code);
}

void prove__close(struct prover *prover)
{
    buf_fini(&prover->note);
    db_close(&prover->db);
}

/* ---- roots over ranges of leaves --------------------------------------------------------------------------------- */

/* What lies before this file is known by its peaks alone; the ranges of proofs never cut one of them in two. */
static enum code begin_range(const struct prover *prover, const struct merkle_range *range, struct merkle *tree)
{
    uint64_t before = prover->start.size, inside;

    *tree = (struct merkle){.size = 0};
    if (range->begin >= before)
        return CODE_OK;
    inside = (range->end < before ? range->end : before) - range->begin;
    if (range->end < before && (inside & (inside - 1)) != 0)
        return CODE_NOT_FOUND;
    for (int level = 0; level < MERKLE_PEAKS; level++) {
        uint64_t behind = level == 63 ? 0 : before >> (level + 1) << (level + 1);

        if ((inside >> level & 1) == 0)
            continue;
        if ((before >> level & 1) == 0 || (range->end < before && behind != range->begin))
            return CODE_NOT_FOUND;
        memcpy(tree->peak[level], prover->start.peak[level], DIGEST_BYTES);
    }
    tree->size = inside;
    return CODE_OK;
}

static enum code hash_range(const struct prover *prover, const struct merkle_range *range, unsigned char root[DIGEST_BYTES])
{
    struct merkle tree;
    struct walk leaves;
    struct leaf leaf;
    enum code code = begin_range(prover, range, &tree);

    if (code == CODE_NOT_FOUND)
        return why_set(prover->why, code, "%s: the proof needs rows of a file before this one; name that file", prover->path);
    code = walk_leaves(&leaves, prover->db, (int64_t)(range->begin + tree.size) + 1, (int64_t)range->end);
    if (code != CODE_OK)
        return code;
    while ((code = walk_next_leaf(&leaves, &leaf)) == CODE_OK) {
        unsigned char hash[DIGEST_BYTES];

        if ((uint64_t)leaf.seq != range->begin + tree.size + 1)
            break;
        merkle_leaf(leaf.hash, hash);
        merkle_add(&tree, hash);
    }
    walk_fini(&leaves);
    if (code == CODE_OK || (code == CODE_NOT_FOUND && tree.size != range->end - range->begin))
        return why_set(prover->why, CODE_INVALID, "%s: rows are missing; see `callgate audit verify`", prover->path);
    merkle_root(&tree, root);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code prove__add_hash(struct buf *out, const unsigned char hash[DIGEST_BYTES])
{
    base64_encode(span_of(hash, DIGEST_BYTES), out);
    return buf_add_byte(out, '\n');
}

static enum code add_ranges(const struct prover *prover, const struct merkle_range *ranges, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char root[DIGEST_BYTES];
        enum code code = hash_range(prover, &ranges[i], root);

        if (code != CODE_OK)
            return code;
        prove__add_hash(out, root);
    }
    return CODE_OK;
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

/* "extra": what the row's hash is made of, so that the proof shows the row itself. */
static enum code add_row(const struct prover *prover, uint64_t seq, struct buf *out)
{
    unsigned char before[DIGEST_BYTES];
    struct buf bytes;
    struct walk walk;
    struct walk_row row;
    enum code code = reader_hash(prover->db, (int64_t)seq - 1, before);

    if (code != CODE_OK)
        return code;
    code = walk_init(&walk, prover->db, (int64_t)seq, (int64_t)seq);
    if (code != CODE_OK)
        return code;
    buf_init(&bytes, SIZE_MAX / 4);
    code = walk_next(&walk, &row);
    buf_add(&bytes, before, DIGEST_BYTES);
    if (code == CODE_OK)
        code = row_bytes(row.table, row.values, &bytes);
    if (code == CODE_OK)
        code = base64_encode(buf_peek(&bytes), out);
    buf_fini(&bytes);
    walk_fini(&walk);
    return code;
}

static enum code write_row_proof(struct prover *prover, uint64_t seq, struct buf *out)
{
    struct merkle_range ranges[MERKLE_PROOF_MAX];
    enum code code;

    if (seq <= prover->start.size || seq > prover->read.size)
        return why_set(prover->why, CODE_NOT_FOUND, "row %llu is not among those that this checkpoint covers in this file: "
                       "%llu to %llu", (unsigned long long)seq, (unsigned long long)prover->start.size + 1,
                       (unsigned long long)prover->read.size);
    buf_add_text(out, PROOF_ROW "\nextra ");
    code = add_row(prover, seq, out);
    buf_addf(out, "\nindex %llu\n", (unsigned long long)seq - 1);
    if (code == CODE_OK)
        code = add_ranges(prover, ranges, merkle_path(seq - 1, prover->read.size, ranges), out);
    buf_add_byte(out, '\n');
    buf_add_span(out, buf_peek(&prover->note));
    return code == CODE_OK ? buf_code(out) : code;
}

enum code audit_prove_row(const char *path, uint64_t seq, uint64_t size, struct buf *out, struct why *why)
{
    struct prover prover;
    enum code code = prove__open(&prover, path, size, why);

    if (code == CODE_OK)
        code = prove__fail(&prover, write_row_proof(&prover, seq, out));
    prove__close(&prover);
    return code;
}

/* ---- two checkpoints --------------------------------------------------------------------------------------------- */

static enum code write_consistency(struct prover *prover, struct span old, struct buf *out)
{
    struct merkle_range ranges[MERKLE_PROOF_MAX];
    struct note note;
    enum code code;

    if (note_read(old, &note) != CODE_OK || note.size == 0)
        return why_set(prover->why, CODE_INVALID, "the first checkpoint is no signed note");
    if (note.size > prover->read.size)
        return why_set(prover->why, CODE_INVALID, "the first checkpoint covers %llu rows, the second only %llu; swap them",
                       (unsigned long long)note.size, (unsigned long long)prover->read.size);
    buf_add_text(out, PROOF_CONSISTENCY "\n");
    code = add_ranges(prover, ranges, merkle_consistency(note.size, prover->read.size, ranges), out);
    buf_add_byte(out, '\n');
    buf_add_span(out, old);
    buf_add_byte(out, '\n');
    buf_add_span(out, buf_peek(&prover->note));
    return code == CODE_OK ? buf_code(out) : code;
}

enum code audit_prove_consistency(const char *path, struct span old, uint64_t size, struct buf *out, struct why *why)
{
    struct prover prover;
    enum code code = prove__open(&prover, path, size, why);

    if (code == CODE_OK)
        code = prove__fail(&prover, write_consistency(&prover, old, out));
    prove__close(&prover);
    return code;
}

enum code audit_find_checkpoint(const char *path, uint64_t size, struct buf *note, struct why *why)
{
    struct prover prover;
    enum code code = prove__open(&prover, path, size, why);

    if (code == CODE_OK)
        code = prove__fail(&prover, buf_add_span(note, buf_peek(&prover.note)));
    prove__close(&prover);
    return code;
}
