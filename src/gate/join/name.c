/* SPDX-License-Identifier: Apache-2.0 */
#include "join/name.h"

#include "base/ascii.h"
#include "mcp/method.h"

#include <string.h>

#define SEPARATOR SPAN_LIT("__")
#define UI SPAN_LIT("ui://")
#define RELATED "io.modelcontextprotocol/related-task"
#define DEPTH_MAX 16 /* of the objects that are looked into: no place of the tables lies deeper */

bool join_name_is_fit(struct span server)
{
    return server.len > 0 && server.len <= 32 && ascii_is_of(server.at[0], "a-zA-Z") && ascii_is_all(server, "a-zA-Z0-9.-");
}

/* ---- one name ---- */

/* How much of the text stays in front of the server's name: who shows a page asks whether its URI begins so. Schemes are in
 * either case (RFC 3986 3.1). */
static size_t front_of(enum join_kind kind, struct span text)
{
    return kind == JOIN_URI && span_equals_nocase(span_part(text, 0, UI.len), UI) ? UI.len : 0;
}

enum code join_name_put(enum join_kind kind, struct span server, struct span text, struct buf *out)
{
    size_t front = front_of(kind, text);

    buf_add_span(out, span_part(text, 0, front));
    buf_add_span(out, server);
    buf_add_span(out, kind == JOIN_NAME ? SEPARATOR : SPAN_LIT("+"));
    return buf_add_span(out, span_part(text, front, SIZE_MAX));
}

static bool find_server(const struct join_names *names, struct span name, size_t *server)
{
    for (*server = 0; *server < names->count; ++*server)
        if (span_equals(names->servers[*server], name))
            return true;
    return false;
}

enum code join_name_take(enum join_kind kind, const struct join_names *names, struct span text, size_t *server,
                         struct buf *out)
{
    size_t front = front_of(kind, text);
    struct span rest = span_part(text, front, SIZE_MAX), separator = kind == JOIN_NAME ? SEPARATOR : SPAN_LIT("+");
    size_t at = span_find(rest, separator.at[0]);

    if (!span_starts_with(span_part(rest, at, SIZE_MAX), separator) || !find_server(names, span_part(rest, 0, at), server))
        return CODE_NOT_FOUND;
    buf_add_span(out, span_part(text, 0, front));
    return buf_add_span(out, span_part(rest, at + separator.len, SIZE_MAX));
}

/* ---- where they stand ---- */

/* A place where a name stands: the member `name` of the object under `under`, or of each element of the list there. asked:
 * only in requests of that method and in answers to it; NULL: in all messages. */
struct place {
    const char *under, *name;
    enum join_kind kind;
    const char *asked;
};

static const struct place down[] = {
    {"tools", "name", JOIN_NAME, "tools/list"},
    {"prompts", "name", JOIN_NAME, "prompts/list"},
    {"resources", "uri", JOIN_URI, "resources/list"},
    {"resourceTemplates", "uriTemplate", JOIN_URI, "resources/templates/list"},
    {"skills", "uri", JOIN_URI, "skills/list"},
    {"skill", "uri", JOIN_URI, "skills/get"},
    {"resources", "uri", JOIN_URI, "skills/list"},
    {"resources", "uri", JOIN_URI, "skills/get"},
    {"resources", "uri", JOIN_URI, "resources/directory/read"},
    {"tasks", "taskId", JOIN_OWN, "tasks/list"},
    {"contents", "uri", JOIN_URI, "resources/read"},
    {"content", "uri", JOIN_URI, NULL}, /* resource_link */
    {"resource", "uri", JOIN_URI, NULL},
    {"task", "taskId", JOIN_OWN, NULL},
    {"result", "taskId", JOIN_OWN, NULL},
    {"params", "taskId", JOIN_OWN, NULL},
    {"params", "uri", JOIN_URI, NULL},
    {"params", "elicitationId", JOIN_OWN, NULL},
    {"elicitations", "elicitationId", JOIN_OWN, NULL},
    {"ui", "resourceUri", JOIN_URI, NULL},
    {"_meta", "ui/resourceUri", JOIN_URI, NULL},
    {RELATED, "taskId", JOIN_OWN, NULL},
};

/* In a request of a server, which may name tasks and URIs of the agent's own. */
static const struct place asking[] = {
    {"", "id", JOIN_TOKEN, NULL},
    {"_meta", "progressToken", JOIN_TOKEN, NULL},
    {"params", "elicitationId", JOIN_OWN, NULL},
    {RELATED, "taskId", JOIN_OWN, NULL},
};

static const struct place up[] = {
    {"params", "name", JOIN_NAME, "tools/call"},
    {"params", "name", JOIN_NAME, "prompts/get"},
    {"params", "uri", JOIN_URI, "resources/read"},
    {"params", "uri", JOIN_URI, "resources/subscribe"},
    {"params", "uri", JOIN_URI, "resources/unsubscribe"},
    {"params", "uri", JOIN_URI, "skills/get"},
    {"params", "uri", JOIN_URI, "resources/directory/read"},
    {"params", "taskId", JOIN_OWN, NULL},
    {"ref", "name", JOIN_NAME, "completion/complete"},
    {"ref", "uri", JOIN_URI, "completion/complete"},
    {RELATED, "taskId", JOIN_OWN, NULL},
};

/* Whether places may lie within this member. Arguments, texts, schemas and structured content are never looked into. */
static bool is_holder(struct span under, struct span key)
{
    static const char *const keys[] = {"result", "params", "tools", "prompts", "resources", "resourceTemplates", "skills",
                                       "skill", "tasks",
                                       "contents", "content", "resource", "task", "messages", "_meta", "ui", RELATED, "ref",
                                       "notifications", "resourceSubscriptions", "taskIds", "error", "elicitations"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (span_is(key, keys[i]))
            return true;
    return span_is(under, "error") && span_is(key, "data");
}

/* A message that is being written: its canonical bytes up to `done` are in `out` already, with new names in their places. */
struct writing {
    const struct join_names *names; /* NULL: the message comes from the server `server_name` */
    struct span server_name, asked;
    const struct json_node *root;
    size_t server, done;
    bool is_asking;                 /* it is a request of the server */
    struct buf text, *out;
};

static size_t offset(const struct writing *writing, const struct json_node *node)
{
    return (size_t)(node->raw.at - writing->root->raw.at);
}

static void copy_to(struct writing *writing, size_t end)
{
    buf_add_span(writing->out, span_part(writing->root->raw, writing->done, end - writing->done));
    writing->done = end;
}

/* Makes the text that stands for `text` on the other side. Returns: CODE_NOT_FOUND: it is another server's. */
static enum code turn(struct writing *writing, enum join_kind kind, struct span text)
{
    enum code code;
    size_t server;

    buf_clear(&writing->text);
    if (writing->names == NULL)
        return join_name_put(kind, writing->server_name, text, &writing->text);
    code = join_name_take(kind, writing->names, text, &server, &writing->text);
    if (code == CODE_OK && server != writing->server)
        code = CODE_NOT_FOUND;
    return code;
}

static void put(struct writing *writing, const struct json_node *node, bool is_raw)
{
    copy_to(writing, offset(writing, node));
    if (is_raw)
        buf_add_span(writing->out, buf_peek(&writing->text));
    else
        json_write_string(writing->out, buf_peek(&writing->text));
    writing->done += node->raw.len;
}

static void replace(struct writing *writing, enum join_kind kind, const struct json_node *node)
{
    enum code code = kind == JOIN_TOKEN          ? turn(writing, kind, node->raw)
                     : node->type == JSON_STRING ? turn(writing, kind, node->text) : CODE_NOT_FOUND;

    if (code == CODE_OK)
        put(writing, node, false);
    else if (code != CODE_NOT_FOUND)
        buf_fail(writing->out, code);
}

static const struct place *place_of(const struct writing *writing, struct span under, struct span name)
{
    const struct place *places = writing->names != NULL ? up : writing->is_asking ? asking : down;
    size_t count = writing->names != NULL ? sizeof up / sizeof *up
                   : writing->is_asking   ? sizeof asking / sizeof *asking : sizeof down / sizeof *down;

    for (size_t i = 0; i < count; i++)
        if (span_is(under, places[i].under) && span_is(name, places[i].name) &&
            (places[i].asked == NULL || span_is(writing->asked, places[i].asked)))
            return &places[i];
    return NULL;
}

/* Writes a list of texts in subscriptions/listen: a server gets those of the list that are its own. */
static void part_list(struct writing *writing, enum join_kind kind, const struct json_node *list)
{
    const char *comma = "";

    copy_to(writing, offset(writing, list));
    buf_add_byte(writing->out, '[');
    for (const struct json_node *node = list->child; node != NULL; node = node->next)
        if (node->type == JSON_STRING && turn(writing, kind, node->text) == CODE_OK) {
            buf_add_text(writing->out, comma);
            json_write_string(writing->out, buf_peek(&writing->text));
            comma = ",";
        }
    buf_add_byte(writing->out, ']');
    writing->done += list->raw.len;
}

/* Takes: under: the key whose value is this object, or the list that this object stands in. */
static void walk(struct writing *writing, struct span under, const struct json_node *node, unsigned depth)
{
    for (const struct json_node *child = node->child; child != NULL && depth < DEPTH_MAX; child = child->next) {
        struct span key = node->type == JSON_ARRAY ? under : child->key;
        const struct place *place = node->type == JSON_OBJECT ? place_of(writing, under, child->key) : NULL;

        if (place != NULL)
            replace(writing, place->kind, child);
        else if (span_is(under, "notifications") && span_is(key, "resourceSubscriptions") && child->type == JSON_ARRAY)
            part_list(writing, JOIN_URI, child);
        else if (span_is(under, "notifications") && span_is(key, "taskIds") && child->type == JSON_ARRAY)
            part_list(writing, JOIN_OWN, child);
        else if ((child->type == JSON_OBJECT || child->type == JSON_ARRAY) && is_holder(under, key))
            walk(writing, key, child, depth + 1);
    }
}

static enum code finish(struct writing *writing)
{
    copy_to(writing, writing->root->raw.len);
    buf_fini(&writing->text);
    return buf_code(writing->out);
}

static struct writing begin(const struct json_node *root, struct span asked, struct buf *out)
{
    struct writing writing = {.root = root, .asked = asked, .out = out};

    buf_init(&writing.text, SIZE_MAX / 2);
    return writing;
}

/* ---- down ---- */

enum code join_name_down(struct span server, struct span asked, const struct json_node *root, struct buf *out)
{
    struct span method = json_member_text(root, "method");
    const struct json_node *id = json_member(root, SPAN_LIT("id")), *call = json_at(root, "params", "requestId", NULL);
    struct writing writing = begin(root, asked, out);

    writing.server_name = server;
    writing.is_asking = method.at != NULL && id != NULL;
    if (id == NULL && span_is(method, "notifications/cancelled")) {
        if (call != NULL)
            replace(&writing, JOIN_TOKEN, call);
    } else {
        walk(&writing, SPAN_NONE, root, 0);
    }
    return finish(&writing);
}

/* ---- up ---- */

/* Gives a server back an id or token of its own: the text behind the server's name is the JSON that it sent. An agent may have
 * changed it, so the reader of the server's route looks at it as at anything else. */
static void own_up(struct writing *writing, const struct json_node *node)
{
    if (node != NULL && node->type == JSON_STRING && turn(writing, JOIN_OWN, node->text) == CODE_OK)
        put(writing, node, true);
}

enum code join_name_up(const struct join_names *names, size_t server, struct span method, const struct json_node *root,
                       struct buf *out)
{
    struct writing writing = begin(root, method, out);

    writing.names = names;
    writing.server = server;
    if (span_is_empty(method)) {
        const struct json_node *result = json_member(root, SPAN_LIT("result"));

        for (const struct json_node *member = root->child; member != NULL; member = member->next) {
            if (span_is(member->key, "id"))
                own_up(&writing, member);
            if (member == result)
                walk(&writing, SPAN_LIT("result"), result, 1);
        }
        return finish(&writing);
    }
    if (span_is(method, "notifications/progress"))
        own_up(&writing, json_at(root, "params", "progressToken", NULL));
    else
        walk(&writing, SPAN_NONE, root, 0);
    return finish(&writing);
}

static bool is_about_resource(struct span method)
{
    const struct mcp_method *of = mcp_method_find(method, NULL);

    return of != NULL && of->about == MCP_ABOUT_RESOURCE;
}

enum code join_name_of(const struct join_names *names, struct span method, const struct json_node *root, size_t *server)
{
    const struct json_node *params = json_member(root, SPAN_LIT("params")), *ref = json_member(params, SPAN_LIT("ref"));
    struct span name = json_member_text(params, "name"), uri = json_member_text(params, "uri");
    struct span task = json_member_text(params, "taskId"), own = SPAN_NONE;
    enum code code = CODE_EXISTS;
    struct buf text;

    if (span_is_empty(method))
        own = json_member_text(root, "id");
    else if (span_is(method, "notifications/progress"))
        own = json_member_text(params, "progressToken");
    else if (span_is(method, "completion/complete"))
        name = json_member_text(ref, "name"), uri = json_member_text(ref, "uri");
    else if (!span_is(method, "tools/call") && !span_is(method, "prompts/get"))
        name = SPAN_NONE;
    buf_init(&text, SIZE_MAX / 2);
    if (name.at != NULL)
        code = join_name_take(JOIN_NAME, names, name, server, &text);
    else if (uri.at != NULL && (is_about_resource(method) || ref != NULL))
        code = join_name_take(JOIN_URI, names, uri, server, &text);
    else if (task.at != NULL)
        code = join_name_take(JOIN_OWN, names, task, server, &text);
    else if (own.at != NULL || span_is_empty(method) || span_is(method, "notifications/progress"))
        code = join_name_take(JOIN_OWN, names, own, server, &text);
    buf_fini(&text);
    return code;
}
