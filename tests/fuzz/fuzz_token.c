/* SPDX-License-Identifier: Apache-2.0 */
/* 8.2: any bytes as a token, as a signed token's header and claims, as a provider's answer, as its keys, and as a signed proof's header
 * and claims. Nobody is let in without the provider's signature; who is let in is who cJSON, the second opinion, says that it is. The first
 * byte chooses which. */
#include "base/bug.h"
#include "fakes/fake_provider.h"
#include "identity/proof.h"

#include <cjson/cJSON.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define SECOND INT64_C(1000000)
#define NOW (INT64_C(1800000000) * SECOND)
#define ISSUER "https://id.example"
#define AUDIENCE "https://mcp.example/mcp"

static const char *const audiences[] = {AUDIENCE, NULL};
static const struct identity_provider_rules provider = {.issuer = ISSUER, .algorithms = UINT32_MAX, .leeway_us = 60 * SECOND,
                                                        .longest_us = 86400 * SECOND, .id_token_like = true};
static struct identity_token_rules rules = {.audiences = audiences};
static struct fake_key *key;
static struct identity_key_set *keys;
static struct identity_proofs *proofs;
static struct identity_token bound = {.bound = IDENTITY_BOUND_KEY};

static void open_once(void)
{
    struct buf text, ordered;
    struct span x;

    if (key != NULL)
        return;
    key = fake_key_make("Ed25519");
    buf_init(&text, 10000);
    buf_init(&ordered, 1000);
    fake_set(key, ",\"kid\":\"k\"", &text);
    BUG_ON(identity_key_set_read(buf_peek(&text), &keys, NULL) != CODE_OK);
    buf_clear(&text);
    fake_jwk(key, "", &text);
    x = span_part(buf_peek(&text), strlen("{\"kty\":\"OKP\",\"crv\":\"Ed25519\","), SIZE_MAX);
    buf_addf(&ordered, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",%.*s", SPAN_ARG(x)); /* RFC 7638 */
    digest_of(buf_peek(&ordered), bound.bound_key);
    buf_fini(&ordered);
    buf_fini(&text);
    BUG_ON(identity_path_read("$.sub", &rules.principal.claim, NULL) != CODE_OK);
    BUG_ON(identity_path_read("$.org", &rules.tenant.claim, NULL) != CODE_OK);
    BUG_ON(identity_path_read("$.a['b']", &rules.groups, NULL) != CODE_OK);
    BUG_ON(identity_proofs_new(0, &proofs) != CODE_OK);
}

static bool says(const cJSON *object, const char *name, struct span text)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

    return value != NULL && span_is(text, value);
}

static bool says_or_holds(const cJSON *object, const char *name, struct span text)
{
    const cJSON *item, *list = cJSON_GetObjectItemCaseSensitive(object, name);

    if (!cJSON_IsArray(list))
        return says(object, name, text);
    cJSON_ArrayForEach(item, list)
        if (cJSON_IsString(item) && span_is(text, item->valuestring))
            return true;
    return false;
}

static void check_token(const struct identity_token *token, struct span claims)
{
    cJSON *object = cJSON_ParseWithLength(claims.at, claims.len);

    BUG_ON(!identity_name_is_good(token->principal, 256) || !identity_name_is_good(token->tenant, 128));
    BUG_ON(token->expires_us <= NOW - 60 * SECOND);
    BUG_ON(object == NULL || !says_or_holds(object, "sub", token->principal) || !says_or_holds(object, "org", token->tenant));
    BUG_ON(!says_or_holds(object, "aud", SPAN_LIT(AUDIENCE)));
    for (size_t i = 0; i < token->group_count; i++)
        BUG_ON(!says_or_holds(cJSON_GetObjectItemCaseSensitive(object, "a"), "b", token->groups[i]));
    for (size_t i = 0; i < token->scope_count; i++)
        BUG_ON(!identity_name_is_good(token->scopes[i], 256));
    BUG_ON((cJSON_GetObjectItemCaseSensitive(object, "cnf") != NULL) != (token->bound != 0));
    cJSON_Delete(object);
}

static void try_token(struct span header, struct span claims)
{
    struct identity_token *token;
    struct buf text;

    buf_init(&text, 1 << 20);
    fake_sign(key, "EdDSA", SPAN_NONE, header, claims, &text);
    if (identity_token_read(&provider, &rules, keys, buf_peek(&text), NOW, &token) == IDENTITY_FAULT_NONE) {
        cJSON *object = cJSON_ParseWithLength(claims.at, claims.len);

        BUG_ON(object == NULL || !says(object, "iss", SPAN_LIT(ISSUER)));
        cJSON_Delete(object);
        check_token(token, claims);
    }
    identity_token_unref(&token);
    buf_fini(&text);
}

static void try_proof(struct span header, struct span claims)
{
    struct identity_proof_request request = {.method = SPAN_LIT("POST"), .url = SPAN_LIT(AUDIENCE), .token = SPAN_LIT("t"),
                                             .by_dpop = true, .now_us = NOW};
    struct buf text, whole;
    uint64_t used;

    buf_init(&text, 1 << 20);
    buf_init(&whole, 1 << 20);
    buf_addf(&whole, "{\"jwk\":");
    fake_jwk(key, "", &whole);
    buf_addf(&whole, ",%.*s", SPAN_ARG(header));
    fake_sign(key, "EdDSA", SPAN_NONE, buf_peek(&whole), claims, &text);
    request.proof = buf_peek(&text);
    if (identity_proof_check(&bound, &request, proofs, &used) == IDENTITY_FAULT_NONE) {
        cJSON *object = cJSON_ParseWithLength(claims.at, claims.len);

        BUG_ON(object == NULL || !says(object, "htm", SPAN_LIT("POST")));
        BUG_ON(!says(object, "ath", SPAN_LIT("47mKTaMaEn1L3m5DAz9muidMqw636xxw7EFAK_YnPdg")));
        BUG_ON(identity_proof_use(proofs, used, (struct share){1, 2}, NOW) != IDENTITY_FAULT_NONE);
        BUG_ON(identity_proof_check(&bound, &request, proofs, &used) == IDENTITY_FAULT_NONE);
        cJSON_Delete(object);
    }
    buf_fini(&text);
    buf_fini(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span input = span_part(span_of(bytes, len), 1, SIZE_MAX), claims, header = span_cut(input, '\n', &claims);
    struct identity_token_hint hint;
    struct identity_token *token = NULL;
    struct identity_key_set *set = NULL;
    struct why why;

    open_once();
    switch (len > 0 && len < 100000 ? bytes[0] % 5 : 5) {
    case 0:
        (void)identity_token_looks(input, &hint);
        BUG_ON(identity_token_read(&provider, &rules, keys, input, NOW, &token) == IDENTITY_FAULT_NONE);
        break;
    case 1:
        try_token(header, claims);
        break;
    case 2:
        if (identity_token_introspected(&provider, &rules, SPAN_LIT("t"), input, NOW, &token) == IDENTITY_FAULT_NONE)
            check_token(token, input);
        break;
    case 3:
        if (identity_key_set_read(input, &set, &why) == CODE_OK)
            BUG_ON(identity_key_set_count(set) == 0 || !identity_key_set_has(set, SPAN_NONE, NULL));
        break;
    case 4:
        try_proof(header, claims);
        break;
    default:
        break;
    }
    identity_token_unref(&token);
    identity_key_set_unref(&set);
    return 0;
}
