/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a socket, by the kernel's word, and what people are called in records. 7.9 */
#include "fakes/cm.h"

#include "os/local.h"
#include "os/person.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_CASE(a_peer_is_known_by_uid_groups_and_login)
{
    struct person person;
    gid_t groups[256];
    int ends[2], count = getgroups(256, groups);

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(person_of_peer(ends[0], &person), CODE_OK);
    assert_int_equal(person.uid, geteuid());
    assert_true(person.login == person_login() || person.login == PERSON_UNKNOWN);
    assert_int_equal(person.group_count, count + 1);
    assert_true(person_is_in(&person, getegid()));
    for (int i = 0; i < count; i++)
        assert_true(person_is_in(&person, groups[i]));
    assert_false(person_is_in(&person, 64123));
    person_fini(&person);
    assert_int_equal(close(ends[0]) | close(ends[1]), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(person_of_peer(ends[0], &person), CODE_IO);
    assert_int_equal(close(ends[0]) | close(ends[1]), 0);
}

/* In a process of another group, as a person's is. */
TEST_CASE(groups_are_the_peers_and_not_ours)
{
    const gid_t theirs[] = {61001, 61002};
    struct person person;
    int ends[2], status;
    pid_t child;

    if (geteuid() != 0) {
        print_message("not root: groups of others are not tried\n");
        skip();
    }
    child = fork();
    if (child == 0) {
        _exit(setgroups(2, theirs) == 0 && setgid(61000) == 0 && setuid(61000) == 0 &&
              socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && person_of_peer(ends[0], &person) == CODE_OK &&
              person.uid == 61000 && person_is_in(&person, 61000) && person_is_in(&person, 61001) &&
              person_is_in(&person, 61002) && !person_is_in(&person, 0) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static bool log_in(void)
{
    FILE *login = fopen("/proc/self/loginuid", "we");

    return login != NULL && fputs("61234", login) >= 0 && fclose(login) == 0;
}

enum stay { STAYS, IS_NOT_WAITED_FOR, IS_GONE };

/* A process with a login of its own that connects, and then stays or ends. */
static enum code login_of_peer(const char *path, enum stay stay, uid_t *login)
{
    enum code code;
    struct person person;
    siginfo_t ended;
    int listener, fd;
    pid_t child;

    assert_int_equal(local_listen(path, "people", 0600, &listener, NULL), CODE_OK);
    child = fork();
    if (child == 0) {
        if (!log_in() || local_connect(path, &fd) != CODE_OK)
            _exit(1);
        if (stay == STAYS)
            (void)pause();
        _exit(0);
    }
    if (stay != STAYS)
        assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | (stay == IS_GONE ? 0 : WNOWAIT)), 0);
    while ((fd = accept(listener, NULL, NULL)) < 0)
        (void)usleep(1000);
    code = person_of_peer(fd, &person);
    person_fini(&person);
    if (stay == STAYS)
        (void)kill(child, SIGKILL);
    if (stay != IS_GONE)
        assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(close(fd) | close(listener) | unlink(path), 0);
    *login = person.login;
    return code;
}

/* The number of who has ended may be another's by now; and who could leave his end to others would hide his login. */
TEST_CASE(a_peer_that_has_ended_is_nobody)
{
    char folder[] = "/tmp/callgate-person-XXXXXX", path[64];
    pid_t child = fork();
    int status;
    uid_t login;
    enum code ended;

    if (child == 0)
        _exit(log_in() && person_login() == 61234 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) {
        print_message("the login of this session is not ours to set: that of an ended process is not tried\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/s", folder);
    assert_int_equal(login_of_peer(path, STAYS, &login), CODE_OK);
    assert_true(login == 61234 || login == PERSON_UNKNOWN);
    ended = login == 61234 ? CODE_NOT_FOUND : CODE_OK; /* where the kernel does not tell, nobody's */
    assert_int_equal(login_of_peer(path, IS_NOT_WAITED_FOR, &login), ended);
    assert_true(ended != CODE_OK || login == PERSON_UNKNOWN);
    assert_true(login_of_peer(path, IS_GONE, &login) != CODE_OK || (ended == CODE_OK && login == PERSON_UNKNOWN));
    assert_int_equal(rmdir(folder), 0);
}

TEST_CASE(nobody_is_no_name)
{
    char name[PERSON_BYTES];

    person_name(0, PERSON_UNKNOWN, name);
    assert_string_equal(name, "root");
    person_name(0, 0, name);
    assert_string_equal(name, "root");
    person_name(PERSON_NOBODY, PERSON_UNKNOWN, name);
    assert_string_equal(name, "uid:65534");
    person_name(61234, PERSON_UNKNOWN, name);
    assert_string_equal(name, "uid:61234");
    person_name(0, 61234, name);
    assert_string_equal(name, "uid:61234 (as root)");
    person_name(PERSON_NOBODY, 0, name);
    assert_string_equal(name, "root (as uid:65534)");
}

TEST_MAIN(NULL, NULL)
