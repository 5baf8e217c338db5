/* SPDX-License-Identifier: Apache-2.0 */
/* What a file says of its parameters, and what values they have. Where these stand is fill.c's. */
#include "fill/parameters.h"

#include "base/ascii.h"
#include "base/glob.h"
#include "policy/variable.h"
#include "texts/reading.h"
#include "unicode/unicode.h"

#define NAME_BYTES 40
#define TEXT_BYTES 1000
#define ROUTE_BYTES 64
#define KNOWN_MAX 256

const char *const parameter_type_text[] = {
    [PARAMETER_TEXT] = "text", [PARAMETER_FOLDER] = "folder", [PARAMETER_HOST] = "host", [PARAMETER_UPSTREAM] = "upstream",
    [PARAMETER_TOOL] = "tool", [PARAMETER_NUMBER] = "number", [PARAMETER_LIST] = "list", NULL,
};

/* ---- values ---- */

static const char *wrong_text(struct span text)
{
    struct span rest = text;
    uint32_t point;
    size_t len;

    if (text.len == 0)
        return "is empty; write a value";
    if (text.len > TEXT_BYTES)
        return "holds more than 1000 bytes; write a shorter value";
    if (memchr(text.at, '{', text.len) != NULL || memchr(text.at, '}', text.len) != NULL)
        return "holds braces, and what is put in is not read again; write the value itself";
    for (; rest.len > 0; rest = span_part(rest, len, SIZE_MAX)) {
        len = unicode_next(rest, &point);
        if (len == 0 || unicode_cells(point) < 0)
            return "holds controls or characters that nobody sees; write plain text";
    }
    return unicode_is_deceptive(text) ? "holds controls or characters that nobody sees; write plain text" : NULL;
}

static const char *wrong_folder(struct span text)
{
    const unsigned doubts = READING_DOT | READING_CLIMBS | READING_EMPTY | READING_LOOSE | READING_ESCAPE | READING_ODD;

    if (text.at[0] != '/' || text.len == 1)
        return "is no folder; write an absolute path other than /, as in /srv/data";
    if (span_ends_with(text, SPAN_LIT("/")))
        return "ends in `/`; write the folder without it, since what stands below brings its own";
    return (reading_of_steps(text) & doubts) != 0
               ? "holds `.`, `..`, `//`, `%`, a backslash or what else programs read in several ways; write the plain path"
               : NULL;
}

static const char *wrong_host(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] >= 'A' && text.at[i] <= 'Z')
            return "has capital letters; write the host in small ones";
    return reading_is_name(text, "-_") ? NULL : "is no host; write a name such as example.com, without scheme, port and `*`";
}

/* As a route may be called. */
static const char *wrong_upstream(struct span text)
{
    if (!ascii_is_all(text, "a-zA-Z0-9_.-"))
        return "is no route's name; write letters, digits, `_`, `.` and `-`";
    return text.len > ROUTE_BYTES ? "is longer than a route's name; write up to 64 characters" : NULL;
}

static const char *wrong_scalar(enum parameter_type type, const struct yaml_node *value)
{
    const char *wrong;

    if (type == PARAMETER_NUMBER)
        return value->type == YAML_INT || value->type == YAML_FLOAT ? NULL : "is no number; write one, without quotes";
    if (value->type != YAML_STRING)
        return "is no text; write one, in quotes where it looks like something else";
    wrong = wrong_text(value->text);
    if (wrong != NULL)
        return wrong;
    switch (type) {
    case PARAMETER_FOLDER: return wrong_folder(value->text);
    case PARAMETER_HOST: return wrong_host(value->text);
    case PARAMETER_UPSTREAM: return wrong_upstream(value->text);
    case PARAMETER_TOOL:
        return memchr(value->text.at, ' ', value->text.len) != NULL ? "holds a blank; write a tool's name" : NULL;
    case PARAMETER_TEXT:
    case PARAMETER_NUMBER:
    case PARAMETER_LIST: break;
    }
    return NULL;
}

const char *parameter_wrong(enum parameter_type type, enum parameter_type of, const struct yaml_node *value)
{
    const char *wrong = NULL;

    if (type != PARAMETER_LIST)
        return wrong_scalar(type, value);
    if (value->type != YAML_LIST)
        return "is no list; write one, as in [a, b]";
    if (value->count == 0)
        return "is an empty list; write at least one entry";
    for (const struct yaml_node *one = value->child; one != NULL && wrong == NULL; one = one->next)
        wrong = wrong_scalar(of, one);
    return wrong;
}

/* ---- what the file says ---- */

static bool is_name(struct span name)
{
    return name.len > 0 && name.len <= NAME_BYTES && ascii_is_of(name.at[0], "a-z") && ascii_is_all(name, "a-z0-9_");
}

static enum parameter_type read_type(struct compiler *c, const struct yaml_node *node)
{
    int word = compiler_word(c, node, parameter_type_text);

    return word >= 0 ? (enum parameter_type)word : PARAMETER_TEXT;
}

/* The value, where it can be one. */
static const struct yaml_node *checked(struct compiler *c, const struct parameter *parameter, const struct yaml_node *value,
                                       const char *what)
{
    const char *wrong = value != NULL ? parameter_wrong(parameter->type, parameter->of, value) : NULL;

    if (wrong != NULL)
        FAULT(c, value, "%s of the parameter `%.*s` (%s) %s", what, SPAN_ARG(parameter->name),
              parameter_type_text[parameter->type], wrong);
    return wrong == NULL ? value : NULL;
}

static void read_one(struct compiler *c, const struct yaml_node *node, struct parameter *parameter)
{
    static const char *const known[] = {"is", "of", "default", "required", "example", "means", NULL};
    const struct yaml_node *is = yaml_member(node, "is"), *of = yaml_member(node, "of"), *usual = yaml_member(node, "default");
    const struct yaml_node *required = yaml_member(node, "required"), *example = yaml_member(node, "example");

    *parameter = (struct parameter){.name = node->key, .node = node};
    if (!is_name(node->key))
        FAULT_KEY(c, node, "`%.*s` is no name of a parameter; write up to %d small letters, digits and `_`",
                  SPAN_ARG(node->key), NAME_BYTES);
    else if (variable_is_name(node->key))
        FAULT_KEY(c, node, "`%.*s` is a variable of each call; give the parameter another name", SPAN_ARG(node->key));
    if (!compiler_is_map_of(c, node, known, "a parameter"))
        return;
    if (is == NULL)
        FAULT(c, node, "a parameter says what it is; write {is: text, default: work}, or folder, host, upstream, tool, number "
              "or list");
    else
        parameter->type = read_type(c, is);
    if ((of != NULL) != (parameter->type == PARAMETER_LIST))
        FAULT(c, of != NULL ? of : node, "`of` says what the entries of a list are; write {is: list, of: host}");
    else if (of != NULL)
        parameter->of = read_type(c, of);
    if (parameter->of == PARAMETER_LIST)
        FAULT(c, of, "a list of lists is none of parameters; write {is: list, of: text}");
    if (required != NULL && required->type != YAML_BOOL)
        FAULT(c, required, "`required` is true or false%s", yaml_bool_words(required));
    parameter->is_required = required != NULL && required->truth;
    if (parameter->is_required == (usual != NULL))
        FAULT(c, node, "a parameter has a `default`, or it is `required: true`; write one of the two");
    (void)checked(c, parameter, example, "the example");
    (void)compiler_is_string(c, yaml_member(node, "means"));
    parameter->value = checked(c, parameter, usual, "the default");
}

static bool has(const struct open_file *file, struct span name)
{
    for (uint32_t i = 0; i < file->count; i++)
        if (span_equals(file->parameters[i].name, name))
            return true;
    return false;
}

static void check_known(struct compiler *c, const struct open_file *file, const struct yaml_node *set)
{
    const char *names[KNOWN_MAX + 1] = {NULL};

    for (uint32_t i = 0; i < file->count && i < KNOWN_MAX; i++)
        names[i] = file->parameters[i].name.at; /* which ends in a NUL */
    for (const struct yaml_node *member = set->child; member != NULL; member = member->next) {
        const char *nearest = why_nearest(member->key.at, member->key.len, names);
        char all[300];

        if (has(file, member->key))
            continue;
        why_list(names, "and", all, sizeof all);
        if (nearest != NULL)
            FAULT_KEY(c, member, "the file has no parameter `%.*s`; did you mean `%s`?", SPAN_ARG(member->key), nearest);
        else
            FAULT_KEY(c, member, "the file has no parameter `%.*s`; %s%s", SPAN_ARG(member->key),
                      file->count > 0 ? "it has " : "it has none", all);
    }
}

static void take_values(struct compiler *c, struct open_file *file, const struct yaml_node *set)
{
    for (uint32_t i = 0; i < file->count; i++) {
        struct parameter *parameter = &file->parameters[i];
        const struct yaml_node *value = yaml_member_named(set, parameter->name);

        parameter->is_set = value != NULL;
        if (value != NULL)
            parameter->value = checked(c, parameter, value, "the value");
        else if (parameter->is_required)
            FAULT_KEY(c, parameter->node, "the parameter `%.*s` has no value; give one where the file is loaded: --set "
                      "%.*s=VALUE, or `set: {%.*s: VALUE}`", SPAN_ARG(parameter->name), SPAN_ARG(parameter->name),
                      SPAN_ARG(parameter->name));
    }
}

static void read_all(struct compiler *c, struct open_file *file)
{
    const struct yaml_node *map = yaml_member(file->written, "parameters"), *set = yaml_member(file->written, "set");
    const struct yaml_node *as = yaml_member(file->written, "as"), *shared = yaml_member(file->written, "shared");

    if (compiler_is_map(c, map))
        file->parameters = arena_zalloc(yaml_arena(file->tree), (map->count + 1) * sizeof *file->parameters);
    c->no_memory |= map != NULL && map->type == YAML_MAP && file->parameters == NULL;
    for (const struct yaml_node *node = file->parameters != NULL ? map->child : NULL; node != NULL; node = node->next)
        read_one(c, node, &file->parameters[file->count++]);
    if (compiler_is_map(c, set))
        check_known(c, file, set);
    take_values(c, file, set);
    if (compiler_is_string(c, as) && shared != NULL && shared->truth)
        FAULT_KEY(c, as, "a file that is `shared` has no copies, since what it shares would stand there twice; leave `as` out");
}

static enum parameter_type type_of(const struct yaml_node *word)
{
    for (int i = 0; word != NULL && parameter_type_text[i] != NULL; i++)
        if (span_is(word->text, parameter_type_text[i]))
            return (enum parameter_type)i;
    return PARAMETER_TEXT;
}

bool parameters_declared(const struct yaml_node *root, struct span name, enum parameter_type *type, enum parameter_type *of)
{
    const struct yaml_node *node = yaml_member_named(yaml_member(root, "parameters"), name);

    *type = type_of(yaml_member(node, "is"));
    *of = type_of(yaml_member(node, "of"));
    return node != NULL;
}

/* ---- in the snapshot ---- */

static void keep_value(struct compiler *c, const struct parameter *from, struct policy_parameter *to)
{
    const struct yaml_node *value = from->value;
    struct span *texts = compiler_alloc(c, value->type == YAML_LIST ? value->count : 1, sizeof *texts);

    *to = (struct policy_parameter){.name = compiler_copy(c, from->name), .json = compiler_written(c, value),
                                    .type = from->type, .of = from->of, .texts = texts, .is_set = from->is_set,
                                    .line = value->line, .column = value->column};
    YAML_EACH(one, value)
        if (texts != NULL && one->type == YAML_STRING)
            texts[to->text_count++] = compiler_copy(c, one->text);
}

static void keep(struct compiler *c, const struct open_file *file)
{
    struct policy_parameter *kept = file->count > 0 ? compiler_alloc(c, file->count, sizeof *kept) : NULL;
    const struct yaml_node *base = yaml_member(file->written, "policy");

    file->source->parameters = kept;
    if (base != NULL && base->type == YAML_STRING)
        file->source->base = compiler_copy(c, base->text);
    for (uint32_t i = 0; kept != NULL && i < file->count; i++)
        if (file->parameters[i].value != NULL)
            keep_value(c, &file->parameters[i], &kept[file->source->parameter_count++]);
}

static void warn_unused(struct compiler *c, const struct open_file *file)
{
    for (uint32_t i = 0; c->warnings != NULL && i < file->count; i++) {
        const struct parameter *parameter = &file->parameters[i];

        if (!parameter->is_used)
            WARN_KEY(c, parameter->node,
                     "the parameter `%.*s` stands nowhere; write '{%.*s}' where its value goes, or leave it out",
                     SPAN_ARG(parameter->name), SPAN_ARG(parameter->name));
    }
}

static bool at(struct compiler *c, const struct open_file *file)
{
    c->source = file->source;
    c->tree = file->tree;
    return file->tree != NULL && file->written->type == YAML_MAP;
}

void parameters_put(struct compiler *c, struct open_file *files, size_t count, bool keeps_lists)
{
    for (size_t i = 0; i < count; i++) {
        if (files[i].tree == NULL)
            continue;
        files[i].written = yaml_root(files[i].tree);
        if (at(c, &files[i]))
            read_all(c, &files[i]);
    }
    for (size_t i = 0; i < count && !c->no_memory; i++)
        if (at(c, &files[i]))
            parameters__fill(c, files, count, &files[i], keeps_lists);
    for (size_t i = 0; i < count && !c->no_memory; i++)
        if (at(c, &files[i]))
            parameters__expand(c, &files[i]);
    for (size_t i = 0; i < count && c->policy != NULL && !c->no_memory; i++)
        if (at(c, &files[i])) {
            keep(c, &files[i]);
            warn_unused(c, &files[i]);
        }
}

enum code parameters_trees(const struct policy *policy, bool keeps_lists, struct yaml_tree **trees)
{
    struct open_file *files = mem_array(policy->source_count + 1, sizeof *files);
    struct faults faults; /* the texts compiled, so that they read */
    struct compiler c = {.faults = &faults};
    enum code code = files != NULL ? CODE_OK : CODE_NOMEM;

    faults_init(&faults);
    for (uint32_t i = 0; i < policy->source_count && code == CODE_OK; i++) {
        code = yaml_read(policy->sources[i].text, policy->sources[i].path_text, &trees[i], &faults);
        files[i] = (struct open_file){.tree = trees[i], .source = &policy->sources[i]};
    }
    if (code == CODE_OK)
        parameters_put(&c, files, policy->source_count, keeps_lists);
    mem_free(files);
    return c.no_memory ? CODE_NOMEM : code;
}

const struct yaml_node *parameters_name(const struct yaml_node *root)
{
    const struct yaml_node *as = yaml_member(root, "as");

    return as != NULL ? as : yaml_member(root, "policy");
}

/* ---- ids of a copy ---- */

static struct span front_of(struct span id)
{
    return span_part(id, 0, span_find(id, '.'));
}

/* Whether ids of the file begin so. */
static bool defines(const struct yaml_node *root, struct span front)
{
    static const char *const keys[] = {"rules", "answers"};
    const struct yaml_node *name = yaml_member(root, "policy");

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct yaml_node *list = yaml_member(root, keys[i]);

        for (const struct yaml_node *rule = list != NULL ? list->child : NULL; rule != NULL; rule = rule->next) {
            const struct yaml_node *id = yaml_member(rule, "id");

            if (id != NULL && span_equals(front_of(id->text), front))
                return true;
        }
    }
    return name != NULL && span_equals(name->text, front);
}

struct span parameters__id(struct compiler *c, const struct open_file *file, const struct yaml_node *at, struct span id)
{
    const struct yaml_node *as = yaml_member(file->written, "as");
    struct span front = front_of(id), rest = span_part(id, front.len, SIZE_MAX);
    char *made;

    if (as == NULL || as->type != YAML_STRING || !defines(file->written, front))
        return id;
    if (rest.len == 0) {
        FAULT(c, at, "the id `%.*s` has no dot, so that a copy of the file could not call it otherwise; write %.*s.%.*s",
              SPAN_ARG(id), SPAN_ARG(as->text), SPAN_ARG(id));
        return id;
    }
    made = arena_alloc(yaml_arena(file->tree), as->text.len + rest.len);
    c->no_memory |= made == NULL;
    if (made == NULL)
        return id;
    memcpy(made, as->text.at, as->text.len);
    memcpy(made + as->text.len, rest.at, rest.len);
    return span_of(made, as->text.len + rest.len);
}

/* ---- two copies ---- */

static bool may_be_one(const struct match_name *a, const struct match_name *b)
{
    if (a->kind == NAME_LITERAL && b->kind == NAME_LITERAL)
        return span_equals(a->text, b->text);
    if (a->kind == NAME_LITERAL && b->kind == NAME_GLOB)
        return glob_matches(b->text, a->text);
    if (a->kind == NAME_GLOB && b->kind == NAME_LITERAL)
        return glob_matches(a->text, b->text);
    return true;
}

static bool may_meet(const struct match *a, const struct match *b)
{
    for (enum dimension d = DIM_TENANT; d < DIM_COUNT; d++) {
        bool meets = !a->by[d].given || !b->by[d].given || d >= DIM_HELD || d == DIM_LABEL;

        for (uint32_t i = 0; i < a->by[d].count && !meets; i++)
            for (uint32_t j = 0; j < b->by[d].count && !meets; j++)
                meets = may_be_one(&a->by[d].name[i], &b->by[d].name[j]);
        if (!meets)
            return false;
    }
    return true;
}

static bool are_copies(const struct policy_source *a, const struct policy_source *b)
{
    return a < b && a->base.len > 0 && span_equals(a->base, b->base) && !span_equals(a->name, b->name);
}

/* Most versions have none, and many rules. */
static bool has_copies(const struct policy *policy)
{
    for (uint32_t i = 0; i < policy->source_count; i++)
        if (!span_equals(policy->sources[i].name, policy->sources[i].base))
            return true;
    return false;
}

void parameters_check_copies(struct compiler *c)
{
    const struct policy *policy = c->policy;

    if (!has_copies(policy))
        return;
    for (uint32_t i = 0; i < policy->rule_count; i++)
        for (uint32_t j = 0; j < policy->rule_count; j++) {
            const struct rule *a = &policy->rules[i], *b = &policy->rules[j];

            if (!are_copies(a->source, b->source) || a->effect == EFFECT_PERMIT || b->effect == EFFECT_PERMIT ||
                !may_meet(&a->match, &b->match))
                continue;
            faults_add(c->faults, b->source->path_text, b->line, b->column, "%.*s and %.*s are copies of %.*s, and `%.*s` and "
                       "`%.*s` can meet one call, which each would judge by its own values; set parameters so that their "
                       "`match` differ, as by upstream", SPAN_ARG(a->source->name), SPAN_ARG(b->source->name),
                       SPAN_ARG(a->source->base), SPAN_ARG(a->id), SPAN_ARG(b->id));
            return; /* others would say the same of the same two */
        }
}
