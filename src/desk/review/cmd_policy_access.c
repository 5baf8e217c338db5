/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy access: who may call what, by which rule, and who did; or which rules nobody needed. */
#include "cli/commands.h"
#include "cli/table.h"
#include "cli/told.h"
#include "cli/trail_place.h"
#include "args/print.h"
#include "author/store_change.h"
#include "author/words.h"
#include "base/glob.h"
#include "os/clock.h"
#include "policy/snapshot.h"
#include "review/known.h"
#include "rules/policy_trail.h"
#include "store/store.h"

#include <string.h>

#define WORDS_BYTES ((size_t)1 << 20)

struct reviewing {
    const struct asked *asked;
    struct policy *policy, *before; /* before: the version that was active when the time of --unused began; or NULL */
    struct policy_scratch *scratch;
    struct known *known;
    struct known_lists lists;
    struct conf *conf; /* NULL: the store alone was named */
    struct table table;
    struct buf words;
    int64_t now_us, unused_us; /* unused_us: rules that were used since are not meant; 0: it is not about rules */
    int missing;
};

/* ---- who may call what ---- */

static bool is_meant(const char *asked, struct span name)
{
    return asked == NULL || glob_matches(span_text(asked), name);
}

static bool is_any_meant(const struct option_values *asked, struct span name)
{
    for (size_t i = 0; i < asked->count; i++)
        if (is_meant(asked->value[i], name))
            return true;
    return false;
}

/* Where some kind is named, the others are not meant. */
static bool is_who_meant(const struct asked *asked, const struct access_who *who)
{
    const bool any = asked->principal == NULL && asked->agent == NULL && asked->groups.count == 0;

    if (!is_meant(asked->tenant, who->tenant))
        return false;
    switch (who->kind) {
    case ACCESS_PRINCIPAL: return any || (asked->principal != NULL && is_meant(asked->principal, who->name));
    case ACCESS_AGENT: return any || (asked->agent != NULL && is_meant(asked->agent, who->name));
    case ACCESS_GROUP: return any || is_any_meant(&asked->groups, who->name);
    case ACCESS_KINDS: break;
    }
    return false;
}

/* What each document begins with: a rule, and what it was good for. Takes: who, tool, answer: NULL: it is about the rule alone;
 * rule: NULL: none decides. */
static struct doc *doc_of(const struct known_who *who, const struct known_tool *tool, const struct access_answer *answer,
                          const struct rule *rule)
{
    struct doc *doc = doc_object();

    doc_text_or_null(doc, "tenant", who != NULL ? who->who.tenant : SPAN_NONE);
    for (enum access_kind kind = ACCESS_PRINCIPAL; kind < ACCESS_KINDS; kind++)
        doc_text_or_null(doc, access_kind_text(kind), who != NULL && who->who.kind == kind ? who->who.name : SPAN_NONE);
    doc_bool(doc, "seen", who != NULL && who->is_seen);
    doc_text_or_null(doc, "upstream", tool != NULL ? tool->upstream : SPAN_NONE);
    doc_text_or_null(doc, "tool", tool != NULL ? tool->tool : SPAN_NONE);
    doc_text_or_null(doc, "access", answer != NULL ? span_text(access_text(answer->may)) : SPAN_NONE);
    doc_text_or_null(doc, "rule", rule != NULL ? rule->id : SPAN_NONE);
    doc_text_or_null(doc, "effect", rule != NULL ? span_text(words_effect(rule)) : SPAN_NONE);
    doc_bool(doc, "monitored", rule != NULL && rule->monitor);
    doc_text_or_null(doc, "policy", rule != NULL ? rule->source->name : SPAN_NONE);
    print_number(doc, "line", rule != NULL ? rule->line : 0);
    return doc;
}

static void fill_use(struct doc *doc, const struct known_use *use, bool is_younger)
{
    doc_int(doc, "calls", (int64_t)use->calls);
    doc_int(doc, "decided", (int64_t)use->decided);
    print_time(doc, "last_used", use->last_us);
    doc_bool(doc, "younger", is_younger);
}

static void fill_hangs_on(struct reviewing *r, struct doc *list, const struct access_who *who,
                          const struct access_answer *answer)
{
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct rule *rule = answer->hangs_on[i];
        struct doc *one = doc_add_object(list, NULL);

        buf_clear(&r->words);
        access_condition(&r->words, who, rule);
        doc_text(one, "rule", rule->id);
        doc_text(one, "effect", span_text(effect_text(rule->effect)));
        doc_text(one, "condition", buf_peek(&r->words));
    }
    if (answer->besides != NULL) {
        struct doc *one = doc_add_object(list, NULL);

        doc_text_or_null(one, "rule", SPAN_NONE);
        doc_text_or_null(one, "effect", SPAN_NONE);
        doc_text(one, "condition", span_text(answer->besides));
    }
}

static void fill_may(struct doc *list, unsigned may)
{
    for (enum verdict_kind kind = VERDICT_DENY; kind <= VERDICT_PERMIT; kind++)
        if ((may >> kind & 1) != 0)
            doc_text(list, NULL, span_text(access_text(1U << kind)));
}

static unsigned said_by(const struct proxy_route *route, struct span tool)
{
    const struct declared_unwrap *unwrap = declared_unwrap_find(&route->unwraps, tool);
    unsigned said = route->agent_judged ? ACCESS_AGENT_JUDGED : ACCESS_PERSON_JUDGED;

    /* One of a name that is only like that of a declared one is refused. */
    if (unwrap != NULL ? unwrap->name.count > 0 : declared_unwrap_is_like(&route->unwraps, tool))
        said |= ACCESS_CALLS_OTHERS;
    return route->definitions == DEFINITIONS_HOLD ? said | ACCESS_HOLDS : said;
}

/* What the route says that the upstream is the name of. One of a slug, or of no route that is there now, may be any. */
static unsigned route_of(const struct reviewing *r, const struct known_tool *tool)
{
    unsigned some = ACCESS_PERSON_JUDGED;

    for (size_t i = 0; r->conf != NULL && r->conf->proxy != NULL && i < r->conf->proxy->route_count; i++) {
        const struct proxy_route *route = &r->conf->proxy->routes[i];

        if (span_equals(route->name, tool->upstream))
            return said_by(route, tool->tool);
        some |= said_by(route, tool->tool);
    }
    return r->conf != NULL ? some : ACCESS_EITHER;
}

static enum code tell_access(struct reviewing *r, const struct known_who *who, const struct known_tool *tool)
{
    struct known_use use = known_used(r->known, who, tool);
    struct access_answer answer;
    struct doc *doc;

    access_ask(r->policy, r->scratch, &who->who, route_of(r, tool), tool->upstream, tool->tool, r->now_us, &answer);
    if (!r->asked->all && answer.may == 1U << VERDICT_DENY && answer.rule.at == NULL && use.calls == 0)
        return CODE_OK;
    doc = doc_of(who, tool, &answer, answer.rule.at != NULL ? policy_rule_by_id(r->policy, answer.rule) : NULL);
    fill_may(doc_add_array(doc, "may"), answer.may);
    fill_hangs_on(r, doc_add_array(doc, "depends_on"), &who->who, &answer);
    doc_bool(doc, "depends_on_more", answer.has_more);
    fill_use(doc, &use, false);
    return table_add(&r->table, &doc);
}

static enum code tell_all_access(struct reviewing *r)
{
    enum code code = CODE_OK;

    for (size_t w = 0; w < r->lists.who_count && code == CODE_OK; w++)
        for (size_t t = 0; is_who_meant(r->asked, &r->lists.who[w]->who) && t < r->lists.tool_count && code == CODE_OK; t++)
            if (is_meant(r->asked->upstream, r->lists.tools[t]->upstream) && is_meant(r->asked->tool, r->lists.tools[t]->tool))
                code = tell_access(r, r->lists.who[w], r->lists.tools[t]);
    return code;
}

/* ---- rules that nobody needed ---- */

static enum code tell_rule(struct reviewing *r, const struct rule *rule)
{
    struct known_use use = known_rule_used(r->known, rule->id);
    struct doc *doc;

    if (use.last_us >= r->unused_us)
        return CODE_OK;
    doc = doc_of(NULL, NULL, NULL, rule);
    (void)doc_add_array(doc, "may");
    (void)doc_add_array(doc, "depends_on");
    doc_bool(doc, "depends_on_more", false);
    fill_use(doc, &use, r->before == NULL || policy_rule_by_id(r->before, rule->id) == NULL);
    return table_add(&r->table, &doc);
}

static enum code tell_all_rules(struct reviewing *r)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < r->policy->rule_count && code == CODE_OK; i++)
        code = tell_rule(r, &r->policy->rules[i]);
    return code;
}

/* ---- what is read ---- */

struct standing {
    int64_t at_us;
    uint64_t version;
};

static enum code note_activation(void *context, const struct policy_store_version *version)
{
    struct standing *standing = context;

    if (version->activated_us > standing->at_us || standing->version != 0)
        return CODE_OK;
    standing->version = version->version;
    return CODE_OK;
}

/* The version that was in force when the time began, so that a rule that is younger is told as such. One that compiles no more
 * has no rule that is known. */
static enum code take_before(struct reviewing *r, struct db *db, struct why *why)
{
    struct standing standing = {.at_us = r->unused_us};
    struct faults faults;
    enum code code = r->unused_us != 0 ? policy_store_activations(db, note_activation, &standing, why) : CODE_OK;

    if (code != CODE_OK || standing.version == 0)
        return code;
    faults_init(&faults);
    code = policy_store_compile(db, standing.version, &policy_authoring, &r->before, &faults, why);
    return code == CODE_NOMEM || code == CODE_IO ? code : CODE_OK;
}

static int read_store(struct reviewing *r)
{
    uint64_t version = r->asked->version;
    struct why why = {""};
    struct db *db = NULL;
    enum code code = asked_store(r->asked, DB_READ, &db, &why);

    if (code == CODE_OK && version == 0)
        code = policy_store_active(db, &version, &why);
    if (code == CODE_OK && version == 0)
        code = why_set(&why, CODE_INVALID, "no policy is active, so that nobody may call anything; --version N asks another");
    if (code == CODE_OK)
        code = store_compile_policy(db, version, &policy_authoring, &r->policy, &why);
    if (code == CODE_OK)
        code = take_before(r, db, &why);
    if (code == CODE_OK)
        code = known_of_policy(r->known, r->policy);
    if (code == CODE_OK)
        code = known_of_store(r->known, db, r->now_us, &why);
    db_close(&db);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

static int read_trail(struct reviewing *r)
{
    struct trail trail;
    struct why why = {""};
    enum code code = CODE_OK;
    int status = policy_trail_find(&trail, r->asked, &r->missing);

    for (size_t i = 0; i < trail.count && status == OPTIONS_GO && code == CODE_OK; i++)
        if (trail_file_reaches(&trail.files[i], r->asked->since_us, 0))
            code = known_of_trail(r->known, trail.files[i].path, r->asked->since_us, &why);
    trail_fini(&trail);
    return code == CODE_OK ? status : complain_why(code, &why);
}

/* ---- the command ---- */

#define RULES "[{rule}][{!rule}{*depends_on}{rule}{/, }]"
#define CONDITIONS "{*depends_on}{condition}{/ | }"

static int begin(struct reviewing *r)
{
    static const struct table_column of_access[] = {
        {.title = "tenant"}, {.title = "who", .words = "[{principal}][group {group}][agent {agent}]"}, {.title = "upstream"},
        {.title = "tool"}, {.title = "access", .least = TABLE_WHOLE},
        {.title = "rule", .words = RULES}, {.title = "condition", .words = CONDITIONS, .leaves = 1},
        {.title = "calls", .is_right = true}, {.title = "last used", .key = "last_used", .leaves = 2},
    }, of_sheet[] = {
        {.title = "tenant"}, {.title = "principal"}, {.title = "group"}, {.title = "agent"}, {.title = "upstream"},
        {.title = "tool"}, {.title = "access"}, {.title = "rule", .words = RULES}, {.title = "condition", .words = CONDITIONS},
        {.title = "calls"}, {.title = "last_used"},
    }, of_rules[] = {
        {.title = "rule"}, {.title = "effect", .least = TABLE_WHOLE}, {.title = "policy"},
        {.title = "line", .is_right = true, .leaves = 1}, {.title = "calls", .is_right = true},
        {.title = "decided", .is_right = true}, {.title = "last used", .key = "last_used"},
        {.title = "", .key = "younger", .words = "[{?younger}younger than that]", .none = "", .leaves = 2},
    };
    const bool is_json = r->asked->json || (r->asked->format != NULL && strcmp(r->asked->format, "json") == 0);
    const bool is_csv = r->asked->format != NULL && !is_json;

    r->now_us = clock_wall_us();
    r->unused_us = r->asked->unused_ms > 0 ? r->now_us - (int64_t)r->asked->unused_ms * 1000 : 0;
    if (r->unused_us != 0)
        TABLE_BEGIN(&r->table, of_rules, is_json);
    else if (is_csv)
        TABLE_BEGIN(&r->table, of_sheet, is_json);
    else
        TABLE_BEGIN(&r->table, of_access, is_json);
    r->table.as_csv = is_csv;
    buf_init(&r->words, WORDS_BYTES);
    if (known_new(&r->known) != CODE_OK || policy_scratch_new(&r->scratch) != CODE_OK)
        return complain(STATUS_CANNOT, "not enough memory");
    return OPTIONS_GO;
}

/* A trail that begins later says nothing of the time before. */
static void say_how_far(const struct reviewing *r)
{
    char first[CLOCK_TEXT_BYTES];

    if (r->unused_us == 0 || (known_first_us(r->known) != 0 && known_first_us(r->known) <= r->unused_us))
        return;
    clock_text(known_first_us(r->known) != 0 ? known_first_us(r->known) : r->now_us, first);
    print_safely(stderr, "callgate: the trail that is here begins at %.19sZ: what was used before, it does not say\n", first);
}

int cmd_policy_access(const struct asked *asked)
{
    struct reviewing r = {.asked = asked};
    int status = asked->store == NULL ? asked_conf(asked, &r.conf) : OPTIONS_GO;
    enum code code = CODE_OK;

    if (status != OPTIONS_GO)
        return status;
    status = begin(&r);
    if (status == OPTIONS_GO)
        status = read_store(&r);
    if (status == OPTIONS_GO)
        status = read_trail(&r);
    if (status == OPTIONS_GO) {
        code = known_lists(r.known, &r.lists);
        if (code == CODE_OK)
            code = r.unused_us != 0 ? tell_all_rules(&r) : tell_all_access(&r);
        r.table.nothing = r.unused_us != 0          ? "each rule was used since then"
                          : r.lists.tool_count == 0 ? "no server has told its tools yet, and none was called; `callgate tools "
                                                      "fetch` asks"
                                                    : "no rule lets any of them call anything; --all shows each denial";
        status = code == CODE_OK ? r.missing : complain_code(code);
        say_how_far(&r);
    }
    code = table_end(&r.table);
    if (status == STATUS_DONE && code != CODE_OK)
        status = complain_code(code);
    buf_fini(&r.words);
    policy_scratch_free(&r.scratch);
    known_free(&r.known);
    policy_unref(&r.policy);
    policy_unref(&r.before);
    conf_free(&r.conf);
    return status;
}
