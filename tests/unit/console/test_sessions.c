/* SPDX-License-Identifier: Apache-2.0 */
/* 13.1: a login that is renewed keeps what its provider has not given anew. */
#include "console/sessions.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void assert_tokens(const struct session *session, const char *login, const char *refresh)
{
    assert_true(session->has_login);
    assert_string_equal(session_login(session), login);
    assert_true(span_is(buf_peek(&session->refresh), refresh));
}

static void a_provider_may_keep_what_renews(void **state)
{
    struct session session;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_provider_may_keep_what_renews),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
