/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "join/merge.h"
#include "join/sessions.h"

#define SECOND INT64_C(1000000)

static enum code begin(struct join_sessions *sessions, const char *tenant, int64_t now_us, char id[JOIN_SESSION_BYTES])
{
    return join_session_begin(sessions, share_of(span_text(tenant), SPAN_LIT("bot")), SPAN_LIT("{}"), SPAN_LIT("2025-11-25"), now_us, id);
}

TEST_CASE(test_members) /* 13.3: who is away is left alone for a time that doubles */
{
    struct join_sessions *sessions;
    char id[JOIN_SESSION_BYTES] = "", revision[JOIN_REVISION_BYTES];
    const struct span shop = SPAN_LIT("shop"), session = span_of(id, sizeof id);
    struct join_member member;
    struct buf params;
    uint64_t changes;

    buf_init(&params, 1024);
    assert_ok(join_sessions_new(&sessions));
    assert_ok(begin(sessions, "acme", 1, id));
    assert_ok(join_session_of(sessions, session, 1, &params, revision, &changes));
    assert_true(span_is(buf_peek(&params), "{}") && strcmp(revision, "2025-11-25") == 0 && changes == 0);
    assert_ok(join_member_of(sessions, session, shop, &member));
    assert_int_equal(member.state, JOIN_NEW);
    assert_ok(join_member_came(sessions, session, shop, SPAN_LIT("s-1"), JOIN_TOOLS));
    assert_ok(join_member_of(sessions, session, shop, &member));
    assert_true(member.state == JOIN_UP && strcmp(member.session, "s-1") == 0 && member.offers == JOIN_TOOLS);
    for (int64_t wait = SECOND; wait <= 64 * SECOND; wait *= 2) {
        join_member_went(sessions, session, shop, 1);
        assert_ok(join_member_of(sessions, session, shop, &member));
        assert_true(member.state == JOIN_AWAY && member.retry_us == 1 + wait);
    }
    join_member_went(sessions, session, shop, 1);
    assert_ok(join_member_of(sessions, session, shop, &member));
    assert_int_equal(member.retry_us, 1 + 64 * SECOND);
    assert_ok(join_member_came(sessions, session, shop, SPAN_LIT("s-2"), 0));
    assert_ok(join_session_of(sessions, session, 1, NULL, revision, &changes));
    assert_int_equal(changes, 2);
    join_session_end(sessions, session);
    assert_int_equal(join_session_of(sessions, session, 1, NULL, revision, &changes), CODE_NOT_FOUND);
    assert_int_equal(join_member_came(sessions, session, shop, SPAN_LIT("s"), 0), CODE_NOT_FOUND);
    join_sessions_free(&sessions);
    buf_fini(&params);
}

TEST_CASE(test_calls) /* 13.3: whose call a cancellation or progress is about */
{
    struct join_sessions *sessions;
    char id[JOIN_SESSION_BYTES] = "";
    const struct span session = span_of(id, sizeof id);
    const struct span shop = SPAN_LIT("shop"), mail = SPAN_LIT("mail");

    assert_ok(join_sessions_new(&sessions));
    assert_ok(begin(sessions, "acme", 1, id));
    join_call_open(sessions, session, SPAN_LIT("7"), SPAN_LIT("1"), shop);
    join_call_open(sessions, session, SPAN_LIT("\"7\""), SPAN_NONE, mail);
    assert_true(join_call_is_of(sessions, session, SPAN_LIT("7"), shop)); /* by name: a reload may order servers anew */
    assert_false(join_call_is_of(sessions, session, SPAN_LIT("7"), mail));
    assert_true(join_call_is_of(sessions, session, SPAN_LIT("\"7\""), mail));
    join_call_over(sessions, session, SPAN_LIT("7"));
    assert_false(join_call_is_of(sessions, session, SPAN_LIT("7"), shop));
    assert_true(join_token_is_anothers(sessions, session, SPAN_LIT("1"), mail));
    assert_false(join_token_is_anothers(sessions, session, SPAN_LIT("1"), shop));
    assert_false(join_token_is_anothers(sessions, session, SPAN_LIT("2"), shop));
    join_call_open(sessions, session, SPAN_LIT("8"), SPAN_LIT("1"), mail); /* the same token again: it is the last one's */
    assert_false(join_token_is_anothers(sessions, session, SPAN_LIT("1"), mail));
    assert_true(join_token_is_anothers(sessions, session, SPAN_LIT("1"), shop));
    join_sessions_free(&sessions);
}

TEST_CASE(test_shares) /* 13.3: who begins sessions without end fills his own share */
{
    struct join_sessions *sessions;
    char id[JOIN_SESSION_BYTES];
    unsigned count = 0;

    assert_ok(join_sessions_new(&sessions));
    while (begin(sessions, "acme", 1, id) == CODE_OK)
        count++;
    assert_in_range(count, 2000, 40000);
    assert_ok(begin(sessions, "globex", 1, id));
    assert_ok(begin(sessions, "acme", 9 * 3600 * SECOND, id)); /* those that nobody has used are forgotten */
    join_sessions_free(&sessions);
}

TEST_CASE(test_late) /* 13.3: one that is late holds up no list after another, and is tried again */
{
    struct join_sessions *sessions;
    const struct share bot = share_of(SPAN_LIT("acme"), SPAN_LIT("bot")), other = share_of(SPAN_LIT("globex"), SPAN_LIT("bot"));
    const struct span shop = SPAN_LIT("shop");

    assert_ok(join_sessions_new(&sessions));
    assert_false(join_server_rests(sessions, bot, shop, 1));
    join_server_said(sessions, bot, shop, false, 1);
    assert_true(join_server_rests(sessions, bot, shop, SECOND));
    assert_false(join_server_rests(sessions, other, shop, SECOND)); /* for whom it may well be there */
    assert_false(join_server_rests(sessions, bot, SPAN_LIT("mail"), SECOND));
    assert_false(join_server_rests(sessions, bot, shop, SECOND + 1));
    join_server_said(sessions, bot, shop, false, SECOND);
    assert_true(join_server_rests(sessions, bot, shop, 3 * SECOND - 1));
    join_server_said(sessions, bot, shop, true, SECOND);
    assert_false(join_server_rests(sessions, bot, shop, SECOND));
    assert_int_equal(join_rest_us(0), SECOND);
    assert_int_equal(join_rest_us(1000), 64 * SECOND);
    join_sessions_free(&sessions);
}

TEST_MAIN(NULL, NULL)
