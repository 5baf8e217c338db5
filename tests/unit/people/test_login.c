/* SPDX-License-Identifier: Apache-2.0 */
/* Where a person's login is kept, whose it must be to be shown, and to which gate. */
#include "people/login.h"
#include "os/clock.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[64], path[128], other[128];

static int begin(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/callgate-login-XXXXXX");
    if (mkdtemp(home) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/callgate/login.json", home);
    snprintf(other, sizeof other, "%s/other", home);
    unsetenv(LOGIN_KEY);
    return setenv("XDG_STATE_HOME", home, 1);
}

static int end(void **state)
{
    char folder[80];

    (void)state;
    snprintf(folder, sizeof folder, "%s/callgate", home);
    unlink(path);
    unlink(other);
    rmdir(folder);
    return rmdir(home);
}

static enum code keep(const char *key, struct why *why)
{
    const struct login_kept kept = {.socket = SPAN_LIT("/run/a.sock"), .key = span_text(key)};

    return login_keep(&kept, why);
}

/* Returns: what is shown on the socket; "": nothing; NULL: nothing can be. */
static const char *shown(const char *socket, struct why *why)
{
    static char text[256];
    struct buf login;
    enum code code;

    buf_init(&login, LOGIN_BYTES);
    code = login_find(socket, &login, why);
    snprintf(text, sizeof text, "%.*s", SPAN_ARG(buf_peek(&login)));
    buf_fini(&login);
    return code == CODE_OK ? text : NULL;
}

/* 8.8: for the one gate that took it, and nobody else's to read. */
TEST_CASE_WITH(it_is_kept_for_one_gate, begin, end)
{
    struct why why = {""};
    struct stat found;

    assert_int_equal(login_forget(&why), CODE_NOT_FOUND);
    assert_string_equal(shown("/run/a.sock", &why), "");
    assert_int_equal(keep("cg_secret", &why), CODE_OK);
    assert_true(lstat(path, &found) == 0 && (found.st_mode & 07777) == 0600);
    assert_string_equal(shown("/run/a.sock", &why), "cg_secret");
    assert_string_equal(shown("/run/b.sock", &why), "");
    assert_false(login_is_there("/run/b.sock"));
    assert_int_equal(chmod(path, 0644), 0);
    assert_null(shown("/run/a.sock", &why));
    assert_null(strstr(why.text, "cg_secret"));
    assert_true(login_is_there("/run/b.sock")); /* what cannot be read is no word for going on without */
    assert_int_equal(keep("cg_newer", &why), CODE_OK);
    assert_true(lstat(path, &found) == 0 && (found.st_mode & 07777) == 0600);
    assert_int_equal(login_forget(&why), CODE_OK);
    assert_false(login_is_there("/run/a.sock"));
}

/* 8.8: a link in its place is replaced, and what it leads to neither written nor read where it is others'. */
TEST_CASE_WITH(a_link_is_replaced, begin, end)
{
    struct why why = {""};
    struct stat found;
    FILE *file;

    assert_int_equal(keep("cg_secret", &why), CODE_OK);
    assert_int_equal(unlink(path), 0);
    file = fopen(other, "w");
    assert_non_null(file);
    fputs("mine", file);
    fclose(file);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(keep("cg_secret", &why), CODE_OK);
    assert_true(lstat(path, &found) == 0 && S_ISREG(found.st_mode));
    assert_true(stat(other, &found) == 0 && found.st_size == 4);
}

/* 8.8: what could not be read again is not kept, and what is kept stays. */
TEST_CASE_WITH(too_much_is_not_kept, begin, end)
{
    struct why why = {""};
    char *much = malloc(LOGIN_BYTES);

    memset(much, 'x', LOGIN_BYTES - 1);
    much[LOGIN_BYTES - 1] = '\0';
    assert_int_equal(keep("cg_secret", &why), CODE_OK);
    assert_int_equal(keep(much, &why), CODE_LIMIT);
    assert_non_null(strstr(why.text, "not kept"));
    assert_string_equal(shown("/run/a.sock", &why), "cg_secret");
    free(much);
}

/* 8.8: a token that cannot be renewed is shown as long as it holds. */
TEST_CASE_WITH(a_token_ends, begin, end)
{
    struct login_kept kept = {.socket = SPAN_LIT("/run/a.sock"), .token = SPAN_LIT("eyJ.secret"),
                              .expires_us = clock_wall_us() + INT64_C(30000000)};
    struct why why = {""};

    assert_int_equal(login_keep(&kept, &why), CODE_OK);
    assert_string_equal(shown("/run/a.sock", &why), "eyJ.secret");
    kept.expires_us = clock_wall_us() - 1;
    assert_int_equal(login_keep(&kept, &why), CODE_OK);
    assert_null(shown("/run/a.sock", &why));
    assert_non_null(strstr(why.text, "has ended"));
    assert_null(strstr(why.text, "eyJ"));
    setenv(LOGIN_KEY, "cg_of_environment", 1);
    assert_string_equal(shown("/run/a.sock", &why), "cg_of_environment");
    unsetenv(LOGIN_KEY);
}

TEST_MAIN(NULL, NULL)
