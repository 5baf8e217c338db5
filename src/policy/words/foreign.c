/* SPDX-License-Identifier: Apache-2.0 */
#include "words/foreign.h"

#include "base/ascii.h"

#include <stdio.h>
#include <string.h>

/* Each of the words in a row means `ours`, where that may stand. */
static const struct {
    const char *words, *ours;
} pairs[] = {
    /* effects, verdicts, modes */
    {"allow allowed grant accept pass", "permit"},
    {"deny denied block reject refuse disallow", "forbid"},
    {"forbid forbidden block reject refuse disallow", "deny"},
    {"ask approve approval confirm hold review human", "require_approval"},
    {"ask approve approval confirm require_approval review", "hold"},
    {"forbid deny block hide", "withhold"},
    {"mask remove cut scrub sanitize", "redact"},
    {"warn log report alert", "flag"},
    {"dry-run dryrun dry_run audit report log shadow off warn test", "monitor"},
    {"on block active strict", "enforce"},
    {"permit", "allow"},
    {"allow", "pass"},
    /* who, where, what */
    {"role roles team teams", "groups"},
    {"user users principal subject subjects caller callers identity", "principals"},
    {"user caller subject", "principal"},
    {"agent bot bots azp client_id client_ids app apps application applications", "agents"},
    {"tenant org orgs organization organizations", "tenants"},
    {"org organization", "tenant"},
    {"server servers upstream mcp_server mcp_servers route routes backend backends service services", "upstreams"},
    {"server route backend service", "upstream"},
    {"tool action actions function functions operation operations tool_names", "tools"},
    {"name action function", "tool"},
    {"resource uri uris", "resources"},
    {"prompt", "prompts"},
    {"label tag tags", "labels"},
    {"scope permission permissions", "scopes"},
    {"method", "methods"},
    {"ip ips source_ip network cidr address", "client"},
    {"schedule", "during"},
    /* a file */
    {"name", "policy"},
    {"policies statement statements rule", "rules"},
    {"permit", "allow"},
    {"forbid", "deny"},
    {"require_approval", "ask"},
    {"params param variables vars", "parameters"},
    {"constants sets", "lists"},
    {"responses results outputs", "answers"},
    {"masking redactions", "redact"},
    {"cases examples", "tests"},
    /* a rule */
    {"sid name rule", "id"},
    {"decision verdict outcome action", "effect"},
    {"target scope subject selector for", "match"},
    {"if condition conditions where requires require constraint constraints", "when"},
    {"args allowed_args allow_args allowed_arguments argument_names", "only_args"},
    {"rate rate_limit ratelimit quota throttle limits", "limit"},
    {"expires expiry expires_at valid_until not_after ends", "until"},
    {"description comment note", "reason"},
    {"message msg error explain hint", "say"},
    /* a condition */
    {"argument arguments field param parameter input attribute property", "arg"},
    {"or any_of anyof one", "any"},
    {"and all_of allof every", "all"},
    {"all each forall", "every"},
    {"some one exists", "any"},
    {"eq == = === is_equal equal_to stringequals numericequals value", "equals"},
    {"ne neq != <> not_equal stringnotequals", "not_equals"},
    {"one_of oneof enum allowed values allowed_values any_of", "in"},
    {"regex regexp pattern match matches_regex re =~", "matches"},
    {"like wildcard stringlike", "glob"},
    {"prefix begins_with", "starts_with"},
    {"suffix", "ends_with"},
    {"includes include has substring", "contains"},
    {"type", "is"},
    {"lte le <= maximum most at_most up_to numericlessthanequals", "max"},
    {"gte ge >= minimum least at_least from numericgreaterthanequals", "min"},
    {"length len max_len maxlen size", "max_length"},
    {"min_len minlen", "min_length"},
    {"required present is_present defined", "exists"},
    {"within folder folders directory dir dirs root", "under"},
    {"ip in_cidr in_range ipaddress", "cidr"},
    {"statement query", "sql"},
    {"case_insensitive ignorecase nocase", "ignore_case"},
    /* types, of values and of parameters */
    {"int long", "integer"},
    {"bool", "boolean"},
    {"str text", "string"},
    {"string str", "text"},
    {"float double decimal", "number"},
    {"int integer float", "number"},
    {"list tuple", "array"},
    {"array", "list"},
    {"map dict", "object"},
    {"none nil", "null"},
    {"datetime timestamp date", "time"},
    {"path dir directory", "folder"},
    {"server route", "upstream"},
    {"hostname domain", "host"},
    /* maps of operators, limits, parameters, detectors */
    {"host domain domains hostname", "hosts"},
    {"host hosts domain", "domains"},
    {"scheme protocol protocols", "schemes"},
    {"port", "ports"},
    {"max limit count", "most"},
    {"max", "at_most"},
    {"rate count requests", "calls"},
    {"window interval period within", "per"},
    {"value initial", "default"},
    {"description", "means"},
    {"optional", "required"},
    {"regex", "pattern"},
    {"examples matches", "finds"},
    {"counterexamples", "passes"},
    {"commands", "forms"},
    {"schema", "by_schema"},
    /* a test */
    {"args input parameters", "arguments"},
    {"roles role", "groups"},
    {"request input given", "call"},
    {"then expected want assert result", "expect"},
    {"effect decision outcome result", "verdict"},
    {"id", "rule"},
    {"verdict", "answer"},
    {"response reply", "answer"},
    {"description title", "name"},
};

#define MATCH_OF(list) "say in `match` which calls are meant, as in match: {" list ": [NAME]}"

/* Keys that need a sentence, in maps whose name begins so. */
static const struct {
    const char *what, *words, *text;
} sentences[] = {
    {"a rule", "upstreams upstream server servers", MATCH_OF("upstreams")},
    {"a rule", "tools tool action actions",
     "say in `match` which calls are meant, as in match: {upstreams: [NAME], tools: [NAME]}"},
    {"a rule", "notaction not_action notresource",
     "name what is meant in a permit, and what is not in a forbid beside it"},
    {"a rule", "resource resources",
     "a server is one of `upstreams` in `match`, what is read by its URI one of `resources`, and what an argument names "
     "stands in a condition; write match: {upstreams: [NAME]}"},
    {"a rule", "principal principals user users subject", MATCH_OF("principals")},
    {"a rule", "agent agents client_id azp", MATCH_OF("agents")},
    {"a rule", "tenant tenants", MATCH_OF("tenants")},
    {"a rule", "role roles group groups team", MATCH_OF("groups")},
    {"a rule", "methods method", MATCH_OF("methods")},
    {"a rule", "prompts labels scopes paths queries",
     "say it in `match`, beside `upstreams`"},
    {"a rule", "unless except",
     "write its conditions under `when`, each as not: {...}, or in a forbid beside this permit"},
    {"a rule", "enabled disabled active",
     "a rule is in force while it is there; write mode: monitor to judge it without effect, or `until` for its end"},
    {"a rule", "priority order weight",
     "the order of rules never matters: a forbid beats require_approval, which beats a permit; say in `match` and `when` "
     "what each is about"},
    {"a rule", "require_approval approve approval ask",
     "that is an effect of its own; write effect: require_approval"},
    {"a rule", "permit forbid allow deny",
     "write {id: NAME, effect: permit, match: {...}}, or effect: forbid"},
    {"a rule", "arg claim meta param equals in matches glob is min max exists under path url not any all",
     "conditions stand in a list under `when`; write when: [{arg: NAME, max: 100}]"},
    {"`match`", "when conditions condition if only_args limit arguments until effect id reason say mode",
     "it stands in the rule itself; write it beside `match`, as far to the left"},
    {"`match`", "arg args argument",
     "arguments are bound by conditions; write when: [{arg: NAME, equals: VALUE}] beside `match`"},
    {"a condition", "tools tool upstreams upstream principals principal agents agent tenants tenant groups roles "
     "resources methods",
     "which calls are meant stands in the rule's `match`; write it there, or a condition on an argument, as in {arg: NAME, "
     "equals: VALUE}"},
    {"a condition", "lt < less_than lower_than",
     "`max` takes its bound, too; write max: with the largest value that passes, or not: {..., min: BOUND}"},
    {"a condition", "gt > greater_than more_than",
     "`min` takes its bound, too; write min: with the smallest value that passes, or not: {..., max: BOUND}"},
    {"a condition", "between range",
     "write min: and max: beside each other"},
    {"a condition", "not_in nin none_of notin",
     "write {not: {arg: NAME, in: [...]}}"},
    {"a condition", "not_contains not_starts_with not_ends_with not_glob not_under not_exists not_like",
     "write {not: {arg: NAME, OPERATOR: VALUE}} with the word behind `not_`"},
    {"a condition", "none nor unless",
     "write not: with one condition in it, or not: {any: [...]} for several"},
    {"a condition", "expr expression cel rego script code",
     "a condition is a map of words and no text of another language; write {arg: NAME, OPERATOR: VALUE}"},
    {"a policy file", "version apiversion kind",
     "versions are counted by `policy load`; say in `description` what else is to be known of the file"},
    {"a policy file", "default default_effect default_action",
     "what no rule permits is denied, whatever a file says; write a permit for what may pass"},
    {"a policy file", "package import imports include includes extends",
     "files do not name each other; load them together, and say shared: true in the one whose lists and patterns the "
     "others name"},
    {"a policy file", "when if match effect",
     "rules stand in a list; write rules: [{id: NAME, effect: permit, match: {...}}]"},
    {"a limit", "most",
     "write distinct: {arg: PATH, most: 5} for different values, or sum: PATH with at_most: for amounts"},
};

/* Whether the list, whose words stand between blanks, has the word. */
static bool has_word(const char *list, struct span word)
{
    while (*list != '\0') {
        size_t len = strcspn(list, " ");

        if (span_equals_nocase(span_of(list, len), word))
            return true;
        list += len + (list[len] == ' ');
    }
    return false;
}

static const char *word_of(struct span word, const char *const *words)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t w = 0; words[w] != NULL && has_word(pairs[i].words, word); w++)
            if (strcmp(words[w], pairs[i].ours) == 0)
                return words[w];
    return NULL;
}

static bool is_regex(struct span glob, bool is_name)
{
    static const char *const escapes[] = {"\\d", "\\w", "\\s", "\\.", "\\b"}, *const ranges[] = {"[a-z", "[A-Z", "[0-9"};
    bool found = span_holds(glob, SPAN_LIT("(")) && span_holds(glob, SPAN_LIT("|")) && span_holds(glob, SPAN_LIT(")"));

    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        found |= span_holds(glob, span_text(escapes[i]));
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        found |= span_holds(glob, span_text(ranges[i])) && span_holds(glob, SPAN_LIT("]"));
    if (is_name) /* in a namespace a letter stands before the dot, as in files.* */
        found |= span_holds(glob, SPAN_LIT("_.*")) || span_holds(glob, SPAN_LIT("-.*")) ||
                 span_starts_with(glob, SPAN_LIT(".*")) ||
                 span_starts_with(glob, SPAN_LIT("^")) || (glob.len > 1 && span_ends_with(glob, SPAN_LIT("$")));
    return found;
}

static const char *instead_of(struct span key, const char *what)
{
    if (key.len > 0 && ascii_is_all(key, "0-9"))
        return "a comma between brackets begins another entry; write a number without commas";
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (strncmp(sentences[i].what, what, strlen(sentences[i].what)) == 0 && has_word(sentences[i].words, key))
            return sentences[i].text;
    return NULL;
}

/* What may stand at a key, or in a map that faults name so, where that says more than [a, b] or {key: value}. */
static const struct {
    const char *at, *map, *list, *string;
} examples[] = {
    {.at = "rules", .list = "a list with `- ` in front of each rule, as in [{id: NAME, effect: permit, match: {...}}]"},
    {.at = "tests", .list = "a list with `- ` in front of each test, as in [{name: TEXT, call: {...}, expect: {...}}]"},
    {.at = "when", .list = "a list of conditions with `- ` in front of each, as in [{arg: limit, max: 100}]"},
    {.at = "in", .list = "a list of values, {list: NAME} for one of `lists:`, or min: and max: for a range of numbers"},
    {.at = "match", .map = "{upstreams: [NAME], tools: [NAME]}"},
    {.at = "not", .map = "{arg: NAME, OPERATOR: VALUE}"},
    {.at = "limit", .map = "{calls: 10, per: minute}"},
    {.at = "distinct", .map = "{arg: patient, most: 5}"},
    {.at = "url", .map = "{schemes: [https], hosts: [example.com]}"},
    {.at = "email", .map = "{domains: [example.com]}"},
    {.at = "sql", .map = "{statements: [select], tables: [orders]}"},
    {.at = "words", .map = "{forms: ['git log [-{p}]']}"},
    {.at = "path", .map = "{under: /srv/data}"},
    {.at = "during", .map = "{days: [mon-fri], hours: '08:00-18:00', zone: Europe/Berlin}"},
    {.at = "session", .map = "{called: [NAME], within: 10min}"},
    {.at = "arguments", .map = "{NAME: VALUE}"},
    {.at = "spent", .map = "{RULE: 5}"},
    {.at = "plan", .string = "required"},
    {.at = "a rule", .map = "{id: NAME, effect: permit, match: {upstreams: [NAME]}}"},
    {.at = "a condition", .map = "{arg: limit, max: 100}"},
    {.at = "a parameter", .map = "{is: folder, default: /srv/data}"},
    {.at = "a redaction", .map = "{match: {tools: [login]}, args: [password]}"},
    {.at = "a test", .map = "{name: TEXT, call: {tool: NAME}, expect: {verdict: permit}}"},
    {.at = "a condition of one text", .map = "{matches: '[0-9]{1,6}'}"},
    {.at = "a detector", .map = "{pattern: 'TK-[0-9]{6}', finds: [TK-123456]}"},
};

static size_t example_of(struct span key, const char *what)
{
    size_t i = 0;

    while (i < sizeof examples / sizeof *examples && !span_is(key, examples[i].at) &&
           (what == NULL || strcmp(what, examples[i].at) != 0))
        i++;
    return i;
}

static void say_expected(const struct yaml_node *node, enum yaml_type type, const char *what, char *out, size_t size)
{
    size_t at = example_of(node->key, what), none = sizeof examples / sizeof *examples;
    bool is_short = node->type == YAML_STRING && node->text.len > 0 && node->text.len <= 40;

    if (type == YAML_LIST && at < none && examples[at].list != NULL)
        (void)snprintf(out, size, "%s", examples[at].list);
    else if (type == YAML_LIST && is_short)
        (void)snprintf(out, size, strpbrk(node->text.at, "*?{}[]#&!|>'\"%@:") != NULL ? "a list, as in ['%.*s']"
                                                                                    : "a list, as in [%.*s]",
                       SPAN_ARG(node->text)); /* a text ends in a NUL */
    else if (type == YAML_LIST)
        (void)snprintf(out, size, "a list, as in [a, b]");
    else if (type == YAML_MAP && node->type == YAML_NULL)
        (void)snprintf(out, size, "what belongs to it below it, each line further to the right than this one");
    else if (type == YAML_MAP)
        (void)snprintf(out, size, "a map, as in %s", at < none && examples[at].map ? examples[at].map : "{key: value}");
    else if (at < none && examples[at].string != NULL)
        (void)snprintf(out, size, "%s", examples[at].string);
    else if (node->type == YAML_LIST)
        (void)snprintf(out, size, "one string; where any of several will do, any: [...] with a condition for each");
    else
        (void)snprintf(out, size, "a string, in single quotes where it looks like something else");
}

const struct foreign_words foreign_words = {.word = word_of, .key = instead_of, .regex = is_regex,
                                           .expected = say_expected};
