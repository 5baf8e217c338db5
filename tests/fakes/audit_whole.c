/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/audit_whole.h"

#include "fakes/audit_file.h"

#include "files/trail.h"
#include "db/db.h"
#include "evidence/verify.h"

#include <stdio.h>
#include <stdlib.h>

static struct trail find(const struct audit_file *file)
{
    struct trail trail;
    struct why why = {""};

    if (trail_find(file->path, true, &trail, &why) == CODE_OK && trail.missing_to == 0)
        return trail;
    (void)fprintf(stderr, "audit_whole: %s: %s, or a file is missing\n", file->path, why.text);
    abort();
}

long long audit_whole_sum(const struct audit_file *file, const char *sql)
{
    struct trail trail = find(file);
    long long sum = 0;

    for (size_t i = 0; i < trail.count; i++) {
        struct audit_file one;

        (void)snprintf(one.path, sizeof one.path, "%s", trail.files[i].path);
        sum += audit_file_number(&one, sql);
    }
    trail_fini(&trail);
    return sum;
}

static void count_each(const char *path, const char *sql, const uint64_t *numbers, size_t count, unsigned *times)
{
    struct why why = {""};
    struct db_stmt *stmt;
    struct db *db;
    enum code code;

    if (db_open(path, DB_READ, &db, &why) != CODE_OK || db_prepare(db, sql, &stmt) != CODE_OK) {
        (void)fprintf(stderr, "audit_whole: %s: %s: %s\n", path, sql, why.text);
        abort();
    }
    while ((code = db_step(stmt)) == CODE_OK)
        for (size_t i = 0; i < count; i++)
            times[i] += numbers[i] == (uint64_t)db_int(stmt, 0);
    if (code != CODE_NOT_FOUND) {
        (void)fprintf(stderr, "audit_whole: %s: %s: %s\n", path, sql, db_error(db));
        abort();
    }
    db_finalize(&stmt);
    db_close(&db);
}

void audit_whole_has(const struct audit_file *file, const char *sql, const uint64_t *numbers, size_t count, const char *told)
{
    struct trail trail = find(file);
    unsigned *times = calloc(count + 1, sizeof *times);

    for (size_t i = 0; i < trail.count && times != NULL; i++)
        count_each(trail.files[i].path, sql, numbers, count, times);
    for (size_t i = 0; i < count; i++) {
        if (times != NULL && times[i] == 1)
            continue;
        (void)fprintf(stderr, "audit_whole: %s: row %llu was told and is there %u times: %s\n", told, (unsigned long long)numbers[i],
                      times != NULL ? times[i] : 0, sql);
        abort();
    }
    free(times);
    trail_fini(&trail);
}

void audit_whole_verify(const struct audit_file *file, const struct note_key *key, struct span heads, const char *when)
{
    static struct verify_report report;
    struct trail trail = find(file);
    struct verify_sequence *sequence;
    struct why why = {""};
    enum code code = verify_sequence_new(&trail, &sequence, &why);

    for (size_t i = 0; i < trail.count && code == CODE_OK; i++) {
        bool is_last = i + 1 == trail.count;
        const struct verify_conf conf = {.path = trail.files[i].path, .sequence = sequence, .keys = keyring_of(key),
                                         .heads = is_last ? heads : SPAN_NONE};

        code = audit_verify(&conf, &report, &why);
        if (code == CODE_OK && report.fault_count > 0)
            code = why_set(&why, CODE_INVALID, "%s: row %lld %s.%s: %s", conf.path, (long long)report.fault[0].seq,
                           report.fault[0].table, report.fault[0].field, report.fault[0].text);
    }
    if (code != CODE_OK) {
        (void)fprintf(stderr, "audit_whole: %s: %s\n", when, why.text);
        abort();
    }
    verify_sequence_free(&sequence);
    trail_fini(&trail);
}
