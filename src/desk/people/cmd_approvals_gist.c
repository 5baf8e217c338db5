/* SPDX-License-Identifier: Apache-2.0 */
/* By what a rule holds a call, in one sentence, for the person who decides. */
#include "people/cmd_approvals_priv.h"

#include "author/explain.h"
#include "base/mem.h"
#include "judgement/judgement.h"
#include "json/text.h"

#define ARGUMENTS_BYTES ((size_t)32 << 20)

static enum code judge(const struct policy *policy, const struct question *question, const struct explain_to *to)
{
    struct verdict *verdict = mem_zalloc(sizeof *verdict);
    struct policy_scratch *scratch = NULL;
    enum code code = verdict != NULL ? policy_scratch_new(&scratch) : CODE_NOMEM;

    if (code == CODE_OK)
        code = explain_verdict(policy, question, scratch, verdict, to);
    policy_scratch_free(&scratch);
    mem_free(verdict);
    return code;
}

/* The call is judged as it would be now, but for what a person says and what came before it. Only a call of a tool whose
 * arguments are all kept is known well enough. */
void cmd_approvals__gist(const struct policy *policy, const struct store_approval *approval, struct buf *out)
{
    struct question question = {
        .tenant = approval->tenant, .principal = approval->principal, .agent = approval->agent,
        .upstream = approval->upstream, .via = approval->via,
        .method = approval->method, .tool = approval->tool, .path = approval->target, .query = approval->query,
        .client = approval->client, .correlation = approval->correlation, .time_us = approval->asked_us};
    const struct explain_to to = {.gist = out, .gist_of = approval->rule};
    struct json_text arguments = {.root = NULL};

    if (!span_is(approval->method, "tools/call") || approval->arguments.len < approval->arguments_bytes)
        return;
    if (approval->arguments.len == 0 ||
        json_text_read(&arguments, approval->arguments, &json_file_rules, ARGUMENTS_BYTES) == CODE_OK) {
        question.root = arguments.root;
        if (judge(policy, &question, &to) != CODE_OK)
            buf_clear(out);
    }
    json_text_fini(&arguments);
}
