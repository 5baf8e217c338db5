/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/proof.h"

#include "base/map.h"
#include "identity/jws_priv.h"

#define ARENA_BYTES ((size_t)1 << 20)
#define USED_MAX 524288 /* proofs remembered at one time: some 45 MiB */
#define USED_US (2 * IDENTITY_PROOF_LEEWAY_US) /* a used proof is remembered that long, since it may be valid that long */

struct used {
    struct map_entry base;
    uint64_t key;
};

struct identity_proofs {
    int64_t began_us;
    struct map *used;
};

enum code identity_proofs_new(int64_t now_us, struct identity_proofs **proofs)
{
    const struct map_conf conf = {.cap = USED_MAX, .shards = 16, .buckets = 4096, .key_at = offsetof(struct used, key),
                                  .key_bytes = sizeof(uint64_t)};
    enum code code;

    *proofs = mem_zalloc(sizeof **proofs);
    if (*proofs == NULL)
        return CODE_NOMEM;
    (*proofs)->began_us = now_us;
    code = map_new(&conf, &(*proofs)->used);
    if (code != CODE_OK)
        identity_proofs_free(proofs);
    return code;
}

void identity_proofs_free(struct identity_proofs **proofs)
{
    if (*proofs != NULL)
        map_free(&(*proofs)->used);
    mem_free(*proofs);
    *proofs = NULL;
}

static enum identity_fault look_for(struct identity_proofs *proofs, uint64_t key)
{
    uint64_t hash = map_hash(proofs->used, &key);
    struct map_shard *shard = map_shard(proofs->used, hash);
    bool is_used;

    map_lock(shard);
    is_used = map_find(shard, hash, &key) != NULL;
    map_unlock(shard);
    return is_used ? IDENTITY_FAULT_PROOF_REPLAYED : IDENTITY_FAULT_NONE;
}

enum identity_fault identity_proof_use(struct identity_proofs *proofs, uint64_t key, struct share whose, int64_t now_us)
{
    uint64_t hash = map_hash(proofs->used, &key);
    struct map_shard *shard = map_shard(proofs->used, hash);
    struct used *used = mem_zalloc(sizeof *used);
    enum code code = CODE_EXISTS;

    if (used == NULL)
        return IDENTITY_FAULT_MEMORY;
    *used = (struct used){.base = {.whose = whose, .weight = 1, .lapses_us = now_us + USED_US}, .key = key};
    map_lock(shard);
    if (map_find(shard, hash, &key) == NULL)
        code = map_add(shard, hash, &used->base, now_us);
    map_unlock(shard);
    if (code != CODE_OK)
        mem_free(used);
    return code == CODE_OK       ? IDENTITY_FAULT_NONE
           : code == CODE_EXISTS ? IDENTITY_FAULT_PROOF_REPLAYED
           : code == CODE_LIMIT  ? IDENTITY_FAULT_PROOF_SHARE : IDENTITY_FAULT_MEMORY;
}

/* ---- one proof ---- */

/* Scheme and authority without a port that is the scheme's own, and the path without query and fragment; RFC 3986, 6.2. */
struct place {
    struct span scheme, authority, path;
};

static struct place place_of(struct span url)
{
    struct place place = {.scheme = span_part(url, 0, span_find(url, ':'))};
    bool plain = span_equals_nocase(place.scheme, SPAN_LIT("http"));
    struct span rest = span_part(url, place.scheme.len, span_find(url, '?') - place.scheme.len);
    struct span port = plain ? SPAN_LIT(":80") : SPAN_LIT(":443");

    if (span_find(url, '?') < place.scheme.len || !span_starts_with(rest, SPAN_LIT("://")))
        return (struct place){.scheme = SPAN_NONE};
    rest = span_part(rest, 0, span_find(rest, '#'));
    rest = span_part(rest, 3, SIZE_MAX);
    place.authority = span_part(rest, 0, span_find(rest, '/'));
    place.path = span_part(rest, place.authority.len, SIZE_MAX);
    if (place.path.len == 0)
        place.path = SPAN_LIT("/");
    if (span_ends_with(place.authority, port))
        place.authority = span_part(place.authority, 0, place.authority.len - port.len);
    return place;
}

static bool is_same_url(struct span claimed, struct span asked)
{
    struct place a = place_of(claimed), b = place_of(asked);

    return a.scheme.len > 0 && span_equals_nocase(a.scheme, b.scheme) && a.authority.len > 0 &&
           span_equals_nocase(a.authority, b.authority) && span_equals(a.path, b.path);
}

static bool is_of_token(const struct json_node *claims, struct span token)
{
    unsigned char claimed[DIGEST_BYTES], digest[DIGEST_BYTES];

    digest_of(token, digest);
    return identity__read_bytes(json_member(claims, SPAN_LIT("ath")), claimed, DIGEST_BYTES) &&
           memcmp(claimed, digest, DIGEST_BYTES) == 0;
}

/* RFC 9449, 4.3. */
static enum identity_fault check_claims(const struct json_node *claims, const struct identity_proof_request *request,
                                        const struct identity_proofs *proofs)
{
    int64_t made_us;

    if (!span_equals(json_member_text(claims, "htm"), request->method) || request->method.len == 0)
        return IDENTITY_FAULT_PROOF_METHOD;
    if (!is_same_url(json_member_text(claims, "htu"), request->url))
        return IDENTITY_FAULT_PROOF_URL;
    if (!identity__read_time(json_member(claims, SPAN_LIT("iat")), &made_us) ||
        made_us <= request->now_us - IDENTITY_PROOF_LEEWAY_US || made_us > request->now_us + IDENTITY_PROOF_LEEWAY_US)
        return IDENTITY_FAULT_PROOF_TIME;
    if (!is_of_token(claims, request->token))
        return IDENTITY_FAULT_PROOF_TOKEN;
    if (json_member_text(claims, "jti").len == 0 || json_member_text(claims, "jti").len > 256)
        return IDENTITY_FAULT_PROOF_ID;
    /* Proofs that were used before the gate started are not remembered, so none of that time is taken. */
    return made_us < proofs->began_us ? IDENTITY_FAULT_PROOF_REPLAYED : IDENTITY_FAULT_NONE;
}

static enum identity_fault check_key(const struct identity_token *token, const struct identity__jws *jws, struct arena *arena)
{
    const struct json_node *jwk = json_member(jws->header, SPAN_LIT("jwk"));
    enum identity_fault fault = IDENTITY_FAULT_NONE;
    struct identity__key key;
    enum code code = jwk != NULL ? identity__key_read(jwk, arena, &key) : CODE_INVALID;

    if (code == CODE_OK) {
        if (memcmp(key.thumbprint, token->bound_key, DIGEST_BYTES) != 0)
            fault = IDENTITY_FAULT_PROOF_KEY;
        else if ((key.fits & jws->algorithm) == 0)
            fault = IDENTITY_FAULT_PROOF_ALGORITHM;
        else if (!identity__jws_is_signed(jws, &key))
            fault = IDENTITY_FAULT_PROOF_SIGNATURE;
        identity__key_fini(&key);
    }
    return code == CODE_OK ? fault : code == CODE_NOMEM ? IDENTITY_FAULT_MEMORY : IDENTITY_FAULT_PROOF_FORM;
}

static enum identity_fault check_proof(const struct identity_token *token, const struct identity_proof_request *request,
                                       struct identity_proofs *proofs, struct identity__jws *jws, struct arena *arena,
                                       uint64_t *key)
{
    enum identity_fault fault = request->proof.len <= IDENTITY_PROOF_BYTES_MAX ? identity__jws_open(jws, request->proof, arena)
                                                                                : IDENTITY_FAULT_SIZE;
    unsigned char digest[DIGEST_BYTES];

    if (fault != IDENTITY_FAULT_NONE)
        return fault == IDENTITY_FAULT_MEMORY ? fault : IDENTITY_FAULT_PROOF_FORM;
    if (!span_equals_nocase(json_member_text(jws->header, "typ"), SPAN_LIT("dpop+jwt")))
        return IDENTITY_FAULT_PROOF_FORM;
    fault = check_key(token, jws, arena);
    if (fault == IDENTITY_FAULT_NONE)
        fault = check_claims(jws->claims, request, proofs);
    if (fault != IDENTITY_FAULT_NONE)
        return fault;
    digest_of_two(span_of(token->bound_key, DIGEST_BYTES), json_member_text(jws->claims, "jti"), digest);
    memcpy(key, digest, sizeof *key);
    *key = *key != 0 ? *key : 1;
    return look_for(proofs, *key);
}

enum identity_fault identity_proof_check(const struct identity_token *token, const struct identity_proof_request *request,
                                         struct identity_proofs *proofs, uint64_t *key)
{
    struct identity__jws jws = {.text = SPAN_NONE};
    struct arena arena;
    enum identity_fault fault;

    *key = 0;
    if ((token->bound & IDENTITY_BOUND_KEY) == 0)
        return request->by_dpop ? IDENTITY_FAULT_PROOF_UNBOUND : IDENTITY_FAULT_NONE;
    if (!request->by_dpop || request->proof.at == NULL)
        return IDENTITY_FAULT_PROOF_MISSING;
    arena_init(&arena, ARENA_BYTES);
    fault = check_proof(token, request, proofs, &jws, &arena, key);
    identity__jws_fini(&jws);
    arena_fini(&arena);
    return fault;
}
