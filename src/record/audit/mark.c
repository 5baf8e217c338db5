/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/mark_priv.h"

#include "audit/kept_priv.h"
#include "base/mem.h"
#include "base/num.h"
#include "os/clock.h"

#include <string.h>

struct mark {
    bool is_all;
    struct buf heads; /* for each tenant a struct head_kept and its name */
};

struct head_kept {
    uint64_t seq;
    unsigned char hash[DIGEST_BYTES];
    uint64_t len;
};

#define MARK_BYTES ((size_t)1 << 29)

/* ---- the notary's part ---- */

struct mark *mark__make(const struct tenants *tenants, uint64_t since)
{
    struct mark *mark = mem_zalloc(sizeof *mark);

    if (mark == NULL)
        return NULL;
    mark->is_all = since == 0;
    buf_init(&mark->heads, MARK_BYTES);
    for (size_t i = 0; i < tenants->listed; i++) {
        const struct head *head = tenants->sorted[i];
        struct head_kept kept = {.seq = head->seq, .len = head->len};

        if (head->seq <= since)
            continue;
        memcpy(kept.hash, head->hash, DIGEST_BYTES);
        buf_add(&mark->heads, &kept, sizeof kept);
        buf_add(&mark->heads, head->tenant, head->len);
    }
    if (buf_code(&mark->heads) != CODE_OK)
        mark__free(&mark);
    return mark;
}

void mark__free(struct mark **mark)
{
    struct mark *gone = *mark;

    *mark = NULL;
    if (gone != NULL)
        buf_fini(&gone->heads);
    mem_free(gone);
}

/* ---- the writer's ---- */

static enum code put_heads(struct db *db, const struct mark *mark)
{
    struct span rest = buf_peek(&mark->heads);
    struct db_stmt *put = NULL;
    enum code code = mark->is_all ? db_exec(db, "DELETE FROM tenant_head") : CODE_OK;

    if (code == CODE_OK)
        code = db_prepare(db, "INSERT INTO tenant_head VALUES (?, ?, ?) ON CONFLICT (tenant) DO UPDATE SET seq = excluded.seq, "
                          "hash = excluded.hash", &put);
    while (code == CODE_OK && rest.len > 0) {
        struct head_kept kept;

        memcpy(&kept, rest.at, sizeof kept);
        db_bind_text(put, 1, span_part(rest, sizeof kept, (size_t)kept.len));
        db_bind_int(put, 2, (int64_t)kept.seq);
        db_bind_blob(put, 3, span_of(kept.hash, DIGEST_BYTES));
        code = db_run(put);
        rest = span_part(rest, sizeof kept + (size_t)kept.len, SIZE_MAX);
    }
    db_finalize(&put);
    return code;
}

#define OPEN_EVENT "open_permits"

/* Writes a text, for whoever looks: numbers, each with a blank before it. A list of none is a text, too. */
static enum code list_open(const struct permits *permits, struct buf *out)
{
    buf_add_text(out, "open");
    for (size_t i = 0; i < permits->size; i++)
        if (permits->slots[i].seq != 0 && !permits->slots[i].closing)
            buf_addf(out, " %llu", (unsigned long long)permits->slots[i].seq);
    return buf_code(out);
}

static enum code describe_list(struct span list, uint64_t size, struct buf *out)
{
    unsigned char digest[DIGEST_BYTES];

    digest_of(list, digest);
    (void)buf_add_text(out, "{\"digest\":\"");
    (void)base64_encode(span_of(digest, sizeof digest), out);
    return buf_addf(out, "\",\"size\":%llu}", (unsigned long long)size);
}

/* The next checkpoint signs this event, with the rows behind it. */
static enum code put_event(struct ledger *ledger, struct span list, const struct checkpoint *checkpoint)
{
    struct audit_event event = {.time_us = clock_wall_us(), .kind = SPAN_LIT(OPEN_EVENT), .actor = SPAN_LIT("gate")};
    struct buf detail;
    enum code code;

    buf_init(&detail, AUDIT_JSON_BYTES);
    code = describe_list(list, checkpoint->size, &detail);
    event.detail = buf_peek(&detail);
    if (code == CODE_OK)
        code = ledger_event(ledger, &event);
    buf_fini(&detail);
    return code;
}

enum code mark__put(struct ledger *ledger, const struct checkpoint *checkpoint, bool lists)
{
    struct buf open;
    enum code code = CODE_OK;

    buf_init(&open, MARK_BYTES);
    if (lists)
        code = list_open(&ledger->permits, &open);
    if (code == CODE_OK && lists)
        code = put_event(ledger, buf_peek(&open), checkpoint);
    if (code == CODE_OK)
        code = put_heads(ledger->db, checkpoint->mark);
    if (code == CODE_OK)
        code = db_exec(ledger->db, "DELETE FROM head_mark");
    if (code == CODE_OK)
        code = db_change(ledger->db, "INSERT INTO head_mark VALUES (?1, ?2, ?3)",
                         DB_VALUES(db_of_int((int64_t)checkpoint->size), db_of_int((int64_t)ledger->tip.seq),
                                   db_of_text(lists ? buf_peek(&open) : SPAN_LIT(""))));
    buf_fini(&open);
    return code;
}

/* ---- at a start ---- */

/* The tree over the tenants' last rows as the file has them; of two rows of a tenant the later one counts. */
static enum code grow(struct db *db, struct tenants *tenants, unsigned char root[DIGEST_BYTES])
{
    struct db_stmt *row = NULL;
    enum code code = db_select(db, "SELECT tenant, seq, hash FROM tenant_start UNION ALL "
                               "SELECT tenant, seq, hash FROM tenant_head", NULL, 0, &row);

    while (db_next(&row, &code))
        code = db_blob(row, 2).len != DIGEST_BYTES ? CODE_INVALID
               : tenants_set(tenants, db_text(row, 0), (uint64_t)db_int(row, 1), (const unsigned char *)db_blob(row, 2).at);
    return code == CODE_OK ? tenants_root(tenants, root) : code;
}

static bool is_signed(struct span text, const struct notary *notary, uint64_t size, struct note *note)
{
    struct note_key key = {.name = ""};

    return notary__public(notary, key.public) == CODE_OK && note_read(text, note) == CODE_OK && note->size == size &&
           note->has_tenants && span_is(note->origin, notary->origin) && note_verify(note, &key) == NOTE_SIGNED;
}

enum code mark__find(struct db *db, const struct notary *notary, uint64_t *size)
{
    struct db_stmt *row = NULL;
    struct tenants tenants;
    unsigned char root[DIGEST_BYTES];
    struct note note;
    uint64_t found = 0;
    enum code code = db_find(db, "SELECT m.size, c.note FROM head_mark AS m JOIN checkpoint AS c ON c.size = m.size "
                             "WHERE m.size > (SELECT seq FROM file) AND m.tip <= (" ROW_MAX_SEQ ") "
                             "ORDER BY m.size DESC LIMIT 1", NULL, 0, &row);

    *size = 0;
    if (code == CODE_OK)
        found = (uint64_t)db_int(row, 0);
    if (code != CODE_OK || !is_signed(db_text(row, 1), notary, found, &note)) {
        db_finalize(&row);
        return code == CODE_NOT_FOUND ? CODE_OK : code;
    }
    code = tenants_init(&tenants);
    if (code == CODE_OK)
        code = grow(db, &tenants, root);
    if (code == CODE_OK && note.tenants == tenants.heads.count && memcmp(root, note.tenants_root, DIGEST_BYTES) == 0)
        *size = found;
    tenants_fini(&tenants);
    db_finalize(&row);
    return code == CODE_INVALID || code == CODE_LIMIT ? CODE_OK : code;
}

static enum code add_open(struct ledger *ledger, struct span list)
{
    struct db_stmt *row = NULL;
    enum code code = CODE_OK;

    while (list.len > 0 && code == CODE_OK) {
        struct span one = span_cut(list, ' ', &list), salt;
        unsigned char kept[ROW_SALT_BYTES] = {0};
        struct head *head = NULL;
        uint64_t seq = 0;

        if (num_u64(one, &seq) != CODE_OK)
            continue;
        code = db_find(ledger->db, "SELECT tenant, salt FROM decision WHERE seq = ?1 AND expects_outcome = 1 AND NOT EXISTS "
                       "(SELECT 1 FROM outcome WHERE decision = ?1)", DB_VALUES(db_of_int((int64_t)seq)), &row);
        salt = code == CODE_OK ? db_blob(row, 1) : SPAN_NONE;
        if (salt.len == sizeof kept)
            memcpy(kept, salt.at, sizeof kept);
        if (code == CODE_OK && db_text(row, 0).at != NULL)
            code = heads_find(&ledger->heads, db_text(row, 0), &head);
        if (code == CODE_OK && permits_find(&ledger->permits, seq) == NULL)
            code = permits_add(&ledger->permits, seq, head, kept);
        db_finalize(&row);
        code = code == CODE_NOT_FOUND ? CODE_OK : code;
    }
    return code;
}

/* ---- whether the list is what was written ---- */

/* Whether the event in row `tip` names this list. */
static enum code is_named(struct db *db, int64_t tip, struct span list, uint64_t size, bool *is)
{
    struct db_stmt *row = NULL;
    struct buf detail;
    enum code code = db_find(db, "SELECT detail FROM event WHERE seq = ?1 AND kind = '" OPEN_EVENT "'",
                             DB_VALUES(db_of_int(tip)), &row);

    buf_init(&detail, AUDIT_JSON_BYTES);
    if (code == CODE_OK)
        code = describe_list(list, size, &detail);
    *is = code == CODE_OK && span_equals(db_text(row, 0), buf_peek(&detail));
    buf_fini(&detail);
    db_finalize(&row);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code mark__find_open(struct ledger *ledger, const struct notary *notary, uint64_t size, uint64_t *behind)
{
    struct db_stmt *row = NULL;
    bool is_vouched = false;
    enum code code = size == 0 ? CODE_NOT_FOUND : db_find(ledger->db, "SELECT tip, open FROM head_mark WHERE size = ?1 "
                                                          "AND tip > size", DB_VALUES(db_of_int((int64_t)size)), &row);

    if (code == CODE_OK)
        code = is_named(ledger->db, db_int(row, 0), db_text(row, 1), size, &is_vouched);
    if (code == CODE_OK && is_vouched)
        code = kept__is_signed(notary, ledger->db, db_int(row, 0), &is_vouched);
    *behind = 0;
    if (code == CODE_OK && is_vouched) {
        *behind = (uint64_t)db_int(row, 0);
        code = add_open(ledger, db_text(row, 1));
    }
    db_finalize(&row);
    return code == CODE_OK || code == CODE_NOT_FOUND ? ledger_find_open(ledger, *behind) : code;
}
