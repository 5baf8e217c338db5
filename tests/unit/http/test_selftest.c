/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "http/selftest.h"
#include "http/selftest_priv.h"

#include "base/mem.h"

#include <string.h>

/* 1.3 */
TEST_CASE(this_build_passes)
{
    struct why why = {.text = ""};

    assert_ok(http_selftest(&why));
    assert_string_equal(why.text, "");
}

/* What a loose llhttp takes: everything but a chunk with a bad end is enough to fail, and each payload alone. */
static const char *weakness;

static bool weak(struct span message)
{
    bool ordinary = memmem(message.at, message.len, "Abc", 3) == NULL && memmem(message.at, message.len,
        "\rX", 2) == NULL &&
                    memmem(message.at, message.len, "XX", 2) == NULL;

    return ordinary || memmem(message.at, message.len, weakness, strlen(weakness)) != NULL;
}

/* 1.3 */
TEST_CASE(a_loose_build_fails)
{
    static const char *const weaknesses[] = {"Abc", "\r\n\rX", "XX"};
    struct why why = {.text = ""};

    for (size_t i = 0; i < sizeof weaknesses / sizeof weaknesses[0]; i++) {
        weakness = weaknesses[i];
        why.text[0] = '\0';
        assert_int_equal(http__selftest_of(weak, "llhttp", false, &why), CODE_DENIED);
        assert_non_null(strstr(why.text, "llhttp accepts"));
    }
    weakness = "nothing has this";
    assert_ok(http__selftest_of(weak, "llhttp", false, &why));
    /* What strict llhttp takes counts for our own reader. */
    assert_int_equal(http__selftest_of(weak, "the reader", true, &why), CODE_DENIED);
}

static bool nothing(struct span message)
{
    (void)message;
    return false;
}

TEST_CASE(a_deaf_parser_fails)
{
    struct why why = {.text = ""};

    assert_int_equal(http__selftest_of(nothing, "llhttp", false, &why), CODE_DENIED);
    assert_non_null(strstr(why.text, "ordinary"));
    mem_fail_at(1, 1);
    assert_int_equal(http_selftest(&why), CODE_DENIED);
    mem_fail_at(0, 0);
}

TEST_MAIN(NULL, NULL)
