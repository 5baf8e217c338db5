/* SPDX-License-Identifier: Apache-2.0 */
/* What of an answer is changed by what its route declares. The answer of a tool that searches for tools is filtered as a list
 * of tools is, and from it is learned what they are. What pages may reach is cut. */
#include "back/reply_priv.h"

/* Where the gate says what it holds of an element. */
struct listing {
    struct pair *pair;
    struct buf definition;
    bool is_first, out_of_memory;
};

/* What the tool that is called says of its answer that it lists tools; NULL: it lists none. */
static const struct declared_unwrap *listed_by(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;
    const struct declared_unwrap *unwrap = call->message.kind == MCP_REQUEST && !call->is_join
                                               ? declared_unwrap_find(&exchange->route->unwraps, call->message.tool) : NULL;

    return unwrap != NULL && unwrap->list_count > 0 ? unwrap : NULL;
}

bool listed__concerns(const struct pair *pair, bool is_own)
{
    const struct call *call = pair->exchange.call;

    return listed_by(pair) != NULL ||
           ((!is_own || span_starts_with(call->message.method, SPAN_LIT("tasks/"))) && !call->is_join &&
            declared_lists_any(&pair->exchange.route->unwraps));
}

static enum policy_known said_of(const struct json_node *element, const char *hint)
{
    const struct json_node *annotations = json_member(element, SPAN_LIT("annotations"));
    const struct json_node *said = annotations != NULL && annotations->type == JSON_OBJECT
                                       ? json_member(annotations, span_text(hint)) : NULL;

    return said != NULL && said->type == JSON_TRUE ? POLICY_YES : said != NULL && said->type == JSON_FALSE ? POLICY_NO
                                                                                                     : POLICY_UNKNOWN;
}

/* Writes the element without members that are numbers: how well a tool fits a search is no part of what it is. */
static enum code write_definition(const struct json_node *element, struct buf *out)
{
    const char *before = "{";

    buf_clear(out);
    for (const struct json_node *at = element->child; at != NULL; at = at->next)
        if (at->type != JSON_NUMBER) {
            buf_add_text(out, before);
            json_write_string(out, at->key);
            buf_add_text(out, ":");
            buf_add_span(out, at->raw);
            before = ",";
        }
    buf_add_text(out, before[0] == '{' ? "{}" : "}");
    return buf_code(out);
}

/* Learns what the tool is. Returns: whether it may be shown. */
static bool learn(struct listing *listing, const struct declared_listed *listed)
{
    struct pair *pair = listing->pair;
    const struct exchange *exchange = &pair->exchange;
    const struct json_node *element = listed->element;
    const enum policy_known said[POLICY_HINT_COUNT] = {
        [POLICY_READ_ONLY] = said_of(element, "readOnlyHint"), [POLICY_DESTRUCTIVE] = said_of(element, "destructiveHint"),
        [POLICY_IDEMPOTENT] = said_of(element, "idempotentHint"), [POLICY_OPEN_WORLD] = said_of(element, "openWorldHint"),
    };
    struct gate_tool told = {
        .name = listed->tool, .said = said, .share = exchange->label, .begins = listing->is_first,
        .is_minted = !span_equals(exchange->label, exchange->call->asked.upstream),
    };

    if (write_definition(element, &listing->definition) != CODE_OK) {
        listing->out_of_memory = true;
        return false;
    }
    told.definition = buf_peek(&listing->definition);
    listing->is_first = false;
    return gate_learn(pair->lane->gate, exchange->call, &told);
}

static bool may_show(void *context, const struct declared_listed *listed)
{
    struct listing *listing = context;
    struct pair *pair = listing->pair;
    const struct call *call = pair->exchange.call;
    bool is_object = listed->element->type == JSON_OBJECT, is_shown = reply__has_time_for_lists(pair);

    if (is_shown && is_object && json_member(listed->element, SPAN_LIT("inputSchema")) != NULL)
        is_shown = learn(listing, listed);
    else if (is_object && call->definitions == DEFINITIONS_HOLD)
        is_shown = false; /* it describes a tool, and nobody could accept that */
    return is_shown && gate_may_see(pair->lane->gate, call, SPAN_LIT("tools/call"), listed->tool, false);
}

/* Makes the edits in the message and in its tree, where all was well until then, and ends them. Takes: root: of the answer, or
 * of params. */
static enum code apply(struct exchange *exchange, enum code code, struct json_edits *edits, const struct json_node *root,
                       struct mcp_reply *reply)
{
    if (code == CODE_OK && edits->count > 0) {
        code = json_edits_apply(edits, &exchange->event, &exchange->event_arena, root);
        reply->body = buf_peek(&exchange->event);
        if (reply->kind == MCP_RESPONSE)
            reply->result = root->raw;
    }
    json_edits_fini(edits);
    return code;
}

enum reason listed__cut_apps(struct pair *pair, struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    const struct json_node *root = reply->kind == MCP_RESPONSE ? reply->outcome : reply->params;
    struct json_edits edits;
    enum code code;

    if (root == NULL)
        return reply->kind == MCP_RESPONSE ? REASON_MEMORY : REASON_PERMITTED; /* a request may have no params */
    json_edits_init(&edits);
    code = declared_apps_cut(&exchange->route->apps, reply->body, root, &edits);
    return apply(exchange, code, &edits, root, reply) == CODE_OK ? REASON_PERMITTED : REASON_MEMORY;
}

enum reason listed__filter(struct pair *pair, bool is_own, struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct listing listing = {.pair = pair, .is_first = true};
    const struct declared_unwrap *unwrap = is_own && !reply->is_tool_error ? listed_by(pair) : NULL;
    struct json_edits edits;
    enum code code;

    if (reply->outcome == NULL)
        return REASON_MEMORY;
    buf_init(&listing.definition, SIZE_MAX / 2);
    json_edits_init(&edits);
    code = declared_list_filter(&exchange->route->unwraps, unwrap, reply->body, reply->outcome, may_show, &listing,
                                &exchange->event_arena, &edits);
    code = apply(exchange, listing.out_of_memory ? CODE_NOMEM : code, &edits, reply->outcome, reply);
    buf_fini(&listing.definition);
    if (code == CODE_INVALID)
        exchange->fault.text = "the answer of a tool that lists tools is not the JSON that `lists` speaks of";
    return code == CODE_OK ? REASON_PERMITTED : code == CODE_INVALID ? REASON_UPSTREAM_JSON : REASON_MEMORY;
}
