/* SPDX-License-Identifier: Apache-2.0 */
/* A log with its file of checkpoints, that gates are started over. */
#ifndef TESTS_KEPT_BENCH_H
#define TESTS_KEPT_BENCH_H

#include "audit/kept_priv.h"
#include "evidence/verify.h"
#include "files/files.h"
#include "fakes/audit_file.h"
#include "os/clock.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct bench {
    struct audit_file file;
    struct audit_checkpoints conf;
    struct sign_key *key;
    char heads[128], copy[128];
    struct why why;
    char text[1 << 16]; /* of heads */
    size_t len;
};

static inline void new_key(struct sign_key **key)
{
    struct buf pem;

    buf_init(&pem, 4096);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), key), CODE_OK);
    buf_fini(&pem);
}

static inline int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);

    audit_file_init(&bench->file);
    (void)snprintf(bench->heads, sizeof bench->heads, "%s.heads", bench->file.path);
    (void)snprintf(bench->copy, sizeof bench->copy, "%s/copy", bench->file.folder);
    new_key(&bench->key);
    bench->conf = (struct audit_checkpoints){.key = bench->key, .file = bench->heads, .interval_ms = 5, .rows = 1000000};
    *state = bench;
    return 0;
}

static inline int teardown(void **state)
{
    struct bench *bench = *state;

    audit_file_fini(&bench->file);
    sign_key_free(&bench->key);
    free(bench);
    return 0;
}

static inline void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    assert_true(in != NULL && out != NULL);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* The live file and the link to it. */
static inline void lose(const struct bench *bench)
{
    char live[FILES_PATH_BYTES];

    assert_int_equal(files_live(bench->file.path, live), CODE_OK);
    files_remove(live);
    assert_int_equal(unlink(bench->file.path), 0);
}

static inline enum code open_audit(struct bench *bench, const char *accepted, struct audit **audit)
{
    const struct audit_conf conf = {.path = bench->file.path, .rings = 1, .node = "node-1", .version = SPAN_LIT("0.1.0"),
                                    .checkpoints = bench->conf, .loss = {.why = accepted, .actor = "ada"}};
    enum code code = audit_open(&conf, audit, &bench->why);

    if (code == CODE_OK)
        assert_int_equal(audit_start(*audit, &bench->why), CODE_OK);
    return code;
}

static inline void run(struct bench *bench, const char *accepted, int calls)
{
    struct audit *audit;

    if (open_audit(bench, accepted, &audit) != CODE_OK)
        fail_msg("%s", bench->why.text);
    for (int i = 0; i < calls; i++)
        (void)audit_file_call(audit_ring(audit, 0), "acme", "c");
    audit_close(&audit);
}

static inline void refused(struct bench *bench, const char *accepted, const char *word)
{
    struct audit *audit;

    bench->why.text[0] = '\0';
    assert_int_equal(open_audit(bench, accepted, &audit), CODE_INVALID);
    if (strstr(bench->why.text, word) == NULL)
        fail_msg("no \"%s\" in: %s", word, bench->why.text);
}

static inline long long events(const struct bench *bench, const char *kind)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE kind = '%s'", kind);
    return audit_file_number(&bench->file, sql);
}

static inline void read_heads(struct bench *bench)
{
    FILE *file = fopen(bench->heads, "rb");

    assert_non_null(file);
    bench->len = fread(bench->text, 1, sizeof bench->text, file);
    fclose(file);
    assert_true(bench->len > 0 && bench->len < sizeof bench->text);
}

static inline void write_heads(struct bench *bench, const char *text, size_t len)
{
    FILE *file = fopen(bench->heads, "wb");

    assert_true(file != NULL && fwrite(text, 1, len, file) == len);
    fclose(file);
}

static inline const struct verify_report *verify(struct bench *bench, bool with_heads)
{
    static struct verify_report report;
    struct verify_conf conf = {.path = bench->file.path};

    if (with_heads) {
        read_heads(bench);
        conf.heads = span_of(bench->text, bench->len);
    }
    assert_int_equal(audit_verify(&conf, &report, &bench->why), CODE_OK);
    return &report;
}

#endif
