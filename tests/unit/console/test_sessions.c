/* SPDX-License-Identifier: Apache-2.0 */
/* 13.1: a login that is renewed keeps what its provider has not given anew; who somebody is, one of his pages at a time asks anew. */
#include "console/sessions.h"

#include "conf/conf.h"
#include "fakes/cm.h"

static void assert_tokens(const struct session *session, const char *login, const char *refresh)
{
    assert_true(session->has_login);
    assert_string_equal(session_login(session), login);
    assert_true(span_is(buf_peek(&session->refresh), refresh));
}

TEST_CASE(a_provider_may_keep_what_renews)
{
    struct session session;

    session_init(&session);
    session_take(&session, SPAN_LIT("first"), SPAN_LIT("renews"));
    assert_tokens(&session, "first", "renews");
    session_take(&session, SPAN_LIT("second"), buf_peek(&session.refresh));
    assert_tokens(&session, "second", "renews");
    session_take(&session, SPAN_LIT("third"), SPAN_LIT("another"));
    assert_tokens(&session, "third", "another");
    session_take(&session, SPAN_LIT("last"), SPAN_NONE);
    assert_tokens(&session, "last", "");
    session_fini(&session);
}

TEST_CASE(who_it_is_is_asked_anew)
{
    struct session session, seen, other;
    struct span cookie;

    session_init(&session);
    session_init(&seen);
    session_init(&other);
    session.roles = PEOPLE_BIT(PEOPLE_ADMINS) | PEOPLE_BIT(PEOPLE_APPROVERS);
    assert_true(sessions_begin(&session, 1));
    cookie = span_text(session.cookie);
    assert_true(sessions_find(cookie, SESSIONS_KNOWN_US, &seen) && !seen.is_due);
    assert_true(sessions_find(cookie, 1 + SESSIONS_KNOWN_US, &seen) && seen.is_due);
    assert_true(sessions_find(cookie, 2 + SESSIONS_KNOWN_US, &other) && !other.is_due); /* somebody is at it */
    seen.roles = PEOPLE_BIT(PEOPLE_APPROVERS);
    sessions_know(&seen);
    assert_true(sessions_find(cookie, 3 + SESSIONS_KNOWN_US, &other));
    assert_int_equal(other.roles, PEOPLE_BIT(PEOPLE_APPROVERS));
    assert_true(sessions_find(cookie, 1 + 2 * SESSIONS_KNOWN_US, &other) && other.is_due);
    sessions_end(cookie);
    sessions_know(&seen); /* of one that is over nothing is kept */
    assert_false(sessions_find(cookie, 4 + SESSIONS_KNOWN_US, &other));
    session_fini(&other);
    session_fini(&seen);
    session_fini(&session);
}

TEST_MAIN(NULL, NULL)
