/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/provider.h"

#include "base/num.h"
#include "crypto/parts.h"
#include "crypto/secret.h"
#include "os/sock.h"

#include <stdio.h>
#include <string.h>

void identity_provider_seal(struct identity_provider *provider)
{
    const struct span parts[] = {span_text(provider->rules.name), span_text(provider->rules.issuer),
                                 span_text(provider->keys_url), span_text(provider->keys_file),
                                 span_text(provider->introspect_url)};

    parts_digest(parts, sizeof parts / sizeof parts[0], provider->digest);
}

void identity_provider_fini(struct identity_provider *provider)
{
    tls_unref(&provider->tls);
    secret_free((void *)(uintptr_t)provider->introspect.secret.at, provider->introspect.secret.len);
}

void identity_metadata_url(const struct identity_provider *provider, bool oauth, char out[IDENTITY_URL_BYTES])
{
    struct span issuer = span_text(provider->rules.issuer), path;
    size_t origin = span_find(issuer, '/') + 2;

    origin += span_find(span_part(issuer, origin, SIZE_MAX), '/');
    path = span_part(issuer, origin, SIZE_MAX);
    if (span_ends_with(path, SPAN_LIT("/")))
        path.len--;
    if (oauth) /* RFC 8414 has the issuer's path behind the well-known part */
        (void)snprintf(out, IDENTITY_URL_BYTES, "%.*s/.well-known/oauth-authorization-server%.*s", (int)origin, issuer.at,
                       SPAN_ARG(path));
    else
        (void)snprintf(out, IDENTITY_URL_BYTES, "%.*s%.*s/.well-known/openid-configuration", (int)origin, issuer.at,
                       SPAN_ARG(path));
}

/* ---- what is learned ---- */

struct identity_introspection *identity_introspection_new(struct buf *answer, int64_t asked_us)
{
    struct identity_introspection *made = mem_zalloc(sizeof *made);

    if (made == NULL)
        return NULL;
    ref_init(&made->ref);
    made->asked_us = asked_us;
    buf_init(&made->answer, SIZE_MAX / 2);
    buf_wipes(&made->answer);
    buf_move(&made->answer, answer);
    return made;
}

static void *introspection_ref(void *result)
{
    ref_take(&((struct identity_introspection *)result)->ref);
    return result;
}

static void introspection_unref(void *result)
{
    struct identity_introspection *gone = result;

    if (!ref_drop(&gone->ref))
        return;
    buf_fini(&gone->answer);
    mem_free(gone);
}

static void *keys_ref(void *result)
{
    return identity_key_set_ref(result);
}

static void keys_unref(void *result)
{
    struct identity_key_set *set = result;

    identity_key_set_unref(&set);
}

static void *token_ref(void *result)
{
    return identity_token_ref(result);
}

static void token_unref(void *result)
{
    struct identity_token *token = result;

    identity_token_unref(&token);
}

const struct lookup_type identity_keys_type = {keys_ref, keys_unref};
const struct lookup_type identity_token_type = {token_ref, token_unref};
const struct lookup_type identity_introspection_type = {introspection_ref, introspection_unref};

/* ---- URLs ---- */

const char *identity_url_split(struct span text, struct http_authority *authority, bool *is_tls)
{
    struct span host;

    *is_tls = span_starts_with(text, SPAN_LIT("https://"));
    if (!*is_tls && !span_starts_with(text, SPAN_LIT("http://")))
        return "it does not begin with https://";
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~' || text.at[i] == '#' || text.at[i] == '"' || text.at[i] == '\\')
            return "it holds a fragment, a blank or a character that is no URL's";
    text = span_part(text, *is_tls ? 8 : 7, SIZE_MAX);
    text = span_part(text, 0, span_find(text, '/'));
    text = span_part(text, 0, span_find(text, '?'));
    if (!http_authority_read(text, authority))
        return "its host is not written as a name, a name and a port, or an address";
    host = authority->name;
    if (host.at[0] == '[')
        host = span_part(host, 1, host.len - 2);
    if (!*is_tls && !sock_host_is_loopback(host))
        return "by plain http anybody on the way could put keys of his own in their place";
    return NULL;
}

uint16_t identity_url_port(const char *url)
{
    struct http_authority authority;
    uint64_t port;
    bool is_tls;

    if (identity_url_split(span_text(url), &authority, &is_tls) != NULL)
        return 0;
    if (authority.port.len > 0 && num_u64(authority.port, &port) == CODE_OK && port <= UINT16_MAX)
        return (uint16_t)port;
    return is_tls ? 443 : 80;
}
