/* SPDX-License-Identifier: Apache-2.0 */
/* 15.2: what a front makes of what its clients ask, whatever it is. */
#include "oauth/front.h"

#include "base/mem.h"
#include "fakes/cm.h"

static const struct oauth_front front = {.url = {"https://gate.example/login", 26}, .path_at = 20, .client = {"app", 3},
                                         .authorize = {"https://id.example/authorize", 28}, .scopes = {"api://app/", 10}};

static void assert_written(enum reason reason, enum reason wanted, const struct buf *out, const char *text)
{
    assert_int_equal(reason, wanted);
    assert_int_equal(buf_len(out), strlen(text));
    assert_memory_equal(buf_peek(out).at, text, strlen(text));
}

TEST_CASE(test_paths)
{
    static const struct oauth_front root = {.url = {"https://gate.example", 20}, .path_at = 20, .client = {"app", 3}};

    assert_int_equal(oauth_front_step(&front, SPAN_LIT("/login/authorize")), OAUTH_AUTHORIZE);
    assert_int_equal(oauth_front_step(&front, SPAN_LIT("/login/token")), OAUTH_TOKEN);
    assert_int_equal(oauth_front_step(&front, SPAN_LIT("/login/register")), OAUTH_REGISTER);
    assert_int_equal(oauth_front_step(&front, SPAN_LIT("/.well-known/oauth-authorization-server/login")), OAUTH_SERVER);
    assert_int_equal(oauth_front_step(&front, SPAN_LIT("/.well-known/oauth-authorization-server")), OAUTH_NONE);
    assert_int_equal(oauth_front_step(&front, SPAN_LIT("/login")), OAUTH_NONE);
    assert_int_equal(oauth_front_step(&front, SPAN_LIT("/token")), OAUTH_NONE);
    assert_int_equal(oauth_front_step(&root, SPAN_LIT("/token")), OAUTH_TOKEN);
    assert_int_equal(oauth_front_step(&root, SPAN_LIT("/.well-known/oauth-authorization-server")), OAUTH_SERVER);
    assert_int_equal(oauth_front_step(&root, SPAN_LIT("/login/token")), OAUTH_NONE);
}

TEST_CASE(test_authorize)
{
    struct oauth_front other = front;
    struct buf out;

    buf_init(&out, 10000);
    assert_written(oauth_front_authorize(&front, SPAN_LIT("response_type=code&client_id=app&resource=x&state=a%20b+c%0d%0aX:"), &out),
                   REASON_OAUTH_SENT, &out, "https://id.example/authorize?response_type=code&client_id=app&state=a%20b%20c%0D%0AX%3A");
    buf_clear(&out);
    other.authorize = SPAN_LIT("https://id.example/authorize?p=signin");
    other.scopes = SPAN_NONE;
    assert_written(oauth_front_authorize(&other, SPAN_LIT("scope=a+openid&client_id=app&&=&x&response%5ftype=code"), &out),
                   REASON_OAUTH_SENT, &out,
                   "https://id.example/authorize?p=signin&scope=a%20openid&client_id=app&response_type=code");
    buf_fini(&out);
}

TEST_CASE(test_token)
{
    static const struct {
        const char *form;
        enum reason reason;
    } refused[] = {
        {"", REASON_OAUTH_REQUEST},
        {"grant_type=refresh_token", REASON_OAUTH_REQUEST},
        {"client_id=app", REASON_OAUTH_REQUEST},
        {"grant_type=password&client_id=app", REASON_OAUTH_REQUEST},
        {"grant_type=refresh_token&client_id=evil", REASON_OAUTH_CLIENT},
        {"grant_type=refresh_token&client_id=app&Client_Id=app", REASON_OAUTH_REQUEST},
        {"grant_type=refresh_token&client_id=app%00", REASON_OAUTH_CLIENT},
        {"grant_type=refresh_token&client_id", REASON_OAUTH_CLIENT},
        {"{\"grant_type\":\"refresh_token\"}", REASON_OAUTH_REQUEST},
    };
    struct buf out;

    buf_init(&out, 10000);
    assert_written(oauth_front_token(&front, SPAN_LIT("grant_type=refresh_token&client_id=app&refresh_token=%7E0&scope=openid+b"
                                                     "&client_secret=s&resource=a&resource=b"), &out),
                   REASON_PERMITTED, &out,
                   "grant_type=refresh_token&client_id=app&refresh_token=%7E0&scope=openid%20api%3A%2F%2Fapp%2Fb");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        buf_clear(&out);
        assert_int_equal(oauth_front_token(&front, span_text(refused[i].form), &out), refused[i].reason);
    }
    buf_fini(&out);
}

TEST_CASE(test_what_is_long)
{
    char *form = mem_alloc(40000);
    struct buf out;

    memset(form, '/', 40000);
    memcpy(form, "grant_type=refresh_token&client_id=app&code=", 44);
    buf_init(&out, 200000);
    assert_int_equal(oauth_front_token(&front, span_of(form, 40000), &out), REASON_OAUTH_REQUEST); /* thrice as long in escapes */
    buf_fini(&out);
    mem_free(form);
}

TEST_CASE(test_register)
{
    static const char *const refused[] = {"", "[]", "{}", "{\"redirect_uris\":[]}", "{\"redirect_uris\":[1]}",
                                          "{\"redirect_uris\":{\"a\":\"b\"}}", "redirect_uris=a"};
    const struct span good = SPAN_LIT("{\"client_id\":\"evil\", \"redirect_uris\": [\"http://127.0.0.1\"]}");
    struct arena arena;
    struct buf out;

    arena_init(&arena, 1 << 16);
    buf_init(&out, 10000);
    assert_written(oauth_front_register(&front, good, &arena, &out),
                   REASON_OAUTH_REGISTERED, &out,
                   "{\"client_id\":\"app\",\"redirect_uris\":[\"http://127.0.0.1\"],\"token_endpoint_auth_method\":\"none\","
                   "\"response_types\":[\"code\"],\"grant_types\":[\"authorization_code\",\"refresh_token\"]}");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        buf_clear(&out);
        assert_int_equal(oauth_front_register(&front, span_text(refused[i]), &arena, &out), REASON_OAUTH_REQUEST);
    }
    buf_fini(&out);
    arena_fini(&arena);
}

TEST_MAIN(NULL, NULL)
