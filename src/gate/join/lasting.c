/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that stay open: the stream of a session (GET) and subscriptions/listen. Each has a branch to every server. A
 * server that ends its branch, or was away, is asked anew, and the agent is told that lists have changed. */
#include "join/join_priv.h"

#define LONG_US INT64_C(60000000) /* a branch that was open for so long has not failed */
#define SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* ---- that something has changed ---- */

static void send_changed(struct join *join, const char *list)
{
    buf_clear(&join->out);
    buf_addf(&join->out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\"", list);
    if (join->is_modern)
        buf_addf(&join->out, ",\"params\":{\"_meta\":{\"" SUBSCRIPTION "\":%.*s}}", SPAN_ARG(join->id));
    if (buf_add_byte(&join->out, '}') == CODE_OK)
        join__event(join, buf_peek(&join->out));
}

/* A modern agent is told only of the lists that it has asked for. */
static void send_all_changed(struct join *join)
{
    static const char *const lists[][2] = {
        {"tools", "toolsListChanged"}, {"prompts", "promptsListChanged"}, {"resources", "resourcesListChanged"}};

    for (size_t i = 0; i < 3; i++) {
        const struct json_node *wish = json_at(join->root, "params", "notifications", lists[i][1], NULL);

        if (!join->is_modern || (wish != NULL && wish->type == JSON_TRUE))
            send_changed(join, lists[i][0]);
    }
}

/* Looks whether a server has come or gone: another worker may have seen that, in a list or a call of the same session. */
static void look_for_changes(struct join *join)
{
    uint64_t changes = join->changes;
    char revision[JOIN_REVISION_BYTES];

    if (join_session_of(join->lane->joined, join->session, join__now_us(join), NULL, revision, &changes) != CODE_OK)
        join__end_stream(join); /* the agent has ended the session */
    else if (changes != join->changes)
        send_all_changed(join);
    join->changes = changes;
}

/* ---- subscriptions/listen ---- */

bool lasting__takes_ack(struct branch *branch, const struct json_node *root)
{
    struct join *join = branch->join;
    bool is_ack = span_is(json_member_text(root, "method"), "notifications/subscriptions/acknowledged");

    if (!is_ack)
        return false;
    branch->is_acknowledged = true;
    branch->due_us = 0;
    if (join->is_told) { /* this server was away, or late, so the agent does not know its lists */
        send_all_changed(join);
        return true;
    }
    buf_clear(&branch->answer);
    if (join_name_down(join__server(branch), SPAN_NONE, root, &branch->answer) != CODE_OK)
        buf_clear(&branch->answer);
    return true;
}

/* Takes what the servers have acknowledged. Returns: how many have. */
static size_t read_acks(struct join *join, struct join_part parts[JOIN_SERVERS_MAX])
{
    size_t count = 0;

    arena_reset(&join->trees);
    for (size_t i = 0; i < join->names.count; i++) {
        struct buf *answer = &join->branches[i].answer;
        const struct json_node *root = NULL;
        struct json_fault fault;

        parts[i] = (struct join_part){.server = join->names.servers[i]};
        if (!join->branches[i].is_acknowledged || buf_is_empty(answer) ||
            json_read(buf_peek(answer), &json_reply_rules, answer, &join->trees, &root, &fault) != CODE_OK)
            continue;
        parts[i].result = json_at(root, "params", "notifications", NULL);
        count++;
    }
    return count;
}

static void acknowledge(struct join *join)
{
    struct join_part parts[JOIN_SERVERS_MAX];
    struct buf text;

    if (read_acks(join, parts) == 0) {
        gather__first_failure(join);
        return;
    }
    buf_init(&text, SIZE_MAX / 2);
    buf_addf(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\""
             SUBSCRIPTION "\":%.*s},\"notifications\":", SPAN_ARG(join->id));
    buf_fail(&text, join_merge_union(parts, join->names.count, &text));
    if (buf_add_text(&text, "}}") == CODE_OK)
        join__event(join, buf_peek(&text));
    else
        join->front.is_broken = true;
    buf_fini(&text);
    join->is_told = true;
    worker_stir(&join->lane->worker, &join->connection); /* the branches that waited for the acknowledgement are read on */
}

static bool all_have(const struct join *join)
{
    for (size_t i = 0; i < join->names.count; i++)
        if (!join->branches[i].is_acknowledged && join->branches[i].step != BRANCH_OVER)
            return false;
    return true;
}

/* ---- servers that end it ---- */

void lasting__over(struct branch *branch)
{
    struct join *join = branch->join;
    bool was_refused = branch->status / 100 == 4 && branch->status != 404 && !branch__has_lost(branch);

    if (join->task == JOIN_STREAM && branch->status != 0 && branch->status != 200 && !was_refused)
        join_member_went(join->lane->joined, join->session, join__server(branch), join__now_us(join));
    if (join->task == JOIN_LISTEN && branch->is_acknowledged && join->is_told)
        send_all_changed(join);
    branch->is_acknowledged = false;
    branch->is_quiet = was_refused;
    branch->was_renewed = false;
    if (join__now_us(join) - branch->asked_us > LONG_US)
        branch->failures = 0;
    branch->again_us = branch->is_quiet ? 0 : join__now_us(join) + join_rest_us(branch->failures++);
}

static void ask_again(struct join *join)
{
    for (size_t i = 0; i < join->names.count; i++) {
        struct branch *branch = &join->branches[i];

        if (branch->step != BRANCH_OVER || branch->again_us == 0 || branch->again_us > join__now_us(join))
            continue;
        branch->due_us = join__now_us(join) + SESSION_US;
        branch__start(branch);
    }
}

void lasting__look(struct join *join)
{
    if (join->task == JOIN_STREAM)
        look_for_changes(join);
    if (join->task == JOIN_LISTEN && !join->is_told && (all_have(join) || join->held_until_us <= join__now_us(join))) {
        join->held_until_us = 0;
        acknowledge(join);
    }
    if (!join->is_answered && (join->task == JOIN_STREAM || join->is_told))
        ask_again(join);
}
