/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a file: what of it nobody signed. Whoever can write the file can write such rows, so that they count only while
 * they are younger than a gate takes to sign. And the keys that people give. */
#include "evidence/verify_priv.h"
#include "os/file.h"

#include <unistd.h>

#define KEY_BYTES ((size_t)65536)

struct unsigned_rows {
    int64_t count, first, oldest_us, newest_us;
};

/* Rows about checkpoints make none due, and the last of them may wait for long; what they name must be there, and what a gate
 * does not write in them counts as any other row. */
#define OF_CHECKPOINT "kind = 'checkpoint' AND tenant IS NULL AND actor = 'gate' AND CASE WHEN json_valid(detail) THEN " \
                      "detail = json_object('root', detail ->> '$.root', 'size', detail ->> '$.size') ELSE 0 END"

/* Of numbers behind `from`, up to `to`. */
static enum code add_unsigned(const struct verifier *verifier, int64_t from, int64_t to, struct unsigned_rows *rows)
{
    struct db_stmt *stmt;
    enum code code = db_find(verifier->db, "SELECT count(*), min(seq), min(time_us), max(time_us) FROM ("
                                "SELECT seq, time_us FROM decision WHERE seq > ?1 AND seq <= ?2 UNION ALL "
                                "SELECT seq, time_us FROM outcome WHERE seq > ?1 AND seq <= ?2 UNION ALL "
                                "SELECT seq, time_us FROM event WHERE seq > ?1 AND seq <= ?2 AND ("
                                OF_CHECKPOINT ") IS NOT 1)", DB_VALUES(db_of_int(from), db_of_int(to)), &stmt);

    if (code == CODE_OK && db_int(stmt, 0) > 0) {
        int64_t oldest_us = db_int(stmt, 2), newest_us = db_int(stmt, 3);

        if (rows->count == 0)
            *rows = (struct unsigned_rows){0, db_int(stmt, 1), oldest_us, newest_us};
        rows->count += db_int(stmt, 0);
        rows->oldest_us = oldest_us < rows->oldest_us ? oldest_us : rows->oldest_us;
        rows->newest_us = newest_us > rows->newest_us ? newest_us : rows->newest_us;
    }
    db_finalize(&stmt);
    return code;
}

static enum code read_unsigned(const struct verifier *verifier, int64_t covered, struct unsigned_rows *rows)
{
    int64_t last = covered, from;
    enum code code = CODE_OK;

    do {
        from = last;
        code = verify__bring(verifier, from < INT64_MAX ? from + 1 : from, &last);
        if (code == CODE_OK)
            code = add_unsigned(verifier, from, last < verifier->last ? last : verifier->last, rows);
    } while (code == CODE_OK && last < verifier->last);
    return code;
}

/* Whether a gate that signs wrote the file; a fleet's do. */
static bool is_signing(const struct verifier *verifier)
{
    return verify__awaits(verifier, verifier->seq) || verifier->report->checkpoints > 0 ||
           verifier->keys.count > verifier->given;
}

static bool are_young(const struct verifier *verifier, const struct unsigned_rows *rows)
{
    int64_t patience = verifier->conf->unsigned_us > 0 ? verifier->conf->unsigned_us : VERIFY_UNSIGNED_US;

    if (patience > INT64_MAX / 4) /* so that it can be added to a time */
        patience = INT64_MAX / 4;
    return rows->count == 0 ||
           (rows->oldest_us >= verifier->now_us - patience && rows->newest_us <= verifier->now_us + patience);
}

/* A log in its first second has no checkpoint anywhere, and rows that none is due for. */
static enum code is_beginning(const struct verifier *verifier, const struct unsigned_rows *rows, bool *is)
{
    int64_t marks = 0;
    enum code code = verifier->has_checkpoints ? db_number(verifier->db, "SELECT count(*) FROM checkpoint", &marks) : CODE_OK;

    *is = marks == 0 && (verify__awaits(verifier, verifier->seq) ||
                         (verifier->begin == 0 && verifier->outside_count == 0 && verifier->report->heads_elsewhere == 0 &&
                          !verifier->stopped && !verifier->report->is_sealed && are_young(verifier, rows)));
    return code;
}

static void miss_checkpoints(struct verifier *verifier)
{
    if (verifier->conf->heads.at != NULL && verifier->outside_seen == 0)
        verify__fault(verifier, 0, "heads", "note", "the file of checkpoints holds none");
    if (verifier->given > 0 && verifier->report->proven_seq == 0)
        verify__fault(verifier, 0, "checkpoint", "key", "no checkpoint is signed with the key that was given");
}

static void judge(struct verifier *verifier, int64_t covered, const struct unsigned_rows *rows)
{
    const struct verify_report *report = verifier->report;

    bool awaits = verify__awaits(verifier, verifier->seq);

    if ((verifier->stopped || report->is_sealed) && !awaits)
        verify__fault(verifier, verifier->seq, "event", "kind", "it is the last row, which a gate always signs, and only row "
                      "%lld is: the end was written anew, or checkpoints were taken out", (long long)covered);
    else if (!are_young(verifier, rows))
        verify__doubt(verifier, awaits ? "rows %lld to %lld are here without a checkpoint over them, which a node brings "
                      "within seconds: it ended before that, and its next start brings it, or somebody else wrote them"
                      : "rows %lld to %lld are not signed, although a gate signs a row within seconds: it died before "
                      "that, or somebody else wrote them", (long long)rows->first, (long long)verifier->seq);
}

enum code verify__end_signed(struct verifier *verifier)
{
    struct verify_report *report = verifier->report;
    int64_t covered = verifier->given > 0 ? (int64_t)report->proven_seq : verifier->agreed;
    struct unsigned_rows rows = {0};
    bool begins = false;
    enum code code = read_unsigned(verifier, covered, &rows);

    if (code == CODE_OK)
        code = is_beginning(verifier, &rows, &begins);
    if (!begins)
        miss_checkpoints(verifier);
    if (code == CODE_OK && rows.count > 0 && verify__evident_faults(verifier) == 0 && is_signing(verifier))
        judge(verifier, covered, &rows);
    if (verifier->conf->ends_trail && report->is_sealed && verifier->conf->source == NULL) /* the next file comes with a row */
        verify__doubt(verifier, "the trail ends with a sealed file: the one behind it is not here; only a gate that died in a "
                      "rotation leaves that, until its next start");
    report->is_proven = code == CODE_OK && verifier->given > 0 && rows.count == 0 && verify__evident_faults(verifier) == 0 &&
                        report->losses == 0;
    return code;
}

enum code verify_key_read(const char *given, struct keyring *keys, struct why *why)
{
    struct note_key key;
    struct buf text;
    enum code code;

    buf_init(&text, KEY_BYTES);
    code = note_key_read(span_text(given), &key) == CODE_OK || (strchr(given, '+') != NULL && access(given, F_OK) != 0)
               ? buf_add_text(&text, given)
               : file_read(given, FILE_ANY, KEY_BYTES, &text, why); /* a path may have a + in it, too */
    if (code == CODE_OK && note_key_read(buf_peek(&text), &key) != CODE_OK)
        code = why_set(why, CODE_INVALID, "%s is no public key of checkpoints; take audit-key.pub, a PEM file of an Ed25519 "
                       "key, or name+id+key", given);
    else if (code == CODE_OK && keys->count == KEYRING_MAX)
        code = why_set(why, CODE_INVALID, "--key: more than %d keys", KEYRING_MAX);
    else if (code == CODE_OK)
        keyring_add(keys, &key);
    buf_fini(&text);
    return code;
}
