/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/shown_priv.h"

#include <string.h>

#define INTROSPECTED_US INT64_C(60000000) /* how long a provider's word on an opaque token is believed at most */
#define AUDIENCES_MAX 8
#define AUDIENCE_BYTES 1024
#define SLUG_MARK SPAN_LIT("{slug}")

/* What is shown, and by whom it is to be read. */
struct shown {
    const struct identity_request *request;
    const struct identity_source *source; /* NULL: nobody's */
    struct lookup_key key;                /* of the token as this source reads it */
    struct span text;
    unsigned char digest[DIGEST_BYTES];   /* of the text */
    bool by_dpop;
    uint64_t since;                       /* lookup_forgotten when it was begun */
};

static enum reason refuse(struct identity *identity, enum identity_fault fault)
{
    identity->fault = identity_fault_text(fault);
    if (fault == IDENTITY_FAULT_MEMORY)
        return REASON_MEMORY;
    return fault == IDENTITY_FAULT_PROOF_SHARE ? REASON_PROOF_SHARE : REASON_CREDENTIAL_WRONG;
}

/* ---- by whom ---- */

/* The source's salt goes into the key, since other routes, and this one before a reload, may read the same
 * token in another way. */
static void read_by(struct shown *shown, const struct identity_source *source)
{
    shown->source = source;
    shown->key.kind = LOOKUP_TOKEN;
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        shown->key.digest[i] = shown->digest[i] ^ source->salt[i];
    if (source->has_slug)
        digest_of_two(span_of(shown->key.digest, DIGEST_BYTES), shown->request->slug, shown->key.digest);
}

static struct identity_token *find_known(struct shown *shown, const struct identity_source *sources, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct identity_token *token;

        if (sources[i].kind != IDENTITY_TOKEN)
            continue;
        read_by(shown, &sources[i]);
        token = lookup_find(shown->request->lookups, &shown->key, shown->request->now_us);
        if (token != NULL)
            return token;
    }
    shown->source = NULL;
    return NULL;
}

/* Returns: whether it is a JWT; sets shown->source. */
static bool choose(struct shown *shown, const struct identity_source *sources, size_t count)
{
    struct identity_token_hint hint;
    bool is_jwt = identity_token_looks(shown->text, &hint);

    for (size_t i = 0; i < count && shown->source == NULL; i++) {
        const struct identity_provider *provider = sources[i].kind == IDENTITY_TOKEN ? sources[i].provider : NULL;

        if (provider != NULL && (is_jwt ? strcmp(provider->rules.issuer, hint.issuer) == 0 : provider->introspect_url != NULL))
            read_by(shown, &sources[i]);
    }
    return is_jwt;
}

/* ---- reading ---- */

static bool fill_slug(const char *audience, struct span slug, char out[AUDIENCE_BYTES])
{
    struct span text = span_text(audience);
    size_t at = 0, len = 0;

    while (at < text.len) {
        bool is_mark = span_starts_with(span_part(text, at, text.len), SLUG_MARK);
        struct span piece = is_mark ? slug : span_part(text, at, 1);

        if (len + piece.len >= AUDIENCE_BYTES)
            return false;
        if (piece.len > 0)
            memcpy(out + len, piece.at, piece.len);
        len += piece.len;
        at += is_mark ? SLUG_MARK.len : 1;
    }
    out[len] = '\0';
    return true;
}

enum identity_fault identity_source_read(const struct identity_source *source, struct span slug,
                                         const struct identity_key_set *keys, struct span text, struct span answer,
                                         int64_t now_us, struct identity_token **token)
{
    const struct identity_provider_rules *provider = &source->provider->rules;
    struct identity_token_rules rules = source->rules;
    char filled[AUDIENCES_MAX][AUDIENCE_BYTES];
    const char *audiences[AUDIENCES_MAX + 1] = {NULL};

    *token = NULL;
    for (size_t i = 0; source->has_slug && i < AUDIENCES_MAX && rules.audiences[i] != NULL; i++) {
        if (!fill_slug(rules.audiences[i], slug, filled[i]))
            return IDENTITY_FAULT_AUDIENCE;
        audiences[i] = filled[i];
    }
    if (source->has_slug)
        rules.audiences = audiences;
    return answer.at != NULL ? identity_token_introspected(provider, &rules, text, answer, now_us, token)
                             : identity_token_read(provider, &rules, keys, text, now_us, token);
}

static enum identity_fault read_with(const struct shown *shown, const struct identity_key_set *keys, struct span answer,
                                     struct identity_token **token)
{
    return identity_source_read(shown->source, shown->request->slug, keys, shown->text, answer, shown->request->now_us, token);
}

static void keep(const struct shown *shown, const struct identity_token *token, int64_t until_us)
{
    lookup_keep(shown->request->lookups, &shown->key, identity_token_ref(token), token->held_bytes, until_us, shown->since);
}

/* Reads the token by the provider's keys. Where none of these has its key id, newer ones are asked for. */
static enum reason read_signed(const struct shown *shown, struct identity *identity)
{
    const struct identity_request *request = shown->request;
    const struct identity_provider *provider = shown->source->provider;
    struct lookup_key key = {.kind = LOOKUP_KEYS};
    struct lookup_answer answer;
    enum identity_fault fault = IDENTITY_FAULT_NONE;
    enum lookup_state state;
    int64_t until_us;

    memcpy(key.digest, provider->digest, DIGEST_BYTES);
    state = lookup_ask(request->lookups, &key, SPAN_NONE, request->now_us, &answer);
    if (state == LOOKUP_READY) {
        fault = read_with(shown, answer.result, SPAN_NONE, &identity->token);
        identity_keys_type.unref(answer.result);
    }
    if (fault == IDENTITY_FAULT_UNKNOWN_KEY)
        state = lookup_ask_newer(request->lookups, &key, SPAN_NONE, request->now_us, LOOKUP_KEYS_GAP_US, &answer);
    if (state == LOOKUP_PENDING)
        identity->ticket = answer.ticket;
    if (fault != IDENTITY_FAULT_NONE)
        return refuse(identity, fault);
    if (state != LOOKUP_READY)
        return answer.reason;
    /* A token is forgotten with the set of keys that verified it, so that none outlasts `stale` while the provider is away. */
    until_us = identity->token->expires_us + provider->rules.leeway_us;
    keep(shown, identity->token, until_us < answer.until_us ? until_us : answer.until_us);
    return REASON_PERMITTED;
}

/* Reads the token by what the provider says of it. All routes share that answer, so its key is the token
 * and the provider alone. */
static enum reason read_opaque(const struct shown *shown, struct identity *identity)
{
    const struct identity_request *request = shown->request;
    const struct identity_provider *provider = shown->source->provider;
    struct lookup_key key = {.kind = LOOKUP_INTROSPECTION, .who = request->from};
    unsigned char payload[DIGEST_BYTES + IDENTITY_TOKEN_BYTES_MAX];
    struct identity_introspection *said;
    struct lookup_answer answer;
    enum lookup_state state;
    enum identity_fault fault;
    int64_t until_us;

    digest_of_two(span_of(shown->digest, DIGEST_BYTES), span_of(provider->digest, DIGEST_BYTES), key.digest);
    memcpy(&key.of, provider->digest, sizeof key.of);
    memcpy(payload, provider->digest, DIGEST_BYTES);
    memcpy(payload + DIGEST_BYTES, shown->text.at, shown->text.len);
    state = lookup_ask(request->lookups, &key, span_of(payload, DIGEST_BYTES + shown->text.len), request->now_us, &answer);
    mem_wipe(payload, DIGEST_BYTES + shown->text.len);
    switch (state) {
    case LOOKUP_PENDING:
        identity->ticket = answer.ticket;
        break;
    case LOOKUP_FAILED:
        return answer.reason;
    case LOOKUP_READY:
        said = answer.result;
        fault = read_with(shown, NULL, buf_peek(&said->answer), &identity->token);
        until_us = said->asked_us + INTROSPECTED_US;
        identity_introspection_type.unref(said);
        if (fault != IDENTITY_FAULT_NONE)
            return refuse(identity, fault);
        keep(shown, identity->token, identity->token->expires_us < until_us ? identity->token->expires_us : until_us);
        return REASON_PERMITTED;
    }
    return REASON_UNSET;
}

/* ---- what it is bound to ---- */

/* Checked at every call, since whoever shows a known token need not be its owner. */
static enum reason check_binding(const struct shown *shown, struct identity *identity)
{
    const struct identity_request *request = shown->request;
    const struct identity_token *token = identity->token;
    struct identity_proof_request proof = {
        .method = request->method, .token = shown->text, .by_dpop = shown->by_dpop, .now_us = request->now_us,
    };
    enum identity_fault fault = IDENTITY_FAULT_NONE;

    if ((token->bound & shown->source->bound) != shown->source->bound)
        fault = (shown->source->bound & IDENTITY_BOUND_KEY) != 0 ? IDENTITY_FAULT_PROOF_MISSING
                                                                 : IDENTITY_FAULT_CERTIFICATE_MISSING;
    if (fault == IDENTITY_FAULT_NONE && (token->bound & IDENTITY_BOUND_CERTIFICATE) != 0)
        fault = identity_token_check_certificate(token, request->certificate != NULL ? request->certificate->digest : NULL);
    if (fault == IDENTITY_FAULT_NONE && ((token->bound & IDENTITY_BOUND_KEY) != 0 || shown->by_dpop)) {
        proof.proof = request->header(request->context, "DPoP");
        fault = IDENTITY_FAULT_PROOF_URL;
        for (int is_public = 0; is_public < 2 && fault == IDENTITY_FAULT_PROOF_URL; is_public++) {
            proof.url = request->url(request->context, is_public != 0);
            fault = proof.url.at == NULL ? IDENTITY_FAULT_MEMORY : identity_proof_check(token, &proof, request->proofs,
                                                                                       &identity->proof);
        }
    }
    return fault == IDENTITY_FAULT_NONE ? REASON_PERMITTED : refuse(identity, fault);
}

enum reason identity__token(struct span value, const struct identity_source *sources, size_t count,
                            const struct identity_request *request, struct identity *identity,
                            const struct identity_source **by)
{
    struct shown shown = {.request = request, .since = lookup_forgotten(request->lookups)};
    enum reason reason = REASON_PERMITTED;

    shown.by_dpop = identity__credential(value, SPAN_LIT("dpop"), &shown.text);
    if (!shown.by_dpop && !identity__credential(value, SPAN_LIT("bearer"), &shown.text))
        return refuse(identity, IDENTITY_FAULT_FORM);
    if (shown.text.len > IDENTITY_TOKEN_BYTES_MAX)
        return refuse(identity, IDENTITY_FAULT_SIZE);
    digest_of(shown.text, shown.digest);
    identity->token = find_known(&shown, sources, count);
    if (identity->token == NULL) {
        bool is_jwt;

        /* One of the gate's keys, too, since it would be sent to a provider as an opaque token. */
        if (!identity_is_token(shown.text) || span_starts_with(shown.text, SPAN_LIT("cg_")))
            return refuse(identity, IDENTITY_FAULT_FORM);
        is_jwt = choose(&shown, sources, count);

        if (shown.source == NULL)
            return refuse(identity, is_jwt ? IDENTITY_FAULT_ISSUER : IDENTITY_FAULT_FORM);
        reason = is_jwt ? read_signed(&shown, identity) : read_opaque(&shown, identity);
    }
    identity->consumed = shown.source->forward ? NULL : "Authorization";
    identity->provider = shown.source->provider;
    *by = shown.source;
    if (reason == REASON_PERMITTED)
        reason = check_binding(&shown, identity);
    if (reason != REASON_PERMITTED)
        identity_token_unref(&identity->token);
    return reason;
}

enum reason identity_use_proof(struct identity *identity, struct identity_proofs *proofs, int64_t now_us)
{
    enum identity_fault fault = IDENTITY_FAULT_NONE;

    if (identity->proof != 0)
        fault = identity_proof_use(proofs, identity->proof, share_of(identity->home, identity->principal), now_us);
    return fault == IDENTITY_FAULT_NONE ? REASON_PERMITTED : refuse(identity, fault);
}

void identity_leave(struct identity *identity)
{
    identity_token_unref(&identity->token);
}

/* expires_us of an opaque token is a minute ahead at most. Whoever was let in by it goes on until the `exp` that its provider
 * named. */
static int64_t ends_us(const struct identity_token *token)
{
    const struct json_node *exp = json_member(token->claims, SPAN_LIT("exp"));
    uint64_t end_us;

    if (exp == NULL || exp->type != JSON_NUMBER || json_number_scaled(exp->raw, 6, &end_us) != CODE_OK ||
        end_us > INT64_MAX / 2)
        return token->expires_us;
    return (int64_t)end_us;
}

bool identity_token_holds(const struct identity_token *token, const struct identity_provider *provider, struct lookups *lookups,
                          int64_t now_us)
{
    struct lookup_key key = {.kind = LOOKUP_KEYS};
    struct identity_key_set *set;
    bool holds;

    if (now_us >= ends_us(token) + provider->rules.leeway_us)
        return false;
    if (!token->is_signed)
        return true;
    memcpy(key.digest, provider->digest, DIGEST_BYTES);
    set = lookup_find(lookups, &key, now_us);
    holds = set != NULL && identity_key_set_has(set, token->key_id, token->signed_by);
    identity_key_set_unref(&set);
    return holds;
}
