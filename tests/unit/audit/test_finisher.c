/* SPDX-License-Identifier: Apache-2.0 */
#include "files/finisher.h"
#include "audit/writer_priv.h"
#include "trail_bench.h"

#include <time.h>

/* 11.11: while calls come fast a sealed file gets no indices; its -wal file is gone, what it holds is found, and it is finished later. */
TEST_CASE_WITH(test_indices_wait, setup, teardown)
{
    static const char *const known = "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'";
    struct bench *bench = *state;
    struct finisher *finisher;
    struct audit_file sealed;
    clock_t spent;
    int tries = 0;

    start(bench);
    finisher = &bench->audit->finisher;
    atomic_store(&finisher->loaded_us, INT64_MAX);
    audit_file_call(audit_ring(bench->audit, 0), "acme", "c");
    archive(bench);
    in_file(bench, 0, &sealed);
    for (; files_has_log(sealed.path); nap())
        continue;
    for (int round = 0; round < 3; round++, nap()) {
        finisher_poke(finisher);
        assert_true(files_is_unfinished(sealed.path));
        assert_int_equal(audit_file_number(&sealed, known), 0);
        (void)verify_all(bench);
        assert_int_equal(audit_whole_sum(&bench->file, "SELECT count(*) FROM decision WHERE correlation = 'c'"), 1);
    }
    atomic_store(&finisher->loaded_us, 1);
    for (finisher_poke(finisher); files_is_unfinished(sealed.path); nap())
        continue;
    assert_int_equal(audit_file_number(&sealed, known), 1);
    do { /* with nothing left to do all rest, once what it brought about is done, too */
        assert_true(tries++ < 60);
        spent = clock();
        (void)nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    } while (clock() - spent >= CLOCKS_PER_SEC / 20);
}

TEST_MAIN(NULL, NULL)
