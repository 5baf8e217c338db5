/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_filter.h"

#include "args/command.h"
#include "cli/when.h"
#include "rows/record.h"
#include "base/num.h"
#include "base/reason.h"
#include "os/clock.h"

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
    return complain(STATUS_USAGE, "--%s \"%s\" is none; `callgate audit stats --by %s` shows those that occur", option, word,
                    option);
}

static int check_words(const struct audit_filter *filter)
{
    static const char *const verdicts[] = {"permit", "deny", "hold", NULL};
    static const char *const effects[] = {"redact", "withhold", "flag", NULL};
    const char *outcomes[OUTCOME_NOT_SENT + 2] = {NULL}, *reasons[REASON_COUNT + 1] = {NULL};
    int status;

    for (int i = 0; i <= OUTCOME_NOT_SENT; i++)
        outcomes[i] = audit_outcome_text((enum audit_outcome)i);
    for (int i = 0; i < REASON_COUNT; i++)
        reasons[i] = reason_name((enum reason)i);
    status = check_word("verdict", filter->verdict, verdicts);
    if (status == OPTIONS_GO)
        status = check_word("outcome", filter->outcome, outcomes);
    if (status == OPTIONS_GO)
        status = check_word("answer", filter->answer, effects);
    return status == OPTIONS_GO ? check_word("reason", filter->reason, reasons) : status;
}

static int read_time(const char *option, const char *text, int64_t *time_us)
{
    struct why why = {""};

    if (text == NULL)
        return OPTIONS_GO;
    if (when_parse(span_text(text), clock_wall_us(), time_us, &why) != CODE_OK)
        return complain(STATUS_USAGE, "--%s: %s", option, why.text);
    return OPTIONS_GO;
}

static void read_session(struct audit_filter *filter, struct query *query)
{
    struct digest digest;

    if (filter->session == NULL)
        return;
    if (num_unhex(span_text(filter->session), filter->session_digest, DIGEST_BYTES) != CODE_OK) {
        digest_init(&digest);
        digest_add(&digest, filter->session, strlen(filter->session));
        digest_final(&digest, filter->session_digest);
    }
    query->session = span_of(filter->session_digest, DIGEST_BYTES);
}

int audit_filter_read(struct audit_filter *filter, struct query *query)
{
    int status = check_words(filter);

    *query = (struct query){
        .tenant = span_text(filter->tenant), .correlation = span_text(filter->correlation),
        .principal = span_text(filter->principal), .tool = span_text(filter->tool), .method = span_text(filter->method),
        .upstream = span_text(filter->upstream), .verdict = span_text(filter->verdict), .reason = span_text(filter->reason),
        .rule = span_text(filter->rule), .outcome = span_text(filter->outcome), .client = span_text(filter->client),
        .group = span_text(filter->group), .scope = span_text(filter->scope), .text = span_text(filter->text),
        .answer = span_text(filter->answer), .answer_rule = span_text(filter->answer_rule),
        .detector = span_text(filter->detector),
        .status = (int64_t)filter->status, .policy_version = (int64_t)filter->policy_version,
    };
    read_session(filter, query);
    if (status == OPTIONS_GO)
        status = read_time("since", filter->since, &query->since_us);
    return status == OPTIONS_GO ? read_time("until", filter->until, &query->until_us) : status;
}
