/* SPDX-License-Identifier: Apache-2.0 */
/* 3.10: every sync of a run fails in turn, once, and what it could not write stays readable or is thrown away, but is written by
 * no later sync. Whatever the power leaves then, when it is cut while the audit is down, after it came back and at the end: every
 * row that was told is there, the chain is whole, and no checkpoint covers what is gone. */
#include "audit/writer.h"

#include "db/db.h"
#include "evidence/verify.h"
#include "fakes/audit_file.h"
#include "fakes/audit_whole.h"
#include "fakes/fake_signer.h"
#include "fakes/fault_vfs.h"
#include "fakes/sample.h"
#include "os/file.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LARGE_BYTES 60000
#define NONE 1000000 /* of so many syncs none fails */

struct bench {
    struct audit_file file, after; /* where the gate runs; what the power left of it */
    struct audit_conf conf;
    struct audit *audit;
    struct note_key known;
    struct sign_key *key;
    struct fake_signer signer;
    bool signs_elsewhere;
    char heads[128], large[LARGE_BYTES];
    uint64_t told[256];
    size_t told_count;
};

static struct bench bench;

static struct sign_key *new_key(void)
{
    struct sign_key *key;
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &key), CODE_OK);
    assert_int_equal(sign_key_public(key, bench.known.public), CODE_OK);
    buf_fini(&pem);
    return key;
}

static enum code open_once(struct why *why)
{
    if (bench.signs_elsewhere) {
        bench.conf.checkpoints.key = NULL;
        bench.conf.checkpoints.signer = fake_signer_start(&bench.signer, bench.key);
    }
    return audit_open(&bench.conf, &bench.audit, why);
}

static void open_in_the_end(void)
{
    struct why why = {0};

    if (open_once(&why) != CODE_OK) {
        assert_int_equal(fault_vfs_failed(), 1);
        assert_true(why.text[0] != '\0');
        if (open_once(&why) != CODE_OK)
            fail_msg("not even with a sound disk: %s", why.text);
    }
    assert_int_equal(audit_start(bench.audit, &why), CODE_OK);
}

static void nap_ms(long ms)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Several at once, so that a commit has many; some are large, so that the -wal file is copied into the main one. */
static void call_some(int count, size_t arguments_bytes)
{
    struct audit_ring *ring = audit_ring(bench.audit, 0);
    struct audit_decision decision = audit_call("acme", "c");
    uint64_t tickets[64], seq;
    int put = 0;

    if (arguments_bytes > 0)
        decision.arguments = span_of(bench.large, arguments_bytes);
    for (int i = 0; i < count; i++) {
        enum code code = audit_put_decision(ring, &decision, &tickets[put]);

        put += code == CODE_OK;
        if (code == CODE_BUSY)
            nap_ms(1);
    }
    for (int i = 0; i < put; i++) {
        struct audit_result answer;

        if (audit_file_wait(ring, tickets[i], &seq) != AUDIT_DURABLE)
            continue;
        bench.told[bench.told_count++] = seq;
        answer = audit_answer(seq);
        audit_put_result(ring, &answer);
    }
}

static void expect_whole(const char *when, struct span heads)
{
    bool is_signed = audit_file_number(&bench.after, "SELECT count(*) FROM checkpoint") > 0;

    audit_whole_verify(&bench.after, is_signed ? &bench.known : NULL, heads, when);
}

static void power_fails(const char *when)
{
    size_t told = bench.told_count; /* the checkpoints that are out must not know more than the disk then has */
    struct audit_conf conf = bench.conf;
    struct audit *again;
    struct buf heads;
    struct why why = {0};

    buf_init(&heads, 1 << 20);
    if (access(bench.heads, F_OK) == 0)
        assert_int_equal(file_read(bench.heads, FILE_ANY, 1 << 20, &heads, &why), CODE_OK);
    fault_vfs_cut_power(bench.file.path, bench.after.path);
    if (told > 0) {
        expect_whole(when, buf_peek(&heads));
        audit_whole_has(&bench.after, "SELECT seq FROM decision WHERE verdict = 'permit'", bench.told, told, when);
        conf.path = bench.after.path;
        conf.checkpoints = (struct audit_checkpoints){.key = bench.key};
        if (audit_open(&conf, &again, &why) != CODE_OK)
            fail_msg("%s: %s", when, why.text);
        audit_close(&again);
        expect_whole(when, buf_peek(&heads));
        assert_int_equal(audit_file_number(&bench.after, "SELECT count(*) FROM unfinished"), 0);
    }
    buf_fini(&heads);
    audit_file_fini(&bench.after);
    audit_file_init(&bench.after);
}

/* Until a sync has failed all is as in the run in which none does, and there the power is cut at each moment, too. */
static void power_may_fail(int nth, const char *when)
{
    if (nth == NONE || fault_vfs_failed() > 0)
        power_fails(when);
}

static void wait_up(void)
{
    for (int tries = 0; audit_is_down(audit_ring(bench.audit, 0)); tries++) {
        assert_true(tries < NAPS_MOST);
        nap_ms(5);
    }
}

/* Returns how many syncs there were. */
static int run(enum fault_pages pages, int nth)
{
    static const char *const moments[] = {"after small calls", "while down or soon after", "when up again", "at the end"};
    char when[4][80];
    int syncs;

    audit_file_init(&bench.file);
    audit_file_init(&bench.after);
    (void)snprintf(bench.heads, sizeof bench.heads, "%s.heads", bench.file.path);
    bench.conf = (struct audit_conf){.path = bench.file.path, .rings = 1, .node = "n",
                                     .checkpoints = {.key = bench.key, .file = bench.heads, .interval_ms = 3}};
    for (int i = 0; i < 4; i++)
        (void)snprintf(when[i], sizeof when[i], "sync %d, pages %s, %s", nth, pages == PAGES_KEPT ? "kept" : "dropped", moments[i]);
    bench.told_count = 0;
    fault_vfs_track(bench.file.path, pages);
    fault_vfs_set_once(FAULT_SYNC, nth);
    open_in_the_end();
    for (int i = 0; i < 4; i++)
        call_some(1, 0);
    wait_up();
    call_some(1, 0);
    power_may_fail(nth, when[0]);
    for (int i = 0; i < 4; i++)
        call_some(12, LARGE_BYTES);
    power_may_fail(nth, when[1]);
    wait_up();
    call_some(3, 0);
    power_may_fail(nth, when[2]);
    audit_close(&bench.audit);
    syncs = fault_vfs_matched();
    fault_vfs_set(FAULT_NONE, 0);
    power_fails(when[3]);
    audit_file_fini(&bench.file);
    audit_file_fini(&bench.after);
    return syncs;
}

static void run_all(enum fault_pages pages)
{
    struct sign_key *key = new_key();
    int syncs;

    bench.key = key;
    memset(bench.large, 'a', sizeof bench.large);
    bench.large[0] = bench.large[LARGE_BYTES - 1] = '"';
    syncs = run(pages, NONE);
    assert_true(syncs > 15 && syncs < 500);
    for (int nth = 1; nth <= syncs; nth += (int)sample_step())
        (void)run(pages, nth);
    fake_signer_stop(&bench.signer);
    sign_key_free(&key);
}

TEST_CASE(test_pages_kept)
{
    run_all(PAGES_KEPT);
}

TEST_CASE(test_pages_dropped)
{
    bench.signs_elsewhere = true; /* 4.15: as the gate does, in another process */
    run_all(PAGES_DROPPED);
}

int main(void)
{
    if (access("/dev/shm", W_OK) == 0) /* the disk is simulated; no real one need be waited for */
        (void)setenv("CALLGATE_TEST_FOLDER", "/dev/shm", 0);
    (void)setenv("CALLGATE_HASTE", "20", 1); /* an outage a sync */
    fault_vfs_install();
    return tests_run(NULL, NULL);
}
