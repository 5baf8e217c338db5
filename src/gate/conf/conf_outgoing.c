/* SPDX-License-Identifier: Apache-2.0 */
/* `upstream: {authorization: ...}`: what goes up in that header, in place of whatever the agent showed. */
#include "conf/conf_priv.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "crypto/secret.h"
#include "http/writer.h"
#include "identity/provider.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRIES_MOST 4096
#define SCOPES_MOST 64
#define TENANT "{tenant}"
#define PRINCIPAL "{principal}"

/* ---- one value ---- */

/* Prefix and secret as one, among the secrets. Takes: node: where faults stand. */
static struct span join(struct conf_reader *reader, const struct yaml_node *node, struct span prefix, struct span secret)
{
    size_t len = prefix.len + secret.len;
    char *value = secret_new(len);

    if (value == NULL) {
        CONF_FAULT(reader, node, "there is no room for one more secret; name fewer files");
        return SPAN_NONE;
    }
    if (prefix.len > 0)
        memcpy(value, prefix.at, prefix.len);
    memcpy(value + prefix.len, secret.at, secret.len);
    return span_of(value, len);
}

struct span conf__prefix(struct conf_reader *reader, const struct yaml_node *map, const char *otherwise)
{
    const struct yaml_node *node = yaml_member(map, "prefix");
    struct span prefix = node != NULL ? conf__text(reader, node) : span_text(otherwise);

    if (node != NULL && prefix.len > 0 && (prefix.at[0] == ' ' || !http_value_is_writable(span_trim(prefix))))
        CONF_FAULT(reader, node, "a prefix is visible ASCII and blanks; write 'Bearer '");
    return prefix;
}

struct span conf__prefixed_secret(struct conf_reader *reader, const struct yaml_node *node, const char *path,
                                  struct span prefix)
{
    struct span secret, value = SPAN_NONE;
    struct buf text;

    buf_init(&text, CONF_SECRET_BYTES);
    secret = conf__secret(reader, node, path, &text);
    if (secret.len > 0)
        value = join(reader, node, prefix, secret);
    mem_wipe(text.block, text.size);
    buf_fini(&text);
    return value;
}

struct span conf__secret_of(struct conf_reader *reader, const struct yaml_node *map, const char *example)
{
    if (!conf__map(reader, map, conf__notify_secret, "`secret`") || conf__need(reader, map, "file", example) == NULL)
        return SPAN_NONE;
    return conf__prefixed_secret(reader, yaml_member(map, "file"), conf__path(reader, map, "file", NULL), SPAN_NONE);
}

/* ---- a table of files ---- */

/* One part of a path, as '{tenant}.token', and the folder that is looked through for it. */
struct listing {
    struct conf_reader *reader;
    const struct yaml_node *node;
    struct span prefix;
    struct outgoing *out;
    size_t room;
};

/* Returns: at == NULL: nobody's. */
static struct span name_of(struct conf_reader *reader, struct span written)
{
    char *name = conf__array(reader, written.len + 1, 1);
    size_t len = name != NULL ? outgoing_name_read(written, name) : 0;

    return len > 0 ? span_of(name, len) : SPAN_NONE;
}

static int64_t age_of(const char *path)
{
    struct stat about;

    return path != NULL && stat(path, &about) == 0 ? (int64_t)about.st_mtim.tv_sec * 1000000 : 0;
}

static bool make_room(struct listing *listing)
{
    struct outgoing *out = listing->out;
    struct outgoing_entry *grown;

    if (out->count < listing->room)
        return true;
    listing->room = listing->room > 0 ? 2 * listing->room : 16;
    grown = conf__array(listing->reader, listing->room, sizeof *grown);
    if (grown != NULL && out->count > 0)
        memcpy(grown, out->entries, out->count * sizeof *grown);
    if (grown != NULL)
        out->entries = grown;
    return grown != NULL;
}

static void add_entry(struct listing *listing, struct span tenant, struct span principal, const char *path)
{
    struct outgoing *out = listing->out;

    if (out->count == ENTRIES_MOST) {
        CONF_FAULT(listing->reader, listing->node, "more than %d files; a token that the gate fetches itself needs none: "
                   "write `client_credentials` or `exchange`", ENTRIES_MOST);
        return;
    }
    if (!make_room(listing))
        return;
    out->entries[out->count] = (struct outgoing_entry){
        tenant, principal, conf__prefixed_secret(listing->reader, listing->node, path, listing->prefix), age_of(path)};
    out->count++;
}

/* Looks through `folder` for what `pattern` ("a{mark}b") names. Files that are hidden or of another form are nobody's. */
static void list_folder(struct listing *listing, const char *folder, struct span pattern, struct span mark,
                        struct span deeper, struct span tenant)
{
    struct conf_reader *reader = listing->reader;
    size_t at = (size_t)((const char *)memmem(pattern.at, pattern.len, mark.at, mark.len) - pattern.at);
    struct span before = span_part(pattern, 0, at), after = span_part(pattern, at + mark.len, SIZE_MAX);
    size_t faults = reader->faults->count;
    const struct dirent *entry;
    DIR *dir = opendir(folder);

    if (dir == NULL) {
        CONF_FAULT(reader, listing->node, "%s cannot be looked through: %s; make the folder, and put a file for each into it",
                   folder, strerror(errno));
        return;
    }
    while ((entry = readdir(dir)) != NULL && reader->faults->count < faults + 4 && !reader->out_of_memory) {
        struct span file = span_text(entry->d_name), name;
        char path[4200];

        if (!span_starts_with(file, before) || !span_ends_with(file, after) || file.len <= before.len + after.len ||
            file.at[0] == '.')
            continue;
        name = name_of(reader, span_part(file, before.len, file.len - before.len - after.len));
        if (name.at == NULL || snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            CONF_FAULT(reader, listing->node, "%s/%s: whom this file is for cannot be read from its name; letters, digits and "
                       "-_.@+:=~, stand for themselves, any other as %%2F; rename it", folder, entry->d_name);
        else if (deeper.len > 0)
            list_folder(listing, path, deeper, SPAN_LIT(PRINCIPAL), SPAN_NONE, name);
        else
            add_entry(listing, span_is(mark, TENANT) ? name : tenant, span_is(mark, PRINCIPAL) ? name : SPAN_NONE, path);
    }
    (void)closedir(dir);
}

static size_t count_of(struct span text, struct span mark)
{
    size_t count = 0;

    for (size_t i = 0; i + mark.len <= text.len; i++)
        count += memcmp(text.at + i, mark.at, mark.len) == 0;
    return count;
}

/* Cuts the last part off a path. */
static struct span last_part(struct span *path)
{
    size_t at = path->len;
    struct span part;

    while (at > 0 && path->at[at - 1] != '/')
        at--;
    part = span_part(*path, at, SIZE_MAX);
    path->len = at > 0 ? at - 1 : 0;
    return part;
}

static void read_table(struct conf_reader *reader, const struct yaml_node *node, struct span prefix, struct outgoing *out)
{
    struct listing listing = {.reader = reader, .node = node, .prefix = prefix, .out = out};
    struct span rest = node->text, last = last_part(&rest), first = last;
    struct span beside;
    char *folder;

    out->per_tenant = true;
    out->per_principal = count_of(node->text, SPAN_LIT(PRINCIPAL)) > 0;
    if (out->per_principal)
        first = last_part(&rest);
    if (count_of(node->text, SPAN_LIT("{")) != 1 + (size_t)out->per_principal || count_of(first, SPAN_LIT(TENANT)) != 1 ||
        count_of(last, SPAN_LIT(PRINCIPAL)) != (size_t)out->per_principal) {
        CONF_FAULT(reader, node, "a file for each is named by " TENANT " once in its last part, or by " TENANT " in its folder "
                   "and " PRINCIPAL " in its last part, since two tenants may have principals of one name; write "
                   "'tokens/{tenant}.token' or 'tokens/{tenant}/{principal}.token'");
        return;
    }
    /* This also notes the path as one that a reload reads, of which the folder is what counts. */
    beside = span_text(conf__beside(reader, span_of(node->text.at, (size_t)(first.at + first.len - node->text.at))));
    (void)last_part(&beside);
    folder = beside.at == NULL ? NULL : beside.len > 0 ? mem_dup(beside.at, beside.len) : mem_dup(".", 1);
    if (folder == NULL) {
        reader->out_of_memory = true;
        return;
    }
    list_folder(&listing, folder, first, SPAN_LIT(TENANT), out->per_principal ? last : SPAN_NONE, SPAN_NONE);
    mem_free(folder);
    outgoing_sort(out);
    if (out->count == 0)
        CONF_WARN(reader, node, "no file is there yet for anybody: every call here is denied until a reload finds one");
}

static void read_values(struct conf_reader *reader, const struct yaml_node *file, struct span prefix, struct outgoing *out)
{
    const char *path;

    if (conf__text(reader, file).at == NULL)
        return;
    out->file = conf__copy(reader, file->text).at;
    if (span_find(file->text, '{') < file->text.len) {
        read_table(reader, file, prefix, out);
        return;
    }
    out->entries = conf__array(reader, 1, sizeof *out->entries);
    if (out->entries == NULL)
        return;
    path = conf__beside(reader, file->text);
    out->entries->value = conf__prefixed_secret(reader, file, path, prefix);
    out->entries->since_us = age_of(path);
    out->count = 1;
}

/* ---- what a provider is asked for ---- */

/* A client without a secret (RFC 6749, 2.1): its entry is empty, and there. */
static void be_public(struct conf_reader *reader, const struct yaml_node *node, struct outgoing *out)
{
    char *nothing = secret_new(1);

    if (yaml_member(node, "method") != NULL)
        CONF_FAULT(reader, yaml_member(node, "method"), "a client without a secret shows none in any way; leave `method` out");
    out->entries = nothing != NULL ? conf__array(reader, 1, sizeof *out->entries) : NULL;
    if (out->entries == NULL) {
        secret_free(nothing, 1);
        reader->out_of_memory = true;
        return;
    }
    out->entries->value = span_of(nothing, 0);
    out->count = 1;
}

static void read_client(struct conf_reader *reader, const struct yaml_node *map, struct outgoing *out)
{
    static const char *const methods[] = {"basic", "post", NULL};
    const bool is_needed = out->kind != OUTGOING_ACCOUNT;
    const struct yaml_node *node = is_needed ? conf__need(reader, map, "client", "{id: callgate, secret: {file: shop.secret}}")
                                             : yaml_member(map, "client");
    const struct yaml_node *secret, *file;

    out->is_document = !is_needed && node == NULL;
    if (out->is_document)
        be_public(reader, map, out);
    if (node == NULL || !conf__map(reader, node, conf__outgoing_client, "`client`"))
        return;
    if (conf__need(reader, node, "id", "callgate") != NULL)
        out->client = conf__text_of(reader, node, "id").at;
    out->is_posted = conf__choice(reader, node, "method", methods) == 1;
    if (out->kind == OUTGOING_ACCOUNT && yaml_member(node, "secret") == NULL) {
        be_public(reader, node, out);
        return;
    }
    secret = conf__need(reader, node, "secret", "{file: shop.secret}");
    file = secret != NULL && conf__map(reader, secret, conf__notify_secret, "`secret`")
               ? conf__need(reader, secret, "file", "shop.secret") : NULL;
    if (file != NULL)
        read_values(reader, file, SPAN_NONE, out);
    if (out->per_principal)
        CONF_FAULT(reader, file, "a client of the provider is the gate's, or each tenant's; write 'secrets/{tenant}.secret'");
    if (out->per_tenant && out->kind == OUTGOING_ACCOUNT)
        CONF_FAULT(reader, file, "people connect to one client of the provider; write {file: shop.secret}");
    if (out->client != NULL && strchr(out->client, '{') != NULL &&
        (!out->per_tenant || count_of(span_text(out->client), SPAN_LIT(TENANT)) != 1 ||
         count_of(span_text(out->client), SPAN_LIT("{")) != 1))
        CONF_FAULT(reader, yaml_member(node, "id"), "`" TENANT "` stands in `id` once, where the secret's file names it, too: "
                   "the tenants that have one are those that there are; write `secret: {file: 'secrets/{tenant}.secret'}`");
}

static const char *read_scopes(struct conf_reader *reader, const struct yaml_node *map)
{
    const struct yaml_node *list = conf__list(reader, map, "scopes", SCOPES_MOST);
    struct span joined;
    struct buf text;

    if (list == NULL)
        return NULL;
    buf_init(&text, 65536);
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        if (conf__text(reader, node).at != NULL && !ascii_is_all(node->text, ASCII_UNQUOTED))
            CONF_FAULT(reader, node, "a scope is visible ASCII without blanks, quotes and `\\`");
        buf_add_text(&text, buf_is_empty(&text) ? "" : " ");
        buf_add_span(&text, node->text);
    }
    joined = conf__copy(reader, buf_peek(&text));
    buf_fini(&text);
    return joined.at;
}

/* Takes: upstream: whose URL a token is for, where nothing else is said. */
static void read_account(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *upstream,
                         struct span route, struct outgoing *out)
{
    const char *console = reader->proxy->console_url;
    const struct yaml_node *page = yaml_member(map, "page");
    struct buf back;

    if (yaml_member(yaml_root(reader->tree), "fleet") != NULL)
        CONF_WARN(reader, map, "accounts are kept at this node alone, of all in its fleet: who is connected here is not "
                  "elsewhere; have people connect at each node that serves them");

    out->page_url = page != NULL ? conf__provider_url(reader, page) : NULL;
    if (out->resource == NULL && out->audience == NULL)
        out->resource = conf__text_of(reader, upstream, "url").at;
    if (console == NULL)
        CONF_FAULT(reader, map, "people connect at the console, and the provider must know where their browsers come back; "
                   "write `console: {url: 'https://gate.example.com'}`");
    if (!ascii_is_all(route, "a-zA-Z0-9_-"))
        CONF_FAULT(reader, map, "the route's name stands in the address where browsers come back; give it one of letters, "
                   "digits, `-` and `_`");
    buf_init(&back, 4096);
    if (console != NULL)
        buf_addf(&back, "%s/connect/%.*s", console, SPAN_ARG(route));
    out->back_url = conf__copy(reader, buf_peek(&back)).at;
    if (out->is_document && console != NULL && !span_starts_with(span_text(console), SPAN_LIT("https://")))
        CONF_FAULT(reader, map, "without `client` the provider reads who the gate is from the console, which it does by https "
                   "alone; write `console: {url: 'https://gate.example.com'}`, or client: {id: callgate}");
    buf_add_text(&back, ACCOUNT_DOCUMENT);
    if (out->is_document)
        out->client = conf__copy(reader, buf_peek(&back)).at;
    buf_fini(&back);
}

static void read_grant(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *upstream,
                       struct span route, struct outgoing *out)
{
    static const struct {
        const struct conf_key *keys;
        const char *called;
    } forms[] = {[OUTGOING_CLIENT] = {conf__client_credentials, "`client_credentials`"},
                 [OUTGOING_EXCHANGE] = {conf__exchange, "`exchange`"}, [OUTGOING_ACCOUNT] = {conf__connect, "`connect`"}};
    const struct yaml_node *url;

    if (!conf__map(reader, map, forms[out->kind].keys, forms[out->kind].called))
        return;
    out->provider = conf__provider_of(reader, map);
    url = yaml_member(map, "url");
    if (url != NULL)
        out->token_url = conf__provider_url(reader, url);
    else if (out->provider != NULL && (out->provider->keys_url != NULL || out->provider->keys_file != NULL))
        CONF_FAULT(reader, map, "provider %s names its `keys`, so that nobody asks for its metadata, which would name its "
                   "token endpoint; write `url: 'https://id.example.com/token'` here", out->provider->rules.name);
    read_client(reader, map, out);
    out->scopes = read_scopes(reader, map);
    out->audience = conf__text_of(reader, map, "audience").at;
    out->resource = conf__text_of(reader, map, "resource").at;
    out->takes_opaque = out->kind == OUTGOING_EXCHANGE && conf__bool(reader, map, "opaque");
    if (out->kind == OUTGOING_EXCHANGE && out->audience == NULL && out->resource == NULL)
        CONF_FAULT(reader, map, "a token that is for everybody is for nobody: write `resource` (the upstream's URL) or "
                   "`audience`, as the provider knows it");
    if (out->kind == OUTGOING_ACCOUNT)
        read_account(reader, map, upstream, route, out);
    out->health = conf__array(reader, 1, sizeof *out->health);
    if (out->provider != NULL)
        outgoing_seal(out, out->provider->rules.issuer);
}

/* ---- the whole ---- */

void conf__authorization(struct conf_reader *reader, const struct yaml_node *upstream, struct span route,
                         struct proxy_upstream *out)
{
    static const char *const names[] = {"file", "client_credentials", "exchange", "run", "connect"};
    static const enum outgoing_kind kinds[] = {OUTGOING_FILE, OUTGOING_CLIENT, OUTGOING_EXCHANGE, OUTGOING_PROGRAM,
                                               OUTGOING_ACCOUNT};
    const struct yaml_node *map = yaml_member(upstream, "authorization"), *node = NULL;
    struct outgoing *outgoing = &out->outgoing;
    enum outgoing_kind kind = OUTGOING_NONE;
    struct conf_run run;
    size_t count = 0;
    bool has_prefix;

    if (map == NULL || !conf__read(reader, map, conf__outgoing, "`authorization`", &run))
        return;
    for (size_t i = 0; i < out->header_count; i++)
        if (span_equals_nocase(out->headers[i].name, SPAN_LIT("Authorization")))
            CONF_FAULT(reader, map, "`headers` holds Authorization, too, and exactly one goes up; leave one of the two out");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (yaml_member(map, names[i]) != NULL) {
            node = yaml_member(map, names[i]);
            kind = kinds[i];
            count++;
        }
    if (count != 1) {
        CONF_FAULT(reader, map, "an authorization is exactly one of file, run, client_credentials, exchange and "
                   "connect; write {file: shop.token}");
        return;
    }
    has_prefix = kind == OUTGOING_FILE || kind == OUTGOING_PROGRAM;
    outgoing->kind = kind;
    if (kind == OUTGOING_PROGRAM)
        outgoing->header = SPAN_LIT("Authorization");
    if (yaml_member(map, "prefix") != NULL && !has_prefix)
        CONF_FAULT(reader, yaml_member(map, "prefix"), "`prefix` has no meaning without `file` or `run`: what a provider gives "
                   "is a bearer token; leave it out");
    if (kind == OUTGOING_FILE)
        read_values(reader, node, conf__prefix(reader, map, "Bearer "), outgoing);
    else if (kind == OUTGOING_PROGRAM)
        conf__value_program(reader, map, route, conf__prefix(reader, map, "Bearer "), &run, outgoing);
    else
        read_grant(reader, node, upstream, route, outgoing);
}

/* What is exchanged is a token of the provider that exchanges it; nobody else's is shown to it. */
static bool can_exchange(const struct proxy_route *route)
{
    size_t count = 0;

    for (size_t i = 0; i < route->identity_count; i++) {
        if (route->identity[i].kind != IDENTITY_TOKEN)
            continue;
        if (route->identity[i].provider != route->upstream.outgoing.provider)
            return false;
        count++;
    }
    return count > 0;
}

void conf__check_authorization(struct conf_reader *reader, const struct yaml_node *map, const struct proxy_route *route)
{
    const struct outgoing *outgoing = &route->upstream.outgoing;
    const struct yaml_node *node = yaml_member(yaml_member(map, "upstream"), "authorization");

    for (size_t i = 0; i < route->identity_count; i++)
        if (outgoing->kind != OUTGOING_NONE && route->identity[i].forward &&
            (route->identity[i].kind == IDENTITY_BEARER || route->identity[i].kind == IDENTITY_TOKEN))
            CONF_FAULT(reader, node, "`forward: true` of this route's identity sends the agent's own Authorization up, and "
                       "exactly one goes up; leave one of the two out");
    if (outgoing->kind == OUTGOING_ACCOUNT && yaml_member(map, "slugs") != NULL)
        CONF_FAULT(reader, node, "an account is one at one server, and `slugs` are many; write a route for the one that "
                   "is meant");
    if (outgoing->kind == OUTGOING_EXCHANGE && outgoing->provider != NULL && !can_exchange(route))
        CONF_FAULT(reader, node, "only tokens of the same provider are exchanged; write `identity: [{token: {provider: %s, "
                   "...}}]` on this route, and no token of another", outgoing->provider->rules.name);
}
