/* SPDX-License-Identifier: Apache-2.0 */
/* callgate identity explain: who a token or a certificate would be on each route, and why not, in words. Without a network: by
 * the configuration, and by the keys that the gate has kept of its providers. */
#include "cli/commands.h"
#include "args/print.h"
#include "cli/told.h"
#include "people/known_keys.h"

#include "base/mem.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_BYTES ((size_t)256 * 1024)
#define NAME_BYTES 600

/* What is known of a provider's keys. */
struct known {
    bool is_read;
    struct identity_key_set *set; /* NULL: none is */
    char from[160];               /* where it stands, or why not */
};

struct explaining {
    const struct asked *asked;
    struct conf *conf;
    int64_t now_us;
    struct buf text;                        /* what was shown; wiped */
    struct span shown;                      /* the token, or the PEM */
    struct arena arena;
    bool is_certificate;
    struct tls_names names;
    struct identity_token_hint hint;        /* of a JWT; is_jwt */
    bool is_jwt;
    const struct json_node *header, *claims; /* unverified */
    struct buf header_text, claims_text;
    struct known known[IDENTITY_PROVIDERS_MAX];
    struct doc *doc, *routes;
    size_t let_in;
};

/* Who it is on one route; why != "": nobody. */
struct outcome {
    const struct proxy_route *route;
    const struct identity_provider *provider;
    const struct identity_token *token;     /* NULL: of a certificate, or nobody */
    struct span principal, tenant, agent, agent_by;
    char why[1024];
};

/* ---- what is shown ---- */

static enum code read_input(struct explaining *e, const char *operand, struct why *why)
{
    char piece[4096];
    size_t len;

    if (operand != NULL && strcmp(operand, "-") != 0 &&
        (access(operand, F_OK) == 0 || !identity_token_looks(span_text(operand), &e->hint)))
        return command_file(operand, SHOWN_BYTES, &e->text, why);
    if (operand != NULL && strcmp(operand, "-") != 0)
        return buf_add_text(&e->text, operand);
    while ((len = fread(piece, 1, sizeof piece, stdin)) > 0)
        buf_add(&e->text, piece, len);
    mem_wipe(piece, sizeof piece);
    if (ferror(stdin))
        return why_set(why, CODE_IO, "standard input cannot be read");
    return buf_code(&e->text) == CODE_LIMIT ? why_set(why, CODE_INVALID, "standard input is no token: it is too long")
                                            : buf_code(&e->text);
}

/* Whoever copies a header's value copies its scheme too. */
static struct span strip(struct span text)
{
    static const char *const schemes[] = {"Authorization:", "Bearer ", "DPoP ", NULL};

    for (size_t i = 0; i <= 3; i++) {
        while (text.len > 0 && strchr(" \t\r\n", text.at[0]) != NULL)
            text = span_part(text, 1, SIZE_MAX);
        if (schemes[i] != NULL && span_equals_nocase(span_part(text, 0, strlen(schemes[i])), span_text(schemes[i])))
            text = span_part(text, strlen(schemes[i]), SIZE_MAX);
    }
    while (text.len > 0 && strchr(" \t\r\n", text.at[text.len - 1]) != NULL)
        text.len--;
    return text;
}

static const struct json_node *read_part(struct explaining *e, struct span part, struct buf *text)
{
    const struct json_node *root = NULL;
    struct json_fault fault;

    if (base64url_decode(part, text) != CODE_OK ||
        json_read(buf_peek(text), &json_file_rules, text, &e->arena, &root, &fault) != CODE_OK)
        return NULL;
    return root;
}

static int read_shown(struct explaining *e, const char *operand)
{
    struct why why = {""};
    struct span rest, header;
    enum code code = read_input(e, operand, &why);

    if (code != CODE_OK)
        return complain_why(code, &why);
    e->shown = strip(buf_peek(&e->text));
    if (e->shown.len == 0)
        return complain(STATUS_USAGE, "nothing was shown; give a file with a token or a certificate in PEM, or `-` for "
                        "standard input");
    if (span_starts_with(e->shown, SPAN_LIT("cg_")))
        return complain(STATUS_USAGE, "this is a key of the gate's, no token; `callgate key list` says whose there are");
    e->is_certificate = memmem(e->shown.at, e->shown.len, "-----BEGIN", 10) != NULL;
    if (e->is_certificate)
        return tls_names_read_pem(e->shown, &e->arena, &e->names) ? OPTIONS_GO
               : complain(STATUS_USAGE, "there is no certificate in it; the first in a PEM file is read");
    e->is_jwt = identity_token_looks(e->shown, &e->hint);
    if (!e->is_jwt)
        return OPTIONS_GO;
    header = span_cut(e->shown, '.', &rest);
    e->header = read_part(e, header, &e->header_text);
    e->claims = read_part(e, span_cut(rest, '.', &rest), &e->claims_text);
    return OPTIONS_GO;
}

/* ---- what it says of itself ---- */

static struct span said(const struct json_node *object, const char *name)
{
    const struct json_node *node = json_member(object, span_text(name));

    return node == NULL ? SPAN_NONE : node->type == JSON_STRING ? node->text : node->raw;
}

static struct span time_of(const struct explaining *e, const char *claim, char text[CLOCK_TEXT_BYTES])
{
    const struct json_node *node = json_member(e->claims, span_text(claim));
    uint64_t ns;

    if (node == NULL || node->type != JSON_NUMBER || json_number_scaled(node->raw, 9, &ns) != CODE_OK)
        return SPAN_NONE;
    clock_text((int64_t)(ns / 1000), text);
    return span_text(text);
}

static struct span name_of(const struct tls_name *found, char text[NAME_BYTES])
{
    if (found->count <= 1)
        return found->text;
    (void)snprintf(text, NAME_BYTES, "%.*s, the first of %u", found->text.len < 500 ? (int)found->text.len : 500,
                   found->text.at != NULL ? found->text.at : "", found->count);
    return span_text(text);
}

/* Of an opaque token all of it is nothing, and of a certificate what only tokens say. */
static void fill_shown(struct explaining *e)
{
    char times[3][CLOCK_TEXT_BYTES], names[3][NAME_BYTES];
    const struct { const char *name; struct span text; } members[] = {
        {"algorithm", said(e->header, "alg")}, {"type", said(e->header, "typ")}, {"key", said(e->header, "kid")},
        {"issuer", said(e->claims, "iss")}, {"audience", said(e->claims, "aud")},
        {"subject", e->is_certificate ? e->names.subject : said(e->claims, "sub")},
        {"uri", name_of(&e->names.uri, names[0])}, {"dns", name_of(&e->names.dns, names[1])},
        {"email", name_of(&e->names.email, names[2])}, {"issued", time_of(e, "iat", times[0])},
        {"begins", time_of(e, "nbf", times[1])}, {"expires", time_of(e, "exp", times[2])},
    };

    doc_text(e->doc, "kind", e->is_certificate ? SPAN_LIT("certificate") : e->is_jwt ? SPAN_LIT("jwt") : SPAN_LIT("opaque"));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        doc_text_or_null(e->doc, members[i].name, members[i].text);
}

static const char words[] =
    "[{?kind=jwt}a JSON Web Token, which says of itself:\n]"
    "[{?kind=opaque}an opaque token: what it says only its provider knows, who is not asked here\n]"
    "[{?kind=certificate}a certificate; whether an authority of `client_ca` vouches for it, and until when, is not asked "
    "here:\n]"
    "[  algorithm {algorithm}\n][  type      {type}\n][  key       {key}\n][  issuer    {issuer}\n][  audience  {audience}\n]"
    "[  subject   {subject}\n][  uri       {uri}\n][  dns       {dns}\n][  email     {email}\n][  issued    {issued}\n]"
    "[  begins    {begins}\n][  expires   {expires}\n]"
    "{*routes}route {route}: [nobody. {why}][{?why}{?principal} It would be ]"
    "[{?principal}principal {principal}, tenant {tenant}[, agent {agent}][, the agent of {agent_by}]]"
    "[{?agent_judged}{?principal}{!agent}{!agent_by}; no agent, without which the route denies every call]\n"
    "[{?groups=[]}  groups    none\n][  groups    {*groups:first 12}{.}{/, }[ and {groups:beyond 12} more]\n]"
    "[{?scopes=[]}  scopes    none\n][  scopes    {*scopes:first 12}{.}{/, }[ and {scopes:beyond 12} more]\n]"
    "[{?bound_to_certificate}  bound     to a client certificate: on a connection without it, nobody\n]"
    "[{?bound_to_key}  bound     to a key (DPoP): without a proof of it, nobody\n]{/}";

/* ---- keys ---- */

static void read_keys(struct explaining *e, const struct identity_provider *provider, struct known *known)
{
    const char *file = e->asked->keys != NULL ? e->asked->keys : provider->keys_file;
    char time[CLOCK_TEXT_BYTES];
    struct why why = {""};
    int64_t fetched_us;
    enum code code = known_keys_read(e->conf->store, provider, e->asked->keys, e->now_us, &known->set, &fetched_us, &why);

    clock_text(fetched_us, time);
    if (code == CODE_OK && file != NULL)
        (void)snprintf(known->from, sizeof known->from, "of %.140s", file);
    else if (code == CODE_OK)
        (void)snprintf(known->from, sizeof known->from, "kept beside the store, fetched %s", time);
    else if (code == CODE_NOT_FOUND && file == NULL)
        (void)snprintf(known->from, sizeof known->from, "none is kept beside the store; start the gate once, or name a file");
    else
        (void)snprintf(known->from, sizeof known->from, "%.159s", why.text);
}

static struct known *known_of(struct explaining *e, const struct identity_provider *provider)
{
    struct known *known = &e->known[provider - e->conf->proxy->providers];

    if (!known->is_read)
        read_keys(e, provider, known);
    known->is_read = true;
    return known;
}

/* ---- a route ---- */

static void fill_list(struct doc *doc, const char *name, const struct span *texts, size_t count)
{
    struct doc *list = doc_add_array(doc, name);

    for (size_t i = 0; i < count; i++)
        doc_text(list, NULL, texts[i]);
}

static void tell_outcome(struct explaining *e, const struct outcome *outcome)
{
    const struct identity_token *token = outcome->token;
    struct doc *doc = doc_add_object(e->routes, NULL);
    const unsigned bound = token != NULL ? token->bound : 0;

    e->let_in += outcome->why[0] == '\0';
    doc_text(doc, "route", outcome->route->name);
    doc_text_or_null(doc, "provider", outcome->provider != NULL ? span_text(outcome->provider->rules.name) : SPAN_NONE);
    doc_bool(doc, "let_in", outcome->why[0] == '\0');
    doc_text_or_null(doc, "why", outcome->why[0] != '\0' ? span_text(outcome->why) : SPAN_NONE);
    doc_text_or_null(doc, "principal", outcome->principal);
    doc_text_or_null(doc, "tenant", outcome->tenant);
    doc_text_or_null(doc, "agent", outcome->agent);
    doc_text_or_null(doc, "agent_by", outcome->agent_by);
    doc_bool(doc, "agent_judged", outcome->route->agent_judged);
    if (token != NULL && token->actors.at != NULL)
        doc_json(doc, "actors", token->actors);
    if (token != NULL) {
        fill_list(doc, "groups", token->groups, token->group_count);
        fill_list(doc, "scopes", token->scopes, token->scope_count);
    } else {
        doc_null(doc, "groups");
        doc_null(doc, "scopes");
    }
    doc_bool(doc, "bound_to_certificate", (bound & IDENTITY_BOUND_CERTIFICATE) != 0);
    doc_bool(doc, "bound_to_key", (bound & IDENTITY_BOUND_KEY) != 0);
}

static void explain_reading(struct explaining *e, const struct identity_source *source, struct outcome *outcome)
{
    const struct known *known = known_of(e, source->provider);
    struct span slug = span_text(e->asked->slug);
    struct identity_token *token;
    enum identity_fault fault = identity_source_read(source, slug, known->set, e->shown, SPAN_NONE, e->now_us, &token);
    char more[IDENTITY_ISSUER_BYTES_MAX + 64] = "";
    uint64_t ns;

    if (fault == IDENTITY_FAULT_EXPIRED &&
        json_number_scaled(said(e->claims, "exp"), 9, &ns) == CODE_OK) { /* who it was */
        enum identity_fault then = identity_source_read(source, slug, known->set, e->shown, SPAN_NONE,
                                                        (int64_t)(ns / 1000) - 1, &token);

        fault = then == IDENTITY_FAULT_NONE ? IDENTITY_FAULT_EXPIRED : then;
    }
    if (fault == IDENTITY_FAULT_AUDIENCE && source->has_slug && e->asked->slug == NULL)
        (void)snprintf(more, sizeof more, " The audience has the mark {slug}; name one with --slug.");
    else if (fault == IDENTITY_FAULT_AUDIENCE)
        (void)snprintf(more, sizeof more, " Ask the provider for a token for %s.", source->rules.audiences[0]);
    if (fault != IDENTITY_FAULT_NONE)
        (void)snprintf(outcome->why, sizeof outcome->why, "%s%s", identity_fault_text(fault), more);
    else if ((token->bound & source->bound) != source->bound)
        (void)snprintf(outcome->why, sizeof outcome->why, "The route takes only tokens that are bound to a %s.",
                       (source->bound & IDENTITY_BOUND_KEY) != 0 ? "key (DPoP)" : "client certificate");
    if (fault == IDENTITY_FAULT_UNKNOWN_KEY) {
        size_t count = known->set != NULL ? identity_key_set_count(known->set) : 0;

        (void)snprintf(outcome->why, sizeof outcome->why, "%s (provider %s: %zu key%s, %s.)", identity_fault_text(fault),
                       source->provider->rules.name, count, count == 1 ? "" : "s", known->from);
    }
    outcome->token = token;
    if (token != NULL) {
        outcome->principal = token->principal;
        outcome->tenant = token->tenant;
        outcome->agent = token->agent;
        if (source->agent_by_certificate)
            outcome->agent_by = SPAN_LIT("the client certificate that is shown beside it");
    }
    tell_outcome(e, outcome);
    identity_token_unref(&token);
}

static void explain_token(struct explaining *e, const struct proxy_route *route)
{
    struct outcome outcome = {.route = route};
    bool takes_tokens = false;

    for (size_t i = 0; i < route->identity_count; i++) {
        const struct identity_source *source = &route->identity[i];

        if (source->kind != IDENTITY_TOKEN)
            continue;
        takes_tokens = true;
        outcome.provider = source->provider;
        if (e->is_jwt && strcmp(source->provider->rules.issuer, e->hint.issuer) == 0) {
            explain_reading(e, source, &outcome);
            return;
        }
        if (!e->is_jwt && source->provider->introspect_url != NULL) {
            (void)snprintf(outcome.why, sizeof outcome.why, "Who it is says the provider, which the gate asks.");
            tell_outcome(e, &outcome);
            return;
        }
    }
    outcome.provider = NULL;
    (void)snprintf(outcome.why, sizeof outcome.why, "%s",
                   !takes_tokens ? "The route takes no tokens."
                   : e->is_jwt ? "None of the route's providers has its `iss` as its `issuer`, byte for byte."
                               : "None of the route's providers is asked about opaque tokens (`introspect`).");
    tell_outcome(e, &outcome);
}

static struct span no_header(const void *context, const char *name)
{
    (void)context, (void)name;
    return SPAN_NONE;
}

static void explain_certificate(struct explaining *e, const struct proxy_route *route)
{
    static const char *const kinds[] = {"CN in its subject", "URI", "DNS name", "e-mail address"};
    struct outcome outcome = {.route = route};
    struct identity_request request = {.header = no_header, .certificate = &e->names, .arena = &e->arena, .now_us = e->now_us};
    struct identity identity;

    (void)snprintf(outcome.why, sizeof outcome.why, "The route takes no certificates.");
    for (size_t i = 0; i < route->identity_count; i++) {
        const struct identity_source *source = &route->identity[i];
        struct identity_source shown = *source;

        if (source->kind != IDENTITY_CERTIFICATE)
            continue;
        shown.header = NULL; /* whoever hands it on */
        if (identity_decide(&shown, 1, NULL, &request, &identity) == REASON_PERMITTED) {
            outcome.why[0] = '\0';
            outcome.principal = identity.principal;
            outcome.tenant = identity.tenant;
        } else {
            (void)snprintf(outcome.why, sizeof outcome.why, "The route takes exactly one %s, in its one spelling%s.",
                           kinds[source->name], source->tenant != NULL ? ""
                           : source->tenant_regex != NULL ? ", and a URI with the tenant in it" : ", and one O, the tenant");
        }
        break; /* the first that is present decides */
    }
    tell_outcome(e, &outcome);
}

/* ---- the command ---- */

static bool is_asked(const struct explaining *e, const struct proxy_route *route)
{
    return e->asked->route == NULL || span_is(route->name, e->asked->route);
}

static bool has_route(const struct explaining *e)
{
    for (size_t i = 0; i < e->conf->proxy->route_count; i++)
        if (is_asked(e, &e->conf->proxy->routes[i]))
            return true;
    return e->asked->route == NULL;
}

static int explain_routes(struct explaining *e)
{
    for (size_t i = 0; i < e->conf->proxy->route_count; i++) {
        const struct proxy_route *route = &e->conf->proxy->routes[i];

        if (!is_asked(e, route))
            continue;
        if (e->is_certificate)
            explain_certificate(e, route);
        else
            explain_token(e, route);
    }
    return e->let_in > 0 ? STATUS_DONE : STATUS_NEGATIVE;
}

static int explain(struct explaining *e)
{
    int status = read_shown(e, asked_operand(e->asked, 0));

    if (status == OPTIONS_GO)
        status = asked_conf(e->asked, &e->conf);
    if (status != OPTIONS_GO)
        return status;
    if (!has_route(e))
        return complain(STATUS_USAGE, "no route is named \"%s\"; `callgate status` lists them", e->asked->route);
    e->doc = doc_object();
    fill_shown(e);
    e->routes = doc_add_array(e->doc, "routes");
    status = explain_routes(e);
    return told_answer(&e->doc, e->asked->json, words) == STATUS_DONE ? status : STATUS_CANNOT;
}

int cmd_identity_explain(const struct asked *asked)
{
    static struct explaining e;
    int status;

    e = (struct explaining){.now_us = clock_wall_us(), .asked = asked};
    buf_init(&e.text, SHOWN_BYTES);
    buf_wipes(&e.text);
    buf_init(&e.header_text, SHOWN_BYTES);
    buf_init(&e.claims_text, SHOWN_BYTES);
    arena_init(&e.arena, (size_t)64 << 20);
    status = explain(&e);
    for (size_t i = 0; i < IDENTITY_PROVIDERS_MAX; i++)
        identity_key_set_unref(&e.known[i].set);
    conf_free(&e.conf);
    doc_free(&e.doc);
    arena_fini(&e.arena);
    buf_fini(&e.text);
    buf_fini(&e.header_text);
    buf_fini(&e.claims_text);
    return status;
}
