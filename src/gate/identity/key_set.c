/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/key_set.h"

#include "base/ref.h"
#include "crypto/sign.h"
#include "identity/jws_priv.h"
#include "json/text.h"


/* Bit by bit as in identity_algorithm_names. */
enum { FITS_RSA = 0x3f, FITS_P256 = 0x40, FITS_P384 = 0x80, FITS_P521 = 0x100, FITS_ED25519 = 0x600 };

const char *const *identity_algorithm_names(void)
{
    static const char *const names[] = {
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519", NULL,
    };

    return names;
}

uint32_t identity_algorithm_bit(struct span name)
{
    const char *const *names = identity_algorithm_names();

    for (unsigned i = 0; names[i] != NULL; i++)
        if (span_is(name, names[i]))
            return UINT32_C(1) << i;
    return 0;
}

struct identity_key_set {
    struct ref ref;
    struct arena arena;
    size_t count, passed_over;
    struct identity__key *keys;
};

/* ---- one key ---- */

/* RFC 7517, 4.2 to 4.4: what a key may be used for. */
static uint32_t permitted(const struct json_node *jwk)
{
    const struct json_node *use = json_member(jwk, SPAN_LIT("use")), *operations = json_member(jwk, SPAN_LIT("key_ops"));
    const struct json_node *algorithm = json_member(jwk, SPAN_LIT("alg"));
    bool verifies = operations == NULL;

    if (use != NULL && !span_is(use->text, "sig"))
        return 0;
    for (const struct json_node *each = operations != NULL ? operations->child : NULL; each != NULL; each = each->next)
        verifies |= span_is(each->text, "verify");
    if (!verifies)
        return 0;
    return algorithm == NULL ? UINT32_MAX : identity_algorithm_bit(algorithm->text);
}

static bool is_private(const struct json_node *jwk)
{
    static const char *const names[] = {"d", "p", "q", "dp", "dq", "qi", "oth", "k", NULL};

    for (size_t i = 0; names[i] != NULL; i++)
        if (json_member(jwk, span_text(names[i])) != NULL)
            return true;
    return false;
}

static enum code read_two(struct span first, struct span second, unsigned bits, struct jose_key **key)
{
    struct buf a, b;
    enum code code;

    buf_init(&a, 4096);
    buf_init(&b, 4096);
    code = base64url_decode(first, &a);
    if (code == CODE_OK)
        code = base64url_decode(second, &b);
    if (code == CODE_OK)
        code = bits == 0 ? jose_key_rsa(buf_peek(&a), buf_peek(&b), key) : jose_key_ec(bits, buf_peek(&a), buf_peek(&b), key);
    buf_fini(&a);
    buf_fini(&b);
    return code;
}

static enum code read_material(const struct json_node *jwk, struct identity__key *key)
{
    static const struct { const char *name; unsigned bits; uint32_t fits; } curves[] = {
        {"P-256", 256, FITS_P256}, {"P-384", 384, FITS_P384}, {"P-521", 521, FITS_P521},
    };
    struct span type = json_member_text(jwk, "kty"), curve = json_member_text(jwk, "crv");

    if (span_is(type, "RSA")) {
        key->fits = FITS_RSA;
        return read_two(json_member_text(jwk, "n"), json_member_text(jwk, "e"), 0, &key->jose);
    }
    for (size_t i = 0; span_is(type, "EC") && i < sizeof curves / sizeof curves[0]; i++) {
        if (!span_is(curve, curves[i].name))
            continue;
        key->fits = curves[i].fits;
        return read_two(json_member_text(jwk, "x"), json_member_text(jwk, "y"), curves[i].bits, &key->jose);
    }
    key->fits = FITS_ED25519;
    return span_is(type, "OKP") && span_is(curve, "Ed25519") &&
           identity__read_bytes(json_member(jwk, SPAN_LIT("x")), key->ed25519, SIGN_PUBLIC_BYTES) &&
           !sign_public_is_weak(key->ed25519) ? CODE_OK : CODE_INVALID;
}

/* The members that a key's type requires, in the order of their names; their values need no escape, since they were read. */
static enum code thumbprint(const struct json_node *jwk, unsigned char out[DIGEST_BYTES])
{
    static const char *const names[] = {"crv", "e", "kty", "n", "x", "y", NULL};
    bool is_rsa = span_is(json_member_text(jwk, "kty"), "RSA"), is_ec = span_is(json_member_text(jwk, "kty"), "EC");
    struct buf text;
    enum code code;

    buf_init(&text, IDENTITY_TOKEN_BYTES_MAX);
    for (size_t i = 0; names[i] != NULL; i++) {
        char first = names[i][0];

        if (first != 'k' && (is_rsa ? first != 'e' && first != 'n' : first != 'c' && first != 'x' && (first != 'y' || !is_ec)))
            continue;
        buf_addf(&text, "%s\"%s\":\"%.*s\"", buf_is_empty(&text) ? "{" : ",", names[i],
                 SPAN_ARG(json_member_text(jwk, names[i])));
    }
    buf_add_byte(&text, '}');
    code = buf_code(&text);
    if (code == CODE_OK)
        digest_of(buf_peek(&text), out);
    buf_fini(&text);
    return code;
}

enum code identity__key_read(const struct json_node *jwk, struct arena *arena, struct identity__key *key)
{
    const struct json_node *key_id = json_member(jwk, SPAN_LIT("kid"));
    enum code code;

    *key = (struct identity__key){.fits = 0};
    if (jwk->type != JSON_OBJECT || is_private(jwk) || (key_id != NULL && key_id->type != JSON_STRING))
        return CODE_INVALID;
    code = read_material(jwk, key);
    key->fits &= permitted(jwk);
    if (code == CODE_OK && key->fits == 0)
        code = CODE_INVALID;
    if (code == CODE_OK)
        code = thumbprint(jwk, key->thumbprint);
    if (code == CODE_OK && key_id != NULL)
        code = arena_keep(arena, key_id->text, &key->key_id);
    if (code != CODE_OK)
        identity__key_fini(key);
    return code;
}

void identity__key_fini(struct identity__key *key)
{
    jose_key_free(&key->jose);
}

/* ---- a set ---- */

static enum code take_keys(struct identity_key_set *set, const struct json_node *list)
{
    set->keys = arena_zalloc(&set->arena, (list->count + 1) * sizeof *set->keys);
    if (set->keys == NULL)
        return CODE_NOMEM;
    for (const struct json_node *each = list->child; each != NULL; each = each->next) {
        enum code code = identity__key_read(each, &set->arena, &set->keys[set->count]);

        if (code == CODE_NOMEM)
            return code;
        if (code == CODE_OK)
            set->count++;
        else
            set->passed_over++;
    }
    return CODE_OK;
}

static enum code read_set(struct identity_key_set *set, const struct json_node *root, struct why *why)
{
    const struct json_node *list = json_member(root, SPAN_LIT("keys"));
    enum code code;

    if (list == NULL || list->type != JSON_ARRAY)
        return why_set(why, CODE_INVALID, "it is no JSON Web Key Set: an object with a list `keys` is expected");
    if (list->count > IDENTITY_KEY_SET_KEYS_MAX)
        return why_set(why, CODE_LIMIT, "it has %u keys, more than %d", list->count, IDENTITY_KEY_SET_KEYS_MAX);
    code = take_keys(set, list);
    if (code == CODE_OK && set->count == 0)
        return why_set(why, CODE_INVALID, "none of its %u keys can check a token: public RSA of 2,048 bits or more, P-256, "
                       "P-384, P-521 or Ed25519, for signatures", list->count);
    return code;
}

enum code identity_key_set_read(struct span text, struct identity_key_set **set, struct why *why)
{
    struct identity_key_set *made = mem_zalloc(sizeof *made);
    struct json_text read;
    enum code code;

    *set = NULL;
    if (made == NULL)
        return CODE_NOMEM;
    ref_init(&made->ref);
    arena_init(&made->arena, IDENTITY_KEY_SET_BYTES_MAX);
    code = json_text_read(&read, text, &json_file_rules, IDENTITY_KEY_SET_BYTES_MAX);
    if (code != CODE_OK && code != CODE_NOMEM)
        (void)why_set(why, code, "it is no JSON Web Key Set: at byte %zu: %s", read.fault.offset,
                      read.fault.text);
    if (code == CODE_OK)
        code = read_set(made, read.root, why);
    json_text_fini(&read);
    if (code == CODE_OK)
        *set = made;
    else
        identity_key_set_unref(&made);
    return code;
}

struct identity_key_set *identity_key_set_ref(const struct identity_key_set *set)
{
    struct identity_key_set *shared = (struct identity_key_set *)(uintptr_t)set;

    if (shared != NULL)
        ref_take(&shared->ref);
    return shared;
}

void identity_key_set_unref(struct identity_key_set **set)
{
    struct identity_key_set *gone = *set;

    *set = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    for (size_t i = 0; i < gone->count; i++)
        identity__key_fini(&gone->keys[i]);
    arena_fini(&gone->arena);
    mem_free(gone);
}

size_t identity__key_set_keys(const struct identity_key_set *set, const struct identity__key **keys)
{
    *keys = set != NULL ? set->keys : NULL;
    return set != NULL ? set->count : 0;
}

size_t identity_key_set_count(const struct identity_key_set *set)
{
    return set->count;
}

size_t identity_key_set_passed_over(const struct identity_key_set *set)
{
    return set->passed_over;
}

bool identity_key_set_has(const struct identity_key_set *set, struct span key_id, const unsigned char thumbprint[DIGEST_BYTES])
{
    for (size_t i = 0; set != NULL && i < set->count; i++)
        if ((key_id.len == 0 || span_equals(set->keys[i].key_id, key_id)) &&
            (thumbprint == NULL || memcmp(set->keys[i].thumbprint, thumbprint, DIGEST_BYTES) == 0))
            return true;
    return false;
}
