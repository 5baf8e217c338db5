/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/token.h"

#include "base/ascii.h"
#include "base/ref.h"
#include "identity/claim_priv.h"
#include "identity/jws_priv.h"

#define TENANT_BYTES_MAX 128
#define TEXT_BYTES_MAX 256 /* of a group, a scope, or what an actor is called */
#define ACTORS_MAX 8
#define ACTORS_BYTES_MAX ((size_t)ACTORS_MAX * (3 * (6 * TEXT_BYTES_MAX + 16) + 4) + 16) /* a character may take six */
#define ARENA_BYTES ((size_t)2 << 20)
#define INTROSPECTION_US (INT64_C(60) * 1000000)

struct box {
    struct identity_token token; /* first: what is handed out */
    struct ref ref;
    struct arena arena;
    struct buf claims;
};

/* A token that is being checked, and by what. */
struct reading {
    const struct identity_provider_rules *provider;
    const struct identity_token_rules *rules;
    const struct json_node *claims;
    int64_t now_us;
    struct box *box;
    struct identity_token *token;
};

const char *identity_fault_text(enum identity_fault fault)
{
    static const char *const texts[] = {
#define X(name, text) text,
        IDENTITY_FAULT_TABLE(X)
#undef X
    };

    return texts[fault];
}

bool identity_is_token(struct span text)
{
    while (span_ends_with(text, SPAN_LIT("=")))
        text.len--;
    return text.len > 0 && ascii_is_all(text, "a-zA-Z0-9._~+/-");
}

/* ---- what it claims ---- */

static const struct json_node *claim(const struct reading *r, const char *name)
{
    return json_member(r->claims, span_text(name));
}

static bool claims_text(const struct reading *r, const char *name, const char *value)
{
    const struct json_node *node = claim(r, name);

    return node != NULL && node->type == JSON_STRING && span_is(node->text, value);
}

static bool is_audience(const struct identity_token_rules *rules, const struct json_node *text)
{
    for (const char *const *each = rules->audiences; *each != NULL; each++)
        if (text->type == JSON_STRING && span_is(text->text, *each))
            return true;
    return false;
}

static bool is_for_us(const struct reading *r)
{
    const struct json_node *audience = claim(r, "aud");

    if (audience == NULL || audience->type != JSON_ARRAY)
        return audience != NULL && is_audience(r->rules, audience);
    for (const struct json_node *each = audience->child; each != NULL; each = each->next)
        if (is_audience(r->rules, each))
            return true;
    return false;
}

/* Takes: expires_us: 0 for a JWT, which must say when it ends; for an opaque token the end, where its provider names none. */
static enum identity_fault check_times(struct reading *r, int64_t expires_us)
{
    const struct json_node *begins = claim(r, "nbf"), *issued = claim(r, "iat"), *ends = claim(r, "exp");
    int64_t begin_us = 0, ahead_us = r->now_us + r->provider->leeway_us;
    struct identity_token *token = r->token;

    token->expires_us = expires_us;
    if ((ends != NULL || expires_us == 0) && !identity__read_time(ends, &token->expires_us))
        return IDENTITY_FAULT_TIMES;
    if ((begins != NULL && !identity__read_time(begins, &begin_us)) ||
        (issued != NULL && !identity__read_time(issued, &token->issued_us)))
        return IDENTITY_FAULT_TIMES;
    if (token->expires_us <= r->now_us - r->provider->leeway_us)
        return IDENTITY_FAULT_EXPIRED;
    if (begin_us > ahead_us || token->issued_us > ahead_us)
        return IDENTITY_FAULT_EARLY;
    if (expires_us == 0 && token->expires_us - (issued != NULL ? token->issued_us : r->now_us) > r->provider->longest_us)
        return IDENTITY_FAULT_LIFE;
    return IDENTITY_FAULT_NONE;
}

/* OpenID Connect's, and the words of providers that say it themselves (Keycloak's `typ`, Cognito's `token_use`). */
static bool has_id_token_marks(const struct reading *r)
{
    return claim(r, "nonce") != NULL || claim(r, "at_hash") != NULL || claim(r, "c_hash") != NULL ||
           claim(r, "events") != NULL || claims_text(r, "typ", "ID") || claims_text(r, "typ", "Refresh") ||
           claims_text(r, "typ", "Offline") || claims_text(r, "token_use", "id");
}

static bool claims_else(const struct reading *r, const char *name, const char *value)
{
    return claim(r, name) != NULL && !claims_text(r, name, value);
}

/* OpenID Connect Core, 2 and 3.1.3.7. A token that says that it is an access token is no ID token, whomever it is for; nor is
 * one that says who acts (RFC 8693, 4.1), which an agent got in exchange for its owner's: a login is a person who is there. */
static enum identity_fault check_login(const struct reading *r, struct span type)
{
    const struct json_node *party = claim(r, "azp");

    if ((type.len > 0 && !span_equals_nocase(type, SPAN_LIT("JWT"))) || claims_else(r, "typ", "ID") ||
        claims_else(r, "token_use", "id") || claim(r, "events") != NULL || claim(r, "act") != NULL)
        return IDENTITY_FAULT_LOGIN;
    return party == NULL || is_audience(r->rules, party) ? IDENTITY_FAULT_NONE : IDENTITY_FAULT_AUDIENCE;
}

static enum identity_fault check_require(const struct reading *r)
{
    for (size_t i = 0; i < r->rules->require_count; i++) {
        const struct identity_require *require = &r->rules->require[i];
        const struct json_node *node = identity_path_find(&require->claim, r->claims);

        if (node == NULL || node->type == JSON_ARRAY || node->type == JSON_OBJECT ||
            !span_is(node->type == JSON_STRING ? node->text : node->raw, require->equals))
            return IDENTITY_FAULT_REQUIRED;
    }
    return IDENTITY_FAULT_NONE;
}

/* The texts of a list, or the only one. */
static enum identity_fault take_texts(struct reading *r, const struct json_node *node, enum identity_fault fault,
                                      bool (*is_good)(struct span text, size_t max), const struct span **list, size_t *count)
{
    bool is_list = node->type == JSON_ARRAY;
    struct span *texts = arena_zalloc(&r->box->arena, (is_list ? node->count : 1) * sizeof *texts + 1);

    if (texts == NULL)
        return IDENTITY_FAULT_MEMORY;
    *list = texts;
    for (node = is_list ? node->child : node; node != NULL; node = is_list ? node->next : NULL) {
        if (node->type != JSON_STRING || !is_good(node->text, TEXT_BYTES_MAX))
            return fault;
        texts[(*count)++] = node->text;
    }
    return IDENTITY_FAULT_NONE;
}

static enum identity_fault take_groups(struct reading *r)
{
    const struct identity_path *path = &r->rules->groups;
    const struct json_node *node = identity_path_find(path, r->claims);

    if (path->count > 0 && json_member(claim(r, "_claim_names"), path->steps[0]) != NULL)
        return IDENTITY_FAULT_GROUPS_ELSEWHERE;
    if (path->count == 1 && node == NULL && span_is(path->steps[0], "groups") && claim(r, "hasgroups") != NULL)
        return IDENTITY_FAULT_GROUPS_ELSEWHERE; /* Entra ID's word for the same, by the implicit grant */
    if (node == NULL || node->type == JSON_NULL)
        return IDENTITY_FAULT_NONE;
    return take_texts(r, node, IDENTITY_FAULT_GROUPS, identity__is_readable, &r->token->groups, &r->token->group_count);
}

/* RFC 6749, 3.3. */
static bool is_scope(struct span text, size_t max)
{
    return identity_name_is_good(text, max) && span_find(text, '"') == text.len && span_find(text, '\\') == text.len;
}

/* `scope` is one text with blanks between (RFC 8693); some providers write a list, or `scp`. */
static enum identity_fault take_scopes(struct reading *r)
{
    const struct json_node *node = claim(r, "scope") != NULL ? claim(r, "scope") : claim(r, "scp");
    struct span *scopes, rest;

    if (node == NULL)
        return IDENTITY_FAULT_NONE;
    if (node->type != JSON_STRING)
        return node->type != JSON_ARRAY ? IDENTITY_FAULT_SCOPES
                                        : take_texts(r, node, IDENTITY_FAULT_SCOPES, is_scope, &r->token->scopes,
                                                     &r->token->scope_count);
    scopes = arena_zalloc(&r->box->arena, (node->text.len / 2 + 1) * sizeof *scopes);
    if (scopes == NULL)
        return IDENTITY_FAULT_MEMORY;
    r->token->scopes = scopes;
    for (struct span word = span_cut(node->text, ' ', &rest); word.len + rest.len > 0; word = span_cut(rest, ' ', &rest)) {
        if (word.len == 0)
            continue;
        if (!is_scope(word, TEXT_BYTES_MAX))
            return IDENTITY_FAULT_SCOPES;
        scopes[r->token->scope_count++] = word;
    }
    return IDENTITY_FAULT_NONE;
}

/* A token without the claim names no agent, as a person's own may. */
static enum identity_fault take_agent(struct reading *r)
{
    const struct identity_naming naming = {.claim = r->rules->agent};
    const struct json_node *node = identity_path_find(&naming.claim, r->claims);

    if (node == NULL || node->type == JSON_NULL)
        return IDENTITY_FAULT_NONE;
    return identity__name(&naming, r->claims, IDENTITY_PRINCIPAL_BYTES_MAX, IDENTITY_FAULT_AGENT, &r->token->agent);
}

/* RFC 8693, 4.1: whoever else acted is told, and decides nothing, so that what is not as it says is told as such. Who it is
 * say these claims; others would be told of people for ever, since the trail erases none of it. */
static enum identity_fault take_actors(struct reading *r)
{
    static const char *const names[] = {"sub", "iss", "client_id"};
    const struct json_node *actor = claim(r, "act");
    struct buf text;
    enum code code;

    if (actor == NULL)
        return IDENTITY_FAULT_NONE;
    buf_init(&text, ACTORS_BYTES_MAX);
    for (int deep = 0; actor != NULL && deep < ACTORS_MAX; actor = json_member(actor, SPAN_LIT("act")), deep++) {
        bool is_first = true;

        buf_add_text(&text, deep == 0 ? "[{" : ",{");
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            struct span said = json_member_text(actor, names[i]);

            if (said.len == 0 || said.len > TEXT_BYTES_MAX)
                continue;
            buf_addf(&text, "%s\"%s\":", is_first ? "" : ",", names[i]);
            (void)json_write_string(&text, said);
            is_first = false;
        }
        buf_add_byte(&text, '}');
    }
    buf_add_text(&text, actor != NULL ? ",\"more\"]" : "]");
    code = arena_keep(&r->box->arena, buf_peek(&text), &r->token->actors);
    buf_fini(&text);
    return code == CODE_OK ? IDENTITY_FAULT_NONE : IDENTITY_FAULT_MEMORY;
}

/* RFC 7800: what we cannot check is no reason to take it as a bearer. */
static enum identity_fault take_confirmation(struct reading *r)
{
    const struct json_node *cnf = claim(r, "cnf");
    struct identity_token *token = r->token;

    if (cnf == NULL)
        return IDENTITY_FAULT_NONE;
    for (const struct json_node *each = cnf->child; cnf->type == JSON_OBJECT && each != NULL; each = each->next) {
        bool by_key = span_is(each->key, "jkt");

        if ((!by_key && !span_is(each->key, "x5t#S256")) ||
            !identity__read_bytes(each, by_key ? token->bound_key : token->bound_certificate, DIGEST_BYTES))
            return IDENTITY_FAULT_CONFIRMATION;
        token->bound |= by_key ? IDENTITY_BOUND_KEY : IDENTITY_BOUND_CERTIFICATE;
    }
    return token->bound != 0 ? IDENTITY_FAULT_NONE : IDENTITY_FAULT_CONFIRMATION;
}

/* What is looked at when signature, type and issuer are right. */
static enum identity_fault check_claims(struct reading *r, int64_t expires_us)
{
    enum identity_fault fault = is_for_us(r) ? check_times(r, expires_us) : IDENTITY_FAULT_AUDIENCE;

    if (fault == IDENTITY_FAULT_NONE)
        fault = check_require(r);
    if (fault == IDENTITY_FAULT_NONE)
        fault = identity__name(&r->rules->principal, r->claims, IDENTITY_PRINCIPAL_BYTES_MAX, IDENTITY_FAULT_PRINCIPAL,
                               &r->token->principal);
    if (fault == IDENTITY_FAULT_NONE)
        fault = identity__name(&r->rules->tenant, r->claims, TENANT_BYTES_MAX, IDENTITY_FAULT_TENANT, &r->token->tenant);
    if (fault == IDENTITY_FAULT_NONE)
        fault = take_agent(r);
    if (fault == IDENTITY_FAULT_NONE)
        fault = take_actors(r);
    if (fault == IDENTITY_FAULT_NONE)
        fault = take_groups(r);
    if (fault == IDENTITY_FAULT_NONE)
        fault = take_scopes(r);
    if (fault == IDENTITY_FAULT_NONE)
        fault = take_confirmation(r);
    r->token->subject = json_member_text(r->claims, "sub");
    r->token->issuer = span_text(r->provider->issuer);
    r->token->claims = r->claims;
    return fault;
}

/* ---- how it is signed ---- */

/* RFC 9068, 2.1; RFC 8725, 3.11: a text that says it is another kind of token is none of ours. */
static enum identity_fault check_type(const struct reading *r, const struct json_node *header)
{
    const struct json_node *type = json_member(header, SPAN_LIT("typ"));
    struct span name = type != NULL ? type->text : SPAN_NONE;

    if (type != NULL && type->type != JSON_STRING)
        return IDENTITY_FAULT_TYPE;
    if (r->rules->is_login)
        return check_login(r, name);
    if (span_equals_nocase(name, SPAN_LIT("at+jwt")) || span_equals_nocase(name, SPAN_LIT("application/at+jwt")))
        return IDENTITY_FAULT_NONE;
    if (!r->provider->id_token_like)
        return IDENTITY_FAULT_TYPE;
    if (name.len >= 4 && span_equals_nocase(span_part(name, name.len - 4, 4), SPAN_LIT("+jwt")) &&
        !(name.len > 7 && span_equals_nocase(span_part(name, name.len - 7, 7), SPAN_LIT("-at+jwt"))))
        return IDENTITY_FAULT_TYPE;
    return has_id_token_marks(r) ? IDENTITY_FAULT_ID_TOKEN : IDENTITY_FAULT_NONE;
}

static bool is_signed_by(struct reading *r, const struct identity__jws *jws, const struct identity__key *key)
{
    r->token->is_signed = identity__jws_is_signed(jws, key);
    memcpy(r->token->signed_by, key->thumbprint, DIGEST_BYTES);
    return r->token->is_signed;
}

static enum identity_fault check_signature(struct reading *r, const struct identity__jws *jws,
                                           const struct identity_key_set *set)
{
    const struct identity__key *keys, *only = NULL;
    size_t count = identity__key_set_keys(set, &keys), fitting = 0;

    for (size_t i = 0; i < count; i++) {
        if ((keys[i].fits & jws->algorithm) == 0 || (jws->key_id.len > 0 && !span_equals(keys[i].key_id, jws->key_id)))
            continue;
        fitting++;
        only = &keys[i];
        if (jws->key_id.len > 0 && is_signed_by(r, jws, &keys[i]))
            return IDENTITY_FAULT_NONE;
    }
    if (fitting == 0)
        return IDENTITY_FAULT_UNKNOWN_KEY;
    if (jws->key_id.len > 0)
        return IDENTITY_FAULT_SIGNATURE;
    if (fitting > 1)
        return IDENTITY_FAULT_KEY_AMBIGUOUS;
    return is_signed_by(r, jws, only) ? IDENTITY_FAULT_NONE : IDENTITY_FAULT_SIGNATURE;
}

/* Cheap checks come first, and a token of another issuer makes nobody fetch keys. */
static enum identity_fault check_jws(struct reading *r, struct identity__jws *jws, const struct identity_key_set *keys)
{
    enum identity_fault fault;

    if ((jws->algorithm & r->provider->algorithms) == 0)
        return IDENTITY_FAULT_ALGORITHM;
    r->claims = jws->claims;
    if (!claims_text(r, "iss", r->provider->issuer))
        return IDENTITY_FAULT_ISSUER;
    fault = check_type(r, jws->header);
    return fault == IDENTITY_FAULT_NONE ? check_signature(r, jws, keys) : fault;
}

/* ---- tokens ---- */

static struct box *box_new(struct reading *r, struct span text)
{
    struct box *box = mem_zalloc(sizeof *box);

    if (box == NULL)
        return NULL;
    ref_init(&box->ref);
    arena_init(&box->arena, ARENA_BYTES);
    buf_init(&box->claims, IDENTITY_KEY_SET_BYTES_MAX);
    digest_of(text, box->token.sha256);
    r->box = box;
    r->token = &box->token;
    return box;
}

/* Hands the token out, or takes back what was made of it. */
static enum identity_fault finish(struct reading *r, enum identity_fault fault, struct identity_token **token)
{
    *token = r->token;
    r->token->held_bytes = sizeof *r->box + r->box->arena.used_bytes + r->box->claims.size;
    if (fault != IDENTITY_FAULT_NONE)
        identity_token_unref(token);
    return fault;
}

enum identity_fault identity_token_read(const struct identity_provider_rules *provider,
                                        const struct identity_token_rules *rules, const struct identity_key_set *keys,
                                        struct span text, int64_t now_us, struct identity_token **token)
{
    struct reading r = {.provider = provider, .rules = rules, .now_us = now_us};
    struct identity__jws jws;
    enum identity_fault fault;

    *token = NULL;
    if (box_new(&r, text) == NULL)
        return IDENTITY_FAULT_MEMORY;
    fault = identity__jws_open(&jws, text, &r.box->arena);
    if (fault == IDENTITY_FAULT_NONE)
        fault = check_jws(&r, &jws, keys);
    if (fault == IDENTITY_FAULT_NONE)
        fault = check_claims(&r, 0);
    if (fault == IDENTITY_FAULT_NONE && jws.key_id.len > 0 &&
        arena_keep(&r.box->arena, jws.key_id, &r.token->key_id) != CODE_OK)
        fault = IDENTITY_FAULT_MEMORY;
    if (fault == IDENTITY_FAULT_NONE)
        buf_move(&r.box->claims, &jws.claims_text);
    identity__jws_fini(&jws);
    return finish(&r, fault, token);
}

/* RFC 7662, 2.2. Refresh tokens are active too, and are none of ours. */
static enum identity_fault check_answer(struct reading *r)
{
    const struct json_node *active = claim(r, "active"), *type = claim(r, "token_type");

    if (active == NULL || active->type != JSON_TRUE)
        return IDENTITY_FAULT_INACTIVE;
    if (type != NULL && !span_equals_nocase(type->text, SPAN_LIT("Bearer")) &&
        !span_equals_nocase(type->text, SPAN_LIT("DPoP")))
        return IDENTITY_FAULT_TYPE;
    if (has_id_token_marks(r))
        return IDENTITY_FAULT_ID_TOKEN;
    if (claim(r, "iss") != NULL && !claims_text(r, "iss", r->provider->issuer))
        return IDENTITY_FAULT_ISSUER;
    return check_claims(r, r->now_us + INTROSPECTION_US);
}

enum identity_fault identity_token_introspected(const struct identity_provider_rules *provider,
                                                const struct identity_token_rules *rules, struct span text, struct span answer,
                                                int64_t now_us, struct identity_token **token)
{
    struct reading r = {.provider = provider, .rules = rules, .now_us = now_us};
    enum identity_fault fault = IDENTITY_FAULT_CLAIMS;
    struct json_fault place;
    enum code code;

    *token = NULL;
    if (box_new(&r, text) == NULL)
        return IDENTITY_FAULT_MEMORY;
    code = json_read(answer, &identity__claims_rules, &r.box->claims, &r.box->arena, &r.claims, &place);
    if (code == CODE_NOMEM)
        fault = IDENTITY_FAULT_MEMORY;
    if (code == CODE_OK && r.claims->type == JSON_OBJECT)
        fault = check_answer(&r);
    if (fault == IDENTITY_FAULT_NONE && r.token->expires_us > now_us + INTROSPECTION_US)
        r.token->expires_us = now_us + INTROSPECTION_US;
    return finish(&r, fault, token);
}

struct identity_token *identity_token_ref(const struct identity_token *token)
{
    struct box *box = (struct box *)(uintptr_t)token;

    if (box == NULL)
        return NULL;
    ref_take(&box->ref);
    return &box->token;
}

void identity_token_unref(struct identity_token **token)
{
    struct box *gone = (struct box *)(void *)*token;

    *token = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    arena_fini(&gone->arena);
    buf_fini(&gone->claims);
    mem_free(gone);
}

static void copy_hint(char *out, size_t size, struct span text)
{
    if (text.len > 0 && text.len < size)
        memcpy(out, text.at, text.len);
}

/* A header that begins as a JSON object and is none makes a wrong token, not an opaque one, so that no provider is
 * asked about it. */
static bool begins_object(struct span text)
{
    struct buf first;
    bool begins;

    buf_init(&first, 3);
    begins = base64url_decode(span_part(text, 0, 4), &first) == CODE_OK && span_starts_with(buf_peek(&first), SPAN_LIT("{"));
    buf_fini(&first);
    return begins;
}

bool identity_token_looks(struct span text, struct identity_token_hint *hint)
{
    struct identity__jws jws;
    struct arena arena;
    const struct json_node *issuer;
    enum identity_fault fault;

    *hint = (struct identity_token_hint){.issuer = ""};
    arena_init(&arena, ARENA_BYTES);
    fault = identity__jws_open(&jws, text, &arena);
    issuer = fault == IDENTITY_FAULT_NONE ? json_member(jws.claims, SPAN_LIT("iss")) : NULL;
    if (issuer != NULL && issuer->type == JSON_STRING)
        copy_hint(hint->issuer, sizeof hint->issuer, issuer->text);
    copy_hint(hint->key_id, sizeof hint->key_id, jws.key_id);
    identity__jws_fini(&jws);
    arena_fini(&arena);
    return fault != IDENTITY_FAULT_FORM && begins_object(text);
}

enum identity_fault identity_token_check_certificate(const struct identity_token *token,
                                                     const unsigned char certificate[DIGEST_BYTES])
{
    if ((token->bound & IDENTITY_BOUND_CERTIFICATE) == 0)
        return IDENTITY_FAULT_NONE;
    if (certificate == NULL)
        return IDENTITY_FAULT_CERTIFICATE_MISSING;
    return memcmp(certificate, token->bound_certificate, DIGEST_BYTES) == 0 ? IDENTITY_FAULT_NONE
                                                                            : IDENTITY_FAULT_CERTIFICATE_OTHER;
}
