/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the permissions that they must have. 1.10 */
#include "fakes/cm.h"

#include "base/mem.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/callgate-test-file-XXXXXX";
static char path[PATH_MAX];

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static enum code read_as(enum file_kind kind, size_t max_bytes, struct buf *out, struct why *why)
{
    buf_init(out, 1 << 20);
    why->text[0] = '\0';
    return file_read(path, kind, max_bytes, out, why);
}

TEST_CASE(makes_and_reads_whole)
{
    struct why why = {.text = ""};
    struct buf out;
    struct stat stat_buf;

    assert_ok(file_create(in_folder("key"), 0600, SPAN_LIT("secret\n"), &why));
    assert_ok(stat(path, &stat_buf));
    assert_int_equal(stat_buf.st_mode & 07777, 0600);
    assert_int_equal(file_create(path, 0600, SPAN_LIT("other"), &why), CODE_EXISTS);
    assert_non_null(strstr(why.text, path));
    assert_ok(read_as(FILE_SECRET, 7, &out, &why));
    assert_true(span_is(buf_peek(&out), "secret\n"));
    assert_ok(file_read(path, FILE_SECRET, 7, &out, &why)); /* appends */
    assert_int_equal(buf_len(&out), 14);
    buf_fini(&out);
    assert_int_equal(read_as(FILE_SECRET, 6, &out, &why), CODE_LIMIT);
    assert_non_null(strstr(why.text, "6 bytes"));
    assert_true(buf_is_empty(&out));
    buf_fini(&out);
    unlink(path);
}

TEST_CASE(the_mode_is_what_was_asked_for)
{
    mode_t before = umask(0077);
    struct stat stat_buf;

    assert_ok(file_create(in_folder("public"), 0644, SPAN_LIT(""), NULL));
    umask(before);
    assert_ok(stat(path, &stat_buf));
    assert_int_equal(stat_buf.st_mode & 07777, 0644);
    assert_int_equal(stat_buf.st_size, 0);
    unlink(path);
}

TEST_CASE(permissions_decide_by_kind)
{
    static const struct {
        mode_t mode;
        enum code secret, trusted;
    } cases[] = {
        {0600, CODE_OK, CODE_OK},         {0400, CODE_OK, CODE_OK},         {0640, CODE_DENIED, CODE_OK},
        {0644, CODE_DENIED, CODE_OK},     {0604, CODE_DENIED, CODE_OK},     {0620, CODE_DENIED, CODE_DENIED},
        {0602, CODE_DENIED, CODE_DENIED}, {0666, CODE_DENIED, CODE_DENIED},
    };
    struct why why;
    struct buf out;

    assert_ok(file_create(in_folder("modes"), 0600, SPAN_LIT("x"), NULL));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_ok(chmod(path, cases[i].mode));
        assert_int_equal(read_as(FILE_SECRET, 9, &out, &why), cases[i].secret);
        if (cases[i].secret != CODE_OK) {
            assert_non_null(strstr(why.text, "chmod"));
            assert_true(buf_is_empty(&out));
        }
        buf_fini(&out);
        assert_int_equal(read_as(FILE_TRUSTED, 9, &out, &why), cases[i].trusted);
        buf_fini(&out);
        assert_int_equal(read_as(FILE_ANY, 9, &out, &why), CODE_OK);
        buf_fini(&out);
    }
    unlink(path);
}

TEST_CASE(only_regular_files)
{
    struct why why;
    struct buf out;

    assert_ok(mkfifo(in_folder("fifo"), 0600));
    assert_int_equal(read_as(FILE_ANY, 9, &out, &why), CODE_DENIED); /* and does not wait for a writer */
    assert_non_null(strstr(why.text, "regular file"));
    unlink(path);
    snprintf(path, sizeof path, "%s", folder);
    assert_int_equal(read_as(FILE_ANY, 9, &out, &why), CODE_DENIED);
    in_folder("absent");
    assert_int_equal(read_as(FILE_ANY, 9, &out, &why), CODE_NOT_FOUND);
    assert_non_null(strstr(why.text, "No such file"));
    snprintf(path, sizeof path, "/proc/self/mem");
    assert_int_equal(read_as(FILE_ANY, 9, &out, &why), CODE_IO); /* opens, but cannot be read at 0 */
    snprintf(path, sizeof path, "/proc/self/status"); /* says that it is empty, and is not */
    assert_int_equal(read_as(FILE_ANY, 9, &out, &why), CODE_LIMIT);
    assert_true(buf_is_empty(&out));
    buf_fini(&out);
    assert_ok(read_as(FILE_ANY, 65536, &out, &why));
    assert_true(buf_len(&out) > 100);
    buf_fini(&out);
}

TEST_CASE(nothing_is_made_over_a_link_or_nowhere)
{
    char target[PATH_MAX];

    snprintf(target, sizeof target, "%s", in_folder("target"));
    assert_ok(symlink(target, in_folder("link")));
    assert_int_equal(file_create(path, 0600, SPAN_LIT("x"), NULL), CODE_EXISTS);
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(file_make(path, O_WRONLY, 0600), -1); /* 10.7: as locks, logs and outputs are made */
    assert_int_equal(errno, ELOOP);
    assert_int_equal(access(target, F_OK), -1);
    unlink(path);
    assert_ok(mkfifo(in_folder("fifo"), 0600));
    (void)alarm(20);
    assert_int_equal(file_make(path, O_WRONLY | O_APPEND, 0600), -1); /* and waits for nobody */
    (void)alarm(0);
    unlink(path);
    assert_int_equal(file_create(in_folder("no/such/folder"), 0600, SPAN_LIT("x"), NULL), CODE_NOT_FOUND);
}

TEST_CASE(short_memory_is_an_error)
{
    struct why why = {.text = ""};
    struct buf out;
    enum code code = CODE_NOMEM;

    assert_ok(file_create(in_folder("memory"), 0600, SPAN_LIT("content"), &why));
    buf_init(&out, 1 << 20);
    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        assert_true(nth < 20);
        mem_fail_at(nth, 1);
        code = file_read(path, FILE_SECRET, 100, &out, &why);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
        assert_int_equal(buf_len(&out), code == CODE_OK ? 7 : 0);
    }
    buf_fini(&out);
    unlink(path);
    mem_fail_at(1, 1);
    assert_int_equal(file_create(in_folder("unmade"), 0600, SPAN_LIT("x"), &why), CODE_IO);
    assert_null(file_beside("a/b", SPAN_LIT("c")));
    mem_fail_at(0, 0);
    assert_int_equal(access(path, F_OK), -1); /* nothing half-made stays */
    buf_init(&out, 3);
    assert_ok(file_create(in_folder("cap"), 0600, SPAN_LIT("content"), &why));
    assert_int_equal(file_read(path, FILE_SECRET, 100, &out, &why), CODE_LIMIT); /* the buffer's own cap */
    buf_fini(&out);
    unlink(path);
}

TEST_CASE(beside)
{
    static const char *const cases[][3] = {
        {"callgate.yaml", "gate.pem", "gate.pem"},
        {"/etc/callgate/callgate.yaml", "gate.pem", "/etc/callgate/gate.pem"},
        {"conf/callgate.yaml", "../keys/k", "conf/../keys/k"},
        {"/etc/callgate.yaml", "/srv/k", "/srv/k"},
        {"/c.yaml", "", "/"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *got = file_beside(cases[i][0], span_text(cases[i][1]));

        assert_string_equal(got, cases[i][2]);
        mem_free(got);
    }
}

TEST_CASE(replaces_in_one_step)
{
    struct why why = {""};
    struct buf out;

    buf_init(&out, 100);
    assert_ok(file_replace(in_folder("place"), 0640, SPAN_LIT("first\n"), &why));
    assert_ok(file_create(in_folder("place.new"), 0600, SPAN_LIT("left behind"), &why));
    assert_ok(file_replace(in_folder("place"), 0640, SPAN_LIT("second\n"), &why));
    assert_ok(file_read(in_folder("place"), FILE_TRUSTED, 100, &out, &why));
    assert_true(span_is(buf_peek(&out), "second\n"));
    assert_int_equal(access(in_folder("place.new"), F_OK), -1);
    assert_int_equal(file_replace(in_folder("nowhere/place"), 0640, SPAN_LIT("x"), &why), CODE_NOT_FOUND);
    buf_fini(&out);
    assert_int_equal(unlink(in_folder("place")), 0);
}

TEST_MAIN(make_folder, remove_folder)
