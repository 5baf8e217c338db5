/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/jws_priv.h"

#include "crypto/sign.h"

/* Claims have 12 KB of text at most; max_nodes bounds the memory of their tree. */
static const struct json_rules header_rules = {.max_depth = 8, .max_nodes = JOSE_HEADER_VALUES_MAX, .max_keys = 64};
const struct json_rules identity__claims_rules = {.max_depth = 32, .max_nodes = 4096, .max_keys = 512};

static enum identity_fault fault_of(enum code code, enum identity_fault fault)
{
    return code == CODE_OK ? IDENTITY_FAULT_NONE : code == CODE_NOMEM ? IDENTITY_FAULT_MEMORY : fault;
}

/* The tree points into `text`: the decoded bytes are made canonical in place. */
static enum code read_part(struct span part, const struct json_rules *rules, struct buf *text, struct arena *arena,
                           const struct json_node **root)
{
    struct json_fault fault;
    enum code code = base64url_decode(part, text);

    if (code == CODE_OK)
        code = json_read(buf_peek(text), rules, text, arena, root, &fault);
    return code == CODE_OK && (*root)->type != JSON_OBJECT ? CODE_INVALID : code;
}

static enum identity_fault read_header(struct identity__jws *jws)
{
    const struct json_node *algorithm = json_member(jws->header, SPAN_LIT("alg"));
    const struct json_node *key_id = json_member(jws->header, SPAN_LIT("kid"));

    if (algorithm == NULL || algorithm->type != JSON_STRING)
        return IDENTITY_FAULT_HEADER;
    jws->algorithm = identity_algorithm_bit(algorithm->text);
    if (json_member(jws->header, SPAN_LIT("crit")) != NULL)
        return IDENTITY_FAULT_CRITICAL;
    if (key_id == NULL)
        return IDENTITY_FAULT_NONE;
    if (key_id->type != JSON_STRING || !identity_name_is_good(key_id->text, IDENTITY_KEY_ID_BYTES_MAX))
        return IDENTITY_FAULT_KEY_ID;
    jws->key_id = key_id->text;
    return IDENTITY_FAULT_NONE;
}

enum identity_fault identity__jws_open(struct identity__jws *jws, struct span text, struct arena *arena)
{
    struct span rest, header = span_cut(text, '.', &rest), signature, claims = span_cut(rest, '.', &signature);
    enum identity_fault fault;

    *jws = (struct identity__jws){.text = text};
    buf_init(&jws->header_text, IDENTITY_TOKEN_BYTES_MAX);
    buf_init(&jws->claims_text, IDENTITY_TOKEN_BYTES_MAX);
    buf_init(&jws->signature, IDENTITY_TOKEN_BYTES_MAX);
    buf_wipes(&jws->signature);
    if (text.len > IDENTITY_TOKEN_BYTES_MAX)
        return IDENTITY_FAULT_SIZE;
    if (header.len + claims.len + 2 > text.len)
        return IDENTITY_FAULT_FORM;
    jws->signed_text = span_part(text, 0, header.len + 1 + claims.len);
    fault = fault_of(base64url_decode(signature, &jws->signature), IDENTITY_FAULT_FORM);
    if (fault == IDENTITY_FAULT_NONE)
        fault = fault_of(read_part(header, &header_rules, &jws->header_text, arena, &jws->header), IDENTITY_FAULT_HEADER);
    if (fault == IDENTITY_FAULT_NONE)
        fault = read_header(jws);
    if (fault == IDENTITY_FAULT_NONE)
        fault = fault_of(read_part(claims, &identity__claims_rules, &jws->claims_text, arena, &jws->claims),
                         IDENTITY_FAULT_CLAIMS);
    return fault;
}

void identity__jws_fini(struct identity__jws *jws)
{
    buf_fini(&jws->header_text);
    buf_fini(&jws->claims_text);
    buf_fini(&jws->signature);
}

static bool is_signed_ed25519(const struct identity__jws *jws, const unsigned char key[SIGN_PUBLIC_BYTES])
{
    unsigned char signature[SIGN_BYTES];

    return buf_len(&jws->signature) == SIGN_BYTES &&
           sign_is_good(key, jws->signed_text, memcpy(signature, buf_peek(&jws->signature).at, SIGN_BYTES));
}

bool identity__jws_is_signed(const struct identity__jws *jws, const struct identity__key *key)
{
    if ((key->fits & jws->algorithm) == 0)
        return false;
    return key->jose == NULL ? is_signed_ed25519(jws, key->ed25519)
                             : jose_is_signed(key->jose, identity_algorithm_names()[__builtin_ctz(jws->algorithm)], jws->text);
}

bool identity__read_bytes(const struct json_node *text, unsigned char *out, size_t len)
{
    struct buf bytes;
    bool good;

    if (text == NULL || text->type != JSON_STRING)
        return false;
    buf_init(&bytes, len);
    good = base64url_decode(text->text, &bytes) == CODE_OK && buf_len(&bytes) == len;
    if (good)
        memcpy(out, buf_peek(&bytes).at, len);
    buf_fini(&bytes);
    return good;
}

bool identity__read_time(const struct json_node *number, int64_t *us)
{
    uint64_t ns;

    /* Nine places, since some providers write a double's digits. */
    if (number == NULL || number->type != JSON_NUMBER || json_number_scaled(number->raw, 9, &ns) != CODE_OK)
        return false;
    *us = (int64_t)(ns / 1000);
    return true;
}
