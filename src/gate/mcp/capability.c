/* SPDX-License-Identifier: Apache-2.0 */
/* Takes out of a client's capabilities what no rule could permit, since a server that is not told of one does not
 * ask for it. */
#include "mcp/reply_priv.h"

/* What a capability lets a server or the client say: it is kept where one of these could be permitted. */
static const struct {
    struct span name;
    const char *methods[5];
} capabilities[] = {
    {{"sampling", 8}, {"sampling/createMessage", NULL}},
    {{"elicitation", 11}, {"elicitation/create", NULL}},
    {{"roots", 5}, {"roots/list", NULL}},
    {{"tasks", 5}, {"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", NULL}},
    {{"io.modelcontextprotocol/tasks", 29}, {"tasks/get", "tasks/update", "tasks/cancel", NULL}}, /* of `extensions` */
};

/* Compared without case, since a server that ignores case reads a capability under any spelling. */
static bool is_kept(const struct mcp_read_rules *rules, struct span key)
{
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        bool could = false;

        if (!json_key_is_like(key, capabilities[i].name))
            continue;
        for (const char *const *method = capabilities[i].methods; *method != NULL && !could; method++)
            could = rules->may_ask(rules->ask_context, span_text(*method));
        return could;
    }
    return true;
}

/* tasks.requests names sampling and elicitation once more. */
static bool holds_others(struct span key)
{
    return json_key_is_like(key, SPAN_LIT("tasks")) || json_key_is_like(key, SPAN_LIT("requests")) ||
           json_key_is_like(key, SPAN_LIT("extensions"));
}

enum code mcp__cut_capabilities(const struct mcp__editing *editing, const struct json_node *object)
{
    enum code code = CODE_OK;

    if (editing->rules->may_ask == NULL)
        return CODE_OK;
    /* An array or a text is taken out, too: a server that only looks for the word would find it there. */
    if (object->type == JSON_ARRAY || object->type == JSON_STRING)
        return json_edits_cut_member(editing->edits, editing->document, object);
    for (const struct json_node *member = object->child; member != NULL && code == CODE_OK; member = member->next)
        if (!is_kept(editing->rules, member->key))
            code = json_edits_cut_member(editing->edits, editing->document, member);
        else if (holds_others(member->key))
            code = mcp__cut_capabilities(editing, member);
    return code;
}
