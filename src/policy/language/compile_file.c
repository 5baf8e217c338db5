/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"
#include "base/ascii.h"
#include "language/keys.h"
#include "fill/parameters.h"
#include "words/file_place.h"

#define NAME_BYTES 64

const char *const policy_file_keys[] = {"policy", "description", "mode", "shared", "parameters", "patterns", "lists",
                                        "labels", "detectors", "paths", "kinds", "allow", "ask", "deny", "rules",
                                        "answers", "redact", "tests", "set", "as", NULL};

static bool is_name(struct span text)
{
    return text.len > 0 && text.len <= NAME_BYTES && ascii_is_all(text, "a-zA-Z0-9_.-");
}

/* Returns: the node of the file's name, or NULL with a fault. */
static const struct yaml_node *name_node(const struct yaml_tree *tree, const char *path, struct faults *faults)
{
    const struct yaml_node *root = yaml_root(tree), *name = parameters_name(root);

    if (root->type != YAML_MAP)
        faults_add(faults, path, root->line, root->column, "a policy file is a map; begin it with `policy: NAME`");
    else if (name == NULL)
        faults_add(faults, path, root->line, root->column, "the file has no name; begin it with `policy: NAME`");
    else if (name->type != YAML_STRING || !is_name(name->text))
        faults_add(faults, path, name->line, name->column,
                   "`%.*s` is a name; write 1 to %d letters, digits, `_`, `.` or `-`", SPAN_ARG(name->key), NAME_BYTES);
    else
        return name;
    return NULL;
}

enum code policy_name_of(struct span text, const char *path, struct buf *name, struct faults *faults)
{
    const struct yaml_node *node;
    struct yaml_tree *tree;
    enum code code = yaml_read(text, path, &tree, faults);

    if (code != CODE_OK)
        return code;
    node = name_node(tree, path, faults);
    code = node ? buf_add_span(name, node->text) : CODE_INVALID;
    yaml_tree_free(&tree);
    return code;
}

bool policy_shares(struct span text)
{
    struct faults faults;
    struct yaml_tree *tree;
    bool shares;

    faults_init(&faults);
    if (yaml_read(text, "", &tree, &faults) != CODE_OK)
        return false;
    shares = compiler_shares(yaml_root(tree));
    yaml_tree_free(&tree);
    return shares;
}

/* Regexes are compiled where they are defined, so that a fault in an unused one is told, too. What they cost is
 * tried where they are used, since `slow_regex` stands at the rule. */
static void compile_patterns(struct compiler *c)
{
    const struct yaml_node *map = c->patterns.map;
    bool pumps = c->pumps;

    c->pumps = false;
    for (const struct yaml_node *member = map ? map->child : NULL; member != NULL; member = member->next)
        if (compiler_is_string(c, member))
            (void)compiler_pattern(c, member, member->text, false);
    c->pumps = pumps;
}

static void check_lists(struct compiler *c)
{
    for (const struct yaml_node *member = c->lists.map ? c->lists.map->child : NULL; member != NULL; member = member->next)
        if (compiler_is_list(c, member))
            for (const struct yaml_node *one = member->child; one != NULL; one = one->next)
                (void)compiler_varies(c, one); /* for its warnings */
}

void compile__name(struct compiler *c)
{
    const struct yaml_node *name = name_node(c->tree, c->source->path_text, c->faults);

    c->source->name = compiler_copy(c, name ? name->text : SPAN_NONE);
}

/* A name that two files share would have two meanings, which is a fault. */
static void check_clashes(struct compiler *c, const struct part *part)
{
    const struct yaml_node *root = yaml_root(c->tree);

    for (const struct yaml_node *member = part->map ? part->map->child : NULL; member != NULL; member = member->next)
        for (uint32_t i = 0; i < c->shared_count; i++) {
            const struct shared_file *shared = &c->shared[i];
            const struct yaml_node *other = shared->root;

            if (other == root || compiler_shared(other, part->key) == NULL)
                continue;
            for (other = compiler_shared(other, part->key)->child; other != NULL; other = other->next)
                if (span_equals(other->key, member->key))
                    FAULT_KEY(c, member, "the %s `%.*s` is also shared by %s:%d; give one of them another name", part->word,
                              SPAN_ARG(member->key), shared->path, other->key_line);
        }
}

static struct part compile_part(struct compiler *c, const char *word, const char *key)
{
    const struct yaml_node *map = yaml_member(yaml_root(c->tree), key);
    struct part part = {.word = word, .key = key, .map = compiler_is_map(c, map) ? map : NULL};

    part.used = compiler_alloc(c, part.map ? part.map->count : 0, sizeof *part.used);
    check_clashes(c, &part);
    return part;
}

/* The first member of a list; NULL: there is none. */
static const struct yaml_node *first_of(struct compiler *c, const char *key)
{
    const struct yaml_node *list = yaml_member(yaml_root(c->tree), key);

    return compiler_is_list(c, list) ? list->child : NULL;
}

void compile__count_parts(const struct yaml_tree *tree, struct policy *policy)
{
    const struct yaml_node *root = yaml_root(tree);
    const struct { const char *key; uint32_t *count; } parts[] = {
        {"rules", &policy->rule_count}, {"answers", &policy->answer_count}, {"redact", &policy->redaction_count},
        {"tests", &policy->case_count},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct yaml_node *list = yaml_member(root, parts[i].key);

        *parts[i].count += list != NULL && list->type == YAML_LIST ? list->count : 0;
    }
}

void compile__file(struct compiler *c, bool *lists_used)
{
    const struct yaml_node *root = yaml_root(c->tree);
    const struct yaml_node *rules, *answers, *redact, *tests, *shared = yaml_member(root, "shared");

    if (root->type != YAML_MAP)
        return;
    (void)compiler_is_map_of(c, root, policy_file_keys, "a policy file");
    c->patterns = compile_part(c, "pattern", "patterns");
    c->lists = compile_part(c, "list", "lists");
    c->lists.used = lists_used;
    c->labels = compile_part(c, "label", "labels");
    c->detectors = compile_part(c, "detector", "detectors");
    c->paths = compile_part(c, "path", "paths");
    if (c->no_memory)
        return;
    c->shares = shared != NULL && shared->truth;
    if (shared != NULL && shared->type != YAML_BOOL)
        FAULT(c, shared, "`shared` is true where all files of the set may name what this one defines%s",
              yaml_bool_words(shared));
    c->source->allow_line = yaml_member(root, "allow") != NULL ? yaml_member(root, "allow")->key_line : 0;
    compile__mode(c, root, &c->source->monitor);
    (void)compiler_is_string(c, yaml_member(root, "description"));
    compile_patterns(c);
    check_lists(c);
    compiler_file_paths(c);
    compiler_kinds(c);
    rules = first_of(c, "rules");
    answers = first_of(c, "answers");
    redact = first_of(c, "redact");
    tests = c->author != NULL ? first_of(c, "tests") : NULL;
    for (; rules != NULL; rules = rules->next)
        compile__rule(c, rules, &c->policy->rules[c->rule_count++]);
    for (; answers != NULL; answers = answers->next)
        compile__answer(c, answers, &c->policy->answers[c->answer_count++]);
    for (; redact != NULL; redact = redact->next)
        compile__redaction(c, redact, &c->policy->redactions[c->redaction_count++]);
    for (; tests != NULL; tests = tests->next)
        c->author->test(c, tests, &c->policy->cases[c->case_count++]);
    if (c->warnings != NULL)
        c->author->warn_file(c);
}
