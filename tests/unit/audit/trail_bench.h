/* SPDX-License-Identifier: Apache-2.0 */
/* An audit that is signed, sealed and killed by tests.
 *
 * Threads: the test's, but for the audit's own.
 * Owns: struct bench: the audit, its key and its folder.
 * Lifetime: setup to teardown.
 * Errors: the test fails. */
#ifndef AUDIT_TRAIL_BENCH_H
#define AUDIT_TRAIL_BENCH_H

#include "files/trail.h"
#include "evidence/verify.h"
#include "fakes/audit_file.h"
#include "fakes/audit_whole.h"

#include "db/db.h"
#include "fakes/cm.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef TRAIL_BENCH_OWN_STEPS
/* ---- the machine stops at the n-th change of the disk ------------------------------------------------------------ */

static atomic_int steps_left; /* 0: never */

static inline void step(void)
{
    if (atomic_load(&steps_left) > 0 && atomic_fetch_sub(&steps_left, 1) == 1)
        (void)raise(SIGKILL);
}

#define STEP_BEFORE(type, name, parameters, arguments)                  \
    type name parameters;                                               \
    type name parameters                                                \
    {                                                                   \
        union { void *symbol; type (*call) parameters; } next = {dlsym(RTLD_NEXT, #name)}; \
        step();                                                         \
        return next.call arguments;                                     \
    }

STEP_BEFORE(int, symlink, (const char *from, const char *to), (from, to))
STEP_BEFORE(int, unlink, (const char *path), (path))
STEP_BEFORE(int, fdatasync, (int fd), (fd))

static atomic_bool next_fails; /* once: to set the link to the next file */

int rename(const char *from, const char *to)
{
    size_t len = strlen(from);

    step();
    if (len > 5 && strcmp(from + len - 5, ".link") == 0 && atomic_exchange(&next_fails, false)) {
        errno = EIO;
        return -1;
    }
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static atomic_bool folders_fail; /* their syncs do */

int fsync(int fd);
int fsync(int fd)
{
    union { void *symbol; int (*call)(int fd); } next = {dlsym(RTLD_NEXT, "fsync")};
    struct stat there;

    step();
    if (atomic_load(&folders_fail) && fstat(fd, &there) == 0 && S_ISDIR(there.st_mode)) {
        errno = EIO;
        return -1;
    }
    return next.call(fd);
}
#endif

/* ---- the bench --------------------------------------------------------------------------------------------------- */

struct bench {
    struct audit_file file;
    struct audit_checkpoints conf;
    struct sign_key *key;
    struct note_key known;
    char heads[128];
    uint64_t rotate_bytes;
    struct audit *audit;
};

static inline int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct buf pem;

    audit_file_init(&bench->file);
    (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->file.path);
    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &bench->key), CODE_OK);
    assert_int_equal(sign_key_public(bench->key, bench->known.public), CODE_OK);
    buf_fini(&pem);
    bench->conf = (struct audit_checkpoints){.key = bench->key, .file = bench->heads};
    *state = bench;
    return 0;
}

static inline int teardown(void **state)
{
    struct bench *bench = *state;

    audit_close(&bench->audit);
    sign_key_free(&bench->key);
    audit_file_fini(&bench->file);
    free(bench);
    return 0;
}

static inline void start(struct bench *bench)
{
    const struct audit_conf conf = {.path = bench->file.path, .rings = 2, .node = "node-1", .version = SPAN_LIT("0.1.0"),
                                    .checkpoints = bench->conf, .rotate_bytes = bench->rotate_bytes};
    struct why why = {0};

    if (audit_open(&conf, &bench->audit, &why) != CODE_OK || audit_start(bench->audit, &why) != CODE_OK)
        fail_msg("%s", why.text);
}

static inline void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static inline bool is_over(struct bench *bench, int naps, struct audit_done *done)
{
    for (; naps > 0; naps--) {
        if (audit_job_over(bench->audit, done))
            return true;
        nap();
    }
    return false;
}

static inline void archive(struct bench *bench)
{
    struct audit_done done;

    assert_int_equal(audit_archive(bench->audit, SPAN_LIT("ann")), CODE_OK);
    assert_int_equal(audit_archive(bench->audit, SPAN_LIT("ann")), CODE_BUSY);
    assert_true(is_over(bench, NAPS_MOST, &done));
    assert_int_equal(done.code, CODE_OK);
    assert_int_equal(access(done.text, F_OK), 0);
}

static inline uint64_t hold(struct bench *bench, const char *tenant)
{
    const struct audit_decision decision = audit_call(tenant, "held");
    struct audit_ring *ring = audit_ring(bench->audit, 0);
    uint64_t seq = 0;

    assert_int_equal(audit_file_wait(ring, audit_file_put(ring, &decision), &seq), AUDIT_DURABLE);
    return seq;
}

static inline void answer(struct bench *bench, uint64_t seq)
{
    struct audit_result result = audit_answer(seq);

    audit_put_result(audit_ring(bench->audit, 0), &result);
}

/* Every file of the trail is whole, goes on from the one before, and none is missing. Returns: how many there are.
 * Takes: as_left: a kill may have come before the first checkpoint, or between the live file's sealing and the next. */
static inline size_t verify_files(struct bench *bench, bool as_left)
{
    static struct verify_report report;
    struct verify_sequence *sequence;
    struct trail trail;
    struct why why = {0};
    size_t count;

    if (trail_find(bench->file.path, true, &trail, &why) != CODE_OK || verify_sequence_new(&trail, &sequence, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_int_equal(trail.missing_to, 0);
    for (size_t i = 0; i < trail.count; i++) {
        struct verify_conf conf = {.path = trail.files[i].path, .sequence = sequence,
                                   .keys = keyring_of(as_left ? NULL : &bench->known)};

        if (audit_verify(&conf, &report, &why) != CODE_OK)
            fail_msg("%s", why.text);
        if (report.fault_count != 0)
            fail_msg("%s: row %lld, %s.%s: %s", conf.path, (long long)report.fault[0].seq, report.fault[0].table,
                     report.fault[0].field, report.fault[0].text);
        if (as_left)
            continue;
        assert_int_equal(report.is_sealed, i + 1 < trail.count);
        if (report.is_sealed)
            assert_int_equal(report.proven_seq, report.last_seq); /* the last checkpoint covers `sealed` */
    }
    count = trail.count;
    verify_sequence_free(&sequence);
    trail_fini(&trail);
    return count;
}

static inline size_t verify_all(struct bench *bench)
{
    return verify_files(bench, false);
}

static inline void in_file(const struct bench *bench, size_t at, struct audit_file *out)
{
    struct trail trail;
    struct why why = {0};

    assert_int_equal(trail_find(bench->file.path, true, &trail, &why), CODE_OK);
    assert_true(at < trail.count);
    (void)snprintf(out->path, sizeof out->path, "%s", trail.files[at].path);
    trail_fini(&trail);
}

static inline int files_like(const struct bench *bench, const char *end)
{
    DIR *folder = opendir(bench->file.folder);
    const struct dirent *entry;
    int count = 0;

    while ((entry = readdir(folder)) != NULL) {
        size_t len = strlen(entry->d_name), more = strlen(end);

        count += len >= more && strcmp(entry->d_name + len - more, end) == 0;
    }
    closedir(folder);
    return count;
}

#endif
