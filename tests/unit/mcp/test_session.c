/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/session.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "fakes/cm.h"

static const unsigned char key[MCP_SESSION_KEY_BYTES] = "0123456789abcdef0123456789abcde";
static const struct mcp_session_scope scope = {{"shop", 4}, {"acme", 4}, {"bot", 3}, {NULL, 0}, {NULL, 0}};

static struct span make(struct buf *out, const char *upstream_id, const char *revision)
{
    struct mcp_session session = {span_text(upstream_id), span_text(revision), false};

    buf_init(out, 2048);
    assert_int_equal(mcp_session_make(key, &scope, &session, out), CODE_OK);
    return buf_peek(out);
}

/* 1.17 */
TEST_CASE(makes_and_checks)
{
    static const char *const ids[] = {"a", "0f8fad5b-d9cb-469f-a165-70867728950e", "with.dots.2025-06-18.x",
        "!~\"#", "..."};

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct mcp_session session;
        struct buf out, again;
        struct span id = make(&out, ids[i], "2025-06-18");

        assert_int_equal(id.len, strlen(ids[i]) + 1 + 10 + 1 + 43);
        assert_true(span_starts_with(id, span_text(ids[i])));
        assert_int_equal(mcp_session_check(key, &scope, id, &session), CODE_OK);
        assert_true(span_is(session.upstream_id, ids[i]));
        assert_true(span_is(session.revision, "2025-06-18"));
        /* No table and no clock: after a restart it is the same. */
        assert_true(span_equals(make(&again, ids[i], "2025-06-18"), id));
        buf_fini(&out);
        buf_fini(&again);
    }
}

static void denied(const unsigned char *with, const struct mcp_session_scope *who, struct span id)
{
    struct mcp_session session;

    assert_int_equal(mcp_session_check(with, who, id, &session), CODE_DENIED);
    assert_int_equal(session.upstream_id.len, 0);
    assert_int_equal(session.revision.len, 0);
}

/* 1.17: another route, tenant, principal, agent or key; a shifted border between them */
TEST_CASE(denies_foreign_sessions)
{
    static const unsigned char other_key[MCP_SESSION_KEY_BYTES] = "x";
    static const struct mcp_session_scope others[] = {
        {{"shop2", 5}, {"acme", 4}, {"bot", 3}, {NULL, 0}, {NULL, 0}}, {{"shop", 4}, {"acm", 3}, {"bot", 3}, {NULL, 0}, {NULL, 0}},
        {{"shop", 4}, {"acme", 4}, {"bob", 3}, {NULL, 0}, {NULL, 0}},  {{"sho", 3}, {"pacme", 5}, {"bot", 3}, {NULL, 0}, {NULL, 0}},
        {{"shop", 4}, {"acmeb", 5}, {"ot", 2}, {NULL, 0}, {NULL, 0}},  {{"shop", 4}, {"acme", 4}, {"", 0}, {NULL, 0}, {NULL, 0}},
        {{"shop", 4}, {"bot", 3}, {"acme", 4}, {NULL, 0}, {NULL, 0}},
        {{"shop", 4}, {"acme", 4}, {"bot", 3}, {NULL, 0}, {"/v1", 3}}, /* 4.9 */
        {{"shop", 4}, {"acme", 4}, {"bot", 3}, {"x", 1}, {NULL, 0}},   /* 15.1 */
    };
    struct buf out;
    struct span id = make(&out, "abc", "2025-06-18");

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        denied(key, &others[i], id);
    denied(other_key, &scope, id);
    buf_fini(&out);
}

/* 1.17: every changed byte, every cut */
TEST_CASE(denies_changed_sessions)
{
    struct buf out;
    struct span id = make(&out, "abc", "2025-06-18");
    char copy[128];

    for (size_t i = 0; i < id.len; i++) {
        memcpy(copy, id.at, id.len);
        copy[i] ^= 1;
        denied(key, &scope, span_of(copy, id.len));
        denied(key, &scope, span_part(id, 0, i));
        denied(key, &scope, span_part(id, i + 1, SIZE_MAX));
    }
    denied(key, &scope, SPAN_NONE);
    denied(key, &scope, SPAN_LIT("abc"));
    denied(key, &scope, SPAN_LIT("..."));
    /* The plain id of the upstream, and one with nothing before its revision. */
    denied(key, &scope, span_part(id, 3, SIZE_MAX));
    buf_fini(&out);
}

/* 13.2: that a client opens URLs stands in the id, and nobody writes it into one, or takes it out. */
TEST_CASE(says_who_opens_urls)
{
    struct mcp_session session = {SPAN_LIT("abc"), SPAN_LIT("2025-11-25"), true}, seen;
    struct buf with, without, forged;
    struct span mac;

    buf_init(&with, 2048);
    buf_init(&forged, 2048);
    assert_int_equal(mcp_session_make(key, &scope, &session, &with), CODE_OK);
    assert_true(span_starts_with(buf_peek(&with), SPAN_LIT("abc.2025-11-25+url.")));
    assert_int_equal(mcp_session_check(key, &scope, buf_peek(&with), &seen), CODE_OK);
    assert_true(seen.opens_urls && span_is(seen.revision, "2025-11-25") && span_is(seen.upstream_id, "abc"));
    mac = span_part(make(&without, "abc", "2025-11-25"), strlen("abc.2025-11-25."), SIZE_MAX);
    assert_int_equal(mcp_session_check(key, &scope, buf_peek(&without), &seen), CODE_OK);
    assert_false(seen.opens_urls);
    buf_addf(&forged, "abc.2025-11-25+url.%.*s", SPAN_ARG(mac));
    denied(key, &scope, buf_peek(&forged));
    buf_clear(&forged);
    buf_addf(&forged, "abc.2025-11-25.%.*s", SPAN_ARG(span_part(buf_peek(&with), strlen("abc.2025-11-25+url."), SIZE_MAX)));
    denied(key, &scope, buf_peek(&forged));
    buf_fini(&with);
    make(&with, "abc", "2025-11-25+url"); /* as an upstream might call its revision */
    denied(key, &scope, buf_peek(&with));
    buf_fini(&forged);
    buf_fini(&without);
    buf_fini(&with);
}

TEST_CASE(bounds_upstream_ids)
{
    char longest[514];
    static const char *const bad[] = {"", "a b", "a\tb", "a\x7f", "\xc3\xa9", "a\n"};
    static const char *const bad_revisions[] = {"", "2025.06", "a b", "a-very-long-revision-name-of-33-by"};
    struct mcp_session session = {SPAN_NONE, SPAN_LIT("2025-06-18"), false};
    struct buf out;

    buf_init(&out, 2048);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        session.upstream_id = span_text(bad[i]);
        assert_sticks(mcp_session_make(key, &scope, &session, &out), &out, CODE_INVALID);
    }
    memset(longest, 'x', sizeof longest);
    session.upstream_id = span_of(longest, 513);
    assert_sticks(mcp_session_make(key, &scope, &session, &out), &out, CODE_INVALID);
    session.upstream_id = span_of(longest, 512);
    assert_int_equal(mcp_session_make(key, &scope, &session, &out), CODE_OK);
    assert_int_equal(mcp_session_check(key, &scope, buf_peek(&out), &session), CODE_OK);
    for (size_t i = 0; i < sizeof bad_revisions / sizeof bad_revisions[0]; i++) {
        session = (struct mcp_session){SPAN_LIT("a"), span_text(bad_revisions[i]), false};
        assert_sticks(mcp_session_make(key, &scope, &session, &out), &out, CODE_INVALID);
    }
    buf_fini(&out);
}

TEST_CASE(fails_without_memory)
{
    struct mcp_session session = {SPAN_LIT("abc"), SPAN_LIT("2025-06-18"), false}, parts;
    struct buf out;
    enum code code;

    for (uint64_t n = 1;; n++) {
        buf_init(&out, 2048);
        mem_fail_at(n, 0);
        code = mcp_session_make(key, &scope, &session, &out);
        mem_fail_at(0, 0);
        if (code == CODE_OK)
            break;
        assert_sticks(code, &out, CODE_NOMEM);
        buf_fini(&out);
    }
    for (uint64_t n = 1;; n++) {
        mem_fail_at(n, 0);
        code = mcp_session_check(key, &scope, buf_peek(&out), &parts);
        mem_fail_at(0, 0);
        if (code == CODE_OK)
            break;
        assert_int_equal(code, CODE_NOMEM);
        assert_int_equal(parts.upstream_id.len, 0);
    }
    buf_fini(&out);
}

TEST_MAIN(NULL, NULL)
