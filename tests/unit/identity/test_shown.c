/* SPDX-License-Identifier: Apache-2.0 */
/* 8.1, 8.2: a token as a request shows it: what is kept of it for how long, and what no provider is asked about. */
#include "fakes/token_desk.h"

#include "identity/identity.h"

static struct identity_provider asked;
static struct identity_source source;

static void hear(void *context)
{
    (void)context;
}

static struct lookups *start(void)
{
    struct lookup_conf conf = {
        .work = hear, .settled = hear,
        .types = {[LOOKUP_KEYS] = identity_keys_type, [LOOKUP_INTROSPECTION] = identity_introspection_type,
                  [LOOKUP_TOKEN] = identity_token_type},
    };
    struct lookups *lookups;

    asked = (struct identity_provider){.rules = provider, .introspect_url = "https://id.example.com/introspect"};
    identity_provider_seal(&asked);
    source = (struct identity_source){.kind = IDENTITY_TOKEN, .header = "DPoP", .provider = &asked, .rules = rules};
    assert_ok(lookup_new(&conf, &lookups));
    return lookups;
}

static struct span header_of(const void *context, const char *name)
{
    return strcmp(name, "Authorization") == 0 ? span_text(context) : SPAN_NONE;
}

/* Returns: how it ends; UNSET: it waits. */
static enum reason show(struct lookups *lookups, const char *authorization, int64_t now_us)
{
    struct identity_request request = {.header = header_of, .context = authorization, .lookups = lookups, .now_us = now_us};
    struct identity identity;
    enum reason reason = identity_decide(&source, 1, NULL, &request, &identity);

    reason = identity.ticket != 0 ? REASON_UNSET : reason;
    identity_leave(&identity);
    return reason;
}

/* While a provider is away its tokens let in for as long as its set is believed, those that were verified before as well. */
TEST_CASE(no_token_outlasts_its_set)
{
    struct lookups *lookups = start();
    struct lookup_key key = {.kind = LOOKUP_KEYS};
    char line[4096];

    memcpy(key.digest, asked.digest, DIGEST_BYTES);
    (void)snprintf(line, sizeof line, "Bearer %.*s", SPAN_ARG(fake_token(ours, "ES256", HEADER, CLAIMS, &text)));
    lookup_put(lookups, &key, identity_key_set_ref(keys), 100, 0, NOW + 100);
    assert_int_equal(show(lookups, line, NOW), REASON_PERMITTED);
    assert_int_equal(show(lookups, line, NOW + 99), REASON_PERMITTED);
    assert_int_equal(show(lookups, line, NOW + 100), REASON_UNSET);
    lookup_fail(lookups, &key, REASON_IDENTITY_UNAVAILABLE, NOW + 200);
    assert_int_equal(show(lookups, line, NOW + 101), REASON_IDENTITY_UNAVAILABLE);
    lookup_put(lookups, &key, identity_key_set_ref(keys), 100, 0, NOW + 1000);
    assert_int_equal(show(lookups, line, NOW + 102), REASON_PERMITTED);
    lookup_free(&lookups);
}

/* What is written otherwise than a token (RFC 6750, 2.1) is no token; a key of ours hides in nothing of that. */
TEST_CASE(what_no_provider_is_asked_about)
{
    static const char *const wrong[] = {
        "Bearer cg_key", "DPoP cg_key", "Bearer \tcg_key", "Bearer  \t cg_key", "Bearer \"cg_key\"", "Bearer ,cg_key", "Bearer x cg_key",
        "Bearer x,cg_key", "Bearer =", "Bearer a=b", "Bearer token:cg_key", "Bearer \x80" "cg_key", "Basic cg_key", NULL,
    };
    static const char *const good[] = {"Bearer opaque", "Bearer  a-._~+/9==", "DPoP Zz", NULL};
    struct lookups *lookups = start();
    struct lookup_work work;

    for (const char *const *each = wrong; *each != NULL; each++) {
        assert_int_equal(show(lookups, *each, NOW), REASON_CREDENTIAL_WRONG);
        assert_false(lookup_take(lookups, &work));
    }
    for (const char *const *each = good; *each != NULL; each++) {
        assert_int_equal(show(lookups, *each, NOW), REASON_UNSET);
        assert_true(lookup_take(lookups, &work));
        assert_int_equal(work.key.kind, LOOKUP_INTROSPECTION);
        lookup_work_fini(&work);
    }
    lookup_free(&lookups);
}

TEST_MAIN(set_up, tear_down)
