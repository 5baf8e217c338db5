/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/certificate_priv.h"

#include "base/ascii.h"

#include <string.h>

/* ---- the subject ---- */

/* Takes one `TYPE=value` off the subject. */
static bool next_attribute(struct span *subject, struct span *type, struct span *value)
{
    size_t end = 0;

    while (end < subject->len && subject->at[end] != ',') {
        unsigned char c = (unsigned char)subject->at[end];

        if (c < ' ' || c > '~' || c == '"' || c == '+')
            return false;
        end += c == '\\' ? 2 : 1; /* a last backslash has nothing behind it; span_part cuts at the end */
    }
    *type = span_trim(span_cut(span_part(*subject, 0, end), '=', value));
    *subject = span_part(*subject, end + 1, subject->len);
    return type->len > 0;
}

/* An escape is refused rather than decoded: two spellings of one name would be two names in a policy. */
static bool is_plain_value(struct span value)
{
    if (value.len == 0 || value.len > IDENTITY_NAME_MAX)
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (strchr("\\<>;", value.at[i]) != NULL)
            return false;
    return value.at[0] != ' ' && value.at[0] != '#' && value.at[value.len - 1] != ' ';
}

/* The only attribute of this type. */
static bool subject_has(struct span subject, struct span wanted, struct span *found)
{
    *found = SPAN_NONE;
    while (subject.len > 0) {
        struct span type, value;

        if (!next_attribute(&subject, &type, &value))
            return false;
        if (!span_equals_nocase(type, wanted))
            continue;
        if (found->at != NULL || !is_plain_value(value))
            return false;
        *found = value;
    }
    return found->at != NULL;
}

/* ---- alternative names ---- */

/* SPIFFE-ID, 2.1 to 2.3, in the one spelling that it has: spiffe://trust-domain/path without escapes, dots or empty parts. */
static bool is_spiffe_id(struct span uri)
{
    struct span path, domain = span_cut(span_part(uri, strlen("spiffe://"), SIZE_MAX), '/', &path);

    if (!span_starts_with(uri, SPAN_LIT("spiffe://")) || domain.len == 0 || !ascii_is_all(domain, "a-z0-9._-"))
        return false;
    if (strlen("spiffe://") + domain.len == uri.len)
        return true;
    do {
        struct span part = span_cut(path, '/', &path);

        if (part.len == 0 || span_is(part, ".") || span_is(part, "..") || !ascii_is_all(part, "a-zA-Z0-9._-"))
            return false;
    } while (!span_is_empty(path));
    return uri.at[uri.len - 1] != '/';
}

static bool is_uri(struct span uri)
{
    size_t colon = span_find(uri, ':');

    if (uri.len > IDENTITY_URI_MAX || colon == 0 || colon >= uri.len || !ascii_is_all(uri, "!#-;=?-[]_a-z~"))
        return false;
    return !span_equals_nocase(span_part(uri, 0, colon), SPAN_LIT("spiffe")) || is_spiffe_id(uri);
}

static bool is_domain(struct span name)
{
    return name.len > 0 && name.len <= IDENTITY_NAME_MAX && ascii_is_all(name, "a-z0-9.-") && name.at[0] != '.' &&
           name.at[name.len - 1] != '.';
}

static bool is_address(struct span name)
{
    struct span domain, local = span_cut(name, '@', &domain);

    if (local.len == 0 || name.len > IDENTITY_NAME_MAX || !is_domain(domain))
        return false;
    return ascii_is_all(local, "a-zA-Z0-9!#$%&'*+/=?^_`{|}~.-"); /* RFC 5321, 4.1.2, without quotes */
}

static bool only(const struct tls_name *name, bool (*is_fit)(struct span name), struct span *found)
{
    *found = name->text;
    return name->count == 1 && name->text.at != NULL && is_fit(name->text);
}

static bool find_principal(const struct tls_names *names, enum identity_name name, struct span *principal)
{
    switch (name) {
    case IDENTITY_CN:
        return subject_has(names->subject, SPAN_LIT("CN"), principal);
    case IDENTITY_URI:
        return only(&names->uri, is_uri, principal);
    case IDENTITY_DNS:
        return only(&names->dns, is_domain, principal);
    case IDENTITY_EMAIL:
        return only(&names->email, is_address, principal);
    }
    return false;
}

static bool find_tenant(const struct identity_source *source, const struct tls_names *names, struct span *tenant)
{
    struct span uri;

    if (source->tenant != NULL) {
        *tenant = span_text(source->tenant);
        return true;
    }
    if (source->tenant_regex == NULL)
        return subject_has(names->subject, SPAN_LIT("O"), tenant);
    return only(&names->uri, is_uri, &uri) &&
           regex_match_group(source->tenant_regex, uri, "tenant", tenant) == REGEX_MATCH && is_plain_value(*tenant);
}

/* Sets *present where the request shows a certificate. Returns: NULL: it cannot be believed. Takes: handed: room for the names
 * of one that is handed on. */
static const struct tls_names *shown_names(const char *header, const struct identity_request *request, bool *present,
                                           struct tls_names *handed)
{
    struct span value = header != NULL ? request->header(request->context, header) : SPAN_NONE;

    *present = header != NULL ? value.at != NULL : request->certificate != NULL;
    if (header == NULL || !*present)
        return request->certificate;
    /* the header is wiped when it is consumed; names point into this copy */
    value.at = arena_dup(request->arena, value.at, value.len);
    return value.at != NULL && request->is_from_proxy && identity__handed_on(header, value, request->arena, handed) ? handed
                                                                                                                    : NULL;
}

enum reason identity__certificate(const struct identity_source *source, const struct identity_request *request,
                                  struct identity *identity, struct span *tenant, bool *present)
{
    struct tls_names handed;
    const struct tls_names *names = shown_names(source->header, request, present, &handed);

    if (!*present)
        return REASON_CREDENTIAL_MISSING;
    identity->consumed = source->header;
    return names != NULL && find_principal(names, source->name, &identity->principal) && find_tenant(source, names, tenant)
               ? REASON_PERMITTED : REASON_CREDENTIAL_WRONG;
}

enum reason identity__certificate_name(const char *header, enum identity_name name, const struct identity_request *request,
                                       struct span *found)
{
    struct tls_names handed;
    bool present;
    const struct tls_names *names = shown_names(header, request, &present, &handed);

    if (!present)
        return REASON_PERMITTED;
    return names != NULL && find_principal(names, name, found) ? REASON_PERMITTED : REASON_CREDENTIAL_WRONG;
}
