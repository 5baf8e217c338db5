/* SPDX-License-Identifier: Apache-2.0 */
/* One answer of several servers' answers, once all are there or late. */
#include "join/join_priv.h"

#include "base/log.h"

#define VERSION_UNSUPPORTED (-32022)
#define METHOD_NOT_FOUND (-32601)

static void mean(struct join *join, const char *what, const struct branch *branch, const char *why)
{
    if (lane_may_log(join->lane))
        log_warn("join", "route %.*s: %s of server %.*s is left out: %s", SPAN_ARG(join->route->name), what,
                 SPAN_ARG(join__server(branch)), why);
}

/* Reads what the servers have answered. All trees lie in join->trees and point into the branches' answers. */
static void read_answers(struct join *join, struct join_part parts[JOIN_SERVERS_MAX])
{
    arena_reset(&join->trees);
    for (size_t i = 0; i < join->names.count; i++) {
        struct branch *branch = &join->branches[i];
        const struct json_node *root = NULL;
        struct json_fault fault;

        parts[i] = (struct join_part){.server = join->names.servers[i], .is_asked = branch->step == BRANCH_OVER};
        if (buf_is_empty(&branch->answer) ||
            json_read(buf_peek(&branch->answer), &json_reply_rules, &branch->answer, &join->trees, &root, &fault) != CODE_OK)
            continue;
        parts[i].result = json_member(root, SPAN_LIT("result"));
        if (parts[i].result != NULL && parts[i].result->type != JSON_OBJECT)
            parts[i].result = NULL;
    }
}

/* ---- errors ---- */

/* Which error the server has answered with; 0: none, or none in JSON-RPC. */
static int error_of(const struct branch *branch)
{
    struct span text = buf_is_empty(&branch->answer) ? buf_peek(&branch->body) : buf_peek(&branch->answer);
    const struct json_node *root = branch->status != 0 && text.len > 0 ? join__read(branch->join, text) : NULL;
    const struct json_node *code = json_at(root, "error", "code", NULL);

    if (code == NULL)
        return 0;
    return span_is(code->raw, "-32601") ? METHOD_NOT_FOUND : span_is(code->raw, "-32022") ? VERSION_UNSUPPORTED : 1;
}

/* Whether a server refuses the era of the request. An older one does not know `server/discover`, or says any status of 400 to
 * 499, of which some are about who asks, or how often. */
static bool lacks_era(const struct branch *branch)
{
    int status = branch->step == BRANCH_OVER ? branch->status : 0, error = status != 0 ? error_of(branch) : 0;

    return error == VERSION_UNSUPPORTED ||
           (branch->join->task == JOIN_GREET &&
            (error == METHOD_NOT_FOUND || (status / 100 == 4 && status != 401 && status != 403 && status != 429)));
}

/* A server whose era is not that of the request: then the endpoint does not speak that one, either. NULL: there is none. */
static struct branch *of_another_era(struct join *join)
{
    for (size_t i = 0; i < join->names.count && join->is_modern; i++)
        if (lacks_era(&join->branches[i]))
            return &join->branches[i];
    return NULL;
}

void gather__first_failure(struct join *join)
{
    struct branch *first = of_another_era(join);

    for (size_t i = 0; i < join->names.count && first == NULL; i++)
        first = error_of(&join->branches[i]) != 0 ? &join->branches[i] : NULL;
    for (size_t i = 0; i < join->names.count && first == NULL; i++)
        first = join->branches[i].status / 100 == 4 ? &join->branches[i] : NULL;
    if (first != NULL)
        ask__hand_on(first);
    else
        join__fail(join, 200, UNAVAILABLE, "No server of this endpoint is there at the moment; try again later.");
}

/* ---- initialize, server/discover ---- */

/* The oldest revision that a server has answered, since all of them may speak that one. */
static const char *common_version(const struct join *join)
{
    const char *oldest = NULL;

    for (size_t i = 0; i < join->names.count; i++) {
        const char *version = join->branches[i].version;

        if (version[0] != '\0' && (oldest == NULL || strcmp(version, oldest) < 0))
            oldest = version;
    }
    return oldest;
}

/* Asks those again that would speak another revision than the others. Returns: whether there are some. */
static bool agree(struct join *join)
{
    const char *version = common_version(join);
    bool any = false;

    if (version == NULL || join->is_second)
        return false;
    join->is_second = true;
    memcpy(join->revision, version, strlen(version) + 1);
    for (size_t i = 0; i < join->names.count; i++) {
        struct branch *branch = &join->branches[i];

        if (branch->version[0] == '\0' || strcmp(branch->version, join->revision) == 0)
            continue;
        any = true;
        branch->due_us = join__now_us(join) + GREETING_US;
        branch__greet(branch);
    }
    return any;
}

/* Begins the session with those servers that speak the common revision; the others count as gone. */
static enum code begin_session(struct join *join, struct join_part parts[JOIN_SERVERS_MAX], char id[JOIN_SESSION_BYTES])
{
    const struct json_node *params = json_member(join->root, SPAN_LIT("params"));
    enum code code = join_session_begin(join->lane->joined, share_of(join->lent->who.home, join->lent->who.principal),
                                        params != NULL ? params->raw : SPAN_LIT("{}"), span_text(join->revision),
                                        join__now_us(join), id);

    for (size_t i = 0; i < join->names.count && code == CODE_OK; i++) {
        struct branch *branch = &join->branches[i];
        struct span session = span_of(id, JOIN_SESSION_BYTES);
        bool is_fit = parts[i].result != NULL && strcmp(branch->version, join->revision) == 0;

        if (is_fit) {
            code = join_member_came(join->lane->joined, session, join__server(branch), span_text(branch->inner),
                                    branch->offers);
            continue;
        }
        mean(join, "a session", branch, parts[i].result != NULL ? "it speaks another revision than the others"
                                                              : "it has not answered `initialize`");
        parts[i].result = NULL;
        join_member_went(join->lane->joined, session, join__server(branch), join__now_us(join));
    }
    return code;
}

void gather__greeting(struct join *join)
{
    struct join_part parts[JOIN_SERVERS_MAX];
    char id[JOIN_SESSION_BYTES];
    bool any = false, lacks = of_another_era(join) != NULL; /* which reads where the parts are to lie */
    struct buf result;
    enum code code = CODE_OK;

    if (!join->is_modern && agree(join))
        return;
    read_answers(join, parts);
    for (size_t i = 0; i < join->names.count; i++)
        any = any || parts[i].result != NULL;
    if (!any || lacks) {
        gather__first_failure(join);
        return;
    }
    if (!join->is_modern)
        code = begin_session(join, parts, id);
    if (code != CODE_OK) {
        join__fail(join, 429, 4290, "This principal holds too many sessions.");
        return;
    }
    buf_init(&result, SIZE_MAX / 2);
    if (join_merge_greeting(parts, join->names.count, join->route->name,
                            join->is_modern ? SPAN_NONE : span_text(join->revision), &result) == CODE_OK)
        join__result(join, buf_peek(&result), join->is_modern ? SPAN_NONE : span_of(id, sizeof id));
    else
        join->front.is_broken = true;
    buf_fini(&result);
}

/* ---- lists, and what all only have to take ---- */

/* Whether each server has answered with an error or not at all. Who does not know such a list has none, and no error. */
static bool is_refused(const struct join *join)
{
    for (size_t i = 0; i < join->names.count; i++) {
        const struct branch *branch = &join->branches[i];
        int error = branch->step == BRANCH_OVER ? error_of(branch) : METHOD_NOT_FOUND;

        if (error == METHOD_NOT_FOUND || (error == 0 && !buf_is_empty(&branch->answer)))
            return false;
    }
    return true;
}

void gather__list(struct join *join)
{
    struct join_part parts[JOIN_SERVERS_MAX];
    struct join_list list = {.list = join_list_of(join->method), .parts = parts, .count = join->names.count,
                             .budget = join->route->name_budget, .is_modern = join->is_modern};
    struct buf result;

    if (is_refused(join) || of_another_era(join) != NULL) {
        gather__first_failure(join);
        return;
    }
    if (list.list == NULL) {
        join__result(join, join->is_modern ? SPAN_LIT("{\"resultType\":\"complete\"}") : SPAN_LIT("{}"), SPAN_NONE);
        return;
    }
    read_answers(join, parts);
    for (size_t i = 0; i < join->names.count; i++)
        if (parts[i].is_asked && parts[i].result == NULL)
            mean(join, "a list", &join->branches[i], "it has not answered in time, or with an error");
    buf_init(&result, SIZE_MAX / 2);
    if (join_merge_list(&list, &result) == CODE_OK)
        join__result(join, buf_peek(&result), SPAN_NONE);
    else
        join->front.is_broken = true;
    buf_fini(&result);
}
