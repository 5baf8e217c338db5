/* SPDX-License-Identifier: Apache-2.0 */
/* A writer that runs, and what others do to its files. */
#ifndef TESTS_PLACE_BENCH_H
#define TESTS_PLACE_BENCH_H

#include "audit/writer_priv.h"
#include "db/db.h"
#include "fakes/audit_whole.h"
#include "files/files.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct bench {
    struct audit_file file;
    struct audit *(*open)(const struct audit_file *file);
    struct audit *audit;
    char live[FILES_PATH_BYTES], beside[FILES_PATH_BYTES];
    long long told;
};

static inline void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static inline struct audit *open_unsigned(const struct audit_file *file)
{
    return audit_file_open(file, 1);
}

static inline int set_up(void **state, struct audit *(*open)(const struct audit_file *file))
{
    struct bench *bench = calloc(1, sizeof *bench);

    audit_file_init(&bench->file);
    bench->open = open;
    bench->audit = open(&bench->file);
    assert_int_equal(files_live(bench->file.path, bench->live), CODE_OK);
    *state = bench;
    return 0;
}

static inline int setup(void **state)
{
    return set_up(state, open_unsigned);
}

static inline int teardown(void **state)
{
    struct bench *bench = *state;

    audit_close(&bench->audit);
    audit_file_fini(&bench->file);
    free(bench);
    return 0;
}

static inline void call_some(struct bench *bench, int count)
{
    for (int i = 0; i < count; i++, bench->told++)
        (void)audit_file_call(audit_ring(bench->audit, 0), "acme", "told");
}

static inline void rotated(const struct bench *bench, uint64_t times)
{
    struct audit_gauges gauges = {.rotations = 0};

    for (int naps = 0; gauges.rotations < times; naps++) {
        assert_true(naps < NAPS_MOST);
        nap();
        audit_gauges(bench->audit, &gauges);
    }
}

/* Every call that was told of is there once, over all files, which the next start finds sound; `why` stands where the file was left. */
static inline void expect_all(struct bench *bench, const char *why)
{
    char sql[256];

    audit_close(&bench->audit);
    bench->audit = bench->open(&bench->file);
    call_some(bench, 1);
    audit_close(&bench->audit);
    audit_whole_verify(&bench->file, NULL, SPAN_NONE, why);
    assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'told'"), bench->told);
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE kind = 'sealed' AND detail ->> 'why' LIKE '%%%s%%'", why);
    assert_true(audit_whole_sum(&bench->file, sql) >= 1);
}

static inline void change(struct bench *bench, const char *sql)
{
    struct db *db;
    struct why why = {""};

    assert_int_equal(db_open(bench->file.path, DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, sql), CODE_OK);
    db_close(&db);
}

#endif
