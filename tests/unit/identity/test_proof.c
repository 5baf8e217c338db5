/* SPDX-License-Identifier: Apache-2.0 */
/* 8.2: DPoP proofs: replayed, of another URL, method, key, token, too old, too many. */
#include "fakes/token_desk.h"
#include "identity/jws_priv.h"

#define URL "https://mcp.example.com/shop/mcp"
#define TOKEN "the.token.itself"

static struct fake_key *agent;
static struct identity_token bound;
static struct identity_proofs *proofs;
static struct buf jwk, header, claims, proof;
static int serial;

static void thumbprint_of(const struct fake_key *key, unsigned char out[DIGEST_BYTES])
{
    /* fake_jwk writes EC keys as crv behind kty; RFC 7638 wants the members in the order of their names. */
    struct buf text_of_key, ordered;
    struct span at, rest;

    buf_init(&text_of_key, 4000);
    buf_init(&ordered, 4000);
    fake_jwk(key, "", &text_of_key);
    at = buf_peek(&text_of_key);
    (void)span_cut(at, ',', &rest);
    at = span_cut(rest, ',', &rest);
    buf_addf(&ordered, "{%.*s,\"kty\":\"EC\",%.*s", SPAN_ARG(at), SPAN_ARG(rest));
    digest_of(buf_peek(&ordered), out);
    buf_fini(&text_of_key);
    buf_fini(&ordered);
}

struct wish {
    const char *typ, *alg, *htm, *htu, *jti, *ath_of, *more;
    int64_t iat;
    const struct fake_key *signs;
};

static struct span make(struct wish wish)
{
    unsigned char digest[DIGEST_BYTES];

    buf_clear(&jwk);
    buf_clear(&header);
    buf_clear(&claims);
    buf_clear(&proof);
    fake_jwk(agent, "", &jwk);
    buf_addf(&header, "{\"typ\":\"%s\",\"alg\":\"%s\",\"jwk\":%.*s}", wish.typ, wish.alg, SPAN_ARG(buf_peek(&jwk)));
    buf_addf(&claims, "{\"htm\":\"%s\",\"htu\":\"%s\",\"iat\":%lld,\"jti\":\"%s\"%s", wish.htm, wish.htu, (long long)wish.iat, wish.jti,
             wish.more);
    if (wish.ath_of != NULL) {
        digest_of(span_text(wish.ath_of), digest);
        buf_add_text(&claims, ",\"ath\":\"");
        base64url_encode(span_of(digest, DIGEST_BYTES), &claims);
        buf_add_byte(&claims, '"');
    }
    buf_add_byte(&claims, '}');
    fake_sign(wish.signs, "ES256", SPAN_NONE, buf_peek(&header), buf_peek(&claims), &proof);
    return buf_peek(&proof);
}

static struct wish good(void)
{
    static char jti[20];

    snprintf(jti, sizeof jti, "id-%d", serial++);
    return (struct wish){"dpop+jwt", "ES256", "POST", URL, jti, TOKEN, "", NOW / SECOND, agent};
}

static enum identity_fault check_at(struct span shown, int64_t now_us)
{
    struct identity_proof_request request = {.proof = shown, .method = SPAN_LIT("POST"), .url = SPAN_LIT(URL),
                                             .token = SPAN_LIT(TOKEN), .by_dpop = true, .now_us = now_us};

    struct share whose = {1, 2};
    enum identity_fault fault;
    uint64_t key;

    fault = identity_proof_check(&bound, &request, proofs, &key);
    return fault == IDENTITY_FAULT_NONE && key != 0 ? identity_proof_use(proofs, key, whose, now_us) : fault;
}

static enum identity_fault check(struct wish wish)
{
    return check_at(make(wish), NOW);
}

static int begin(void **state)
{
    assert_ok(set_up(state));
    agent = fake_key_make("P-256");
    bound.bound = IDENTITY_BOUND_KEY;
    thumbprint_of(agent, bound.bound_key);
    buf_init(&jwk, 4000);
    buf_init(&header, 40000);
    buf_init(&claims, 40000);
    buf_init(&proof, 80000);
    assert_ok(identity_proofs_new(NOW - 1000 * SECOND, &proofs));
    return 0;
}

static int end(void **state)
{
    identity_proofs_free(&proofs);
    identity_proofs_free(&proofs);
    fake_key_free(&agent);
    buf_fini(&jwk);
    buf_fini(&header);
    buf_fini(&claims);
    buf_fini(&proof);
    return tear_down(state);
}

TEST_CASE(test_once)
{
    struct wish wish = good();

    EXPECT(check(wish), NONE);
    EXPECT(check(wish), PROOF_REPLAYED);
    wish.more = ",\"x\":1"; /* another text with the same jti */
    EXPECT(check(wish), PROOF_REPLAYED);
    wish.jti = "another";
    EXPECT(check(wish), NONE);
}

TEST_CASE(test_each_member)
{
    struct wish wish;

#define WITH(member, value, fault) \
    do { \
        wish = good(); \
        wish.member = (value); \
        EXPECT(check(wish), fault); \
    } while (0)
    WITH(typ, "JWT", PROOF_FORM);
    WITH(typ, "at+jwt", PROOF_FORM);
    WITH(alg, "none", PROOF_ALGORITHM);
    WITH(alg, "HS256", PROOF_ALGORITHM);
    WITH(alg, "RS256", PROOF_ALGORITHM);
    WITH(alg, "ES384", PROOF_ALGORITHM);
    WITH(signs, ours, PROOF_SIGNATURE);
    WITH(htm, "GET", PROOF_METHOD);
    WITH(htm, "post", PROOF_METHOD);
    WITH(htm, "", PROOF_METHOD);
    WITH(htu, "https://mcp.example.com/mail/mcp", PROOF_URL);
    WITH(htu, "https://mcp.example.com/shop/mcp/", PROOF_URL);
    WITH(htu, "https://mcp.example.com/shop/MCP", PROOF_URL);
    WITH(htu, "https://evil.example/shop/mcp", PROOF_URL);
    WITH(htu, "http://mcp.example.com/shop/mcp", PROOF_URL);
    WITH(htu, "https://mcp.example.com:8443/shop/mcp", PROOF_URL);
    WITH(htu, "https://mcp.example.com:80/shop/mcp", PROOF_URL);
    WITH(htu, "https://a@mcp.example.com/shop/mcp", PROOF_URL);
    WITH(htu, "/shop/mcp", PROOF_URL);
    WITH(htu, "https:mcp.example.com/shop/mcp", PROOF_URL);
    WITH(htu, "?https://mcp.example.com/shop/mcp", PROOF_URL);
    WITH(htu, "", PROOF_URL);
    WITH(htu, "HTTPS://MCP.example.com:443/shop/mcp?a=b#c", NONE);
    WITH(htu, "https://mcp.example.com/shop/mcp#c?", NONE);
    WITH(ath_of, NULL, PROOF_TOKEN);
    WITH(ath_of, "another.token", PROOF_TOKEN);
    WITH(jti, "", PROOF_ID);
    WITH(iat, NOW / SECOND - 59, NONE);
    WITH(iat, NOW / SECOND - 60, PROOF_TIME);
    WITH(iat, NOW / SECOND + 60, NONE);
    WITH(iat, NOW / SECOND + 61, PROOF_TIME);
    WITH(more, ",\"htm\":\"GET\"", PROOF_FORM); /* doubled */
    WITH(more, ",\"iat\":1", PROOF_FORM);
#undef WITH
}

/* Another key than the token's; a private one; a symmetric one; none. */
TEST_CASE(test_keys)
{
    struct fake_key *mine = agent;
    struct wish wish = good();

    agent = others;
    wish.signs = others;
    EXPECT(check(wish), PROOF_KEY);
    agent = mine;
    wish = good();
    (void)make(wish);
    for (int i = 0; i < 4; i++) {
        static const char *const rows[] = {
            "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\"}", "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":{\"kty\":\"oct\",\"k\":\"AAAA\"}}",
            "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":\"x\"}", "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":{},\"jwk\":{}}"};
        struct buf other;

        buf_init(&other, 40000);
        fake_sign(agent, "ES256", SPAN_NONE, span_text(rows[i]), buf_peek(&claims), &other);
        EXPECT(check_at(buf_peek(&other), NOW), PROOF_FORM);
        buf_fini(&other);
    }
    buf_clear(&jwk);
    fake_jwk(agent, ",\"d\":\"AAAA\"", &jwk);
    buf_clear(&header);
    buf_addf(&header, "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":%.*s}", SPAN_ARG(buf_peek(&jwk)));
    buf_clear(&proof);
    fake_sign(agent, "ES256", SPAN_NONE, buf_peek(&header), buf_peek(&claims), &proof);
    EXPECT(check_at(buf_peek(&proof), NOW), PROOF_FORM);
}

TEST_CASE(test_schemes)
{
    struct identity_token bearer = {.bound = 0};
    struct identity_proof_request request = {.proof = make(good()), .method = SPAN_LIT("POST"), .url = SPAN_LIT(URL),
                                             .token = SPAN_LIT(TOKEN), .by_dpop = false, .now_us = NOW};
    uint64_t key;

    EXPECT(identity_proof_check(&bound, &request, proofs, &key), PROOF_MISSING); /* a bound token by Bearer, though there is a proof */
    EXPECT(identity_proof_check(&bearer, &request, proofs, &key), NONE);
    request.by_dpop = true;
    EXPECT(identity_proof_check(&bearer, &request, proofs, &key), PROOF_UNBOUND);
    EXPECT(identity_proof_check(&bound, &request, proofs, &key), NONE);
    request.proof = SPAN_NONE;
    EXPECT(identity_proof_check(&bound, &request, proofs, &key), PROOF_MISSING);
    request.proof = SPAN_LIT("");
    EXPECT(identity_proof_check(&bound, &request, proofs, &key), PROOF_FORM);
}

/* For as long as a proof could come again it is remembered, and no longer; and none from before the start. */
TEST_CASE(test_time)
{
    struct span shown;
    struct wish wish = good(), old = good();

    wish.iat = NOW / SECOND + 60;
    wish.jti = "ahead";
    shown = make(wish);
    EXPECT(check_at(shown, NOW), NONE);
    for (int64_t later = 1; later < 120; later++)
        EXPECT(check_at(shown, NOW + later * SECOND), PROOF_REPLAYED);
    EXPECT(check_at(shown, NOW + 120 * SECOND), PROOF_TIME);
    identity_proofs_free(&proofs);
    assert_ok(identity_proofs_new(NOW, &proofs));
    old.iat = NOW / SECOND - 1;
    EXPECT(check(old), PROOF_REPLAYED);
    old.iat = NOW / SECOND;
    EXPECT(check(old), NONE);
}

/* Many are remembered, the first too; their memory is given back when they are old. */
TEST_CASE(test_many)
{
    struct wish wish = good();
    struct span first;
    struct buf kept;

    buf_init(&kept, 10000);
    wish.jti = "first";
    buf_add_span(&kept, make(wish));
    first = buf_peek(&kept);
    EXPECT(check_at(first, NOW), NONE);
    for (int i = 0; i < 3000; i++)
        EXPECT(check(good()), NONE);
    EXPECT(check_at(first, NOW), PROOF_REPLAYED);
    buf_fini(&kept);
}

#define KEY(number) ((number) * UINT64_C(0x9e3779b97f4a7c15))

/* 10.3: so many in two minutes, by tenant and principal: whoever comes then is refused, not taken unseen, until the old ones are
 * forgotten; another tenant goes on. */
TEST_CASE(test_shares)
{
    const struct share bot = {1, 11}, other = {1, 12}, stranger = {2, 21};
    struct identity_proofs *full;
    uint64_t taken = 0, key = 1;

    assert_ok(identity_proofs_new(NOW, &full));
    for (; identity_proof_use(full, KEY(key), bot, NOW) == IDENTITY_FAULT_NONE; key++)
        taken++;
    assert_in_range(taken, 524288 / 4, 524288 / 3 + 1); /* a third, about: one shard is full first */
    EXPECT(identity_proof_use(full, KEY(key), bot, NOW + 119 * SECOND), PROOF_SHARE);
    EXPECT(identity_proof_use(full, KEY(1), bot, NOW + 119 * SECOND), PROOF_REPLAYED);
    for (uint64_t i = 0; i < 50; i++) {
        EXPECT(identity_proof_use(full, KEY(2 * key + i), other, NOW), NONE);
        EXPECT(identity_proof_use(full, KEY(3 * key + i), stranger, NOW), NONE);
    }
    EXPECT(identity_proof_use(full, KEY(key), bot, NOW + 120 * SECOND), NONE);
    EXPECT(identity_proof_use(full, KEY(key), bot, NOW + 130 * SECOND), PROOF_REPLAYED);
    identity_proofs_free(&full);
}

TEST_CASE(test_bytes)
{
    struct buf changed;
    struct span shown = make(good());

    buf_init(&changed, 10000);
    for (size_t i = 0; i < shown.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            buf_clear(&changed);
            buf_add_span(&changed, shown);
            changed.block[changed.head + i] ^= (char)(1 << bit);
            if (check_at(buf_peek(&changed), NOW) == IDENTITY_FAULT_NONE)
                fail_msg("changed at %zu it passes", i);
        }
    EXPECT(check_at(shown, NOW), NONE);
    buf_clear(&changed);
    while (buf_len(&changed) <= IDENTITY_PROOF_BYTES_MAX)
        buf_add_byte(&changed, 'e');
    EXPECT(check_at(buf_peek(&changed), NOW), PROOF_FORM);
    buf_fini(&changed);
}

TEST_CASE(test_memory)
{
    struct span shown = make(good());

    for (uint64_t nth = 1; nth < 60; nth++) {
        enum identity_fault fault;

        mem_fail_at(nth, 1);
        fault = check_at(shown, NOW);
        mem_fail_at(0, 0);
        if (fault == IDENTITY_FAULT_NONE)
            return;
    }
    fail_msg("it needs more memory than it should");
}

TEST_MAIN(begin, end)
