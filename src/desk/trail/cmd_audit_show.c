/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit show: one call as a story. */
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/table.h"
#include "cli/told.h"
#include "query/entries.h"
#include "store/store.h"
#include "trail/audit_centre.h"
#include "trail/audit_out.h"
#include "trail/explain_call.h"

#include "base/mem.h"
#include "base/num.h"

#include <inttypes.h>
#include <string.h>

#define FOUND CODE_EXISTS /* what the callbacks end a search with */
#define AROUND 10 /* calls of the correlation before it and after it */
#define APPROVALS_MAX 32
#define ROW_BYTES ((size_t)256 << 20)

struct show {
    const struct asked *asked;
    struct trail trail;
    char *path;
    struct centre *centre; /* of a fleet; NULL: the files of a gate are asked */
    char node[64];         /* whose row it is */
    size_t nodes;          /* that have a row of the number */
    int64_t number, seq; /* the number that was given; the decision's */
    enum entry_kind kind; /* of the number that was given */
    bool is_there;        /* the decision */
    struct buf correlation;
    bool is_correlated;
    uint64_t related, related_at; /* calls of the correlation; the place of this one, 0: it is yet to come */
    struct buf before[AROUND];    /* the last ones of it before this, each in the place of its number */
    size_t approval_count;
    struct doc *doc, *approvals, *neighbours;
};

/* ---- rows ---- */

static enum code write_row(struct buf *out, const struct query_row *row)
{
    static const struct audit_out every_column = {.as_json = true};

    return audit_out_json(out, &every_column, row);
}

/* An answer of which the gate has not kept all is said to be cut; no column says so. */
static enum code add_row(struct doc *to, const char *key, const struct query_row *row)
{
    struct span answer = query_value(row, "answer"), bytes = query_value(row, "answer_bytes");
    uint64_t whole = 0;
    struct buf text;
    enum code code;

    buf_init(&text, ROW_BYTES);
    code = write_row(&text, row);
    if (code == CODE_OK && key != NULL) {
        buf_truncate(&text, buf_len(&text) - 1); /* its bracket */
        code = buf_addf(&text, ",\"answer_cut\":%s}", answer.len > 0 && num_u64(bytes, &whole) == CODE_OK && whole > answer.len
                        ? "true" : "false");
    }
    if (code == CODE_OK)
        doc_json(to, key, buf_peek(&text));
    buf_fini(&text);
    return code;
}

/* ---- which call ---- */

static enum code take_entry(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row)
{
    struct show *show = context;

    if (seq != show->number)
        return CODE_NOT_FOUND;
    show->kind = kind;
    show->seq = seq;
    if (kind == ENTRY_OUTCOME && num_i64(query_value(row, "decision"), &show->seq) != CODE_OK)
        return CODE_INVALID;
    if (kind == ENTRY_EVENT && add_row(show->doc, "event", row) != CODE_OK)
        return CODE_NOMEM;
    return FOUND;
}

static enum code ask(struct show *show, const struct query *query, query_row_fn row, bool *more, struct why *why)
{
    return show->centre != NULL ? centre_query(show->centre, query, row, show, more, why)
                                : audit_query(&show->trail, query, row, show, more, why);
}

/* Whether a row of the number is there; what it is was told of another node's. */
static enum code look_at_entry(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row)
{
    const struct show *show = context;

    (void)kind;
    (void)row;
    return seq == show->number ? FOUND : CODE_NOT_FOUND;
}

static bool is_it(const struct show *show, const struct query_row *row)
{
    int64_t seq = 0;

    return num_i64(query_value(row, "seq"), &seq) == CODE_OK && seq == show->seq &&
           (show->centre == NULL || span_is(query_value(row, "node"), show->node));
}

static enum code take_call(void *context, const struct query_row *row)
{
    struct show *show = context;
    struct span correlation = query_value(row, "correlation");

    if (!is_it(show, row))
        return CODE_OK;
    show->is_there = true;
    show->is_correlated = correlation.at != NULL;
    buf_add_span(&show->correlation, correlation);
    return buf_fail(&show->correlation, add_row(show->doc, "call", row));
}

/* The call of the row that was found. Takes: where: what has none, in words. */
static enum code find_call(struct show *show, const char *where, struct why *why)
{
    struct query query = {.limit = 1, .order = QUERY_OLDEST_FIRST, .after_seq = show->seq - 1};
    enum code code;
    bool more;

    if (show->kind == ENTRY_EVENT) {
        doc_null(show->doc, "call");
        return CODE_OK;
    }
    doc_null(show->doc, "event");
    if (show->centre != NULL) {
        query.node = span_text(show->node);
        query.before_seq = show->seq + 1;
    }
    code = ask(show, &query, take_call, &more, why);
    if (code == CODE_OK && !show->is_there)
        return why_set(why, CODE_NOT_FOUND, "row %" PRId64 " is the outcome of decision %" PRId64 ", which is %s", show->number,
                       show->seq, where);
    return code;
}

/* Which node has a row of the number, where none was named. */
static enum code take_node(void *context, struct span node)
{
    struct show *show = context;
    struct entry_place place = {.seq = show->number - 1};
    struct query query = {.limit = 1, .order = QUERY_OLDEST_FIRST};
    struct why why = {""};
    enum code code;

    if ((show->asked->node != NULL && !span_is(node, show->asked->node)) || node.len >= sizeof show->node)
        return CODE_OK;
    code = centre_entries(show->centre, node, &query, ENTRIES_EVENTS, &place, show->nodes > 0 ? look_at_entry : take_entry,
                          show, &why);
    if (code != FOUND)
        return code == CODE_NOT_FOUND ? CODE_OK : code;
    if (show->nodes++ == 0)
        memcpy(show->node, node.at, node.len);
    return CODE_OK;
}

static enum code find_row_of_fleet(struct show *show, struct why *why)
{
    enum code code = centre_nodes(show->centre, take_node, show, why);

    if (code == CODE_OK && show->nodes == 0)
        return why_set(why, CODE_NOT_FOUND, "there is no row %" PRId64 " of %s at the centre", show->number,
                       show->asked->node != NULL ? show->asked->node : "any node");
    if (code == CODE_OK && show->nodes > 1)
        return why_set(why, CODE_NOT_FOUND, "%zu nodes have a row %" PRId64 ": say whose, --node %s for one", show->nodes,
                       show->number, show->node);
    return code == CODE_OK ? find_call(show, "at the centre no more", why) : code;
}

/* A number may be a decision's, an outcome's or an event's. */
static enum code find_row(struct show *show, struct why *why)
{
    struct entry_place place = {.seq = show->number - 1};
    struct query query = {.limit = 1, .order = QUERY_OLDEST_FIRST};
    struct why passed = {""};
    int64_t first, last;
    enum code code;

    for (size_t i = 0; i < show->trail.count; i++)
        if (trail_gap(&show->trail, i, &first, &last) && first <= show->number && show->number <= last)
            return why_set(why, CODE_NOT_FOUND, "row %" PRId64 " is in a file that is not beside %s", show->number,
                           show->trail.files[show->trail.count - 1].path);
    code = audit_entries(&show->trail, &query, ENTRIES_EVENTS, &place, take_entry, show, &passed);
    if ((code == CODE_OK || code == CODE_NOT_FOUND) && audit_is_restricted()) /* how many rows others have is not his to know */
        return why_set(why, CODE_NOT_FOUND, "there is no row %" PRId64 " of these tenants", show->number);
    if (code == CODE_OK || code == CODE_NOT_FOUND)
        return why_set(why, CODE_NOT_FOUND, "there is no row %" PRId64 "; the last one is %" PRId64, show->number,
                       show->trail.files[show->trail.count - 1].last_seq);
    if (code != FOUND)
        return why_set(why, code, "%s", passed.text);
    return find_call(show, "in a file that is not here", why);
}

/* ---- what belongs to it ---- */

static enum code keep_approval(void *context, const struct query_row *row)
{
    struct show *show = context;

    return show->approval_count++ < APPROVALS_MAX ? add_row(show->approvals, NULL, row) : CODE_OK;
}

static void add_before(struct show *show)
{
    uint64_t at = show->related > AROUND ? show->related - AROUND : 1;

    for (; at < show->related; at++)
        doc_json(show->neighbours, NULL, buf_peek(&show->before[at % AROUND]));
}

/* One pass over what may be many: of those before this one no more than are told is kept. */
static enum code keep_neighbour(void *context, const struct query_row *row)
{
    struct show *show = context;
    struct buf *kept = &show->before[++show->related % AROUND];

    if (is_it(show, row)) {
        add_before(show);
        show->related_at = show->related;
    }
    if (show->related_at != 0)
        return show->related <= show->related_at + AROUND ? add_row(show->neighbours, NULL, row) : CODE_OK;
    buf_clear(kept);
    return write_row(kept, row);
}

static enum code find_neighbours(struct show *show, struct why *why)
{
    struct query query = {.correlation = buf_peek(&show->correlation), .order = QUERY_OLDEST_FIRST};
    enum code code = CODE_OK;
    bool more;

    for (size_t i = 0; i < AROUND; i++)
        buf_init(&show->before[i], ROW_BYTES);
    if (show->is_correlated)
        code = ask(show, &query, keep_neighbour, &more, why);
    for (size_t i = 0; i < AROUND; i++)
        buf_fini(&show->before[i]);
    return code;
}

/* ---- the walk ---- */

/* Judges the call again by the version that judged it. What hinders that is told, and is no failure. */
static enum code walk(struct show *show, struct explain_call *call, struct why *why)
{
    const struct recorded *recorded = &call->recorded;
    struct definition_set *definitions = NULL;
    struct policy *policy = NULL;
    struct why hindrance = {""};
    enum code code = explain_call_find(call, &show->trail, show->path, (uint64_t)show->seq, why);

    if (code != CODE_OK)
        return code;
    if (recorded->kind != RECORDED_JUDGED)
        (void)why_set(&hindrance, CODE_OK, "%s", explain_call_unasked(recorded));
    else if (recorded->policy_version == 0)
        (void)why_set(&hindrance, CODE_OK, "no policy was active");
    else
        code = explain_call_policy(show->asked, recorded, &policy, &definitions, &hindrance);
    if (code == CODE_OK && hindrance.text[0] == '\0')
        code = explain_call_judge(call, policy, definitions, doc_add_object(show->doc, "walk"), why);
    else if (code != CODE_OK && code != CODE_NOMEM)
        code = why_before(&hindrance, CODE_OK, "policy version %" PRIu64 " cannot be asked: ", recorded->policy_version);
    if (hindrance.text[0] != '\0')
        doc_null(show->doc, "walk");
    doc_text_or_null(show->doc, "no_walk", hindrance.text[0] != '\0' ? span_text(hindrance.text) : SPAN_NONE);
    policy_unref(&policy);
    definition_set_unref(&definitions);
    return code;
}

static enum code find_walk(struct show *show, struct why *why)
{
    struct explain_call *call;
    enum code code;

    if (audit_is_restricted() || show->kind == ENTRY_EVENT || show->centre != NULL) { /* a policy is all tenants' */
        doc_null(show->doc, "walk");
        doc_text_or_null(show->doc, "no_walk", show->kind == ENTRY_EVENT ? SPAN_NONE
                         : show->centre != NULL ? SPAN_LIT("how the policy walks over it says `audit show` at the node")
                         : SPAN_LIT("the policy is not shown to who audits single tenants"));
        return CODE_OK;
    }
    call = mem_zalloc(sizeof *call);
    if (call == NULL)
        return CODE_NOMEM;
    explain_call_init(call, show->asked);
    code = walk(show, call, why);
    explain_call_fini(call);
    mem_free(call);
    return code;
}

/* ---- the story ---- */

static const char event_words[] = "event {seq}\n  {time}  {event}  by {actor}  {detail}\n";

/* Of the call. */
static const char call_words[] =
    "decision {seq}[ (its outcome is row {outcome_seq})]"
    "\n  when         {time}"
    "\n  who          [{principal}][{!principal}nobody known][ of {tenant}][{?authentication} ({authentication}[ {api_key}])]"
    "[, from {client}][, at {host}][, at {node}]"
    "[\n  agent        {agent}][, by {agent_from}]"
    "[\n  acting       {actors}][\n  client       {client_says}][\n  groups       {groups}][\n  scopes       {scopes}]"
    "[\n  claims       {claims}][\n  token of     {issuer}][, by its key {token_key}]"
    "[\n  plan         {plan}][, step {plan_step}][\n  session      {session}]"
    "\n  what         [{method} ][{tool} ][within {via} ][on {upstream}][{?dialect} ({dialect}[ {protocol_version}])]"
    "[\n  definition   {definition}][\n  correlation  {correlation}][, instead of {correlation_replaced}][, trace {trace}]"
    "\n  arguments    [{arguments:tree 15}]"
    "[{?arguments:json=null}{?arguments_cut}{arguments_begin:first 4096} ... (the beginning of {arguments_bytes} bytes; the "
    "rest was too long to be kept)]"
    "[{?arguments:json=null}{!arguments_cut}[{?arguments_bytes:any}erased][{!arguments_bytes:any}none]]"
    "[{?arguments_redacted}\n               (a policy has replaced values by digests)]"
    "\n\n  verdict      {verdict}[: {reason}][, by rule {rule}][ ({rule_reason})]"
    "[\n  agent's half by rule {agent_rule}]"
    "[\n  undecided    {undecided}][\n  monitored    {monitor}]"
    "\n  policy       [version {policy_version}][{!policy_version}none][, judged in {judge_us:any} us]"
    "\n  outcome      [{outcome}][{!outcome}[{?expects_outcome}not yet: the call is under way]"
    "[{!expects_outcome}{?verdict=permit}none is due][{!expects_outcome}{!verdict=permit}nothing went up]]"
    "[: {outcome_reason}][, HTTP {status}][, JSON-RPC error {error_code:any}][, {response_bytes:any} bytes]"
    "[, in {latency_us:any} us][, the upstream's part {upstream_us:any} us]"
    "[\n  came back    {answer_effect}][, by rule {answer_rule}][, found {answer_found}][, undecided {answer_undecided}]"
    "[\n  withheld     {server_withheld:any} notifications of the server; it sent {server_notifications:any} others]"
    "[\n  applying     {answer_rules}]"
    /* Of a route that keeps answers. No JSON is empty: where nothing is there, nothing was kept. */
    "[{?answer_bytes:any}\n  answer       [{?answer:json=null}erased; it had {answer_bytes} bytes]"
    "[{?answer:json=\"\"}nothing of its {answer_bytes} bytes was kept: the gate was short of room for them]"
    "[{answer:tree 15}][{?answer_cut} ... (the beginning of {answer_bytes} bytes; the rest was not kept)]]";

/* What is sure to be asked for first. */
static const char gist_words[] = "[{walk.gist}\n][{!walk}{call.verdict} ({call.reason})[ by rule {call.rule}]\n]"
                                 EXPLAIN_CALL_DOUBT("", "walk.") "\n";

static const char walk_words[] = "[\n\nthe policy's walk\n{walk.words:lines 2}][{!walk}\n]";

/* Of what belongs to it. */
static const char rest_words[] =
    "[\n{no_walk}\n]"
    "[\napprovals\n{*approvals}  {time}  {kind}  by {actor}  {detail}\n{/}]"
    "[{?neighbours:beyond 1}\nin the same correlation, {neighbours:count} of {related} calls\n]";

/* The calls around it, as `audit query` shows them. */
static enum code print_neighbours(const struct json_node *list)
{
    static const struct table_column columns[] = {
        {.title = "seq", .least = TABLE_WHOLE}, {.title = "time", .least = 20}, {.title = "principal"},
        {.title = "tool", .words = "[{tool}][{!tool}{method}]"}, {.title = "verdict", .least = TABLE_WHOLE},
        {.title = "reason"}, {.title = "rule"}, {.title = "outcome", .least = TABLE_WHOLE},
    };
    const struct json_node *row = list->count > 1 ? list->child : NULL;
    enum code code = CODE_OK, ended;
    struct table table;

    TABLE_BEGIN(&table, columns, false);
    for (; row != NULL && code == CODE_OK; row = row->next)
        code = table_add_told(&table, row);
    ended = table_end(&table);
    return code == CODE_OK ? ended : code;
}

static int tell(struct show *show)
{
    struct told told;
    enum code code;

    if (show->asked->json)
        return print_doc(&show->doc);
    code = told_read(&told, show->doc);
    if (code == CODE_OK && show->kind == ENTRY_EVENT) {
        told_say(json_member(told.root, SPAN_LIT("event")), event_words);
    } else if (code == CODE_OK) {
        told_say(told.root, gist_words);
        told_say(json_member(told.root, SPAN_LIT("call")), call_words);
        told_say(told.root, show->asked->all ? walk_words : "\n");
        told_say(told.root, rest_words);
        code = print_neighbours(json_member(told.root, SPAN_LIT("neighbours")));
    }
    told_end(&told);
    return complain_code(code);
}

/* ---- the command ---- */

static enum code find(struct show *show, struct why *why)
{
    enum code code;

    if (show->centre != NULL)
        return find_row_of_fleet(show, why);
    code = trail_find(show->path, true, &show->trail, why);
    if (code == CODE_OK) /* the call may be here, and others of its correlation not */
        (void)trail_place_tell_missing(&show->trail, 0);
    return code == CODE_OK ? find_row(show, why) : code;
}

static enum code find_approvals(struct show *show, struct why *why)
{
    return show->centre != NULL
               ? centre_approvals_of(show->centre, span_text(show->node), show->seq, keep_approval, show, why)
               : audit_approvals_of(&show->trail, show->seq, keep_approval, show, why);
}

static int gather(struct show *show)
{
    struct why why = {""};
    enum code code = find(show, &why);

    if (code == CODE_OK)
        code = find_walk(show, &why);
    show->approvals = doc_add_array(show->doc, "approvals");
    show->neighbours = doc_add_array(show->doc, "neighbours");
    if (code == CODE_OK && show->kind != ENTRY_EVENT) {
        code = find_neighbours(show, &why);
        if (code == CODE_OK)
            code = find_approvals(show, &why);
    }
    doc_int(show->doc, "related", (int64_t)show->related);
    if (code == CODE_NOT_FOUND && (show->trail.count > 0 || show->centre != NULL))
        return complain(STATUS_NEGATIVE, "%s", why.text);
    return code == CODE_OK ? OPTIONS_GO : trail_place_complain(code, &why);
}

int cmd_audit_show(const struct asked *asked)
{
    struct show show = {.kind = ENTRY_DECISION, .asked = asked, .number = (int64_t)asked_number(asked, 0)};
    int status = audit_centre_open(asked, 1, &show.centre);

    if (status == OPTIONS_GO && show.centre == NULL)
        status = asked_trail(asked, asked_operand(asked, 1), &show.path);
    show.doc = doc_object();
    buf_init(&show.correlation, ROW_BYTES);
    if (status == OPTIONS_GO)
        status = gather(&show);
    if (status == OPTIONS_GO)
        status = tell(&show);
    trail_fini(&show.trail);
    doc_free(&show.doc);
    buf_fini(&show.correlation);
    centre_close(&show.centre);
    mem_free(show.path);
    return status;
}
