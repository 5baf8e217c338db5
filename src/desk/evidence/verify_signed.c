/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a file: what of it nobody signed. Whoever can write the file can write such rows, so that they count only while
 * they are younger than a gate takes to sign. And the keys that people give. */
#include "evidence/verify_priv.h"
#include "os/file.h"

#include <unistd.h>

#define KEY_BYTES ((size_t)65536)

/* Rows about checkpoints make none due, and the last of them may wait for long; what they name must be there, and what a gate
 * does not write in them counts as any other row. */
#define OF_CHECKPOINT "kind = 'checkpoint' AND tenant IS NULL AND actor = 'gate' AND CASE WHEN json_valid(detail) THEN " \
                      "detail = json_object('root', detail ->> '$.root', 'size', detail ->> '$.size') ELSE 0 END"

static int64_t covered_by(const struct verifier *verifier)
{
    return verifier->given > 0 ? (int64_t)verifier->report->proven_seq : verifier->agreed;
}

/* Checkpoints that came to count since are over all rows before the one at hand. */
static void begin_behind(struct verify_unsigned *rows, int64_t covered)
{
    if (rows->covered != covered)
        *rows = (struct verify_unsigned){.covered = covered};
}

static void add_unsigned(struct verify_unsigned *rows, int64_t first, int64_t count, int64_t oldest_us, int64_t newest_us)
{
    if (rows->count == 0)
        *rows = (struct verify_unsigned){rows->covered, 0, first, oldest_us, newest_us};
    rows->count += count;
    rows->first = first < rows->first ? first : rows->first;
    rows->oldest_us = oldest_us < rows->oldest_us ? oldest_us : rows->oldest_us;
    rows->newest_us = newest_us > rows->newest_us ? newest_us : rows->newest_us;
}

void verify__note_unsigned(struct verifier *verifier, const struct walk_row *row)
{
    const struct row_value *time_us = &row->values[D_TIME]; /* 0 where it is no number: that is no young row */

    _Static_assert((int)D_TIME == (int)O_TIME, "the same place in both");
    begin_behind(&verifier->unsigned_rows, covered_by(verifier));
    if (row->seq > verifier->unsigned_rows.covered)
        add_unsigned(&verifier->unsigned_rows, row->seq, 1, time_us->number, time_us->number);
}

/* Events, which are few, and which a source has all of. */
static enum code add_events(struct verifier *verifier)
{
    struct verify_unsigned *rows = &verifier->unsigned_rows;
    struct db_stmt *stmt;
    enum code code;

    begin_behind(rows, covered_by(verifier));
    code = db_find(verifier->db, "SELECT count(*), min(seq), min(time_us), max(time_us) FROM event WHERE seq > ? AND seq <= ? "
                   "AND (" OF_CHECKPOINT ") IS NOT 1", DB_VALUES(db_of_int(rows->covered), db_of_int(verifier->last)), &stmt);
    if (code == CODE_OK && db_int(stmt, 0) > 0)
        add_unsigned(rows, db_int(stmt, 1), db_int(stmt, 0), db_int(stmt, 2), db_int(stmt, 3));
    db_finalize(&stmt);
    return code;
}

/* Whether a gate that signs wrote the file; a fleet's do. */
static bool is_signing(const struct verifier *verifier)
{
    return verify__awaits(verifier, verifier->seq) || verifier->report->checkpoints > 0 ||
           verifier->keys.count > verifier->given;
}

static bool are_young(const struct verifier *verifier, const struct verify_unsigned *rows)
{
    int64_t patience = verifier->conf->unsigned_us > 0 ? verifier->conf->unsigned_us : VERIFY_UNSIGNED_US;

    if (patience > INT64_MAX / 4) /* so that it can be added to a time */
        patience = INT64_MAX / 4;
    return rows->count == 0 ||
           (rows->oldest_us >= verifier->now_us - patience && rows->newest_us <= verifier->now_us + patience);
}

/* A log in its first second has no checkpoint anywhere, and rows that none is due for. */
static enum code is_beginning(const struct verifier *verifier, const struct verify_unsigned *rows, bool *is)
{
    int64_t marks = 0;
    enum code code = verifier->has_checkpoints ? db_number(verifier->db, "SELECT count(*) FROM checkpoint", NULL, 0, &marks)
                                                   : CODE_OK;

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

static void judge(struct verifier *verifier, const struct verify_unsigned *rows)
{
    const struct verify_report *report = verifier->report;

    bool awaits = verify__awaits(verifier, verifier->seq);

    if ((verifier->stopped || report->is_sealed) && !awaits)
        verify__fault(verifier, verifier->seq, "event", "kind", "it is the last row, which a gate always signs, and only row "
                      "%lld is: the end was written anew, or checkpoints were taken out", (long long)rows->covered);
    else if (!are_young(verifier, rows))
        verify__doubt(verifier, awaits ? "rows %lld to %lld are here without a checkpoint over them, which a node brings "
                      "within seconds: it ended before that, and its next start brings it, or somebody else wrote them"
                      : "rows %lld to %lld are not signed, although a gate signs a row within seconds: it died before "
                      "that, or somebody else wrote them", (long long)rows->first, (long long)verifier->seq);
}

enum code verify__end_signed(struct verifier *verifier)
{
    struct verify_report *report = verifier->report;
    const struct verify_unsigned *rows = &verifier->unsigned_rows;
    bool begins = false;
    enum code code = add_events(verifier);

    if (code == CODE_OK)
        code = is_beginning(verifier, rows, &begins);
    if (!begins)
        miss_checkpoints(verifier);
    if (code == CODE_OK && rows->count > 0 && verify__evident_faults(verifier) == 0 && is_signing(verifier))
        judge(verifier, rows);
    if (verifier->conf->ends_trail && report->is_sealed && verifier->conf->source == NULL) /* the next file comes with a row */
        verify__doubt(verifier, "the trail ends with a sealed file: the one behind it is not here; only a gate that died in a "
                      "rotation leaves that, until its next start");
    report->is_proven = code == CODE_OK && verifier->given > 0 && rows->count == 0 && verify__evident_faults(verifier) == 0 &&
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
