/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/bug.h"
#include "base/code.h"
#include "base/reason.h"
#include "base/why.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every ending has a name of its own, a sentence, and columns that fit each other. */
TEST_CASE(the_table_is_sound)
{
    for (int i = 0; i < REASON_COUNT; i++) {
        enum reason reason = (enum reason)i;
        const char *name = reason_name(reason), *text = reason_text(reason);
        int status = reason_status(reason);

        for (const char *c = name; *c != '\0'; c++)
            assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
        for (int j = 0; j < i; j++)
            assert_string_not_equal(name, reason_name((enum reason)j));
        assert_true(strlen(text) > 5 && strlen(text) < 120 && text[strlen(text) - 1] == '.');
        if (status != 0 && (status < 200 || status > 505))
            fail_msg("%s: status %d", name, status);
        /* Whoever is told a JSON-RPC error is told a denial code too, but for what the server negotiated. */
        if (reason_rpc_code(reason) != 0 && reason_denial(reason) == DENIAL_NONE && reason != REASON_VERSION_NEGOTIATED)
            fail_msg("%s: a JSON-RPC code without a denial code", name);
        if (reason_blame(reason) == BLAME_POLICY && reason_denial(reason) == DENIAL_MALFORMED)
            fail_msg("%s: a policy does not make a message malformed", name);
    }
    /* Zero is the safe value: it refuses. */
    assert_int_equal(REASON_UNSET, 0);
    assert_int_equal(reason_status(REASON_UNSET), 503);
    assert_int_equal(BLAME_GATE, 0);
    assert_int_equal(DENIAL_UNAVAILABLE, 0);
}

TEST_CASE(denial_codes)
{
    assert_string_equal(denial_code(DENIAL_POLICY), "policy_denied");
    assert_string_equal(denial_code(DENIAL_APPROVAL), "approval_required");
    assert_string_equal(denial_code(DENIAL_RATE), "rate_limited");
    assert_string_equal(denial_code(DENIAL_UNAVAILABLE), "unavailable");
    assert_string_equal(denial_code(DENIAL_MALFORMED), "malformed");
    assert_null(denial_code(DENIAL_NONE));
}

TEST_CASE(counters)
{
    uint64_t before = reason_counted(REASON_NO_RULE), other = reason_counted(REASON_FORBIDDEN);

    reason_count(REASON_NO_RULE);
    reason_count(REASON_NO_RULE);
    assert_int_equal(reason_counted(REASON_NO_RULE), before + 2);
    assert_int_equal(reason_counted(REASON_FORBIDDEN), other);
}

TEST_CASE(codes)
{
    for (int code = CODE_UNDECIDED; code <= CODE_OK; code++) {
        assert_string_not_equal(code_text((enum code)code), "unknown code");
        for (int other = CODE_UNDECIDED; other < code; other++)
            assert_string_not_equal(code_text((enum code)code), code_text((enum code)other));
    }
    assert_string_equal(code_text((enum code)1), "unknown code");
}

/* A bug of ours ends the process, in every build. */
TEST_CASE(a_bug_stops_the_process)
{
    int status;
    pid_t child;

    BUG_ON(1 > 2);
    child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};

        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        BUG_ON(2 > 1);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST_CASE(sentences)
{
    static struct faults faults;
    struct why why;
    char longer[700];

    assert_int_equal(why_set(&why, CODE_IO, "%s: %d", "a", 1), CODE_IO);
    assert_string_equal(why.text, "a: 1");
    assert_int_equal(why_set(NULL, CODE_LIMIT, "nobody listens"), CODE_LIMIT);
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(why_set(&why, CODE_IO, "%s", longer), CODE_IO);
    assert_int_equal(strlen(why.text), sizeof why.text - 1);

    faults_init(&faults);
    for (int i = 0; i < 25; i++)
        faults_add(&faults, i == 3 ? NULL : "a.yaml", i, i + 1, "fault %d", i);
    assert_int_equal(faults.count, 25);
    assert_string_equal(faults.fault[19].text, "fault 19");
    assert_string_equal(faults.fault[3].file, "");
    assert_int_equal(faults.fault[7].line, 7);
    assert_int_equal(faults.fault[7].column, 8);
}

TEST_CASE(did_you_mean)
{
    static const char *const words[] = {"listen", "routes", "timeouts", "x", NULL};

    assert_string_equal(why_nearest("route", 5, words), "routes");
    assert_string_equal(why_nearest("timeuots", 8, words), "timeouts");
    assert_string_equal(why_nearest("listenX", 6, words), "listen"); /* only `len` bytes are the word */
    assert_null(why_nearest("limits", 6, words));
    assert_null(why_nearest("", 0, words));
    assert_null(why_nearest("y", 1, words)); /* one letter is like any other */
    assert_null(why_nearest("ab", 2, words));
}

TEST_MAIN(NULL, NULL)
