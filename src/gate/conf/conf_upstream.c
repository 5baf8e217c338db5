/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "base/mem.h"
#include "base/num.h"
#include "http/authority.h"
#include "http/writer.h"
#include "os/file.h"

#define MAX_HEADERS 32

struct url {
    bool tls;
    struct span authority; /* as written */
    struct span host;      /* IPv6 without brackets */
    uint16_t port;
    struct span path;
};

/* Returns: what is wrong with it, or NULL. */
static const char *split_url(struct span text, struct url *url)
{
    struct http_authority authority;
    size_t slash;
    uint64_t port;

    url->tls = span_starts_with(text, SPAN_LIT("https://"));
    if (!url->tls && !span_starts_with(text, SPAN_LIT("http://")))
        return "it does not begin with http:// or https://";
    text = span_part(text, url->tls ? 8 : 7, SIZE_MAX);
    slash = span_find(text, '/');
    url->authority = span_part(text, 0, slash);
    url->path = slash < text.len ? span_part(text, slash, SIZE_MAX) : SPAN_LIT("/");
    if (span_find(url->authority, '@') < url->authority.len)
        return "it names a user; use `headers` for credentials";
    if (!http_authority_read(url->authority, &authority))
        return "its host is not written as a name, a name and a port, or an address";
    if (!slug_path_is_fit(url->path))
        return "its path holds a query, a fragment, `%`, `..`, `//`, `;` or a character that is no path's";
    url->host = authority.name;
    if (url->host.len > 2 && url->host.at[0] == '[')
        url->host = span_part(url->host, 1, url->host.len - 2);
    if (url->host.len >= RESOLVE_HOST_BYTES)
        return "its host is longer than any name may be";
    url->port = url->tls ? 443 : 80;
    if (authority.port.len > 0 && num_u64(authority.port, &port) == CODE_OK && port >= 1 && port <= 65535)
        url->port = (uint16_t)port;
    return NULL;
}

static void check_openness(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *node,
                           const struct url *url)
{
    bool insecure = conf__bool(reader, map, "insecure");

    if (url->tls && insecure)
        CONF_FAULT(reader, yaml_member(map, "insecure"),
                   "`insecure` is for plain http; the certificate of an https upstream is always checked (`ca` names whose)");
    if (url->tls || sock_host_is_loopback(url->host))
        return;
    if (insecure)
        CONF_WARN(reader, node, "plain http to an upstream off loopback: calls and credentials can be read on the way");
    else
        CONF_FAULT(reader, node, "plain http to an upstream off loopback shows calls and credentials to everyone on the way; "
                   "write https, or accept that with `insecure: true`");
}

static void make_tls(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *place, bool tls,
                     struct proxy_upstream *out)
{
    static const char *const files[] = {"ca", "certificate", "key"};
    struct tls_client_conf conf = {0};
    const char **paths[] = {&conf.ca, &conf.certificate, &conf.key};
    struct why why = {""};
    enum code code;

    for (size_t i = 0; i < 3; i++) {
        const struct yaml_node *node = yaml_member(map, files[i]);

        if (node != NULL && !tls)
            CONF_FAULT(reader, node, "`%s` has no meaning for plain http; write https, or leave it out", files[i]);
        *paths[i] = conf__path(reader, map, files[i], NULL);
    }
    conf.crls = conf__paths(reader, map, "crl", CONF_MAX_LISTS);
    if (yaml_member(map, "crl") != NULL && (!tls || conf.ca == NULL))
        CONF_FAULT(reader, yaml_member(map, "crl"), "`crl` has no meaning without https and `ca`, whose lists it names; write "
                   "`ca: authority.pem` beside it");
    if (yaml_member(map, "ocsp") != NULL && !tls)
        CONF_FAULT(reader, yaml_member(map, "ocsp"), "`ocsp` has no meaning for plain http; write https, or leave it out");
    else if (yaml_member(map, "ocsp") != NULL)
        conf.needs_staple = conf__choice(reader, map, "ocsp", (const char *const[]){"off", "require", NULL}) == 1;
    if ((conf.certificate == NULL) != (conf.key == NULL))
        CONF_FAULT(reader, place, "`certificate` and `key` come together; write both, or none");
    if (!tls || reader->out_of_memory || (conf.certificate == NULL) != (conf.key == NULL) ||
        (conf.crls == NULL && yaml_member(map, "crl") != NULL))
        return;
    code = tls_client_new(&conf, &out->tls, &why);
    if (code == CODE_NOMEM)
        reader->out_of_memory = true;
    else if (code != CODE_OK)
        CONF_FAULT(reader, place, "%s", why.text);
    else
        conf__warn_of_old_lists(reader, place, out->tls);
}

/* ---- credentials ---- */

/* One line: an editor's newline at the end is not part of it. */
static struct span secret_of(const struct buf *text)
{
    struct span secret = buf_peek(text);

    if (span_ends_with(secret, SPAN_LIT("\n")))
        secret.len--;
    if (span_ends_with(secret, SPAN_LIT("\r")))
        secret.len--;
    return secret;
}

struct span conf__secret(struct conf_reader *reader, const struct yaml_node *node, const char *path, struct buf *text)
{
    struct why why = {""};
    struct span secret;

    if (path == NULL)
        return SPAN_NONE;
    if (file_read(path, FILE_SECRET, CONF_SECRET_BYTES, text, &why) != CODE_OK) {
        CONF_FAULT(reader, node, "%s", why.text);
        return SPAN_NONE;
    }
    secret = secret_of(text);
    if (secret.len > 0 && http_value_is_writable(secret))
        return secret;
    CONF_FAULT(reader, node, "%s does not hold one line of visible ASCII; put the bare value into it", path);
    return SPAN_NONE;
}

/* Takes: route: whose upstream it is; at == NULL: no route's, whose headers no program says. */
static void read_value(struct conf_reader *reader, const struct yaml_node *node, struct span route, struct proxy_header *header)
{
    struct span prefix;
    struct outgoing *program;
    struct conf_run run;

    if (route.at == NULL && yaml_member(node, "run") != NULL) {
        CONF_FAULT(reader, node, "a program says what goes to the upstream of a route; here, write {file: NAME}");
        return;
    }
    if (!conf__read(reader, node, route.at != NULL ? conf__header : conf__posted_header, "a header", &run) ||
        !conf__has_one_source(reader, node, "a header"))
        return;
    prefix = conf__prefix(reader, node, NULL);
    if (yaml_member(node, "file") != NULL) {
        header->value = conf__prefixed_secret(reader, yaml_member(node, "file"), conf__path(reader, node, "file", NULL),
                                              prefix);
        return;
    }
    program = conf__array(reader, 1, sizeof *program);
    if (program == NULL)
        return;
    program->kind = OUTGOING_PROGRAM;
    program->header = header->name;
    header->program = program;
    conf__value_program(reader, node, route, prefix, &run, program);
}

static void read_headers(struct conf_reader *reader, const struct yaml_node *node, struct span route,
                         struct proxy_upstream *out)
{
    struct proxy_header *headers;

    if (node->type != YAML_MAP || node->count > MAX_HEADERS) {
        CONF_FAULT(reader, node, "`headers` is a map of at most %d; write {Authorization: {file: NAME, prefix: 'Bearer '}}",
                   MAX_HEADERS);
        return;
    }
    headers = conf__array(reader, node->count, sizeof *headers);
    if (headers == NULL)
        return;
    out->headers = headers;
    out->header_count = node->count; /* from here on they are wiped with the configuration */
    for (const struct yaml_node *child = node->child; child != NULL; child = child->next, headers++) {
        /* The key as a value, so that faults stand at it. */
        const struct yaml_node key = {.type = YAML_STRING, .text = child->key, .line = child->key_line,
                                      .column = child->key_column};

        headers->name = conf__header_name(reader, &key);
        for (const struct proxy_header *other = out->headers; other < headers; other++)
            if (headers->name.len > 0 && span_equals_nocase(other->name, headers->name))
                CONF_FAULT(reader, child, "the header %.*s is given twice; leave one out", SPAN_ARG(headers->name));
        if (child->type != YAML_MAP) {
            CONF_FAULT(reader, child, "a credential stands in a file of its own; write {file: NAME, prefix: 'Bearer '}");
            continue;
        }
        read_value(reader, child, route, headers);
    }
}

void conf__server_of(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *node, bool subtree,
                     struct span route, struct proxy_upstream *out)
{
    struct url url = {0};
    const char *fault;

    if (yaml_member(map, "headers") != NULL)
        read_headers(reader, yaml_member(map, "headers"), route, out);
    conf__authorization(reader, map, route, out);
    if (node == NULL || conf__text(reader, node).at == NULL)
        return;
    fault = split_url(node->text, &url);
    if (fault != NULL) {
        CONF_FAULT(reader, node, "this URL is not usable: %s; write 'https://HOST:PORT/PATH'", fault);
        return;
    }
    check_openness(reader, map, node, &url);
    make_tls(reader, map, map != NULL ? map : node, url.tls, out);
    while (subtree && url.path.len > 0 && url.path.at[url.path.len - 1] == '/')
        url.path.len--;
    out->host = conf__lower(reader, url.host).at;
    out->port = url.port;
    out->path = conf__copy(reader, url.path);
    out->authority = conf__copy(reader, url.authority);
}

void conf__upstream(struct conf_reader *reader, const struct yaml_node *yaml_route, struct proxy_route *route)
{
    const struct yaml_node *map = conf__need(reader, yaml_route, "upstream", "{url: 'https://shop.internal/mcp'}");

    if (map == NULL || !conf__read(reader, map, conf__url, "`upstream`", &route->upstream))
        return;
    conf__server_of(reader, map, conf__need(reader, map, "url", "'https://shop.internal/mcp'"), route->subtree, route->name,
                    &route->upstream);
}

static void check_path(struct conf_reader *reader, const struct yaml_node *node, const struct proxy_upstream *server)
{
    if (slug_is_in(server->path))
        CONF_FAULT(reader, node, "`%s` has no meaning here; write the whole path", SLUG_MARK);
}

/* Whether the key says something of who is posted to. */
static bool is_of_url(const struct conf_key *keys, struct span key)
{
    while (keys->name != NULL && !span_is(key, keys->name))
        keys++;
    return keys->name != NULL && keys->at == BY_HAND && !span_is(key, "run");
}

void conf__notification(struct conf_reader *reader, const struct yaml_node *node, const struct conf_key *keys,
                        const char *command, struct conf_notify *notify)
{
    const struct yaml_node *url;

    if (node == NULL || !conf__map(reader, node, keys, keys == conf__notify ? "`notify`" : "`alerts`"))
        return;
    url = yaml_member(node, "url");
    if (url == NULL && yaml_member(node, "run") == NULL)
        CONF_FAULT(reader, node, "nobody is told; write `url: 'https://...'` with `secret: {file: notify.secret}`, or `run: "
                   "[PROGRAM]`");
    if (yaml_member(node, "secret") != NULL)
        notify->secret = conf__secret_of(reader, yaml_member(node, "secret"), "notify.secret");
    if (yaml_member(node, "run") != NULL)
        conf__notify_program(reader, node, command, &notify->program);
    if (url == NULL) {
        conf__server_of(reader, node, NULL, false, SPAN_NONE, &notify->server); /* its headers, as far as they are right */
        for (const struct yaml_node *other = node->child; other != NULL; other = other->next)
            if (is_of_url(keys, other->key))
                CONF_FAULT(reader, other, "`%.*s` has no meaning without `url`; leave it out", SPAN_ARG(other->key));
        return;
    }
    (void)conf__need(reader, node, "secret", "{file: notify.secret}");
    conf__server_of(reader, node, url, false, SPAN_NONE, &notify->server);
    check_path(reader, url, &notify->server);
}

bool conf__checkpoint_server(struct conf_reader *reader, const struct yaml_node *node, struct proxy_upstream *out)
{
    if (node == NULL)
        return false;
    if (node->type == YAML_MAP) {
        if (conf__map(reader, node, conf__server, "`checkpoints`"))
            conf__server_of(reader, node, conf__need(reader, node, "url", "'https://log.internal/checkpoints'"), false,
                            SPAN_NONE, out);
    } else if (span_starts_with(node->text, SPAN_LIT("http://")) || span_starts_with(node->text, SPAN_LIT("https://"))) {
        conf__server_of(reader, NULL, node, false, SPAN_NONE, out);
    } else {
        return false;
    }
    check_path(reader, node, out);
    return true;
}
