/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that a server brings (MCP Apps): what they may reach and use is cut to what the route allows, before hosts read it. */
#include "declared/declared.h"

#include "base/ascii.h"
#include "base/buf.h"

#define DOMAIN_MAX_BYTES 256

/* A place that pages may reach, as the host puts it into their Content-Security-Policy. */
struct domain {
    struct span scheme, host, port;
};

/* Reads scheme, host (behind `*.` all below it) and port. Whatever else a policy of contents could hold, such as a blank or a
 * quote, is none. */
static bool read_domain(struct span text, struct domain *domain)
{
    static const char *const schemes[] = {"https", "wss", "http", "ws"};
    struct span rest = SPAN_NONE, name;
    bool is_known = false;
    size_t at = 0;

    while (at < text.len && text.at[at] != ':')
        at++;
    domain->scheme = span_part(text, 0, at);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0] && !is_known; i++)
        is_known = span_equals_nocase(domain->scheme, span_text(schemes[i]));
    if (text.len > DOMAIN_MAX_BYTES || !is_known || !span_starts_with(span_part(text, at, SIZE_MAX), SPAN_LIT("://")))
        return false;
    rest = span_part(text, at + 3, SIZE_MAX);
    if (span_ends_with(rest, SPAN_LIT("/")))
        rest.len--;
    at = span_find(rest, ':');
    domain->host = span_part(rest, 0, at);
    domain->port = span_part(rest, at, SIZE_MAX);
    name = span_starts_with(domain->host, SPAN_LIT("*.")) ? span_part(domain->host, 2, SIZE_MAX) : domain->host;
    return name.len > 0 && ascii_is_all(name, "a-zA-Z0-9.-") && name.at[0] != '.' &&
           (domain->port.len == 0 || (domain->port.len > 1 && ascii_is_all(span_part(domain->port, 1, SIZE_MAX), "0-9")));
}

bool declared_domain_is_fit(struct span text)
{
    struct domain domain;

    return read_domain(text, &domain) && !span_ends_with(text, SPAN_LIT("/"));
}

/* Whether all that the one leads to the other allows. */
static bool is_within(const struct domain *domain, const struct domain *allowed)
{
    struct span end = span_part(allowed->host, 1, SIZE_MAX); /* behind a `*` */
    size_t at = domain->host.len > end.len ? domain->host.len - end.len : 0;

    if (!span_equals_nocase(domain->scheme, allowed->scheme) || !span_equals(domain->port, allowed->port))
        return false;
    return span_equals_nocase(domain->host, allowed->host) ||
           (allowed->host.at[0] == '*' && at > 0 && span_equals_nocase(span_part(domain->host, at, SIZE_MAX), end));
}

static bool is_allowed(const struct declared_apps *apps, const struct json_node *node)
{
    struct domain domain, allowed;
    bool is = false;

    if (node->type != JSON_STRING || !read_domain(node->text, &domain))
        return false;
    for (size_t i = 0; i < apps->domain_count && !is; i++)
        is = read_domain(apps->domains[i], &allowed) && is_within(&domain, &allowed);
    return is;
}

struct cutting {
    const struct declared_apps *apps;
    struct span document;
    struct json_edits *edits;
};

static enum code cut(const struct cutting *cutting, const struct json_node *element)
{
    size_t begin = (size_t)(element->raw.at - cutting->document.at);

    return json_edits_cut(cutting->edits, begin, begin + element->raw.len);
}

static enum code cut_member(const struct cutting *cutting, const struct json_node *member)
{
    return json_edits_cut_member(cutting->edits, cutting->document, member);
}

static bool is_domains(struct span key)
{
    return span_is(key, "connectDomains") || span_is(key, "resourceDomains") || span_is(key, "frameDomains") ||
           span_is(key, "baseUriDomains");
}

/* What is not known of a policy of contents may open anything. */
static enum code cut_policy(const struct cutting *cutting, const struct json_node *policy)
{
    enum code code = CODE_OK;

    if (policy->type != JSON_OBJECT)
        return cut_member(cutting, policy);
    for (const struct json_node *list = policy->child; list != NULL && code == CODE_OK; list = list->next) {
        if (list->type != JSON_ARRAY || !is_domains(list->key)) {
            code = cut_member(cutting, list);
            continue;
        }
        for (const struct json_node *one = list->child; one != NULL && code == CODE_OK; one = one->next)
            if (!is_allowed(cutting->apps, one))
                code = cut(cutting, one);
    }
    return code;
}

static enum code cut_permissions(const struct cutting *cutting, const struct json_node *permissions)
{
    enum code code = CODE_OK;

    if (permissions->type != JSON_OBJECT)
        return cut_member(cutting, permissions);
    for (const struct json_node *one = permissions->child; one != NULL && code == CODE_OK; one = one->next) {
        bool is = false;

        for (size_t i = 0; i < cutting->apps->permission_count && !is; i++)
            is = span_equals(cutting->apps->permissions[i], one->key);
        if (!is)
            code = cut_member(cutting, one);
    }
    return code;
}

static enum code cut_ui(const struct cutting *cutting, const struct json_node *ui)
{
    enum code code = CODE_OK;

    for (const struct json_node *at = ui->child; at != NULL && code == CODE_OK; at = at->next)
        if (json_key_is_like(at->key, SPAN_LIT("csp")))
            code = cut_policy(cutting, at);
        else if (json_key_is_like(at->key, SPAN_LIT("permissions")))
            code = cut_permissions(cutting, at);
    return code;
}

/* Takes: meta: the value of a `_meta`. */
static enum code cut_meta(const struct cutting *cutting, const struct json_node *meta)
{
    enum code code = CODE_OK;

    for (const struct json_node *at = meta->child; at != NULL && code == CODE_OK; at = at->next)
        if (json_key_is_like(at->key, SPAN_LIT("ui")) && at->type == JSON_OBJECT)
            code = cut_ui(cutting, at);
        else if (json_key_is_like(at->key, SPAN_LIT("openai/widgetCSP"))) /* as one host had it before the specification */
            code = cut_member(cutting, at);
    return code;
}

/* No deeper than a reply may be, and in the document's order, since edits out of it cost time. No host looks for a `_meta` in
 * another. A host that reads loosely finds names in other spellings, too. */
static enum code look(const struct cutting *cutting, const struct json_node *node)
{
    enum code code = CODE_OK;

    for (const struct json_node *at = node->child; at != NULL && code == CODE_OK; at = at->next)
        code = at->type == JSON_OBJECT && json_key_is_like(at->key, SPAN_LIT("_meta")) ? cut_meta(cutting, at)
                                                                                       : look(cutting, at);
    return code;
}

enum code declared_apps_cut(const struct declared_apps *apps, struct span document, const struct json_node *result,
                            struct json_edits *edits)
{
    const struct cutting cutting = {apps, document, edits};

    return look(&cutting, result);
}
