/* SPDX-License-Identifier: Apache-2.0 */
/* What a search for tools may show: the tools that stand in its answer, one by one. */
#include "declared/declared_priv.h"

#define ELEMENTS_MAX 4096 /* as many tools as a list may have */

struct filtering {
    const struct declared_unwraps *unwraps;
    const struct declared_unwrap *unwrap; /* NULL: nobody knows whose answer it is */
    declared_keep_fn keep;
    void *context;
    struct arena *arena;
};

/* Whether a member on the way has a step's name in another spelling: who reads loosely may take that one. */
static bool is_misspelled(const struct json_node *node, const struct declared_path *path)
{
    for (uint32_t i = 0; i < path->count && node != NULL && node->type == JSON_OBJECT; i++) {
        for (const struct json_node *member = node->child; member != NULL; member = member->next)
            if (json_key_is_misspelled(member->key, path->step[i]))
                return true;
        node = json_member(node, path->step[i]);
    }
    return false;
}

/* The tool of an element. Returns: INNER_CALL: it names none. */
static enum reason read_element(const struct filtering *filtering, const struct declared_unwrap *unwrap,
                                const struct declared_list *list, const struct json_node *element,
                                struct declared_listed *listed)
{
    const struct json_node *name = list->key.len == 0 ? element
                                   : element->type == JSON_OBJECT ? json_member(element, list->key) : NULL;
    const struct json_node *server = declared__at(element, &unwrap->server);

    *listed = (struct declared_listed){.element = element};
    if (name == NULL || name->type != JSON_STRING)
        return REASON_INNER_CALL;
    listed->tool = name->text;
    if (unwrap->server.count == 0)
        return REASON_PERMITTED;
    return server != NULL && server->type == JSON_STRING
               ? declared__name(server->text, name->text, filtering->arena, &listed->tool) : REASON_INNER_CALL;
}

/* Marks what is not kept of one list. What has another form is somebody else's where nobody knows whose answer it is. */
static enum code filter_list(const struct filtering *filtering, const struct declared_unwrap *unwrap,
                             const struct declared_list *list, struct span document, const struct json_node *elements,
                             struct json_edits *edits)
{
    const struct declared_path key = {list->key.len > 0, {list->key}};
    enum code code = elements->count <= ELEMENTS_MAX ? CODE_OK : CODE_INVALID;

    for (const struct json_node *one = elements->child; one != NULL && code == CODE_OK; one = one->next) {
        size_t begin = (size_t)(one->raw.at - document.at);
        struct declared_listed listed;
        enum reason reason = read_element(filtering, unwrap, list, one, &listed);

        if (reason == REASON_MEMORY)
            return CODE_NOMEM;
        if (is_misspelled(one, &key) || is_misspelled(one, &unwrap->server) ||
            (reason != REASON_PERMITTED && filtering->unwrap != NULL))
            return CODE_INVALID;
        if (reason == REASON_PERMITTED && !filtering->keep(filtering->context, &listed))
            code = json_edits_cut(edits, begin, begin + one->raw.len);
    }
    return code;
}

/* Adds to *found the lists of the tool that the document has. */
static enum code filter_lists(const struct filtering *filtering, const struct declared_unwrap *unwrap, struct span document,
                              const struct json_node *root, struct json_edits *edits, size_t *found)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < unwrap->list_count && code == CODE_OK; i++) {
        const struct json_node *elements = declared__at(root, &unwrap->lists[i].path);

        if (is_misspelled(root, &unwrap->lists[i].path))
            return CODE_INVALID;
        if (elements == NULL || elements->type != JSON_ARRAY)
            continue;
        (*found)++;
        code = filter_list(filtering, unwrap, &unwrap->lists[i], document, elements, edits);
    }
    return code;
}

/* A document in which the list is missing may name tools anywhere. */
static enum code filter(const struct filtering *filtering, struct span document, const struct json_node *root,
                        struct json_edits *edits)
{
    size_t found = 0;
    enum code code = CODE_OK;

    if (filtering->unwrap != NULL) {
        code = filter_lists(filtering, filtering->unwrap, document, root, edits, &found);
        return code == CODE_OK && found == 0 ? CODE_INVALID : code;
    }
    for (size_t i = 0; i < filtering->unwraps->count && code == CODE_OK; i++)
        code = filter_lists(filtering, &filtering->unwraps->of[i], document, root, edits, &found);
    return code;
}

static enum code filter_text(const struct filtering *filtering, struct span document, const struct json_node *text,
                             struct json_edits *edits)
{
    size_t begin = (size_t)(text->raw.at - document.at);
    const struct json_node *root;
    struct json_edits inside;
    struct json_fault fault;
    struct buf read;
    enum code code;

    buf_init(&read, SIZE_MAX / 2);
    json_edits_init(&inside);
    code = json_read(text->text, &json_reply_rules, &read, filtering->arena, &root, &fault);
    if (code == CODE_OK)
        code = filter(filtering, buf_peek(&read), root, &inside);
    else if (fault.kind != JSON_FAULT_MEMORY)
        code = filtering->unwrap != NULL ? CODE_INVALID : CODE_OK;
    if (code == CODE_OK && inside.count > 0) {
        code = json_edits_apply(&inside, &read, filtering->arena, NULL);
        if (code == CODE_OK)
            code = json_edits_say(edits, begin, begin + text->raw.len, buf_peek(&read));
    }
    json_edits_fini(&inside);
    buf_fini(&read);
    return code;
}

bool declared_lists_any(const struct declared_unwraps *unwraps)
{
    for (size_t i = 0; i < unwraps->count; i++)
        if (unwraps->of[i].list_count > 0)
            return true;
    return false;
}

/* What a block of the content says, itself or in a resource that is embedded in it. Where it is known to list tools, a block of
 * another kind may list some beside its text. */
static enum code filter_block(const struct filtering *filtering, struct span document, const struct json_node *block,
                              struct json_edits *edits)
{
    static const struct declared_path places[] = {{1, {{"text", 4}}}, {2, {{"resource", 8}, {"text", 4}}}};
    const struct json_node *text = declared__at(block, &places[0]);
    enum code code = CODE_OK;

    if (filtering->unwrap != NULL &&
        (text == NULL || text->type != JSON_STRING || !span_is(json_member_text(block, "type"), "text")))
        return CODE_INVALID;
    for (size_t i = 0; i < sizeof places / sizeof *places && code == CODE_OK; i++) {
        text = declared__at(block, &places[i]);
        if (is_misspelled(block, &places[i]))
            return CODE_INVALID;
        if (text != NULL && text->type == JSON_STRING)
            code = filter_text(filtering, document, text, edits);
    }
    return code;
}

/* Of the result of a call of a tool. */
static enum code filter_result(const struct filtering *filtering, struct span document, const struct json_node *result,
                               struct json_edits *edits)
{
    static const struct declared_path names[] = {{1, {{"structuredContent", 17}}}, {1, {{"content", 7}}}};
    const struct json_node *structured = declared__at(result, &names[0]), *content = declared__at(result, &names[1]);
    enum code code = CODE_OK;

    if (is_misspelled(result, &names[0]) || is_misspelled(result, &names[1]) ||
        (content != NULL && content->type != JSON_ARRAY && filtering->unwrap != NULL))
        return CODE_INVALID;
    if (structured != NULL)
        code = filter(filtering, document, structured, edits);
    for (const struct json_node *block = content != NULL ? content->child : NULL; block != NULL && code == CODE_OK;
         block = block->next)
        code = filter_block(filtering, document, block, edits);
    return code;
}

enum code declared_list_filter(const struct declared_unwraps *unwraps, const struct declared_unwrap *unwrap,
                               struct span document, const struct json_node *result, declared_keep_fn keep, void *context,
                               struct arena *arena, struct json_edits *edits)
{
    const struct filtering filtering = {unwraps, unwrap, keep, context, arena};
    const struct json_node *of_task = NULL;
    enum code code;

    if (result->type != JSON_OBJECT)
        return unwrap != NULL ? CODE_INVALID : CODE_OK;
    code = filter_result(&filtering, document, result, edits);
    of_task = unwrap == NULL ? json_member(result, SPAN_LIT("result")) : NULL;
    return code == CODE_OK && of_task != NULL && of_task->type == JSON_OBJECT
               ? filter_result(&filtering, document, of_task, edits) : code;
}
