/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_filter.h"

#include "rows/record.h"
#include "base/num.h"
#include "base/reason.h"

/* The words that there are; a wrong one would find nothing, and look like an answer. */
static int check_word(const char *option, const char *word, const char *const *words)
{
    const char *near;

    if (word == NULL || strchr(word, '*') != NULL)
        return OPTIONS_GO;
    for (size_t i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0)
            return OPTIONS_GO;
    near = why_nearest(word, strlen(word), words);
    if (near != NULL)
        return complain(STATUS_USAGE, "--%s \"%s\" is none; did you mean %s?", option, word, near);
    return complain(STATUS_USAGE, "--%s \"%s\" is none; `callgate audit stats --per %s` shows those that occur", option, word,
                    option);
}

static int check_words(const struct asked *asked)
{
    const char *outcomes[OUTCOME_NOT_SENT + 2] = {NULL}, *reasons[REASON_COUNT + 1] = {NULL};
    int status;

    for (int i = 0; i <= OUTCOME_NOT_SENT; i++)
        outcomes[i] = audit_outcome_text((enum audit_outcome)i);
    for (int i = 0; i < REASON_COUNT; i++)
        reasons[i] = reason_name((enum reason)i);
    status = check_word("outcome", asked->outcome, outcomes);
    return status == OPTIONS_GO ? check_word("reason", asked->reason, reasons) : status;
}

int audit_filter_read(const struct asked *asked, unsigned char digest[DIGEST_BYTES], struct query *query)
{
    *query = (struct query){
        .tenant = span_text(asked->tenant), .correlation = span_text(asked->correlation),
        .principal = span_text(asked->principal), .agent = span_text(asked->agent), .tool = span_text(asked->tool),
        .via = span_text(asked->via),
        .method = span_text(asked->method), .upstream = span_text(asked->upstream), .verdict = span_text(asked->verdict),
        .reason = span_text(asked->reason), .rule = span_text(asked->rule), .outcome = span_text(asked->outcome),
        .client = span_text(asked->client), .node = span_text(asked->node),
        .groups = asked->groups.count > 0 ? &asked->groups : NULL, .scopes = asked->scopes.count > 0 ? &asked->scopes : NULL,
        .text = span_text(asked->text),
        .answer = span_text(asked->answer), .answer_rule = span_text(asked->answer_rule),
        .detector = span_text(asked->detector), .status = (int64_t)asked->status,
        .policy_version = (int64_t)asked->policy_version, .since_us = asked->since_us, .until_us = asked->until_us,
        .after_seq = (int64_t)asked->above, .before_seq = (int64_t)asked->below,
    };
    if (asked->session != NULL) {
        asked_session(asked, digest);
        query->session = span_of(digest, DIGEST_BYTES);
    }
    return check_words(asked);
}
