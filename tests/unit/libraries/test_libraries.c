/* SPDX-License-Identifier: Apache-2.0 */
/* 10.42: which versions of libraries were tried. */
#include "libraries/libraries.h"
#include "fakes/cm.h"

TEST_CASE(test_tried)
{
    static const char *const other[] = {"SQLite 3.4.0", "SQLite 3.400.0", "SQLite 3.47.0", "OpenSSL 3.4.1", "PCRE2 10.43",
                                        "libcurl/8.19.0 x",
                                        "libpg_query, PostgreSQL 18.0", "llhttp 10.1.0", "utf8proc 2.11.0", "SQLite", ""};
    const char *texts[LIBRARIES];

    assert_int_equal(libraries_say(false, texts), LIBRARIES - 1);
    assert_int_equal(libraries_say(true, texts), LIBRARIES);
    for (size_t i = 0; i < LIBRARIES; i++)
        if (!library_is_tried(texts[i]))
            fail_msg("%s: nobody has tried it; run `make bare`, then say so in libraries/libraries.c", texts[i]);
    assert_true(library_is_tried("SQLite 3.46.1"));
    assert_true(library_is_tried("libcurl/8.14.1 OpenSSL/3.5.9"));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(library_is_tried(other[i]));
}

TEST_MAIN(NULL, NULL)
