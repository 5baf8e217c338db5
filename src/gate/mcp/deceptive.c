/* SPDX-License-Identifier: Apache-2.0 */
/* Characters that deceive a reader, in what comes back: which message is treated how, and how they are cut out. */
#include "mcp/reply_priv.h"
#include "policy/question.h"
#include "unicode/unicode.h"

static bool is_among(struct span text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (json_key_is_like(text, span_text(*words))) /* whoever reads loosely finds it under another spelling, too */
            return true;
    return false;
}

static enum mcp_treatment by_request(const struct mcp_reply_rules *rules, bool is_list)
{
    const struct mcp_deceptive *deceptive = &rules->deceptive;
    struct span method = rules->request_method;

    if (is_list)
        return deceptive->definitions;
    if (span_is(method, "initialize") || span_is(method, "server/discover"))
        return deceptive->instructions;
    return span_is(method, "prompts/get") ? deceptive->prompts : deceptive->results;
}

/* A skill's files and its manifest are what their digests say, or refused. */
static enum mcp_treatment of_skill(const struct mcp_reply_rules *rules, enum mcp_treatment treatment)
{
    bool is_of_skill = treatment == MCP_STRIP && question_is_of_skill(rules->request_method, rules->request_target);

    return is_of_skill ? MCP_REFUSE : treatment;
}

/* Where the request is not known here, the names of its members say what a client may take an answer for. */
static enum mcp_treatment by_member(const struct mcp_deceptive *deceptive, struct span key)
{
    static const char *const definitions[] = {"tools", "prompts", "resources", "resourceTemplates", NULL};
    static const char *const instructions[] = {"instructions", "serverInfo", "capabilities", NULL};
    static const char *const prompts[] = {"messages", "description", NULL};

    if (is_among(key, definitions))
        return deceptive->definitions;
    if (is_among(key, instructions))
        return deceptive->instructions;
    return is_among(key, prompts) ? deceptive->prompts : deceptive->results;
}

enum mcp_treatment mcp__treatment(const struct mcp_reply_rules *rules, bool is_list, enum mcp__member member, struct span key)
{
    switch (member) {
    case MEMBER_RESULT:
        return rules->request_method.len > 0 ? of_skill(rules, by_request(rules, is_list))
                                             : by_member(&rules->deceptive, key);
    case MEMBER_ERROR:
        return rules->deceptive.results;
    case MEMBER_PARAMS:
        return rules->deceptive.messages;
    case MEMBER_UNKNOWN:
    case MEMBER_JSONRPC:
    case MEMBER_ID:
    case MEMBER_METHOD:
        break;
    }
    return MCP_PASS; /* members of the envelope, which are checked one by one */
}

bool mcp__passes_all(const struct mcp_reply_rules *rules)
{
    return rules->request_method.len > 0 && by_request(rules, false) == MCP_PASS &&
           rules->deceptive.results == MCP_PASS && rules->deceptive.messages == MCP_PASS;
}

enum code mcp__strip(const struct json_event *string, struct json_edits *edits, uint32_t *count)
{
    uint32_t before = 0, point = 0;
    enum code code;
    struct buf kept;
    size_t taken;

    buf_init(&kept, SIZE_MAX / 2);
    for (struct span rest = string->text; rest.len > 0; rest = span_part(rest, taken, SIZE_MAX)) {
        taken = unicode_next(rest, &point);
        if (unicode_deceives(before, point, span_part(rest, taken, SIZE_MAX))) {
            *count += 1;
        } else {
            buf_add(&kept, rest.at, taken);
            before = point;
        }
    }
    code = buf_code(&kept) == CODE_OK ? json_edits_say(edits, string->begin, string->end, buf_peek(&kept)) : CODE_NOMEM;
    buf_fini(&kept);
    return code;
}

static enum code find_one(void *context, const struct json_event *event)
{
    (void)context;
    return unicode_is_deceptive(event->key) || (event->type == JSON_STRING && unicode_is_deceptive(event->text)) ? CODE_DENIED
                                                                                                              : CODE_OK;
}

bool mcp_json_is_deceptive(struct span text)
{
    struct json_fault fault;
    struct buf out;
    enum code code;

    buf_init(&out, SIZE_MAX / 2);
    code = json_walk(text, &json_reply_rules, &out, find_one, NULL, &fault);
    buf_fini(&out);
    return code != CODE_OK;
}
