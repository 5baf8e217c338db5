/* SPDX-License-Identifier: Apache-2.0 */
/* 10.1, 2.11, 2.1: paths, read in each way in which servers read them. */
#include "unit/policy/rows.h"

#define SRV "under: [/srv/data, /tmp/]"

static const struct row under_rows[] = {
    {SRV, "\"/srv/data/x\"", 'T', 'T'},
    {SRV, "\"/srv/data\"", 'T', 'T'},
    {SRV, "\"/srv/data/\"", 'T', 'T'},
    {SRV, "\"/tmp\"", 'T', 'T'},
    {SRV, "\"/srv/database\"", 'F', 'F'},
    {SRV, "\"/srv\"", 'F', 'F'},
    {SRV, "\"/\"", 'F', 'F'},
    {SRV, "\"/srv/data/../data/x\"", 'T', 'T'},
    {SRV, "\"/srv/data/../../etc/passwd\"", 'F', 'F'},
    {SRV, "\"/srv/data/a/../../b\"", 'F', 'F'},
    {SRV, "\"/srv/x/../data/a/./..//b\"", 'T', 'T'},
    {SRV, "\"/../../srv/data/x\"", 'T', 'T'},
    {SRV, "\"/srv///data\"", 'T', 'T'},
    {SRV, "\"//srv/data\"", 'U', 'U'},
    {SRV, "\"///srv/data\"", 'U', 'U'},
    {SRV, "\"/%2fsrv/data\"", 'U', 'U'},
    {SRV, "\"/srv/./data/.\"", 'T', 'T'},
    {SRV, "\"/srv/data/..\"", 'F', 'F'},
    {SRV, "\"/srv/data/...\"", 'T', 'T'},
    /* As written, and decoded once: inside in both, outside in both, or the one and not the other. */
    {SRV, "\"/srv/data/%61%20%C3%A9\"", 'T', 'T'},
    {SRV, "\"/srv/data/a%2fb\"", 'T', 'T'},
    {SRV, "\"/srv/data/../data/a%20b\"", 'T', 'T'},
    {SRV, "\"/etc/%70asswd\"", 'F', 'F'},
    {SRV, "\"/etc/a%2fb\"", 'F', 'F'},
    {SRV, "\"/srv%2fdata%2Fx\"", 'U', 'U'},
    {SRV, "\"/%73rv/data/x\"", 'U', 'U'},
    {SRV, "\"%2fsrv/data/x\"", 'U', 'U'},
    /* Where steps end and which of them climb depends on when a reader decodes. */
    {SRV, "\"/srv/data%2fx%2fy/../../etc/passwd\"", 'U', 'U'},
    {SRV, "\"/x%2fy/../srv/data/key\"", 'U', 'U'},
    {SRV, "\"/srv/data/%2e%2e/%2e%2e/etc\"", 'U', 'U'},
    {SRV, "\"/srv/data/..%2f..%2fetc\"", 'U', 'U'},
    {SRV, "\"/etc//../srv/data/key\"", 'U', 'U'}, /* in a URL `..` takes the empty step away, and /etc stays */
    {SRV, "\"/srv/data/./a%2fb\"", 'T', 'T'},
    {SRV, "\"/srv/data/a%2fb%2fc/../..%2f..%2fx\"", 'U', 'U'}, /* resolved first, then decoded: /x */
    {SRV, "\"/srv/data/x%2fy/%2e%2e/%2e%2e/etc\"", 'U', 'U'},  /* step by step, as in a URL: /srv/etc */
    /* A URL's path ends at `?` and `#`, its last step at `;`. */
    {SRV, "\"/srv/data/a?b#c;d\"", 'T', 'T'},
    {SRV, "\"/srv/data?x\"", 'U', 'U'},
    {SRV, "\"/srv/data%3fx\"", 'U', 'U'},
    {SRV, "\"/srv/data/../../etc/passwd?/../../srv/data/x\"", 'U', 'U'},
    {SRV, "\"/srv/data/..;/..;/etc\"", 'U', 'U'},
    {"under: '/srv/C#'", "\"/srv/C#/x\"", 'T', 'T'},
    {"under: '/srv/C'", "\"/srv/C#/x\"", 'U', 'U'},
    {SRV, "\"/srv/data/%252e%252e/etc\"", 'U', 'U'},
    {SRV, "\"/srv/data/100%\"", 'U', 'U'},
    {SRV, "\"/srv/data/%zz\"", 'U', 'U'},
    {SRV, "\"/srv/data/%00.txt\"", 'U', 'U'},
    {SRV, "\"/srv/data/x\\n\"", 'U', 'U'},
    {SRV, "\"/srv/data/%0a\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\u007f\"", 'U', 'U'},
    {SRV, "\"/srv/data/\\u0085\"", 'U', 'U'},
    {SRV, "\"/srv/data/%c2%85\"", 'U', 'U'},
    {SRV, "\"/srv/data/%ff\"", 'U', 'U'},
    {SRV, "\"/srv\\\\data\"", 'U', 'U'},
    {SRV, "\"/srv/data/%5c\"", 'U', 'U'},
    {SRV, "\"srv/data/x\"", 'U', 'U'},
    {SRV, "\"../srv/data\"", 'U', 'U'},
    {SRV, "\"~/x\"", 'U', 'U'},
    {SRV, "\"\"", 'U', 'U'},
    {SRV, "\" /srv/data\"", 'U', 'U'},
    {SRV, "\"C:\\\\x\"", 'U', 'U'},
    {SRV, "\"file:///srv/data\"", 'U', 'U'},
    {SRV, "null", 'U', 'U'},
    {SRV, "5", 'U', 'U'},
    {SRV, "true", 'U', 'U'},
    {SRV, "[\"/srv/data\"]", 'U', 'U'},
    {SRV, "{\"/srv/data\":1}", 'U', 'U'},
    {SRV, "\"/SRV/data\"", 'F', 'F'},
    {SRV, "\"/\\u017frv/data\"", 'F', 'F'},
    {SRV, "\"/srv/data/e\\u0301\"", 'T', 'T'},
    {"under: /", "\"/etc\"", 'T', 'T'},
    {"under: /", "\"/\"", 'T', 'T'},
    {"under: /", "\"/../..\"", 'T', 'T'},
    {"under: /", "\"etc\"", 'U', 'U'},
    {"under: /a/b/a/b/c", "\"/a/b/a/b/a/b/../../c\"", 'T', 'T'},
    {"under: /a/b/a/b/c", "\"/a/b/../b/a/b/c/..\"", 'F', 'F'},
    {"under: /a/b", "\"/a/x/b\"", 'F', 'F'},
    {"under: /a/b", "\"/x/a/b\"", 'F', 'F'},
    {"under: /a/bb", "\"/a/b/../bb\"", 'T', 'T'},
    {"under: \"/caf\\u00e9\"", "\"/caf%C3%A9/x\"", 'U', 'U'},
    {"under: \"/caf\\u00e9\"", "\"/caf\\u00e9/%C3%A9\"", 'T', 'T'},
    {"under: \"/caf\\u00e9\"", "\"/cafe\\u0301/x\"", 'F', 'F'},
    {"under: /a, ends_with: .txt", "\"/a/b.txt\"", 'T', 'T'},
    {"under: /a, ends_with: .txt", "\"/a/b.png\"", 'F', 'F'},
};

/* 2.11, 2.1: a path inside these directories after one percent-decoding and resolving `.`, `..` and `//`. */
TEST_CASE(test_under)
{
    CHECK(under_rows);
}

TEST_MAIN(NULL, NULL)
