/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy load, remove, activate, list, show: versions in the store. A running gate follows within a second. */
#include "names/route_names_read.h"
#include "cli/commands.h"
#include "cli/fleet_words.h"
#include "cli/policy_files.h"
#include "cli/table.h"
#include "cli/told.h"
#include "people/known_people.h"
#include "rules/policy_trail.h"
#include "args/print.h"
#include "judgement/judgement.h"
#include "fill/parameters.h"
#include "store/store.h"
#include "store/store_tools.h"
#include "conf/conf.h"

#include "author/store_change.h"
#include "base/num.h"
#include "os/clock.h"
#include "yaml/yaml.h"

#include <inttypes.h>
#include <stdio.h>

/* Store failures keep their sentence; a request that an open store's content refuses is a negative answer. */
static int complain_store(bool is_open, enum code code, const struct faults *faults, const struct why *why)
{
    if (code == CODE_INVALID && faults != NULL && faults->count > 0) {
        print_faults(faults, "");
        return complain(STATUS_USAGE, "%s", why->text[0] != '\0' ? why->text : "nothing was stored; mend the lines above");
    }
    if (is_open && code == CODE_NOT_FOUND)
        return complain(STATUS_NEGATIVE, "%s", why->text);
    if (is_open && code == CODE_DENIED)
        return complain(STATUS_USAGE, "%s", why->text);
    return complain_why(code, why);
}

/* ---- load and remove ---- */

struct storing {
    bool is_open; /* the store */
    const struct asked *asked;
    struct route_names *names; /* of load; where none are known it has none */
    size_t failed;
    struct doc *doc, *policies, *failures;
};

static int check_despite(const struct asked *asked)
{
    if ((asked->despite_failing_tests || asked->despite_unknown_upstreams) && asked->why == NULL)
        return complain(STATUS_USAGE, "--despite-failing-tests and --despite-unknown-upstreams need --why TEXT: why must it be "
                        "so?");
    return OPTIONS_GO;
}

static void tell_fate(void *context, struct span name, enum policy_store_fate fate)
{
    struct storing *storing = context;
    struct doc *one = doc_add_object(storing->policies, NULL);

    doc_text(one, "policy", name);
    doc_text(one, "fate", span_text(policy_store_fate_text(fate)));
}

static void tell_failed(void *context, const struct policy_test_result *result)
{
    struct storing *storing = context;

    storing->failed++;
    policy_test_doc(result, storing->failures);
}

/* What was stored before may have been so by somebody else, with another reason: that stays its own. */
static int tell_change(struct storing *storing, const struct policy_stored *stored, const struct faults *warnings)
{
    if (!storing->asked->json && stored->version != 0)
        print_faults(warnings, "warning: ");
    print_number(storing->doc, "version", (int64_t)stored->version);
    doc_bool(storing->doc, "active", stored->is_active);
    doc_bool(storing->doc, "stored", stored->is_new);
    doc_bool(storing->doc, "activated", stored->is_activated);
    policy_faults_doc(warnings, doc_add_array(storing->doc, "warnings"));
    doc_int(storing->doc, "warning_count", (int64_t)warnings->count);
    return told_answer(&storing->doc, storing->asked->json,
                       "{*policies}{fate:left 9}{policy}\n{/}{*failing_tests}" POLICY_TEST_FAILED "{/}"
                       "[{?stored}version {version} is [{?active}active][{!active}stored, not active]"
                       "[{?failing_tests}, although {failing_tests:count} of its tests failed]\n]"
                       "[{?version}{!stored}{?active}{!activated}version {version} is active already, with these very texts\n]"
                       "[{?version}{!stored}{?activated}version {version}, which has these very texts, is active\n]"
                       "[{?version}{!stored}{!active}version {version} has these very texts already, and is not active\n]");
}

/* What is stored is held against the routes, the people and the audit, unless a store is all that is known. */
static bool knows_routes(const struct asked *asked)
{
    return asked->store == NULL || asked->config != NULL;
}

static void warn_of_place(struct db *db, const struct asked *asked, uint64_t version, struct faults *warnings)
{
    struct policy *policy = NULL;
    struct why why = {""};

    if (knows_routes(asked) && store_compile_policy(db, version, &policy_authoring, &policy, &why) == CODE_OK) {
        policy_trail_warn(policy, asked, warnings);
        known_people_warn(policy, asked->file, db, warnings);
    }
    policy_unref(&policy);
}

/* Stores it, for the fleet where it is one's: the version has the number that it got there. */
static enum code apply(struct storing *storing, const struct policy_store_change *change, struct policy_stored *stored,
                       struct faults *faults, struct faults *warnings, struct why *why)
{
    struct fleet_words words;
    int64_t number = 0;
    enum code code = fleet_words_open(&words, storing->asked, change->remove.at != NULL ? DB_WRITE : DB_CREATE,
                                      FLEET_WORDS_FREE, why);

    storing->is_open = words.db != NULL;
    if (storing->names != NULL && code == CODE_OK)
        code = store_tools_take(words.db, storing->names, why);
    if (code == CODE_OK)
        code = policy_store_apply(words.db, change, stored, faults, warnings, why);
    number = (int64_t)stored->version;
    code = fleet_words_end(&words, code, "policy", &number, why);
    stored->version = (uint64_t)number;
    if (code == CODE_OK)
        warn_of_place(words.db, storing->asked, stored->version, warnings);
    fleet_words_close(&words);
    return code;
}

static int store_change(struct storing *storing, struct policy_store_change *change)
{
    static struct faults faults, warnings;
    char actor[ACTOR_BYTES];
    struct why why = {""};
    struct policy_stored stored = {.version = 0};
    enum code code;
    int status;

    faults_init(&faults);
    faults_init(&warnings);
    actor_name(actor);
    change->author = span_text(actor);
    change->why = span_text(storing->asked->why);
    change->despite_tests = storing->asked->despite_failing_tests;
    change->despite_strays = storing->asked->despite_unknown_upstreams;
    change->failed = tell_failed;
    change->activate = !storing->asked->no_activate;
    change->now_us = clock_wall_us();
    change->tell = tell_fate;
    change->context = storing;
    storing->doc = doc_object();
    storing->policies = doc_add_array(storing->doc, "policies");
    storing->failures = doc_add_array(storing->doc, "failing_tests");
    code = apply(storing, change, &stored, &faults, &warnings, &why);
    if (code == CODE_OK)
        status = tell_change(storing, &stored, &warnings);
    else if (code == CODE_DENIED && storing->failed > 0)
        status = tell_change(storing, &stored, &warnings) != STATUS_DONE ? STATUS_CANNOT
                                                                         : complain(STATUS_NEGATIVE, "%s", why.text);
    else
        status = complain_store(storing->is_open, code, &faults, &why);
    doc_free(&storing->doc);
    return status;
}

int cmd_policy_load(const struct asked *asked)
{
    struct storing storing = {.asked = asked};
    struct policy_files files;
    struct policy_store_change change = {.only = asked->only, .may_remove = asked->yes};
    struct route_names names;
    int status = check_despite(asked);

    if (status == OPTIONS_GO)
        status = policy_files_of(&files, asked);
    if (status != OPTIONS_GO)
        return status;
    change.files = files.files;
    change.file_count = files.count;
    route_names_init(&names);
    if (knows_routes(asked))
        status = route_names_take(asked->file, &names);
    storing.names = &names;
    change.routes = names.routes;
    change.route_count = names.count;
    if (status == OPTIONS_GO)
        status = store_change(&storing, &change);
    route_names_fini(&names);
    policy_files_fini(&files);
    return status;
}

int cmd_policy_remove(const struct asked *asked)
{
    struct storing storing = {.asked = asked};
    struct policy_store_change change = {.remove = span_text(asked_operand(asked, 0))};
    int status = check_despite(asked);

    return status == OPTIONS_GO ? store_change(&storing, &change) : status;
}

/* ---- activate ---- */

/* What goes back in a hurry is not refused for a route that has gone since, but that is said. */
static void find_strays(struct db *db, const struct asked *asked, uint64_t version, struct faults *warnings)
{
    struct policy *policy = NULL;
    struct route_names names;
    struct faults unread;
    struct why why = {""};

    faults_init(&unread);
    route_names_init(&names);
    if (knows_routes(asked) && route_names_read(asked->file, &names, &unread) == CODE_OK &&
        store_compile_policy(db, version, &policy_authoring, &policy, &why) == CODE_OK)
        route_names_check(policy, &names, warnings, warnings);
    if (policy != NULL)
        policy_trail_warn(policy, asked, warnings);
    policy_unref(&policy);
    route_names_fini(&names);
}

static int tell_active(uint64_t version, bool as_json, const struct faults *warnings)
{
    struct doc *doc = doc_object();

    if (!as_json)
        print_faults(warnings, "warning: ");
    doc_int(doc, "version", (int64_t)version);
    doc_bool(doc, "active", true);
    policy_faults_doc(warnings, doc_add_array(doc, "warnings"));
    doc_int(doc, "warning_count", (int64_t)warnings->count);
    return told_answer(&doc, as_json, "version {version} is active\n");
}

int cmd_policy_activate(const struct asked *asked)
{
    static struct faults faults;
    char actor[ACTOR_BYTES];
    struct why why = {""};
    struct fleet_words words;
    const uint64_t version = asked_number(asked, 0);
    enum code code;
    int status;

    faults_init(&faults);
    actor_name(actor);
    code = fleet_words_open(&words, asked, DB_WRITE, FLEET_WORDS_LOCKED, &why);
    if (code == CODE_OK)
        code = policy_store_activate(words.db, version, span_text(actor), span_text(asked->why), clock_wall_us(), &faults,
                                     &why);
    code = fleet_words_end(&words, code, "activation", NULL, &why);
    if (code == CODE_INVALID && faults.count > 0) {
        print_faults(&faults, "");
        status = complain(STATUS_USAGE, "version %" PRIu64 " does not compile here and was not activated", version);
    } else if (code != CODE_OK) {
        status = complain_store(words.db != NULL, code, NULL, &why);
    } else {
        find_strays(words.db, asked, version, &faults);
        status = tell_active(version, asked->json, &faults);
    }
    fleet_words_close(&words);
    return status;
}

/* ---- list ---- */

static void fill_version(struct doc *doc, const struct policy_store_version *version)
{
    doc_int(doc, "version", (int64_t)version->version);
    doc_text(doc, "state", version->is_active ? SPAN_LIT("active") : version->activated_us != 0 ? SPAN_LIT("was")
                                                                                           : SPAN_LIT("stored"));
    doc_bool(doc, "active", version->is_active);
    print_time(doc, "created", version->created_us);
    doc_text(doc, "created_by", version->author);
    doc_text_or_null(doc, "created_why", version->message);
    doc_text(doc, "hash", version->hash);
    doc_int(doc, "files", (int64_t)version->files);
    doc_int(doc, "failing_tests", (int64_t)version->failing_tests);
    doc_text_or_null(doc, "despite", version->despite);
    print_time(doc, "activated", version->activated_us);
    doc_text_or_null(doc, "activated_by", version->activated_us != 0 ? version->activated_by : SPAN_NONE);
    doc_text_or_null(doc, "activated_why", version->activated_why);
}

static enum code list_one(void *context, const struct policy_store_version *version)
{
    struct doc *doc = doc_object();

    fill_version(doc, version);
    return table_add(context, &doc);
}

int cmd_policy_list(const struct asked *asked)
{
    static const struct table_column versions[] = {
        {.title = "version", .is_right = true, .least = TABLE_WHOLE}, {.title = "state", .least = TABLE_WHOLE},
        {.title = "created"}, {.title = "by", .key = "created_by"}, {.title = "files", .is_right = true, .least = TABLE_WHOLE},
        {.title = "why", .key = "created_why", .none = ""},
    };
    static const struct table_column activations[] = {
        {.title = "activated"}, {.title = "version", .is_right = true, .least = TABLE_WHOLE},
        {.title = "by", .key = "activated_by"}, {.title = "why", .key = "activated_why", .none = ""},
    };
    struct table table;
    struct why why = {""};
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_READ, &db, &why);
    int status;

    if (asked->activations)
        TABLE_BEGIN(&table, activations, asked->json);
    else
        TABLE_BEGIN(&table, versions, asked->json);
    if (code == CODE_OK)
        code = (asked->activations ? policy_store_activations : policy_store_list)(db, list_one, &table, &why);
    table.nothing = code == CODE_OK ? "there is no version; `callgate policy load FILE...` makes one" : NULL;
    (void)table_end(&table);
    status = code == CODE_OK ? STATUS_DONE : complain_store(db != NULL, code, NULL, &why);
    db_close(&db);
    return status;
}

/* ---- show ---- */

#define SET_MAX_BYTES ((size_t)1 << 20)
#define RULE_MAX_BYTES ((size_t)64 << 20)

struct showing {
    uint64_t version;
    bool rules; /* not the files' own texts */
    struct doc *doc, *files;
};

static enum code show_head(void *context, const struct policy_store_version *version)
{
    struct showing *showing = context;

    if (version->version == showing->version)
        fill_version(showing->doc, version);
    return CODE_OK;
}

/* The values that its parameters were given. */
static void show_set(struct doc *doc, const struct policy_store_file *file)
{
    struct yaml_tree *tree = NULL;
    const struct yaml_node *set;
    struct faults faults;
    struct buf json;

    faults_init(&faults);
    buf_init(&json, SET_MAX_BYTES);
    set = yaml_read(file->text, "", &tree, &faults) == CODE_OK ? yaml_member(yaml_root(tree), "set") : NULL;
    if (set != NULL && yaml_to_json(set, &json) != CODE_OK)
        set = NULL;
    doc_text_or_null(doc, "set", set != NULL ? buf_peek(&json) : SPAN_NONE);
    buf_fini(&json);
    yaml_tree_free(&tree);
}

static enum code show_file(void *context, const struct policy_store_file *file)
{
    struct showing *showing = context;
    struct doc *one = doc_add_object(showing->files, NULL);

    doc_text(one, "policy", file->name);
    doc_text(one, "path", file->path);
    doc_text(one, "sha256", file->sha256);
    show_set(one, file);
    doc_text(one, "text", file->text);
    (void)doc_add_array(one, "rules");
    return CODE_OK;
}

/* The rules of each file, as one line of JSON each, which is YAML, too. */
static enum code add_rules(struct showing *showing, const struct policy *policy, struct yaml_tree *const *trees)
{
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < policy->source_count && code == CODE_OK; i++) {
        const struct yaml_node *rules = yaml_member(yaml_root(trees[i]), "rules");
        struct doc *one = doc_add_object(showing->files, NULL), *list;

        doc_text(one, "policy", policy->sources[i].name);
        for (const char *const *not = (const char *const[]){"path", "sha256", "set", "text", NULL}; *not != NULL; not++)
            doc_null(one, *not);
        list = doc_add_array(one, "rules");
        for (const struct yaml_node *rule = rules != NULL ? rules->child : NULL; rule != NULL && code == CODE_OK;
             rule = rule->next) {
            struct buf json;

            buf_init(&json, RULE_MAX_BYTES);
            code = yaml_to_json(rule, &json);
            doc_json(list, NULL, buf_peek(&json));
            buf_fini(&json);
        }
    }
    return code;
}

static enum code show_rules(struct db *db, struct showing *showing, struct why *why)
{
    struct yaml_tree **trees = NULL;
    struct policy *policy = NULL;
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = policy_store_compile(db, showing->version, &policy_authoring, &policy, &faults, why);
    if (code == CODE_INVALID)
        (void)why_set(why, code, "version %" PRIu64 " no longer compiles: %s", showing->version, faults.fault[0].text);
    if (code == CODE_OK) {
        trees = mem_array(policy->source_count + 1, sizeof *trees);
        code = trees != NULL ? parameters_trees(policy, false, trees) : CODE_NOMEM;
    }
    if (code == CODE_OK)
        code = add_rules(showing, policy, trees);
    for (uint32_t i = 0; trees != NULL && i < policy->source_count; i++)
        yaml_tree_free(&trees[i]);
    mem_free(trees);
    policy_unref(&policy);
    return code;
}

/* What loads again: all but the files' own lines is a comment. */
static enum code show_text(const struct doc *doc)
{
    struct told told;
    enum code code = told_read(&told, doc);
    const struct json_node *file = code == CODE_OK ? json_member(told.root, SPAN_LIT("texts"))->child : NULL;

    if (code == CODE_OK)
        told_say(told.root, "# version {version}[{?active} (active)], created {created} by {created_by}[: {created_why}]\n"
                 "# sha-256 {hash}\n[# stored although {failing_tests} of its tests failed: {despite}\n]"
                 "[{!failing_tests}{?despite}# stored although no route had some of its upstreams: {despite}\n]"
                 "[# last activated {activated} by {activated_by}[: {activated_why}]\n]");
    for (; file != NULL && code == CODE_OK; file = file->next) {
        if (told_text(file, "text").at == NULL) {
            told_say(file, "\n# ---- {policy}\n[{*rules}- {.}{/\n}\n]");
            continue;
        }
        told_say(file, "\n# ---- {policy}, loaded from {path}[, with {set}]\n");
        code = print_source(told_text(file, "text"));
    }
    told_end(&told);
    return code;
}

static enum code show(struct db *db, struct showing *showing, struct why *why)
{
    enum code code = CODE_OK;

    if (showing->version == 0)
        code = policy_store_active(db, &showing->version, why);
    if (code == CODE_OK && showing->version == 0)
        return why_set(why, CODE_NOT_FOUND, "no policy is active; `callgate policy load FILE...` stores and activates one");
    if (code == CODE_OK)
        code = policy_store_list(db, show_head, showing, why);
    showing->files = doc_add_array(showing->doc, "texts");
    if (code == CODE_OK && showing->rules)
        return show_rules(db, showing, why);
    return code == CODE_OK ? policy_store_files(db, showing->version, show_file, showing, why) : code;
}

int cmd_policy_show(const struct asked *asked)
{
    struct showing showing = {.version = asked_number(asked, 0), .rules = asked->shows_rules};
    struct why why = {""};
    struct db *db = NULL;
    enum code code;
    int status;

    showing.doc = doc_object();
    code = asked_store(asked, DB_READ, &db, &why);
    if (code == CODE_OK)
        code = show(db, &showing, &why);
    if (code != CODE_OK)
        status = complain_store(db != NULL, code, NULL, &why);
    else
        status = asked->json                            ? print_doc(&showing.doc)
                 : show_text(showing.doc) == CODE_OK ? STATUS_DONE
                                                     : complain(STATUS_CANNOT, "the policy cannot be written");
    db_close(&db);
    doc_free(&showing.doc);
    return status;
}
