/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the language, as authors write them and as records and explanations say them. */
#include "policy/case.h"

#include <inttypes.h>

const char *verdict_text(enum verdict_kind kind)
{
    switch (kind) {
    case VERDICT_DENY: return "deny";
    case VERDICT_HOLD: return "hold";
    case VERDICT_PERMIT: return "permit";
    }
    return "deny";
}

const char *effect_text(enum effect effect)
{
    switch (effect) {
    case EFFECT_FORBID: return "forbid";
    case EFFECT_REQUIRE_APPROVAL: return "require_approval";
    case EFFECT_PERMIT: return "permit";
    }
    return "forbid";
}

const char *policy_truth_text(enum truth truth)
{
    switch (truth) {
    case TRUTH_FALSE: return "false";
    case TRUTH_UNDECIDED: return "undecided";
    case TRUTH_TRUE: return "true";
    }
    return "undecided";
}

void approvers_text(struct span approvers, struct buf *out)
{
    const char *before = "";

    while (approvers.len > 0) {
        struct span name = span_cut(approvers, '\n', &approvers);

        (void)buf_addf(out, "%s%.*s", before, SPAN_ARG(name));
        before = span_find(approvers, '\n') < approvers.len ? ", " : " or ";
    }
}

const char *answer_effect_text(enum answer_effect effect)
{
    static const char *const words[ANSWER_EFFECTS] = {"none", "flag", "redact", "withhold"};

    return words[effect];
}

const char *answer_why_text(enum answer_why why)
{
    switch (why) {
    case ANSWER_AS_WRITTEN: return "as written";
    case ANSWER_UNDECIDED: return "what would have to be cut is undecided";
    case ANSWER_OF_SKILL: return "what was found is in a skill, which clients hold against its digest";
    case ANSWER_NOT_IN_TEXT: return "what was found is in no text that could be cut";
    case ANSWER_TOO_COSTLY: return "looking through it took too long";
    case ANSWER_NO_MEMORY: return "there was no memory to look through it";
    }
    return "undecided";
}

const char *const policy_dimension_text[DIM_COUNT] = {
    [DIM_TENANT] = "tenants", [DIM_PRINCIPAL] = "principals", [DIM_UPSTREAM] = "upstreams",
    [DIM_METHOD] = "methods", [DIM_AGENT] = "agents", [DIM_PATH] = "paths", [DIM_QUERY] = "queries", [DIM_LABEL] = "labels",
    [DIM_TOOL] = "tools", [DIM_RESOURCE] = "resources", [DIM_PROMPT] = "prompts", [DIM_GROUP] = "groups",
    [DIM_SCOPE] = "scopes",
};

const char *const policy_fact_text[FACT_COUNT] = {
    [FACT_DURING] = "during", [FACT_SESSION] = "session", [FACT_CLIENT] = "client", [FACT_ANNOTATIONS] = "annotations",
    [FACT_PLAN] = "plan", [FACT_SIZE] = "size", [FACT_MEDIA] = "media",
};

const char *const policy_hint_text[] = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", NULL};

const char *const policy_by_text[POLICY_BY_COUNT + 1] = {"tenant",  "principal", "upstream",    "tool",
                                                          "session", "client",    "correlation", "agent", NULL};

const char *const policy_root_text[FROM_COUNT + 1] = {"arg", "meta", "param", "claim", "value", NULL};

const char *const policy_decoder_text[DECODER_COUNT + 1] = {"percent", "base64", "unicode", "html", "json", "hex",
                                                         "base64_inside", "homoglyph", NULL};

const char policy_unsaid_name[] = "test", policy_unsaid_method[] = "tools/call";

void policy_write_millionths(struct buf *out, uint64_t amount)
{
    uint64_t fraction = amount % 1000000;
    int places = POLICY_SUM_PLACES;

    buf_addf(out, "%" PRIu64, amount / 1000000);
    for (; fraction != 0 && fraction % 10 == 0; places--)
        fraction /= 10;
    if (fraction != 0)
        buf_addf(out, ".%0*" PRIu64, places, fraction);
}
