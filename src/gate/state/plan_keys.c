/* SPDX-License-Identifier: Apache-2.0 */
/* The keys by which plans are signed, from a file: PEM, or JSON Web Keys (RFC 7517, RFC 8037). */
#include "state/plan.h"

#include "base/num.h"
#include "json/text.h"

#include <string.h>

#define PEM_END "-----END PUBLIC KEY-----"

struct reading {
    struct arena *arena;
    struct plan_key *key; /* PLAN_KEYS_MAX */
    struct plan_keys *keys;
    struct why *why;
};

void plan_key_id(const unsigned char key[SIGN_PUBLIC_BYTES], char id[PLAN_KEY_ID_BYTES])
{
    unsigned char digest[DIGEST_BYTES];

    digest_of(span_of(key, SIGN_PUBLIC_BYTES), digest);
    num_hex(digest, PLAN_KEY_ID_BYTES / 2, id);
    id[PLAN_KEY_ID_BYTES - 1] = '\0';
}

/* Takes: id: empty: the key has none of its own. */
static enum code add(struct reading *reading, struct span id, const unsigned char key[SIGN_PUBLIC_BYTES])
{
    struct plan_key *made = &reading->key[reading->keys->count];
    char own[PLAN_KEY_ID_BYTES], *kept;

    plan_key_id(key, own);
    if (id.len == 0)
        id = span_text(own);
    if (reading->keys->count == PLAN_KEYS_MAX)
        return why_set(reading->why, CODE_INVALID, "there are more than %d keys; take some out", PLAN_KEYS_MAX);
    if (sign_public_is_weak(key))
        return why_set(reading->why, CODE_INVALID, "key `%.*s` vouches for nothing, since anybody can sign under it; make one "
                       "with `openssl genpkey -algorithm ed25519`", SPAN_ARG(id));
    for (size_t i = 0; i < reading->keys->count; i++)
        if (span_equals(reading->key[i].id, id))
            return why_set(reading->why, CODE_INVALID, "two keys have the id `%.*s`; take one out", SPAN_ARG(id));
    kept = arena_dup(reading->arena, id.at, id.len);
    if (kept == NULL)
        return CODE_NOMEM;
    made->id = span_of(kept, id.len);
    memcpy(made->key, key, SIGN_PUBLIC_BYTES);
    reading->keys->count++;
    return CODE_OK;
}

static enum code read_pem(struct reading *reading, struct span text)
{
    enum code code = CODE_OK;

    while (code == CODE_OK && text.len > 0) {
        const char *end = memmem(text.at, text.len, PEM_END, sizeof PEM_END - 1);
        struct span one = end != NULL ? span_part(text, 0, (size_t)(end - text.at) + sizeof PEM_END - 1) : text;
        unsigned char key[SIGN_PUBLIC_BYTES];

        if (end == NULL)
            break;
        if (sign_public_read(one, key) != CODE_OK)
            return why_set(reading->why, CODE_INVALID, "a key in it is no public Ed25519 key; write what `openssl pkey "
                           "-pubout` prints");
        code = add(reading, SPAN_NONE, key);
        text = span_part(text, one.len, SIZE_MAX);
    }
    return code;
}

/* Other members say what a key is for, and nothing that is asked here; but a private one has no place in such a file. */
static enum code read_jwk(struct reading *reading, const struct json_node *jwk)
{
    const struct json_node *kty = json_member(jwk, SPAN_LIT("kty")), *crv = json_member(jwk, SPAN_LIT("crv"));
    const struct json_node *x = json_member(jwk, SPAN_LIT("x")), *kid = json_member(jwk, SPAN_LIT("kid"));
    struct buf key;
    enum code code;

    if (json_member(jwk, SPAN_LIT("d")) != NULL)
        return why_set(reading->why, CODE_INVALID, "a key in it is private; write its public half");
    if (kty == NULL || !span_is(kty->text, "OKP") || crv == NULL || !span_is(crv->text, "Ed25519") || x == NULL ||
        (kid != NULL && kid->text.len == 0))
        return why_set(reading->why, CODE_INVALID, "a key in it is no {\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": ..., "
                       "\"kid\": ...}; write such a one");
    buf_init(&key, 64);
    code = base64url_decode(x->text, &key);
    if (code == CODE_OK && buf_len(&key) == SIGN_PUBLIC_BYTES)
        code = add(reading, kid != NULL ? kid->text : SPAN_NONE, (const unsigned char *)buf_peek(&key).at);
    else if (code != CODE_NOMEM)
        code = why_set(reading->why, CODE_INVALID, "`x` of a key in it is not 32 bytes as base64url; write these");
    buf_fini(&key);
    return code;
}

static enum code read_jwks(struct reading *reading, struct span text)
{
    const struct json_node *list;
    struct json_text read;
    enum code code = json_text_read(&read, text, &json_file_rules, (size_t)1 << 20);

    if (code != CODE_OK && code != CODE_NOMEM)
        code = why_set(reading->why, CODE_INVALID, "it cannot be read at offset %zu: %s", read.fault.offset,
                       read.fault.text);
    list = json_member(read.root, SPAN_LIT("keys"));
    if (code == CODE_OK && list == NULL)
        code = read_jwk(reading, read.root);
    for (const struct json_node *jwk = list != NULL ? list->child : NULL; jwk != NULL && code == CODE_OK; jwk = jwk->next)
        code = read_jwk(reading, jwk);
    json_text_fini(&read);
    return code;
}

enum code plan_keys_read(struct span text, struct arena *arena, struct plan_keys *keys, struct why *why)
{
    struct plan_key *key = arena_zalloc(arena, PLAN_KEYS_MAX * sizeof *key);
    struct reading reading = {.arena = arena, .key = key, .keys = keys, .why = why};
    enum code code;

    *keys = (struct plan_keys){.key = key};
    if (key == NULL)
        return CODE_NOMEM;
    while (text.len > 0 && (text.at[0] == ' ' || text.at[0] == '\n' || text.at[0] == '\r' || text.at[0] == '\t'))
        text = span_part(text, 1, SIZE_MAX);
    code = span_starts_with(text, SPAN_LIT("{")) ? read_jwks(&reading, text) : read_pem(&reading, text);
    if (code == CODE_OK && keys->count == 0)
        code = why_set(why, CODE_INVALID, "it holds no key; write a public Ed25519 key as PEM, or a set of JSON Web Keys");
    return code;
}
