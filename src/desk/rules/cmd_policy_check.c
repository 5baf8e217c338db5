/* SPDX-License-Identifier: Apache-2.0 */
/* callgate policy check: what authors ask before anything is stored. */
#include "names/route_names_read.h"
#include "conf/conf.h"
#include "cli/commands.h"
#include "cli/policy_files.h"
#include "cli/told.h"
#include "rules/policy_sarif.h"
#include "args/print.h"
#include "store/store_tools.h"
#include "author/near.h"
#include "tools/unseen.h"
#include "policy/snapshot.h"
#include "author/warn.h"
#include "rules/policy_trail.h"
#include "language/language.h"
#include "language/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* GitHub's workflow commands end at a line end and take `%` as an escape; in a property `:` and `,` separate too. */
static void print_github_text(const char *text, const char *escaped)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, escaped);

        print_safely(stdout, "%.*s", (int)plain, text);
        text += plain;
        if (*text != '\0')
            printf("%%%02X", (unsigned)(unsigned char)*text++);
    }
}

static void print_github(const struct faults *faults, const char *kind)
{
    for (size_t i = 0; i < faults->count && i < FAULTS_MAX; i++) {
        const struct fault *fault = &faults->fault[i];

        print_safely(stdout, "::%s file=", kind);
        print_github_text(fault->file, "%\r\n:,");
        printf(",line=%d,col=%d::", fault->line, fault->column);
        print_github_text(fault->text, "%\r\n");
        putchar('\n');
    }
    if (faults->count > FAULTS_MAX)
        print_safely(stdout, "::%s::and %zu more\n", kind, faults->count - FAULTS_MAX);
}

#define FILE_NAME_BYTES 4096

struct check {
    struct asked asked; /* with the configuration that `load` would read, where none was named */
    struct db *store; /* NULL: there is none yet, or no right to read it */
    struct faults faults, warnings;
    const struct policy *policy; /* NULL: it has faults */
    size_t files, active, rules; /* active: files of the active version that others lean on */
};

/* Files whose `allow` lets tools be called with any arguments. */
static void add_open(const struct policy *policy, struct doc *list)
{
    for (uint32_t i = 0; i < policy->source_count; i++) {
        const struct policy_source *source = &policy->sources[i];
        struct doc *one = source->allow_line > 0 ? doc_add_object(list, NULL) : NULL;

        doc_text(one, "file", span_text(source->path_text));
        doc_int(one, "line", source->allow_line);
    }
}

static struct doc *check_doc(const struct check *check)
{
    struct doc *doc = doc_object(), *near, *open, *unseen;
    struct why why = {""};

    doc_bool(doc, "valid", check->faults.count == 0);
    doc_int(doc, "files", (int64_t)check->files);
    doc_int(doc, "active_files", (int64_t)check->active);
    doc_int(doc, "rules", (int64_t)check->rules);
    doc_text_or_null(doc, "config", span_text(check->asked.config));
    policy_faults_doc(&check->faults, doc_add_array(doc, "errors"));
    doc_int(doc, "error_count", (int64_t)check->faults.count);
    policy_faults_doc(&check->warnings, doc_add_array(doc, "warnings"));
    doc_int(doc, "warning_count", (int64_t)check->warnings.count);
    near = doc_add_array(doc, "near_misses");
    doc_int(doc, "near_misses_tried", check->policy != NULL ? (int64_t)near_misses(check->policy, near) : 0);
    open = doc_add_array(doc, "open_arguments");
    if (check->policy != NULL)
        add_open(check->policy, open);
    unseen = doc_add_array(doc, "unseen_tools");
    if (check->store != NULL && unseen_tools(check->store, check->asked.file, unseen, &why) != CODE_OK)
        print_safely(stderr, "callgate: %s; tools that call others were not all looked for\n", why.text);
    return doc;
}

static int tell_check(const struct check *check)
{
    bool warned = check->asked.strict && check->warnings.count > 0;
    int status = check->faults.count > 0 ? STATUS_USAGE : warned ? STATUS_NEGATIVE : STATUS_DONE;
    const char *format = check->asked.format;
    struct doc *doc;

    if (format != NULL && strcmp(format, "github") == 0) {
        print_github(&check->faults, "error");
        print_github(&check->warnings, "warning");
        return status;
    }
    if (!check->asked.json) {
        print_faults(&check->faults, "");
        print_faults(&check->warnings, "warning: ");
    }
    if (format != NULL && !check->asked.json)
        return policy_sarif_print(&check->faults, &check->warnings, status) == STATUS_DONE ? status : STATUS_CANNOT;
    doc = check_doc(check);
    return told_answer(&doc, check->asked.json,
                       "{*near_misses}{file}:{line}: `{form}` takes {*passing}{command} ({change}){/, }[ and {more} more]\n{/}"
                       "{*open_arguments}{file}:{line}: `allow` binds no arguments: who may call a tool may call it with any; "
                       "where that matters write a permit under `rules:` with `when` and `only_args`\n{/}"
                       "{*unseen_tools}{tool} of {upstream} {unseen}\n{/}"
                       "[{?valid}{files} file[{!files=1}s][ and {active_files} of the active version], {rules} "
                       "rule[{!rules=1}s]: no errors, {warning_count} warning[{!warning_count=1}s]\n[{!config}no "
                       "configuration was read: names of upstreams were not held against its routes, as `load` "
                       "does\n]]") == STATUS_DONE ? status : STATUS_CANNOT;
}

static struct check check;

static bool is_given(const struct policy_files *files, struct span name)
{
    bool is = false;

    for (size_t i = 0; i < files->count && !is; i++) {
        static struct faults faults; /* told when the files are compiled */
        struct buf own;

        faults_init(&faults);
        buf_init(&own, FILE_NAME_BYTES);
        is = policy_name_of(files->files[i].text, "", &own, &faults) == CODE_OK && span_equals(buf_peek(&own), name);
        buf_fini(&own);
    }
    return is;
}

/* The files, and those of the active version that share what they define and are not among them. Without a store, or a right to
 * read it, there are none: what is missing then is told where it is named. */
static enum code read_shared(const struct policy_files *files, struct policy_set *set)
{
    char hash[2 * DIGEST_BYTES];
    uint64_t active = 0;
    struct why why;
    enum code code = CODE_OK;

    if (check.store != NULL && policy_store_active(check.store, &active, &why) == CODE_OK && active != 0 &&
        policy_set_read(check.store, active, set, hash, &why) != CODE_OK)
        set->count = 0;
    for (size_t i = 0; i < set->count; i++)
        if (!policy_shares(set->members[i].text) || is_given(files, set->members[i].name))
            set->members[i].fate = POLICY_REMOVED;
        else
            check.active++;
    for (size_t i = 0; i < files->count && code == CODE_OK; i++)
        code = policy_set_add(set, SPAN_NONE, files->files[i].path, files->files[i].text, POLICY_ADDED);
    return code;
}

/* Of files of the active version nobody asked. Where there are more than are kept, all of these stay. */
static void keep_own(const struct policy_files *files, struct faults *warnings)
{
    size_t kept = 0;

    if (warnings->count > FAULTS_MAX)
        return;
    for (size_t i = 0; i < warnings->count; i++) {
        bool is_own = false;

        for (size_t f = 0; f < files->count && !is_own; f++)
            is_own = span_starts_with(files->files[f].path, span_text(warnings->fault[i].file)); /* cut where it is long */
        if (is_own)
            warnings->fault[kept++] = warnings->fault[i];
    }
    warnings->count = kept;
}

/* Opens the store, and takes from it what servers have listed; else names of tools are not held against anything. */
static void take_tools(struct route_names *names)
{
    struct why why = {""};

    if (asked_store(&check.asked, DB_READ, &check.store, &why) != CODE_OK)
        db_close(&check.store);
    else
        (void)(store_tools_take(check.store, names, &why) == CODE_OK);
}

static enum code compile(const struct policy_files *files, const struct route_names *names, struct policy **policy)
{
    struct policy_set set;
    enum code code;

    policy_set_init(&set);
    code = read_shared(files, &set);
    if (code == CODE_OK)
        code = policy_set_compile(&set, 0, &policy_authoring, policy, &check.faults, &check.warnings);
    policy_set_fini(&set);
    if (code == CODE_OK)
        route_names_check(*policy, names, &check.faults, &check.warnings);
    if (code == CODE_OK)
        code = warn_policy(*policy, names->count, &check.warnings);
    if (code == CODE_OK)
        policy_trail_warn(*policy, &check.asked, &check.warnings);
    keep_own(files, &check.warnings);
    return code;
}

int cmd_policy_check(const struct asked *asked)
{
    struct policy_files files;
    struct route_names names;
    struct policy *policy = NULL;
    enum code code;
    int status = policy_files_try(&files, asked);

    if (status != OPTIONS_GO)
        return status;
    check = (struct check){.asked = *asked};
    faults_init(&check.faults);
    faults_init(&check.warnings);
    route_names_init(&names);
    if (check.asked.config == NULL && access(conf_file_path(asked->file), R_OK) == 0)
        check.asked.config = conf_file_path(asked->file); /* what `load` would read, too */
    if (check.asked.config != NULL)
        status = route_names_take(asked->file, &names);
    if (check.asked.config != NULL && status == OPTIONS_GO)
        take_tools(&names);
    code = status == OPTIONS_GO ? compile(&files, &names, &policy) : CODE_OK;
    check.files = files.count;
    check.rules = policy != NULL ? policy_rule_count(policy) : 0;
    check.policy = policy;
    if (status == OPTIONS_GO)
        status = code == CODE_OK || code == CODE_INVALID ? tell_check(&check)
                                                         : complain(STATUS_CANNOT, "%s", code_text(code));
    policy_unref(&policy);
    db_close(&check.store);
    route_names_fini(&names);
    policy_files_fini(&files);
    return status;
}
