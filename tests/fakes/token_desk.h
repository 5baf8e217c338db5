/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of tokens share: a provider with two keys, a route's rules, and the verdict on a token. For one test program each. */
#ifndef FAKES_TOKEN_DESK_H
#define FAKES_TOKEN_DESK_H

#include "identity/token.h"

#include "fakes/cm.h"
#include "fakes/fake_provider.h"

#include <stdio.h>

#define SECOND INT64_C(1000000)
#define NOW (INT64_C(1800000000) * SECOND)
#define ISSUER "https://id.example.com/realms/corp"
#define AUDIENCE "https://mcp.example.com/shop/mcp"
/* What the tokens say where a test changes nothing else. */
#define TIMES "\"iat\":1799999990,\"exp\":1800000300"
#define REST "\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\",\"sub\":\"bot\",\"org\":\"acme\""
#define CLAIMS "{" REST "," TIMES "}"
#define HEADER "{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"at+jwt\"}"

static struct fake_key *ours, *others, *rsa;
static struct identity_key_set *keys; /* k1: ours, k2: rsa */
static struct buf text;

static struct identity_path path_of(const char *path)
{
    struct identity_path made;

    assert_ok(identity_path_read(path, &made, NULL));
    return made;
}

static uint32_t bits_of(const char *const *names)
{
    uint32_t bits = 0;

    for (; *names != NULL; names++)
        bits |= identity_algorithm_bit(span_text(*names));
    return bits;
}

static struct identity_provider_rules provider = {.name = "corp", .issuer = ISSUER, .leeway_us = 60 * SECOND,
                                                  .longest_us = 86400 * SECOND};
static const char *const audiences[] = {AUDIENCE, NULL};
static struct identity_token_rules rules = {.audiences = audiences};

static enum identity_fault judge(struct span token)
{
    struct identity_token *made;
    enum identity_fault fault = identity_token_read(&provider, &rules, keys, token, NOW, &made);

    assert_true((made != NULL) == (fault == IDENTITY_FAULT_NONE));
    identity_token_unref(&made);
    return fault;
}

/* Signed well, with our key. */
static enum identity_fault judge_signed(const char *header, const char *claims)
{
    return judge(fake_token(ours, "ES256", header, claims, &text));
}

static __attribute__((unused)) enum identity_fault judge_claims(const char *claims)
{
    return judge_signed(HEADER, claims);
}

#define EXPECT(fault, name) assert_string_equal(identity_fault_text(fault), identity_fault_text(IDENTITY_FAULT_##name))

static int set_up(void **state)
{
    static const char *const algorithms[] = {"RS256", "PS256", "ES256", NULL};
    struct buf set;

    (void)state;
    ours = fake_key_make("P-256");
    others = fake_key_make("P-256");
    rsa = fake_key_make("RSA2048");
    buf_init(&text, 1 << 20);
    buf_init(&set, 1 << 20);
    buf_add_text(&set, "{\"keys\":[");
    fake_jwk(ours, ",\"kid\":\"k1\",\"use\":\"sig\",\"alg\":\"ES256\"", &set);
    buf_add_byte(&set, ',');
    fake_jwk(rsa, ",\"kid\":\"k2\"", &set);
    buf_add_text(&set, "]}");
    assert_ok(identity_key_set_read(buf_peek(&set), &keys, NULL));
    assert_int_equal(identity_key_set_count(keys), 2);
    buf_fini(&set);
    provider.algorithms = bits_of(algorithms);
    rules.principal = (struct identity_naming){.claim = path_of("$.sub")};
    rules.tenant = (struct identity_naming){.claim = path_of("$.org")};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_key_free(&ours);
    fake_key_free(&others);
    fake_key_free(&rsa);
    identity_key_set_unref(&keys);
    buf_fini(&text);
    return 0;
}

#endif
