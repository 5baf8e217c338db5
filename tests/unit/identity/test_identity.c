/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/identity.h"

#include "base/mem.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

struct headers {
    const char *api_key;       /* X-API-Key */
    const char *authorization;
};

static struct span find_header(const void *context, const char *name)
{
    const struct headers *headers = context;

    if (strcmp(name, "X-API-Key") == 0)
        return span_text(headers->api_key);
    if (strcmp(name, "Authorization") == 0)
        return span_text(headers->authorization);
    return SPAN_NONE;
}

static const char *const claims[] = {"team-*", "acme-\\*", NULL};

static const struct identity_source key_then_bearer[] = {
    {.kind = IDENTITY_API_KEY, .header = "X-API-Key"},
    {.kind = IDENTITY_BEARER},
};

static struct identity_keys *table_of_some(void)
{
    struct identity_key keys[] = {
        {.principal = "bot", .tenant = "acme", .may_claim = claims, .id = 7},
        {.principal = "late", .tenant = "umbrella", .expires_us = 1000, .id = 8},
        {.principal = "short", .tenant = "acme", .id = 9},
    };
    struct identity_keys *table;

    digest_of(SPAN_LIT("right"), keys[0].digest);
    digest_of(SPAN_LIT("expiring"), keys[1].digest);
    digest_of(SPAN_LIT("k"), keys[2].digest);
    assert_int_equal(identity_keys_new(keys, 3, &table), CODE_OK);
    return table;
}

static enum reason decide(const struct identity_source *sources, size_t count, struct headers headers,
                          const char *claimed, int64_t now_us, struct identity *identity)
{
    struct identity_keys *keys = table_of_some();
    struct identity_request request = {
        .header = find_header, .context = &headers, .claimed_tenant = span_text(claimed), .now_us = now_us,
    };
    enum reason reason = identity_decide(sources, count, keys, &request, identity);

    /* The table's texts are compared here, while it is held. */
    if (reason == REASON_PERMITTED && identity->key_id == 7)
        assert_true(span_is(identity->principal, "bot"));
    identity_keys_unref(&keys);
    return reason;
}

/* 1.29 */
TEST_CASE(first_present_decides)
{
    struct identity identity;

    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "right"}, NULL, 1, &identity),
                     REASON_PERMITTED);
    assert_true(span_is(identity.authentication, "api_key"));
    assert_string_equal(identity.consumed, "X-API-Key");
    assert_int_equal(identity.key_id, 7);

    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.authorization = "Bearer right"}, NULL, 1, &identity),
                     REASON_PERMITTED);
    assert_true(span_is(identity.authentication, "bearer"));
    assert_string_equal(identity.consumed, "Authorization");

    /* A wrong first one is never made good by a right second one, not even an empty one. */
    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "wrong", .authorization = "Bearer right"},
                            NULL, 1, &identity), REASON_CREDENTIAL_WRONG);
    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "", .authorization = "Bearer right"},
                            NULL, 1, &identity), REASON_CREDENTIAL_WRONG);
    assert_int_equal(decide(key_then_bearer, 2, (struct headers){0}, NULL, 1, &identity), REASON_CREDENTIAL_MISSING);
    assert_int_equal(decide(key_then_bearer, 0, (struct headers){.api_key = "right"}, NULL, 1, &identity),
                     REASON_CREDENTIAL_MISSING);
}

/* 1.29 */
TEST_CASE(bearer_form)
{
    static const struct { const char *value; enum reason reason; } cases[] = {
        {"Bearer right", REASON_PERMITTED},       {"bearer right", REASON_PERMITTED},
        {"BEARER  right", REASON_PERMITTED},      {"Bearer", REASON_CREDENTIAL_WRONG},
        {"Bearer ", REASON_CREDENTIAL_WRONG},     {"Bearerright", REASON_CREDENTIAL_WRONG},
        {"Bearer k", REASON_PERMITTED},           {"Bearer  k", REASON_PERMITTED}, /* 4.21: of one byte */
        {"Basic right", REASON_CREDENTIAL_WRONG}, {"right", REASON_CREDENTIAL_WRONG},
        {"Bearer right ", REASON_CREDENTIAL_WRONG}, {"", REASON_CREDENTIAL_WRONG},
        {"Bearer\tright", REASON_CREDENTIAL_WRONG}, {"Bearer right right", REASON_CREDENTIAL_WRONG},
    };
    const struct identity_source bearer = {.kind = IDENTITY_BEARER};
    struct identity identity;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (decide(&bearer, 1, (struct headers){.authorization = cases[i].value}, NULL, 1, &identity) != cases[i].reason)
            fail_msg("\"%s\" should be %s", cases[i].value, reason_name(cases[i].reason));
}

/* 1.29 */
TEST_CASE(none_stands_alone)
{
    const struct identity_source none = {.kind = IDENTITY_NONE, .principal = "local", .tenant = "dev"};
    const struct identity_source beside[] = {{.kind = IDENTITY_API_KEY, .header = "X-API-Key"}, none};
    struct identity identity;

    assert_int_equal(decide(&none, 1, (struct headers){0}, NULL, 1, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.principal, "local"));
    assert_true(span_is(identity.tenant, "dev"));
    assert_null(identity.consumed);
    assert_int_equal(decide(&none, 1, (struct headers){0}, "acme", 1, &identity), REASON_TENANT_NOT_ALLOWED);

    assert_int_equal(decide(beside, 2, (struct headers){.api_key = "wrong"}, NULL, 1, &identity),
                     REASON_CREDENTIAL_WRONG);
    assert_int_equal(decide(beside, 2, (struct headers){0}, NULL, 1, &identity), REASON_CREDENTIAL_MISSING);
}

static struct span no_header(const void *context, const char *name)
{
    (void)context;
    (void)name;
    return SPAN_NONE;
}

/* 15.7: the kernel says whose process it is */
TEST_CASE(a_login_is_the_peers)
{
    static const struct identity_login logins[] = {{1000, "ada"}, {1000, "ada2"}, {1001, "bob"}};
    const struct identity_source login = {.kind = IDENTITY_LOGIN, .tenant = "desk", .logins = logins, .login_count = 3};
    struct arena arena;
    uint32_t uid = 1000;
    struct identity_request request = {.header = no_header, .arena = &arena};
    struct identity identity;

    arena_init(&arena, 4096);
    assert_int_equal(identity_decide(&login, 1, NULL, &request, &identity), REASON_CREDENTIAL_MISSING);
    request.uid = &uid;
    assert_int_equal(identity_decide(&login, 1, NULL, &request, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.principal, "ada") && span_is(identity.tenant, "desk"));
    assert_true(span_is(identity.authentication, "login") && span_is_empty(identity.agent));
    uid = 4000000000;
    assert_int_equal(identity_decide(&login, 1, NULL, &request, &identity), REASON_PERMITTED);
    assert_true(span_is(identity.principal, "uid:4000000000")); /* it has no login, and none is called so */
    request.claimed_tenant = SPAN_LIT("acme");
    assert_int_equal(identity_decide(&login, 1, NULL, &request, &identity), REASON_TENANT_NOT_ALLOWED);
    arena_fini(&arena);
}

TEST_CASE(keys_expire)
{
    struct identity identity;

    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "expiring"}, NULL, 999, &identity),
                     REASON_PERMITTED);
    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "expiring"}, NULL, 1000, &identity),
                     REASON_CREDENTIAL_WRONG);
}

/* 1.29 */
TEST_CASE(tenants_are_claimed)
{
    static const struct { const char *claim; bool allowed; } cases[] = {
        {NULL, true}, {"acme", true}, {"team-red", true}, {"acme-*", true}, {"Acme", false}, {"acme-x", false},
        {"umbrella", false}, {"", false}, {"team-a b", false}, {"team-\x7f", false}, {"team-\xc3\xa9", false},
    };
    struct identity identity;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum reason reason = decide(key_then_bearer, 2, (struct headers){.api_key = "right"}, cases[i].claim, 1, &identity);

        if ((reason == REASON_PERMITTED) != cases[i].allowed)
            fail_msg("claiming %s: %s", cases[i].claim ? cases[i].claim : "nothing", reason_name(reason));
        if (!cases[i].allowed)
            assert_int_equal(reason, REASON_TENANT_NOT_ALLOWED);
        else if (cases[i].claim != NULL && strcmp(cases[i].claim, "acme") != 0)
            assert_true(span_is(identity.tenant, cases[i].claim));
    }
}

/* 4.21: the longest name that may be claimed has 128 bytes. */
TEST_CASE(the_longest_tenant)
{
    char name[130];
    struct identity identity;

    (void)snprintf(name, sizeof name, "team-%0124d", 0);
    assert_int_equal(strlen(name), 129);
    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "right"}, name, 1, &identity),
                     REASON_TENANT_NOT_ALLOWED);
    name[128] = '\0';
    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "right"}, name, 1, &identity),
                     REASON_PERMITTED);
    assert_int_equal(decide(key_then_bearer, 2, (struct headers){.api_key = "right"}, "team-~", 1, &identity),
                     REASON_PERMITTED);
}

TEST_CASE(certificates)
{
    static const struct { const char *subject, *principal, *tenant; } cases[] = {
        {"CN=bot,O=acme", "bot", "acme"},
        {"C=DE,O=Acme Works,OU=a\\, b,CN=bot-1", "bot-1", "Acme Works"},
        {"cn=bot,o=a=b", "bot", "a=b"},
        {"CN=bot", NULL, NULL},
        {"O=acme", NULL, NULL},
        {"CN=bot,CN=root,O=acme", NULL, NULL},
        {"CN=bot,O=acme,O=umbrella", NULL, NULL},
        {"CN=bot\\,O=umbrella,O=acme", NULL, NULL},
        {"CN=bot+O=acme", NULL, NULL},
        {"CN=,O=acme", NULL, NULL},
        {"CN=#0c03,O=acme", NULL, NULL},
        {"CN=b\\C3\\A9,O=acme", NULL, NULL},
        {"CN=bot,O=acme\\", NULL, NULL},
        {"CN=bot,O=acme,", "bot", "acme"},
        {"=x,CN=bot,O=acme", NULL, NULL},
        {"", NULL, NULL},
    };
    const struct identity_source source = {.kind = IDENTITY_CERTIFICATE};
    struct headers headers = {0};
    struct tls_names names = {0};
    struct identity_request request = {.header = find_header, .context = &headers, .certificate = &names};
    struct identity identity;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool fits;

        names.subject = span_text(cases[i].subject);
        fits = identity_decide(&source, 1, NULL, &request, &identity) == REASON_PERMITTED;
        if (fits != (cases[i].principal != NULL))
            fail_msg("subject %s", cases[i].subject);
        if (fits) {
            assert_true(span_is(identity.principal, cases[i].principal));
            assert_true(span_is(identity.tenant, cases[i].tenant));
        }
    }
    request.certificate = NULL;
    assert_int_equal(identity_decide(&source, 1, NULL, &request, &identity), REASON_CREDENTIAL_MISSING);
    names.subject = SPAN_LIT("CN=bot,O=acme");
    request.certificate = &names;
    request.claimed_tenant = SPAN_LIT("umbrella");
    assert_int_equal(identity_decide(&source, 1, NULL, &request, &identity), REASON_TENANT_NOT_ALLOWED);
}

TEST_CASE(made_keys_work_and_differ)
{
    char one[48], two[48];
    struct identity_key key = {.principal = "p", .tenant = "t", .id = 1};
    struct identity_keys *table;
    struct headers headers = {.api_key = one};
    struct identity_request request = {.header = find_header, .context = &headers};
    struct identity identity;
    unsigned char other[DIGEST_BYTES];

    assert_int_equal(identity_key_make(one, key.digest), CODE_OK);
    for (int i = 0; i < 3; i++, memcpy(one, two, sizeof one)) { /* 4.21: what lies on the stack is no secret */
        assert_int_equal(identity_key_make(two, other), CODE_OK);
        assert_string_not_equal(one, two);
    }
    assert_int_equal(identity_key_make(one, key.digest), CODE_OK);
    assert_int_equal(strlen(one), 46);
    assert_memory_equal(one, "cg_", 3);
    assert_string_not_equal(one, two);
    assert_int_equal(identity_keys_new(&key, 1, &table), CODE_OK);
    assert_int_equal(identity_decide(key_then_bearer, 2, table, &request, &identity), REASON_PERMITTED);
    headers.api_key = two;
    assert_int_equal(identity_decide(key_then_bearer, 2, table, &request, &identity), REASON_CREDENTIAL_WRONG);
    identity_keys_unref(&table);
    assert_null(table);
}

TEST_CASE(many_keys_and_no_memory)
{
    enum { COUNT = 1000 };
    static struct identity_key keys[COUNT];
    struct identity_keys *table;
    uint64_t allocations;
    char text[16], name[150] = "";

    for (int i = 0; i < COUNT; i++) {
        keys[i] = (struct identity_key){.principal = "p", .tenant = "t", .may_claim = claims, .id = i + 1};
        snprintf(text, sizeof text, "key-%d", i);
        digest_of(span_text(text), keys[i].digest);
    }
    assert_int_equal(identity_keys_new(keys, COUNT, &table), CODE_OK);
    for (int i = 0; i < COUNT; i++) {
        struct headers headers = {.api_key = text};
        struct identity_request request = {.header = find_header, .context = &headers};
        struct identity identity;

        snprintf(text, sizeof text, "key-%d", i);
        assert_int_equal(identity_decide(key_then_bearer, 2, table, &request, &identity), REASON_PERMITTED);
        assert_int_equal(identity.key_id, i + 1);
    }
    identity_keys_unref(&table);
    /* 4.21: a longer first name moves all others, so that each kind of allocation is once the one that needs a new block. */
    for (size_t len = 1; len < sizeof name; len += 8) {
        memset(name, 'p', len);
        keys[0].principal = name;
        mem_fail_at(0, 0);
        assert_int_equal(identity_keys_new(keys, COUNT, &table), CODE_OK);
        allocations = mem_fail_count();
        identity_keys_unref(&table);
        for (uint64_t n = 1; n <= allocations; n++) {
            mem_fail_at(n, 0);
            assert_int_equal(identity_keys_new(keys, COUNT, &table), CODE_NOMEM);
            assert_null(table);
        }
    }
    mem_fail_at(0, 0);
}

TEST_MAIN(NULL, NULL)
