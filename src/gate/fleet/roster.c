/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/roster.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "json/text.h"

#include <inttypes.h>
#include <string.h>

/* Before what is signed, so that no signature of one kind is one of another. */
#define CONTEXT "callgate fleet roster 1\n"

bool fleet_name_is_good(struct span name)
{
    return name.len > 0 && name.len < FLEET_NAME_BYTES && name.at[0] != '-' && ascii_is_all(name, "a-z0-9-");
}

enum code roster_new(const char fleet[FLEET_ID_BYTES], struct roster **out)
{
    struct roster *roster = mem_zalloc(sizeof *roster);

    *out = roster;
    if (roster == NULL)
        return CODE_NOMEM;
    memcpy(roster->fleet, fleet, FLEET_ID_BYTES);
    return CODE_OK;
}

void roster_free(struct roster **roster)
{
    if (*roster != NULL)
        mem_free((*roster)->nodes);
    mem_free(*roster);
    *roster = NULL;
}

/* ---- its nodes ---- */

static struct roster_node *find(const struct roster *roster, struct span name)
{
    for (size_t i = 0; i < roster->count; i++)
        if (roster->nodes[i].until == 0 && span_is(name, roster->nodes[i].name))
            return &roster->nodes[i];
    return NULL;
}

const struct roster_node *roster_find(const struct roster *roster, struct span name)
{
    return find(roster, name);
}

enum code roster_names(const struct roster *roster, struct span but, struct buf *names)
{
    for (size_t i = 0; i < roster->count; i++)
        if (roster->nodes[i].until == 0 && !span_is(but, roster->nodes[i].name))
            (void)buf_addf(names, "%s%s", buf_is_empty(names) ? "" : "\n", roster->nodes[i].name);
    return buf_code(names);
}

bool roster_key_of(const struct roster *roster, struct span name, int64_t number, unsigned char key[SIGN_PUBLIC_BYTES])
{
    for (size_t i = 0; i < roster->count; i++) { /* those of one name left one after the other */
        const struct roster_node *node = &roster->nodes[i];

        if (!span_is(name, node->name) || (node->until != 0 && number > node->until))
            continue;
        memcpy(key, node->key, SIGN_PUBLIC_BYTES);
        return true;
    }
    return false;
}

/* Where a node of that name goes: behind all whose name is not greater. */
static enum code insert(struct roster *roster, const struct roster_node *node)
{
    struct roster_node *nodes = mem_room(roster->nodes, &roster->room, roster->count + 1, sizeof *nodes);
    size_t at = roster->count;

    if (nodes == NULL)
        return CODE_NOMEM;
    roster->nodes = nodes;
    while (at > 0 && strcmp(nodes[at - 1].name, node->name) > 0)
        at--;
    memmove(nodes + at + 1, nodes + at, (roster->count - at) * sizeof *nodes);
    nodes[at] = *node;
    roster->count++;
    return CODE_OK;
}

enum code roster_add(struct roster *roster, struct span name, const unsigned char key[SIGN_PUBLIC_BYTES])
{
    struct roster_node node = {.until = 0};

    if (!fleet_name_is_good(name) || sign_public_is_weak(key))
        return CODE_INVALID;
    if (find(roster, name) != NULL)
        return CODE_EXISTS;
    if (roster->count >= ROSTER_NODES_MAX)
        return CODE_LIMIT;
    memcpy(node.name, name.at, name.len);
    memcpy(node.key, key, sizeof node.key);
    return insert(roster, &node);
}

enum code roster_leave(struct roster *roster, struct span name, int64_t until, int64_t rows)
{
    struct roster_node *node = find(roster, name);

    BUG_ON(until == 0);
    if (node == NULL)
        return CODE_NOT_FOUND;
    node->until = until;
    node->rows = rows;
    return CODE_OK;
}

/* ---- its text ---- */

enum code roster_write(const struct roster *roster, struct buf *text)
{
    char key[2 * SIGN_PUBLIC_BYTES], hash[2 * DIGEST_BYTES];

    num_hex(roster->end.hash, DIGEST_BYTES, hash);
    (void)buf_addf(text, "{\"format\":1,\"fleet\":\"%s\",\"number\":%" PRId64 ",\"change\":%" PRId64 ",\"hash\":\"%.*s\","
                   "\"nodes\":[", roster->fleet, roster->number, roster->end.number, (int)sizeof hash, hash);
    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_node *node = &roster->nodes[i];

        num_hex(node->key, sizeof node->key, key);
        (void)buf_addf(text, "%s{\"name\":\"%s\",\"key\":\"%.*s\"", i > 0 ? "," : "", node->name, (int)sizeof key, key);
        if (node->until != 0)
            (void)buf_addf(text, ",\"until\":%" PRId64, node->until);
        if (node->rows != 0)
            (void)buf_addf(text, ",\"rows\":%" PRId64, node->rows);
        (void)buf_add_text(text, "}");
    }
    (void)buf_add_text(text, "]}");
    return buf_code(text);
}

enum code roster_sign(struct span text, const struct sign_key *root, unsigned char signature[SIGN_BYTES])
{
    struct buf all;
    enum code code;

    buf_init(&all, ROSTER_TEXT_BYTES + sizeof CONTEXT);
    (void)buf_add_text(&all, CONTEXT);
    (void)buf_add_span(&all, text);
    code = buf_code(&all);
    if (code == CODE_OK)
        code = sign_text(root, buf_peek(&all), signature);
    buf_fini(&all);
    return code;
}

static bool is_signed(struct span text, struct span signature, const unsigned char root[SIGN_PUBLIC_BYTES])
{
    struct buf all;
    bool is_good;

    if (signature.len != SIGN_BYTES || text.len > ROSTER_TEXT_BYTES)
        return false;
    buf_init(&all, ROSTER_TEXT_BYTES + sizeof CONTEXT);
    (void)buf_add_text(&all, CONTEXT);
    (void)buf_add_span(&all, text);
    is_good = buf_code(&all) == CODE_OK && sign_is_good(root, buf_peek(&all), (const unsigned char *)signature.at);
    buf_fini(&all);
    return is_good;
}

static enum code read_node(const struct json_node *object, struct roster *roster)
{
    struct roster_node node = {.until = 0};
    struct span name = json_member_text(object, "name");
    enum code code;

    if (object->type != JSON_OBJECT || !fleet_name_is_good(name) ||
        num_unhex(json_member_text(object, "key"), node.key, sizeof node.key) != CODE_OK)
        return CODE_INVALID;
    if (json_member(object, SPAN_LIT("until")) != NULL &&
        (!json_member_number(object, "until", ROSTER_NONE, INT64_MAX, &node.until) || node.until == 0))
        return CODE_INVALID;
    if (json_member(object, SPAN_LIT("rows")) != NULL &&
        (node.until == 0 || !json_member_number(object, "rows", 1, INT64_MAX, &node.rows)))
        return CODE_INVALID;
    code = roster_add(roster, name, node.key);
    if (code == CODE_OK && node.until != 0)
        code = roster_leave(roster, name, node.until, node.rows);
    return code == CODE_EXISTS ? CODE_INVALID : code;
}

static bool read_numbers(const struct json_node *root, struct roster *roster)
{
    return json_member_number(root, "number", 1, INT64_MAX, &roster->number) &&
           json_member_number(root, "change", 0, INT64_MAX, &roster->end.number) &&
           num_unhex(json_member_text(root, "hash"), roster->end.hash, DIGEST_BYTES) == CODE_OK;
}

/* What the root signed is believed, and read as strictly as if it were not: it may be of a version that comes after this
 * one. */
static enum code read_text(struct span text, const char *fleet, struct roster **out, struct why *why)
{
    struct json_text json = {0};
    const struct json_node *nodes;
    int64_t format;
    enum code code = json_text_read(&json, text, &json_file_rules, ROSTER_TEXT_BYTES);

    if (code == CODE_OK && !json_member_number(json.root, "format", 1, 1, &format))
        code = why_set(why, CODE_INVALID, "the fleet's roster is of a format that this version does not know; upgrade it");
    else if (code == CODE_OK && !span_is(json_member_text(json.root, "fleet"), fleet))
        code = why_set(why, CODE_INVALID, "the roster is another fleet's");
    else if (code == CODE_OK)
        code = roster_new(fleet, out);
    nodes = code == CODE_OK ? json_member(json.root, SPAN_LIT("nodes")) : NULL;
    if (code == CODE_OK && (nodes == NULL || nodes->type != JSON_ARRAY || !read_numbers(json.root, *out)))
        code = CODE_INVALID;
    for (nodes = code == CODE_OK ? nodes->child : NULL; nodes != NULL && code == CODE_OK; nodes = nodes->next)
        code = read_node(nodes, *out);
    json_text_fini(&json);
    if (code != CODE_OK)
        roster_free(out);
    return code;
}

enum code roster_read(struct span text, struct span signature, const unsigned char root[SIGN_PUBLIC_BYTES], const char *fleet,
                      struct roster **out, struct why *why)
{
    struct why said = {0};
    enum code code;

    *out = NULL;
    if (!is_signed(text, signature, root))
        return why_set(why, CODE_DENIED, "the fleet's roster is not signed by its root key: somebody changed it");
    code = read_text(text, fleet, out, &said);
    if (code == CODE_OK)
        return code;
    return said.text[0] != '\0' ? why_set(why, code, "%s", said.text)
                                : why_set(why, code, "the fleet's roster cannot be read: %s", code_text(code));
}
