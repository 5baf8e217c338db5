/* SPDX-License-Identifier: Apache-2.0 */
#include "author/warn_priv.h"

#include "author/sample.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "policy/other.h"
#include "policy/variable.h"
#include "words/operators.h"

#include <stdio.h>

/* Holes in conditions that open: a beginning that a path leaves again, an ending that a longer name has, a regex for a URL
 * whose host is somebody else's. Each is told with a value that passes all that the rule asks of it, and that no rule beside it
 * stops: what is only suspected is not told, since a hole that is none teaches authors to read on. */

#define WITNESS_MAX 640
#define SHOWN_MAX 120
#define TRIED_MAX_BYTES ((size_t)16 << 20)

enum kind { KIND_URL = 0, KIND_MAIL, KIND_HOST, KIND_FILE, KIND_SQL, KIND_COMMAND, KIND_COUNT };

struct probe {
    const struct policy *policy;
    const struct rule *rule;
    const struct condition *leaf;
    const struct op *op;
    struct span written; /* the operand's text, as repairs say it */
    struct span said;    /* likewise, variables as those of some call */
    unsigned kinds;     /* 1 << enum kind: what the argument's name says that it is */
    struct rule_walk *walk;
    struct faults *warnings;
};

/* ---- whether a value passes ---- */

/* Whether the leaf asks about the value that the probe tries. */
static bool concerns(const struct probe *probe, const struct condition *leaf)
{
    bool found = false;

    if (leaf->kind != CONDITION_LEAF || leaf->from != probe->leaf->from || leaf->asks_keys || leaf->links)
        return false;
    for (const struct path *path = &leaf->path; path != NULL && !found; path = path->next)
        found = path->ends_everywhere || span_equals(path->text, probe->leaf->path.text);
    return found || span_equals(leaf->path.text, probe->leaf->path.text);
}

static bool can_be(const struct probe *probe, const struct condition *condition, const struct json_node *value, bool wanted);

/* All operators are true, or one is false: what is undecided is neither. */
static bool leaf_can_be(const struct probe *probe, const struct condition *leaf, const struct json_node *value, bool wanted)
{
    bool can = wanted || leaf->op_count == 0;

    for (uint32_t i = 0; i < leaf->op_count; i++) {
        enum truth truth = leaf->ops[i].other != NULL ? truth_of(wanted) : policy_op(probe->walk, &leaf->ops[i], value);

        if (wanted && truth != TRUTH_TRUE)
            return false;
        can |= !wanted && truth == TRUTH_FALSE;
    }
    return can;
}

static bool members_can_be(const struct probe *probe, const struct condition *condition, const struct json_node *value,
                           bool wanted, bool all)
{
    for (uint32_t i = 0; i < condition->count; i++)
        if (can_be(probe, &condition->members[i], value, wanted) != all)
            return !all;
    return all;
}

/* Whether the condition may come out so where the argument has this value; what asks of something else may be anything. */
static bool can_be(const struct probe *probe, const struct condition *condition, const struct json_node *value, bool wanted)
{
    switch (condition->kind) {
    case CONDITION_NOT: return can_be(probe, &condition->members[0], value, !wanted);
    case CONDITION_ALL: return members_can_be(probe, condition, value, wanted, wanted);
    case CONDITION_ANY: return members_can_be(probe, condition, value, wanted, !wanted);
    case CONDITION_LEAF: return !concerns(probe, condition) || leaf_can_be(probe, condition, value, wanted);
    case CONDITION_FACT:
    case CONDITION_EACH:
    case CONDITION_ONE: break;
    }
    return true;
}

/* Whether a rule beside it stops each such call, or holds it for a person. */
static bool is_stopped(const struct probe *probe, const struct json_node *value)
{
    const struct policy *policy = probe->policy;

    for (uint32_t i = 0; i < policy->rule_count && policy->rules[i].effect != EFFECT_PERMIT; i++) {
        const struct rule *rule = &policy->rules[i];

        if (rule != probe->rule && !rule->monitor && rule->until_us == 0 && rule->when != NULL &&
            warn__covers(&rule->match, &probe->rule->match) && !can_be(probe, rule->when, value, false))
            return true;
    }
    return false;
}

/* How the repair begins. None opens more where it is taken by its word: what bounds more than one end of a text keeps its
 * bounds, since a glob that is replaced by its folder loses its ending; and a rule that closes keeps its condition, in which
 * the same word without `not:` would mean the contrary. */
static const char *repair_begins(const struct probe *probe)
{
    enum operator_shape shape = probe->op->operator->shape;

    if (probe->rule->effect != EFFECT_PERMIT)
        return probe->rule->effect == EFFECT_FORBID ? "add a forbid with not: and" : "add a require_approval with not: and";
    return shape == SHAPE_GLOB || shape == SHAPE_REGEX ? "write beside it" : "write";
}

/* Tells the hole if the text passes. Returns: whether it does. */
static bool try(const struct probe *probe, struct span text, const char *repair)
{
    static const char *const does[] = {[EFFECT_FORBID] = "this forbid lets", [EFFECT_PERMIT] = "this permit also takes",
                                       [EFFECT_REQUIRE_APPROVAL] = "without a person this lets"};
    const struct json_node value = {.type = JSON_STRING, .text = text, .raw = text};
    bool is_permit = probe->rule->effect == EFFECT_PERMIT;

    if (!can_be(probe, probe->rule->when, &value, is_permit) || probe->walk->no_memory || is_stopped(probe, &value))
        return false;
    faults_add(probe->warnings, probe->rule->source->path_text, probe->leaf->line, probe->rule->column,
               "%s `%.*s`%s, by `%s` of `%.*s`; %s %s", does[probe->rule->effect], SPAN_ARG(utf8_cut(text, SHOWN_MAX)),
               is_permit ? "" : " pass", probe->op->operator->word, SPAN_ARG(utf8_cut(probe->leaf->path.text, SHOWN_MAX)),
               repair_begins(probe), repair);
    return true;
}

/* The text, where in it `instead` stands for `cut` bytes from `at` on. */
static bool try_with(const struct probe *probe, struct span text, size_t at, size_t cut, const char *instead, const char
*repair)
{
    char witness[WITNESS_MAX];
    int len = snprintf(witness, sizeof witness, "%.*s%s%.*s", (int)at, text.at, instead,
                       SPAN_ARG(span_part(text, at + cut, SIZE_MAX)));

    return len > 0 && (size_t)len < sizeof witness && try(probe, span_of(witness, (size_t)len), repair);
}

/* ---- what the author meant ---- */

/* Whether a word of the path's names, parted by what is no letter, is the word; or, of four letters and more, begins or ends
so. */
static bool names_word(struct span path, const char *word)
{
    size_t len = strlen(word);

    for (size_t at = 0, end; at < path.len; at = end + 1) {
        struct span one;

        for (end = at; end < path.len && ascii_is_letter(path.at[end]); end++)
            ;
        one = span_part(path, at, end - at);
        if (one.len > 1 && ascii_lower(one.at[one.len - 1]) == 's' && one.len == len + 1)
            one.len--;
        if (span_equals_nocase(one, span_of(word, len)) ||
            (len >= 4 && one.len > len && (span_equals_nocase(span_part(one, 0, len), span_of(word, len)) ||
                                           span_equals_nocase(span_part(one, one.len - len, len), span_of(word, len)))))
            return true;
    }
    return false;
}

static unsigned kinds_of(struct span path)
{
    static const struct { enum kind kind; const char *words[12]; } table[] = {
        {KIND_URL, {"url", "uri", "href", "endpoint", "webhook", "link"}},
        {KIND_MAIL, {"to", "cc", "bcc", "mail", "recipient", "sender", "from"}},
        {KIND_HOST, {"host", "domain", "hostname", "origin"}},
        {KIND_FILE, {"path", "file", "filename", "folder", "dir", "directory"}},
        {KIND_SQL, {"sql", "query", "statement"}},
        {KIND_COMMAND, {"command", "cmd", "shell", "script"}},
    };
    unsigned kinds = 0;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t w = 0; table[i].words[w] != NULL; w++)
            if (names_word(path, table[i].words[w]))
                kinds |= 1u << table[i].kind;
    return kinds;
}

static bool is_of(const struct probe *probe, enum kind kind)
{
    return (probe->kinds >> kind & 1) != 0;
}

/* Whether it is a name of a domain, or a glob of such: labels of letters, digits and hyphens, of which the last has letters. */
static bool is_domain(struct span text)
{
    size_t dots = 0, last = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '.' && (i == 0 || text.at[i - 1] == '.'))
            return false;
        dots += text.at[i] == '.';
        last = text.at[i] == '.' ? 0 : last + ascii_is_letter(text.at[i]);
    }
    return dots > 0 && last > 1 && ascii_is_all(text, "A-Za-z0-9.*-");
}

/* Names of files look like those of domains, so that one that no argument's name explains must end as domains do. */
static bool ends_as_domain(struct span text)
{
    static const char *const ends[] = {".com", ".org", ".net", ".edu", ".gov", ".example", ".internal", ".local", ".corp"};
    bool found = false;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        found |= span_ends_with(text, span_text(ends[i]));
    return is_domain(text) && found;
}

static size_t steps_of(struct span path)
{
    size_t steps = 0;

    for (size_t i = 0; i < path.len; i++)
        steps += path.at[i] != '/' && (i == 0 || path.at[i - 1] == '/');
    return steps;
}

/* Whether it begins a path of files that is no bare word with a slash, as chats have for commands. */
static bool begins_path(const struct probe *probe, struct span text)
{
    bool is_absolute = text.len > 1 && text.at[0] == '/' && text.at[1] != '/';
    bool is_relative = is_of(probe, KIND_FILE) && text.len > 0 && text.at[0] != '/' && span_find(text, '/') < text.len;

    return (is_absolute && (is_of(probe, KIND_FILE) || steps_of(text) > 1 || text.at[text.len - 1] == '/')) ||
           (is_relative && !span_holds(text, SPAN_LIT("://")));
}

/* ---- paths ---- */

/* Where a path goes on at will, it climbs out again. Takes: at: where it does, behind what is written; folder: as it is
written. */
static bool try_climbing(const struct probe *probe, struct span text, size_t at, size_t cut, struct span folder)
{
    char repair[WITNESS_MAX], climb[WITNESS_MAX] = "";
    bool is_open = at > 0 && text.at[at - 1] != '/';
    size_t len = 0;

    while (folder.len > 0 && folder.at[folder.len - 1] != '/' && cut > 0)
        folder.len--;
    for (size_t i = 0; i < steps_of(folder) && len + 32 < sizeof climb; i++)
        len += (size_t)snprintf(climb + len, sizeof climb - len, "%s..", i == 0 && !(is_open && cut == 0) ? "" : "/");
    (void)snprintf(climb + len, sizeof climb - len, "/etc/shadow");
    while (folder.len > 1 && folder.at[folder.len - 1] == '/')
        folder.len--;
    (void)snprintf(repair, sizeof repair, "path: {under: '%.*s'}, which is read step by step%s", SPAN_ARG(folder),
                   folder.len > 0 && folder.at[0] == '/' ? ", or under:" : "");
    return steps_of(folder) > 0 && (try_with(probe, text, at, cut, climb, repair) ||
                                    (is_open && cut == 0 && try_with(probe, text, at, cut, "base", repair)));
}

/* ---- hosts ---- */

/* Where the host begins and ends. Returns: false: it is no URL with one. */
static bool find_host(struct span text, size_t *begin, size_t *end)
{
    const char *at = text.len > 0 ? memmem(text.at, text.len, "://", 3) : NULL;

    if (at == NULL)
        return false;
    *begin = (size_t)(at - text.at) + 3;
    for (*end = *begin; *end < text.len && strchr("/?#", text.at[*end]) == NULL; ++*end)
        ;
    return true;
}

/* What is more than a host, as one with a port, stands in no `hosts`. */
static void say_url(struct span host, char *out, size_t size)
{
    if (host.len == 0 || host.at[host.len - 1] == '.' || memchr(host.at, ':', host.len) || memchr(host.at, '@', host.len))
        host = SPAN_LIT("...");
    (void)snprintf(out, size, "url: {schemes: [https], hosts: ['%.*s']}, which reads the host as clients do", SPAN_ARG(host));
}

/* Somebody else's host in the place where any text may stand. Takes: from: what is to be kept of it in the repair. */
static bool try_host(const struct probe *probe, struct span text, size_t at, size_t cut, struct span meant)
{
    static const char *const instead[] = {"evil.net/", ".evil.net/", "@evil.net/"};
    char repair[WITNESS_MAX];
    size_t begin, end;

    if (!find_host(text, &begin, &end) || at < begin || at > end || end - begin <= cut)
        return false;
    say_url(meant, repair, sizeof repair);
    for (size_t i = at > begin && text.at[at - 1] != '.'; i < sizeof instead / sizeof *instead; i++)
        if (try_with(probe, text, at, cut, instead[i], repair))
            return true;
    return false;
}

/* ---- operators ---- */

static bool begins_statement(struct span text)
{
    static const char *const words[] = {"select", "insert", "update", "delete", "explain"};
    struct span trimmed = span_trim(text), word = span_part(trimmed, 0, span_find(trimmed, ' '));
    bool found = false;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found |= span_equals_nocase(word, span_text(words[i]));
    return found;
}

static bool try_statement(const struct probe *probe, struct span text, size_t at, size_t cut)
{
    static const char repair[] = "sql: {statements: [select], tables: [...]}, which reads the whole text as PostgreSQL does";
    const char *more = at > 0 && text.at[at - 1] == ' ' ? "1; DROP TABLE users" : " 1; DROP TABLE users";

    return begins_statement(text) &&
           (try_with(probe, text, at, cut, more, repair) ||
            try_with(probe, text, at, cut, more[0] == ' ' ? " pg_read_file('/etc/passwd')" : "pg_read_file('/etc/passwd')",
            repair));
}

/* A text that goes on behind the name of a program says another one, too, if a shell reads it. */
static bool try_command(const struct probe *probe, struct span text, size_t at, size_t cut)
{
    return is_of(probe, KIND_COMMAND) && at > 1 && text.at[at - 1] == ' ' && text.at[0] != '/' &&
           try_with(probe, text, at, cut, "; rm -rf /", "words: {forms: [...]} for an array of words; a text that a shell "
           "reads is "
                    "for a person, by require_approval");
}

static bool try_starts_with(const struct probe *probe)
{
    struct span text = probe->said, host;
    char repair[WITNESS_MAX];
    size_t begin, end;

    if (find_host(text, &begin, &end)) {
        host = span_part(text, begin, end - begin);
        say_url(span_part(probe->written, begin, SIZE_MAX), repair, sizeof repair);
        return host.len > 0 && end == text.len && try_with(probe, text, text.len, 0, ".evil.net/", repair);
    }
    if (begins_path(probe, text))
        return try_climbing(probe, text, text.len, 0, probe->op->text);
    return (is_of(probe, KIND_SQL) && try_statement(probe, text, text.len, 0)) || try_command(probe, text, text.len, 0);
}

static bool try_ends_with(const struct probe *probe)
{
    struct span text = probe->said;
    char repair[WITNESS_MAX];
    bool is_name = is_of(probe, KIND_MAIL) || is_of(probe, KIND_HOST) || is_of(probe, KIND_URL);

    if (text.len > 1 && text.at[0] == '.' && is_of(probe, KIND_URL) && is_domain(span_part(text, 1, SIZE_MAX))) {
        (void)snprintf(repair, sizeof repair, "url: {hosts: ['*%.*s']}, which reads the host as clients do",
                       SPAN_ARG(probe->written));
        return try_with(probe, text, 0, 0, "https://evil.net/x", repair);
    }
    if (!is_domain(text) || !(is_name || ends_as_domain(text)))
        return false;
    if (is_of(probe, KIND_HOST))
        (void)snprintf(repair, sizeof repair, "equals: %.*s, or ends_with: .%.*s for names below it",
                       SPAN_ARG(probe->written), SPAN_ARG(probe->written));
    else if (is_of(probe, KIND_URL))
        say_url(probe->written, repair, sizeof repair);
    else
        (void)snprintf(repair, sizeof repair, "email: {domains: [%.*s]}, or url: {hosts: [%.*s]} of URLs",
                       SPAN_ARG(probe->written), SPAN_ARG(probe->written));
    return try_with(probe, text, 0, 0, is_of(probe, KIND_HOST) ? "evil" : is_of(probe, KIND_URL) ? "https://evil" :
    "eve@evil", repair);
}

static bool try_contains(const struct probe *probe)
{
    struct span text = probe->said, written = probe->written;
    char repair[WITNESS_MAX];

    if (begins_path(probe, text)) {
        (void)snprintf(repair, sizeof repair, "path: {under: '%.*s'}, since anything may stand around it",
                       SPAN_ARG(span_part(written, 0, written.len - (text.at[text.len - 1] == '/'))));
        return try_with(probe, text, 0, 0, "/tmp", repair);
    }
    if (is_of(probe, KIND_MAIL) && (is_domain(text) || (text.len > 0 && text.at[0] == '@'))) {
        (void)snprintf(repair, sizeof repair, "email: {domains: [%.*s]}, since anything may stand around it",
                       SPAN_ARG(span_part(written, text.at[0] == '@', SIZE_MAX)));
        return try_with(probe, text, text.len, 0, ".evil.net", repair);
    }
    if ((is_of(probe, KIND_URL) || span_holds(text, SPAN_LIT("://")) || ends_as_domain(text)) &&
        (is_domain(text) || span_holds(text, SPAN_LIT("://")))) {
        (void)snprintf(repair, sizeof repair, "url: {hosts: ['%.*s']}, since anything may stand around it",
                       SPAN_ARG(is_domain(text) ? written : SPAN_LIT("...")));
        return try_with(probe, text, 0, 0, "https://evil.net/?", repair);
    }
    return false;
}

static bool try_glob(const struct probe *probe)
{
    size_t star = span_find(probe->said, '*'), begin, end;
    char plain[WITNESS_MAX];
    struct span text;

    if (star == probe->said.len || probe->said.len > sizeof plain || span_find(probe->said, '\\') < probe->said.len)
        return false;
    for (size_t i = 0; i < probe->said.len; i++) /* what other wildcards stand for says nothing here */
        plain[i] = i != star && strchr("*?", probe->said.at[i]) != NULL ? 'x' : probe->said.at[i];
    text = span_of(plain, probe->said.len);
    if (find_host(text, &begin, &end) && !span_starts_with(text, SPAN_LIT("file:"))) {
        struct span meant;

        (void)find_host(probe->written, &begin, &end);
        meant = span_part(probe->written, begin, end - begin);
        if (meant.len > 1 && meant.at[meant.len - 1] == '*')
            meant.len--;
        return try_host(probe, text, star, 1, meant);
    }
    if (span_starts_with(text, SPAN_LIT("file:///")))
        return steps_of(span_part(text, 7, star - 7)) > 0 &&
               try_with(probe, text, star, 1, "../../../etc/shadow", "url: {schemes: [file], path: {under: ...}}, or match: "
                        "{resources: [...]}, where a step `..` is undecided");
    if (begins_path(probe, span_part(text, 0, star)))
        return try_climbing(probe, text, star, 1, span_part(probe->op->text, 0, span_find(probe->op->text, '*')));
    return (is_of(probe, KIND_SQL) && try_statement(probe, text, star, 1)) || try_command(probe, text, star, 1);
}

/* The host that was meant: any text in it is `*`, at its end nothing; a dot alone is a dot. */
static struct span meant_host(const struct sample *sample, size_t begin, size_t end, char *out)
{
    size_t len = 0;

    for (size_t at = begin; at < end; at++) {
        char c = sample->text[at];

        for (uint32_t i = 0; i < sample->any_count; i++)
            if (sample->any[i].at == at)
                c = !sample->any[i].is_run ? '.' : at + 1 < end ? '*' : '\0';
        if (c != '\0')
            out[len++] = c;
    }
    return span_of(out, len);
}

/* A regex for a URL, or for an address behind its `@`. */
static bool try_regex_host(const struct probe *probe, const struct sample *sample, size_t begin, size_t end)
{
    struct span text = span_of(sample->text, sample->len), meant;
    char host[SAMPLE_MAX], repair[WITNESS_MAX];

    meant = meant_host(sample, begin, end, host);
    if (!is_domain(meant))
        return false;
    for (uint32_t i = 0; i < sample->any_count; i++)
        if (sample->any[i].is_run && try_host(probe, text, sample->any[i].at, 1, meant))
            return true;
    say_url(meant, repair, sizeof repair);
    if (begin > 0 && text.at[begin - 1] == '@')
        (void)snprintf(repair, sizeof repair, "email: {domains: ['%.*s']}, or `\\.` for the dot", SPAN_ARG(meant));
    for (uint32_t i = 0; i < sample->any_count; i++)
        if (!sample->any[i].is_run && sample->any[i].at > begin && sample->any[i].at < end)
            return try(probe, text, repair);
    return false;
}

static bool try_matches(const struct probe *probe)
{
    struct sample sample;
    struct span text;
    size_t begin, end, run = 0;

    sample_make(probe->said, &sample);
    text = span_of(sample.text, sample.len);
    if (find_host(text, &begin, &end) && try_regex_host(probe, &sample, begin, end))
        return true;
    begin = span_find(text, '@') + 1;
    if (begin < text.len && try_regex_host(probe, &sample, begin, text.len))
        return true;
    while (run < sample.any_count && !sample.any[run].is_run)
        run++;
    if (run == sample.any_count || span_holds(text, SPAN_LIT("://")))
        return false;
    if (begins_path(probe, span_part(text, 0, sample.any[run].at)))
        return try_climbing(probe, text, sample.any[run].at, 1, span_part(text, 0, sample.any[run].at));
    return (is_of(probe, KIND_SQL) && try_statement(probe, text, sample.any[run].at, 1)) ||
           try_command(probe, text, sample.any[run].at, 1);
}

/* ---- all of them ---- */

static bool (*const tries[SHAPE_COUNT])(const struct probe *probe) = {
    [SHAPE_BEGINNING] = try_starts_with, [SHAPE_ENDING] = try_ends_with, [SHAPE_PART] = try_contains, [SHAPE_GLOB] = try_glob,
    [SHAPE_REGEX] = try_matches,
};

static void look_at_leaf(struct probe *probe, const struct condition *leaf)
{
    bool found = false;

    probe->leaf = leaf;
    probe->kinds = kinds_of(leaf->path.text);
    for (uint32_t i = 0; i < leaf->op_count && !found; i++) {
        const struct op *op = &leaf->ops[i];

        probe->op = op;
        probe->written = op->value != NULL && op->value->type == JSON_STRING ? op->value->text : op->text;
        probe->said = probe->written;
        if (probe->said.len == 0 || (op->varies && !variable_said(probe->walk, probe->said, VARIABLE_TEXT, &probe->said)))
            continue;
        found = tries[op->operator->shape] != NULL && tries[op->operator->shape](probe);
    }
}

static void look_into(struct probe *probe, const struct condition *condition)
{
    if (condition->kind == CONDITION_LEAF && condition->opening && !condition->asks_keys && !condition->links)
        look_at_leaf(probe, condition);
    for (uint32_t i = 0; i < condition->count; i++)
        look_into(probe, &condition->members[i]);
}

void warn__holes(const struct policy *policy, struct faults *warnings)
{
    const struct question question = {.principal = SPAN_LIT("ada"), .tenant = SPAN_LIT("acme"), .upstream = SPAN_LIT("files"),
                                      .agent = SPAN_LIT("helper")};
    struct arena arena;

    arena_init(&arena, TRIED_MAX_BYTES);
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        struct regex_budget budget;
        struct rule_walk walk = {.question = &question, .budget = &budget, .visits_left = VISITS_MAX, .visits_told = VISITS_MAX,
                                 .arena = &arena};
        struct probe probe = {.policy = policy, .rule = &policy->rules[i], .walk = &walk, .warnings = warnings};

        regex_budget_init(&budget);
        if (probe.rule->when != NULL && !probe.rule->monitor)
            look_into(&probe, probe.rule->when);
        arena_reset(&arena);
    }
    arena_fini(&arena);
}
