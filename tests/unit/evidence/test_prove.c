/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1: a proof holds as it was written and in no other way: whichever byte is changed, whatever is left out, put behind it or taken from
 * another log, and whoever else's key or tenant is asked for. */
#include "proof/merkle.h"
#include "evidence/prove.h"
#include "fakes/audit_file.h"

#include "fakes/cm.h"
#include "os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct bench {
    struct audit_file file;
    struct sign_key *key;
    struct note_key known;
    struct buf first;              /* an earlier checkpoint */
    struct buf row, longer, tenant, later; /* proofs; the last one of a file that continues another */
};

static enum code keep_text(void *context, struct span text)
{
    return buf_add_span(context, text);
}

/* The file is sealed; acme goes on in the next one, gamma begins there, and beta has no row in it. */
static void go_on(struct bench *bench, const struct audit_checkpoints *conf)
{
    struct audit *audit = audit_file_open_signed(&bench->file, 1, conf);
    struct audit_done done;
    struct why why = {""};

    assert_int_equal(audit_archive(audit, SPAN_LIT("ann")), CODE_OK);
    while (!audit_job_over(audit, &done))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(done.code, CODE_OK);
    for (int i = 0; i < 3; i++)
        (void)audit_file_call(audit_ring(audit, 0), i == 1 ? "gamma" : "acme", "c");
    audit_close(&audit);
    assert_int_equal(audit_prove_tenant(bench->file.path, SPAN_LIT("acme"), 0, keep_text, &bench->later, &why), CODE_OK);
}

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct buf pem, *const texts[] = {&bench->first, &bench->row, &bench->longer, &bench->tenant, &bench->later};
    struct audit_checkpoints conf = {.interval_ms = 3600 * 1000};
    struct why why = {""};

    audit_file_init(&bench->file);
    buf_init(&pem, 4096);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        buf_init(texts[i], 1 << 20);
    assert_int_equal(sign_key_make(&pem), CODE_OK);
    assert_int_equal(sign_key_read(buf_peek(&pem), &bench->key), CODE_OK);
    assert_int_equal(sign_key_public(bench->key, bench->known.public), CODE_OK);
    buf_fini(&pem);
    conf.key = bench->key;
    for (int run = 0; run < 2; run++) {
        struct audit *audit = audit_file_open_signed(&bench->file, 1, &conf);

        for (int i = 0; i < 3; i++)
            (void)audit_file_call(audit_ring(audit, 0), i == 1 ? "beta" : "acme", "c");
        audit_close(&audit);
        if (run == 0)
            assert_int_equal(audit_find_checkpoint(bench->file.path, 0, &bench->first, &why), CODE_OK);
    }
    assert_int_equal(audit_prove_row(bench->file.path, 3, 0, &bench->row, &why), CODE_OK);
    assert_int_equal(audit_prove_consistency(bench->file.path, buf_peek(&bench->first), 0, &bench->longer, &why), CODE_OK);
    assert_int_equal(audit_prove_tenant(bench->file.path, SPAN_LIT("acme"), 0, keep_text, &bench->tenant, &why), CODE_OK);
    go_on(bench, &conf);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    buf_fini(&bench->first);
    buf_fini(&bench->row);
    buf_fini(&bench->longer);
    buf_fini(&bench->tenant);
    buf_fini(&bench->later);
    sign_key_free(&bench->key);
    audit_file_fini(&bench->file);
    free(bench);
    return 0;
}

static bool holds(struct span text, const struct note_key *key, struct span tenant)
{
    static struct proof_report report;

    assert_int_equal(audit_check_proof(text, keyring_of(key), tenant, &report), CODE_OK);
    assert_true(report.fault[0] != '\0' || report.is_signed == (key != NULL));
    return report.fault[0] == '\0';
}

static void expect_no_other(const struct bench *bench, const struct buf *proof)
{
    struct span whole = buf_peek(proof);
    char *copy = malloc(whole.len + 1);
    struct note_key other = bench->known;

    assert_true(holds(whole, &bench->known, SPAN_NONE));
    assert_true(holds(whole, NULL, SPAN_NONE));
    other.public[3] ^= 1;
    assert_false(holds(whole, &other, SPAN_NONE));
    memcpy(copy, whole.at, whole.len);
    for (size_t i = 0; i + 1 < whole.len; i++) { /* but the last newline */
        copy[i] ^= 1;
        if (holds(span_of(copy, whole.len), &bench->known, SPAN_NONE))
            fail_msg("byte %zu of %.20s may be changed: %.30s", i, copy, copy + (i < 15 ? 0 : i - 15));
        copy[i] ^= 1;
    }
    for (size_t at = 0; at + 1 < whole.len; at++) /* a line left out */
        if (at == 0 || whole.at[at - 1] == '\n') {
            size_t len = span_find(span_part(whole, at, SIZE_MAX), '\n') + 1;

            memcpy(copy, whole.at, at);
            memcpy(copy + at, whole.at + at + len, whole.len - at - len);
            if (len > 1 && holds(span_of(copy, whole.len - len), &bench->known, SPAN_NONE))
                fail_msg("a line may be left out: %.*s", (int)len, whole.at + at);
        }
    free(copy);
}

TEST_CASE(test_no_other_text)
{
    const struct bench *bench = *state;

    expect_no_other(bench, &bench->row);
    expect_no_other(bench, &bench->longer);
    expect_no_other(bench, &bench->tenant);
    assert_true(holds(buf_peek(&bench->tenant), &bench->known, SPAN_LIT("acme")));
    assert_false(holds(buf_peek(&bench->tenant), &bench->known, SPAN_LIT("beta")));
}

/* 4.4: where a tenant's rows begin is proven: by its first row, which names none before it, or by the file's first checkpoint. */
TEST_CASE(test_the_beginning)
{
    static const struct { const char *tenant, *kind; uint64_t rows; } proofs[] = {
        {"acme", PROOF_TENANT_ON, 4}, {"gamma", PROOF_TENANT, 2}, {"beta", PROOF_TENANT_ON, 0},
    };
    const struct bench *bench = *state;
    struct proof_report report;
    struct why why = {""};

    for (size_t i = 0; i < sizeof proofs / sizeof proofs[0]; i++) {
        struct span rest, kind;
        struct buf text;

        buf_init(&text, 1 << 20);
        assert_int_equal(audit_prove_tenant(bench->file.path, span_text(proofs[i].tenant), 0, keep_text, &text, &why), CODE_OK);
        kind = span_cut(buf_peek(&text), '\n', &rest);
        assert_true(span_is(kind, proofs[i].kind));
        assert_int_equal(audit_check_proof(buf_peek(&text), keyring_of(&bench->known), span_text(proofs[i].tenant), &report), CODE_OK);
        assert_string_equal(report.fault, "");
        assert_true(report.rows == proofs[i].rows && report.is_signed);
        expect_no_other(bench, &text);
        buf_fini(&text);
    }
}

/* As a gate before 0.2 wrote it, or as somebody who leaves rows out has it. */
TEST_CASE(test_a_beginning_that_nothing_binds)
{
    const struct bench *bench = *state;
    struct span whole = buf_peek(&bench->later), rest = whole, note, line;
    struct proof_report report;
    struct buf text;

    buf_init(&text, 1 << 20);
    assert_true(note_next(&rest, &note));
    assert_int_equal(buf_add_text(&text, PROOF_TENANT), CODE_OK);
    line = span_part(whole, sizeof PROOF_TENANT_ON - 1, (size_t)(note.at + note.len - whole.at) - (sizeof PROOF_TENANT_ON - 1));
    assert_int_equal(buf_add_span(&text, line), CODE_OK);
    rest = span_part(whole, span_find(whole, '{') - 1, SIZE_MAX);
    assert_int_equal(buf_add_span(&text, rest), CODE_OK);
    assert_int_equal(audit_check_proof(buf_peek(&text), keyring_of(&bench->known), SPAN_NONE, &report), CODE_OK);
    assert_non_null(strstr(report.fault, "nothing in the proof binds that one"));
    buf_fini(&text);
}

/* More hashes than any tree is high. */
TEST_CASE(test_too_many_hashes)
{
    const struct bench *bench = *state;
    struct buf text;

    buf_init(&text, 1 << 20);
    assert_int_equal(buf_add_text(&text, PROOF_CONSISTENCY "\n"), CODE_OK);
    for (int i = 0; i < 100 * MERKLE_PROOF_MAX; i++)
        assert_int_equal(buf_add_text(&text, "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"), CODE_OK);
    assert_int_equal(buf_add_byte(&text, '\n'), CODE_OK);
    assert_int_equal(buf_add_span(&text, buf_peek(&bench->first)), CODE_OK);
    assert_false(holds(buf_peek(&text), NULL, SPAN_NONE));
    buf_fini(&text);
}

/* Of two logs with the same rows and the same key, one is not the other. */
TEST_CASE(test_two_logs)
{
    const struct bench *bench = *state;
    struct span rest = buf_peek(&bench->longer), one;
    struct buf text, body;
    struct note note;

    buf_init(&text, 1 << 16);
    buf_init(&body, NOTE_BYTES);
    assert_true(note_next(&rest, &one)); /* the earlier one, in front of it the hashes */
    one = buf_peek(&bench->first);
    assert_int_equal(note_read(one, &note), CODE_OK);
    note.origin = SPAN_LIT("callgate/another");
    assert_int_equal(note_write(&note, &body), CODE_OK);
    for (struct span lines = buf_peek(&bench->longer), line; (line = span_cut(lines, '\n', &lines)).len > 0;)
        assert_int_equal(buf_addf(&text, "%.*s\n", SPAN_ARG(line)), CODE_OK);
    assert_int_equal(buf_add_byte(&text, '\n'), CODE_OK);
    assert_int_equal(note_sign(buf_peek(&body), note.origin, bench->key, &text), CODE_OK);
    assert_int_equal(buf_add_span(&text, rest), CODE_OK);
    assert_false(holds(buf_peek(&text), &bench->known, SPAN_NONE));
    buf_fini(&text);
    buf_fini(&body);
}

/* A file that the disk has damaged is told in SQLite's words, with its name. */
TEST_CASE(test_damaged)
{
    const struct bench *bench = *state;
    unsigned char garbage[4096];
    char path[128];
    bool is_told = false;

    memset(garbage, 0xa5, sizeof garbage);
    (void)snprintf(path, sizeof path, "%s.damaged", bench->file.path);
    for (int page = 1; page < 12; page++) {
        struct why why = {""};
        struct buf bytes;
        int fd;

        buf_init(&bytes, 1 << 24);
        assert_int_equal(file_read(bench->file.path, FILE_ANY, 1 << 24, &bytes, &why), CODE_OK);
        (void)unlink(path);
        assert_int_equal(file_create(path, 0600, buf_peek(&bytes), &why), CODE_OK);
        buf_fini(&bytes);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(fd, garbage, sizeof garbage, 4096 * page), sizeof garbage);
        (void)close(fd);
        buf_init(&bytes, 1 << 20);
        if (audit_prove_row(path, 2, 0, &bytes, &why) == CODE_IO) {
            is_told = true;
            if (strstr(why.text, "malformed") == NULL || strstr(why.text, ".damaged") == NULL)
                fail_msg("page %d: %s", page + 1, why.text);
        }
        buf_fini(&bytes);
    }
    assert_true(is_told);
    (void)unlink(path);
}

TEST_MAIN(setup, teardown)
