/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/identity.h"

#include "base/glob.h"
#include "identity/certificate_priv.h"
#include "identity/keys_priv.h"
#include "identity/shown_priv.h"

#include <stdio.h>

static enum reason settle_tenant(struct span own, const char *const *may_claim, struct span claimed,
                                 struct identity *identity)
{
    identity->tenant = identity->home = own;
    if (claimed.at == NULL || span_equals(claimed, own))
        return REASON_PERMITTED;
    if (!identity_name_is_good(claimed, IDENTITY_NAME_MAX)) /* what is recorded and sent on must be one printable word */
        return REASON_TENANT_NOT_ALLOWED;
    for (; may_claim != NULL && *may_claim != NULL; may_claim++) {
        if (glob_matches(span_text(*may_claim), claimed)) {
            identity->tenant = claimed;
            return REASON_PERMITTED;
        }
    }
    return REASON_TENANT_NOT_ALLOWED;
}

static const struct identity_key *find_valid(const struct identity_keys *keys, const unsigned char digest[DIGEST_BYTES],
                                             int64_t now_us)
{
    const struct identity_key *key = identity__key_find(keys, digest);

    return key != NULL && (key->expires_us == 0 || now_us < key->expires_us) ? key : NULL;
}

bool identity_key_holds(const struct identity *identity, const struct identity_keys *keys, int64_t now_us)
{
    const struct identity_key *key = find_valid(keys, identity->key_digest, now_us);
    struct identity now;

    return key != NULL && key->id == identity->key_id && span_equals(span_text(key->principal), identity->principal) &&
           settle_tenant(span_text(key->tenant), key->may_claim, identity->tenant, &now) == REASON_PERMITTED;
}

static void name_agent(struct identity *identity, struct span agent, const char *from)
{
    identity->agent = agent;
    identity->agent_from = agent.len > 0 ? span_text(from) : SPAN_NONE;
}

static enum reason decide_key(struct span credential, const struct identity_keys *keys,
                              const struct identity_request *request, struct identity *identity)
{
    const struct identity_key *key;

    digest_of(credential, identity->key_digest);
    key = find_valid(keys, identity->key_digest, request->now_us);
    if (key == NULL)
        return REASON_CREDENTIAL_WRONG;
    identity->principal = span_text(key->principal);
    identity->key_id = key->id;
    name_agent(identity, span_text(key->agent), "key");
    return settle_tenant(span_text(key->tenant), key->may_claim, request->claimed_tenant, identity);
}

/* RFC 6750, 2.1: `Bearer`, spaces, the token. RFC 9110, 11.1: the scheme's name knows no case. */
bool identity__credential(struct span value, struct span scheme, struct span *token)
{
    struct span rest, found = span_cut(value, ' ', &rest);

    if (!span_equals_nocase(found, scheme))
        return false;
    while (rest.len > 0 && rest.at[0] == ' ')
        rest = span_part(rest, 1, rest.len);
    *token = rest;
    return rest.len > 0;
}

/* A connection without a certificate is one of no known agent, and one with a certificate that does not name exactly one is
 * none that the gate can tell. */
static enum reason name_by_certificate(const struct identity_source *source, const struct identity_request *request,
                                       struct identity *identity)
{
    struct span name = SPAN_NONE;
    enum reason reason = identity__certificate_name(source->handed_on, source->name, request, &name);

    name_agent(identity, name, "certificate");
    if (reason == REASON_CREDENTIAL_WRONG)
        identity->fault = "The certificate beside it, which is to name the agent, does not have exactly one such name.";
    return reason;
}

static enum reason decide_token(struct span value, const struct identity_source *sources, size_t count,
                                const struct identity_request *request, struct identity *identity)
{
    const struct identity_source *by = NULL;
    enum reason reason = identity__token(value, sources, count, request, identity, &by);

    if (reason != REASON_PERMITTED)
        return reason;
    identity->principal = identity->token->principal;
    identity->actors = identity->token->actors;
    name_agent(identity, identity->token->agent, "token");
    if (by->agent_by_certificate)
        reason = name_by_certificate(by, request, identity);
    if (reason != REASON_PERMITTED) {
        identity_token_unref(&identity->token);
        return reason;
    }
    return settle_tenant(identity->token->tenant, NULL, request->claimed_tenant, identity);
}

/* Whether this source reads that value of Authorization. Where it is the only one that reads the header, it reads any value. */
static bool is_for(const struct identity_source *source, const struct identity_source *sources, size_t count, struct span value)
{
    struct span token;
    bool is_key = identity__credential(value, SPAN_LIT("bearer"), &token) && span_starts_with(token, SPAN_LIT("cg_"));

    if (value.at == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (sources[i].kind == (is_key ? IDENTITY_BEARER : IDENTITY_TOKEN))
            return source->kind == sources[i].kind;
    return true;
}

#define UID_TEXT_BYTES 16

/* The kernel says whose process asks. A uid without a login is called by its number, as no login can be. */
static enum reason decide_login(const struct identity_source *source, const struct identity_request *request,
                                struct identity *identity)
{
    char *text;
    int len;

    for (size_t i = 0; i < source->login_count && identity->principal.at == NULL; i++)
        if (source->logins[i].uid == *request->uid)
            identity->principal = span_text(source->logins[i].name);
    if (identity->principal.at == NULL) {
        text = arena_alloc(request->arena, UID_TEXT_BYTES);
        if (text == NULL)
            return REASON_MEMORY;
        len = snprintf(text, UID_TEXT_BYTES, "uid:%u", (unsigned)*request->uid);
        identity->principal = span_of(text, (size_t)len);
    }
    return settle_tenant(span_text(source->tenant), NULL, request->claimed_tenant, identity);
}

/* Sets *present; where it is false the next source is asked. */
static enum reason decide_one(const struct identity_source *source, const struct identity_source *sources, size_t count,
                              const struct identity_keys *keys, const struct identity_request *request,
                              struct identity *identity, bool *present)
{
    struct span value, token, tenant;
    enum reason reason;

    *present = true;
    switch (source->kind) {
    case IDENTITY_API_KEY:
        value = request->header(request->context, source->header);
        if (value.at == NULL)
            break;
        identity->authentication = SPAN_LIT("api_key");
        identity->consumed = source->forward ? NULL : source->header;
        return decide_key(value, keys, request, identity);
    case IDENTITY_BEARER:
        value = request->header(request->context, "Authorization");
        if (!is_for(source, sources, count, value))
            break;
        identity->authentication = SPAN_LIT("bearer");
        identity->consumed = source->forward ? NULL : "Authorization";
        if (!identity__credential(value, SPAN_LIT("bearer"), &token))
            return REASON_CREDENTIAL_WRONG;
        return decide_key(token, keys, request, identity);
    case IDENTITY_TOKEN:
        value = request->header(request->context, "Authorization");
        if (!is_for(source, sources, count, value))
            break;
        identity->authentication = SPAN_LIT("token");
        identity->consumed = source->forward ? NULL : "Authorization";
        return decide_token(value, sources, count, request, identity);
    case IDENTITY_CERTIFICATE:
        reason = identity__certificate(source, request, identity, &tenant, present);
        if (!*present)
            break;
        identity->authentication = SPAN_LIT("certificate");
        return reason == REASON_PERMITTED ? settle_tenant(tenant, NULL, request->claimed_tenant, identity) : reason;
    case IDENTITY_LOGIN:
        if (request->uid == NULL)
            break;
        identity->authentication = SPAN_LIT("login");
        return decide_login(source, request, identity);
    case IDENTITY_NONE:
        /* `none` beside other sources would let in anybody who leaves the credential out */
        if (count > 1)
            break;
        identity->authentication = SPAN_LIT("none");
        identity->principal = span_text(source->principal);
        name_agent(identity, span_text(source->agent), "configuration");
        return settle_tenant(span_text(source->tenant), NULL, request->claimed_tenant, identity);
    }
    *present = false;
    return REASON_CREDENTIAL_MISSING;
}

enum reason identity_decide(const struct identity_source *sources, size_t count, const struct identity_keys *keys,
                            const struct identity_request *request, struct identity *identity)
{
    for (size_t i = 0; i < count; i++) {
        struct identity found = {.kind = sources[i].kind};
        bool present;
        enum reason reason = decide_one(&sources[i], sources, count, keys, request, &found, &present);

        if (!present)
            continue;
        *identity = found;
        return reason;
    }
    *identity = (struct identity){0};
    return REASON_CREDENTIAL_MISSING;
}
