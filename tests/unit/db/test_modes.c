/* SPDX-License-Identifier: Apache-2.0 */
/* P15: what others may write is named at once, whichever of a database's files it is. */
#include "db/db.h"
#include "fakes/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const ends[] = {"", "-journal", "-wal", "-shm"};

static void make(const char *database, const char *end, mode_t mode)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s%s", database, end);
    (void)unlink(path);
    if (mode == 0)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && fchmod(fd, mode) == 0 && close(fd) == 0);
}

TEST_CASE(test_modes)
{
    static const struct {
        mode_t modes[4];   /* 0: there is no such file */
        const char *named; /* behind the path; NULL: nothing */
    } cases[] = {
        {{0}, NULL},
        {{0640, 0600, 0644, 0640}, NULL},
        {{0660, 0, 0640, 0640}, " (mode 0660)"},
        {{0640, 0, 0642}, "-wal (mode 0642)"},
        {{0666, 0, 0620, 0602}, " (mode 0666), -wal (mode 0620), -shm (mode 0602)"},
        {{01666, 02666, 04666, 07666}, " (mode 1666), -journal (mode 2666), -wal (mode 4666), -shm (mode 7666)"},
        {{0}, NULL},
    };
    char folder[] = "/tmp/callgate-modes-XXXXXX", path[64], wanted[512];

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/x.db", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct why why = {""};

        for (size_t n = 0; n < 4; n++)
            make(path, ends[n], cases[i].modes[n]);
        if (cases[i].named == NULL) {
            assert_int_equal(db_check_modes(path, &why), CODE_OK);
            continue;
        }
        assert_int_equal(db_check_modes(path, &why), CODE_DENIED);
        (void)snprintf(wanted, sizeof wanted, "%s%s: may be written by others than its owner; find out whether somebody did, then "
                       "chmod go-w what is named", path, cases[i].named);
        assert_string_equal(why.text, wanted);
    }
    assert_int_equal(rmdir(folder), 0);
}

TEST_MAIN(NULL, NULL)
