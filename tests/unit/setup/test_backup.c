/* SPDX-License-Identifier: Apache-2.0 */
/* 10.10: a file of a backup is copied whole, with its mode, or it is not there; and however many are copied, none stays open. */
#include "setup/backup.h"

#include "base/num.h"
#include "os/file.h"

#include <dirent.h>
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/callgate-backup-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const names[] = {"from", "to", "link", "pipe"};
    char path[128];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static const char *at(const char *name)
{
    static char paths[4][128];
    static unsigned turn;

    turn = (turn + 1) % 4;
    (void)snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

TEST_CASE_WITH(a_file_is_copied_whole, setup, teardown)
{
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; /* FIPS 180-2, B.1 */
    unsigned char sha256[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];
    int before = open_files();
    struct why why = {""};
    struct stat there;
    uint64_t bytes = 0;

    write_file("from", "abc");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(backup_copy(at("from"), at("to"), 0640, &why), CODE_OK);
        assert_int_equal(stat(at("to"), &there), 0);
        assert_int_equal(there.st_mode & 0777, 0640);
        assert_int_equal(backup_digest(at("to"), &bytes, sha256, &why), CODE_OK);
        num_hex(sha256, sizeof sha256, hex);
        assert_int_equal(bytes, 3);
        assert_memory_equal(hex, abc, sizeof hex);
        assert_int_equal(unlink(at("to")), 0);
    }
    assert_int_equal(open_files(), before);
}

static void expect_none(const char *from, const char *to, const char *said)
{
    struct why why = {""};

    assert_int_equal(backup_copy(from, to, 0600, &why), CODE_IO);
    if (strstr(why.text, from) == NULL || strstr(why.text, said) == NULL)
        fail_msg("%s: %s", from, why.text);
}

TEST_CASE_WITH(what_cannot_be_copied_is_not_there, setup, teardown)
{
    int before = open_files();

    write_file("from", "abc");
    assert_int_equal(symlink("pipe", at("link")), 0);
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    expect_none(at("none"), at("to"), "No such file");
    expect_none(at("link"), at("to"), "cannot be copied");
    expect_none(at("pipe"), at("to"), "cannot be copied"); /* and nobody waits for who writes into it */
    assert_int_not_equal(access(at("to"), F_OK), 0);
    write_file("to", "kept");
    expect_none(at("from"), at("to"), "File exists");
    assert_int_equal(access(at("to"), F_OK), 0); /* another's, which stays */
    assert_int_equal(open_files(), before);
}

TEST_MAIN(NULL, NULL)
