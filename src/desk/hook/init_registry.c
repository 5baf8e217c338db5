/* SPDX-License-Identifier: Apache-2.0 */
/* callgate init --registry: a registry of MCP servers that has the gate's routes and nothing else, as files that any web server
 * gives out. Clients that an organisation holds to one registry then take no server beside the gate. The API is v0.1 of the
 * official registry's (GET /v0.1/servers, .../NAME/versions, .../NAME/versions/VERSION). */
#include "cli/commands.h"
#include "conf/conf.h"

#include "args/print.h"
#include "base/ascii.h"
#include "json/doc.h"
#include "json/json.h"
#include "os/file.h"
#include "yaml/yaml.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_BYTES ((size_t)16 << 20)
#define VERSION "1.0.0" /* a server has one: what is behind a route changes without a client's install */
#define SERVERS "v0.1/servers"
#define CHARACTERS_OF_URLS "a-zA-Z0-9:/.~_%-" /* none that a registry's client takes for a variable */
#define ALLOWED "managed-settings.json"

struct registry {
    const struct asked *asked;
    struct buf list;    /* the servers, with commas between them */
    struct buf allowed; /* their URLs, likewise */
    struct doc *names, *left_out;
    unsigned count;
};

/* ---- a server, as the registry tells it ---- */

/* In names of the registry the namespace is a host read backwards: gate.example.com is com.example.gate. */
static void add_namespace(struct buf *out, struct span host)
{
    for (size_t end = host.len, at = host.len; end > 0; at--)
        if (at == 0 || host.at[at - 1] == '.') {
            buf_addf(out, "%.*s%s", (int)(end - at), host.at + at, at > 0 ? "." : "");
            end = at > 0 ? at - 1 : 0;
        }
}

/* Without a port. */
static struct span host_of(struct span url)
{
    struct span rest, host, port;

    (void)span_cut(url, '/', &rest);
    (void)span_cut(rest, '/', &rest);
    host = span_cut(rest, '/', &rest);
    return span_cut(host, ':', &port);
}

/* As the registry's names take it, and as no folder above another is called. */
static bool is_name(struct span text, const char *characters)
{
    return text.len > 0 && ascii_is_word(text.at[0]) && ascii_is_all(text, characters);
}

static bool has_sse_alone(const struct yaml_node *route)
{
    const struct yaml_node *list = yaml_member(route, "transports");

    return list != NULL && list->type == YAML_LIST && list->count == 1 && span_is(list->child->text, "http+sse");
}

/* `_meta` is optional in the registry's own description, but VS Code reads members of it without asking. */
static enum code add_server(struct buf *out, struct span name, struct span title, struct span url, bool is_sse)
{
    buf_addf(out, "{\"server\": {\"name\": \"%.*s\", \"title\": \"%.*s\", \"description\": \"%.*s, through the gate\", "
             "\"version\": \"" VERSION "\", \"remotes\": [{\"type\": \"%s\", \"url\": ", SPAN_ARG(name), SPAN_ARG(title),
             SPAN_ARG(title), is_sse ? "sse" : "streamable-http");
    json_write_string(out, url);
    return buf_add_text(out, "}]}, \"_meta\": {\"io.modelcontextprotocol.registry/official\": "
                        "{\"status\": \"active\", \"isLatest\": true}}}");
}

/* ---- files ---- */

/* The umask of commands would keep a web server with an account of its own out. Returns: false, with errno. */
static bool make_folder(const char *path)
{
    return mkdir(path, 0755) == 0 && chmod(path, 0755) == 0;
}

static enum code put_file(struct registry *registry, const char *folder, const char *file, struct span text, struct why *why)
{
    char path[PATH_MAX];
    size_t len = (size_t)snprintf(path, sizeof path, "%s%s%s/%s", registry->asked->registry, folder[0] != '\0' ? "/" : "",
                                  folder, file);

    if (len >= sizeof path)
        return why_set(why, CODE_LIMIT, "%s: the path is too long", registry->asked->registry);
    for (size_t at = strlen(registry->asked->registry); at < len; at++) {
        if (path[at] != '/')
            continue;
        path[at] = '\0';
        if (!make_folder(path) && errno != EEXIST)
            return why_set(why, CODE_IO, "%s: %s", path, strerror(errno));
        path[at] = '/';
    }
    return file_create(path, 0644, text, why);
}

/* A list of servers, as two of the registry's requests are answered. */
static enum code put_list(struct registry *registry, const char *folder, struct span servers, unsigned count, struct why *why)
{
    struct buf text;
    enum code code;

    buf_init(&text, TEXT_BYTES);
    buf_addf(&text, "{\"servers\": [%.*s], \"metadata\": {\"count\": %u}}\n", SPAN_ARG(servers), count);
    code = buf_code(&text);
    if (code == CODE_OK)
        code = put_file(registry, folder, "index.json", buf_peek(&text), why);
    buf_fini(&text);
    return code;
}

static enum code put_server(struct registry *registry, struct span name, struct span server, struct why *why)
{
    static const char *const versions[] = {"latest", VERSION};
    char folder[PATH_MAX];
    size_t len = (size_t)snprintf(folder, sizeof folder, SERVERS "/%.*s/versions", SPAN_ARG(name));
    enum code code = CODE_OK;

    if (len + sizeof "/latest" > sizeof folder)
        return why_set(why, CODE_LIMIT, "%.*s: the name is too long", SPAN_ARG(name));
    code = put_list(registry, folder, server, 1, why);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0] && code == CODE_OK; i++) {
        (void)snprintf(folder + len, sizeof folder - len, "/%s", versions[i]);
        code = put_file(registry, folder, "index.json", server, why);
    }
    return code;
}

/* ---- routes ---- */

static enum code take_route(struct registry *registry, struct span title, struct span url, bool is_sse, struct why *why)
{
    struct buf name, server;
    enum code code;

    buf_init(&name, PATH_MAX);
    buf_init(&server, TEXT_BYTES);
    add_namespace(&name, host_of(url));
    buf_addf(&name, "/%.*s", SPAN_ARG(title));
    code = buf_code(&name);
    if (code == CODE_OK)
        code = add_server(&server, buf_peek(&name), title, url, is_sse);
    if (code == CODE_OK)
        code = put_server(registry, buf_peek(&name), buf_peek(&server), why);
    if (code == CODE_OK) {
        buf_addf(&registry->list, "%s%.*s", registry->count > 0 ? ", " : "", SPAN_ARG(buf_peek(&server)));
        buf_addf(&registry->allowed, "%s{\"serverUrl\": ", registry->count > 0 ? ", " : "");
        json_write_string(&registry->allowed, url);
        buf_add_byte(&registry->allowed, '}');
        code = buf_code(&registry->list) != CODE_OK ? buf_code(&registry->list) : buf_code(&registry->allowed);
        doc_text(registry->names, NULL, buf_peek(&name));
        registry->count++;
    }
    buf_fini(&name);
    buf_fini(&server);
    return code;
}

/* A route without one URL by which clients know it cannot be listed: one of a subtree or of slugs is many servers. */
static enum code look_at(struct registry *registry, const struct yaml_node *route, struct why *why)
{
    const struct yaml_node *named = yaml_member(route, "name"), *dialect = yaml_member(route, "dialect");
    const struct yaml_node *known_by = yaml_member(route, "public_url");
    struct span url = known_by != NULL ? known_by->text : SPAN_NONE, host = host_of(url);

    if (named == NULL || conf_is_front(route) || (dialect != NULL && !span_is(dialect->text, "mcp")))
        return CODE_OK;
    if (is_name(host, "a-zA-Z0-9.-") && is_name(named->text, "a-zA-Z0-9_.-") && ascii_is_all(url, CHARACTERS_OF_URLS))
        return take_route(registry, named->text, url, has_sse_alone(route), why);
    doc_text(registry->left_out, NULL, named->text);
    if (!registry->asked->json)
        print_safely(stderr, "%.*s is left out: give the route a `public_url` that is one server's\n", SPAN_ARG(named->text));
    return CODE_OK;
}

static enum code make(struct registry *registry, const struct yaml_node *root, struct why *why)
{
    const struct yaml_node *routes = yaml_member(root, "routes");
    struct buf settings;
    enum code code = make_folder(registry->asked->registry) ? CODE_OK
        : why_set(why, CODE_IO, "%s: %s; name a new folder, and put it in the place of the old one: what is no route any more "
                  "would go on being listed", registry->asked->registry, strerror(errno));

    for (const struct yaml_node *node = routes != NULL ? routes->child : NULL; node != NULL && code == CODE_OK;
         node = node->next)
        code = look_at(registry, node, why);
    if (code == CODE_OK)
        code = put_list(registry, SERVERS, buf_peek(&registry->list), registry->count, why);
    buf_init(&settings, TEXT_BYTES);
    buf_addf(&settings, "{\"allowedMcpServers\": [%.*s]}\n",
             SPAN_ARG(code == CODE_OK ? buf_peek(&registry->allowed) : SPAN_NONE));
    if (code == CODE_OK)
        code = buf_code(&settings);
    if (code == CODE_OK)
        code = put_file(registry, "", ALLOWED, buf_peek(&settings), why);
    buf_fini(&settings);
    return code;
}

static int tell(const struct registry *registry, struct doc **doc)
{
    if (registry->asked->json)
        return print_doc(doc);
    print_safely(stdout, "%s/" SERVERS " lists %u server%s; %s/" ALLOWED " allows the same by URL\n", registry->asked->registry,
                 registry->count, registry->count == 1 ? "" : "s", registry->asked->registry);
    return STATUS_DONE;
}

int cmd_init_registry(const struct asked *asked)
{
    struct registry registry = {.asked = asked};
    const struct yaml_node *root;
    struct doc *doc = doc_object();
    struct faults faults;
    struct why why = {""};
    enum code code;
    int status;

    faults_init(&faults);
    if (conf_file_root(asked->file, &root, &faults) != CODE_OK) {
        doc_free(&doc);
        return complain_faults(&faults);
    }
    buf_init(&registry.list, TEXT_BYTES);
    buf_init(&registry.allowed, TEXT_BYTES);
    doc_text(doc, "folder", span_text(asked->registry));
    registry.names = doc_add_array(doc, "servers");
    registry.left_out = doc_add_array(doc, "left_out");
    code = make(&registry, root, &why);
    status = code == CODE_OK ? tell(&registry, &doc) : complain_why(code, &why);
    doc_free(&doc);
    buf_fini(&registry.list);
    buf_fini(&registry.allowed);
    return status;
}
