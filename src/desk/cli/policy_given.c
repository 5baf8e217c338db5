/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy_given.h"

#include "args/print.h"
#include "json/json.h"
#include "fill/parameters.h"
#include "os/file.h"

#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096
#define SET_BYTES ((size_t)1 << 20)
#define WITH_LEVEL "a small file names one policy file: with: {file: git.yaml, set: {root: /data/repos}}"

/* One file, with what is put into it. */
struct giving {
    const struct asked *asked;
    struct policy_file *file;
    struct arena *arena;    /* of all files */
    struct buf *text;       /* of the file */
    struct yaml_tree *tree; /* of it; NULL: it is no YAML, which the compiler tells */
    struct yaml_tree *with; /* of the small file that names it; NULL: none does */
    struct buf set, as;     /* set: members of a JSON object; as: a name */
    struct faults faults;
};

static const struct yaml_node *root_of(const struct giving *g)
{
    return g->tree != NULL ? yaml_root(g->tree) : NULL;
}

/* ---- with ---- */

/* The path that is named, seen from the file that names it. Returns: false: it is too long. */
static bool path_beside(const char *with, struct span file, char out[PATH_BYTES])
{
    const char *slash = strrchr(with, '/');
    int folder = file.at[0] != '/' && slash != NULL ? (int)(slash + 1 - with) : 0;
    int len = snprintf(out, PATH_BYTES, "%.*s%.*s", folder, with, SPAN_ARG(file));

    return len > 0 && len < PATH_BYTES;
}

/* Reads the file that is named; messages name that one from here on. */
static int read_named(struct giving *g, const struct yaml_node *file)
{
    char path[PATH_BYTES];
    struct why why = {""};
    enum code code;

    if (!path_beside(yaml_file(g->with), file->text, path))
        return complain(STATUS_USAGE, "%s:%d: the path is too long", yaml_file(g->with), file->line);
    buf_clear(g->text);
    code = command_file(path, POLICY_FILE_MAX_BYTES, g->text, &why);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s:%d: %s", yaml_file(g->with), file->line, why.text[0] ? why.text : code_text(code));
    g->file->path.at = arena_dup(g->arena, path, strlen(path));
    if (g->file->path.at == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    g->file->path.len = strlen(path);
    g->file->text = buf_peek(g->text);
    if (yaml_read(g->file->text, path, &g->tree, &g->faults) == CODE_OK && yaml_member(root_of(g), "with") != NULL)
        faults_add(&g->faults, path, 1, 1, "a file that %s names is no policy, but names another one; " WITH_LEVEL,
                   yaml_file(g->with));
    return OPTIONS_GO;
}

/* Puts the file that is named in the place of the one that names it. */
static int follow(struct giving *g)
{
    static const char *const outer[] = {"with", "description", NULL}, *const inner[] = {"file", "set", "as", NULL};
    const struct yaml_node *with = yaml_member(root_of(g), "with"), *file = yaml_member(with, "file");

    if (with == NULL)
        return OPTIONS_GO;
    g->with = g->tree;
    g->tree = NULL;
    yaml_check_keys(g->with, yaml_root(g->with), outer, "a small file", &g->faults);
    if (with->type != YAML_MAP || file == NULL || file->type != YAML_STRING || file->text.len == 0)
        faults_add(&g->faults, yaml_file(g->with), with->line, with->column, "%s", WITH_LEVEL);
    else
        yaml_check_keys(g->with, with, inner, "`with`", &g->faults);
    return g->faults.count > 0 ? OPTIONS_GO : read_named(g, file);
}

bool policy_given_names(const char *file, struct span path)
{
    const struct yaml_node *named = NULL;
    struct yaml_tree *tree = NULL;
    struct faults unread;
    char beside[PATH_BYTES];
    struct buf text;
    bool is = false;

    faults_init(&unread);
    buf_init(&text, POLICY_FILE_MAX_BYTES);
    if (file_read(file, FILE_ANY, POLICY_FILE_MAX_BYTES, &text, NULL) == CODE_OK &&
        yaml_read(buf_peek(&text), file, &tree, &unread) == CODE_OK)
        named = yaml_member(yaml_member(yaml_root(tree), "with"), "file");
    if (named != NULL && named->type == YAML_STRING && named->text.len > 0)
        is = path_beside(file, named->text, beside) && span_is(path, beside);
    buf_fini(&text);
    yaml_tree_free(&tree);
    return is;
}

/* ---- values ---- */

static const struct yaml_node *with_of(const struct giving *g)
{
    return g->with != NULL ? yaml_member(yaml_root(g->with), "with") : NULL;
}

/* Whether a file says the value. */
static bool is_given(const struct giving *g, struct span name)
{
    return yaml_member_named(yaml_member(root_of(g), "set"), name) != NULL ||
           yaml_member_named(yaml_member(with_of(g), "set"), name) != NULL;
}

static void add_name(struct giving *g, struct span name)
{
    buf_add_text(&g->set, buf_len(&g->set) > 0 ? ", " : "");
    (void)json_write_string(&g->set, name);
    buf_add_text(&g->set, ": ");
}

/* Takes: node: from a file, whose place is told. */
static void add_node(struct giving *g, const char *path, const struct yaml_node *node)
{
    enum parameter_type type, of;
    const char *wrong;

    if (!parameters_declared(root_of(g), node->key, &type, &of)) {
        faults_add(&g->faults, path, node->key_line, node->key_column, "%.*s has no parameter `%.*s`; its `parameters:` name "
                   "those that it has", SPAN_ARG(g->file->path), SPAN_ARG(node->key));
        return;
    }
    wrong = parameter_wrong(type, of, node);
    if (wrong != NULL)
        faults_add(&g->faults, path, node->line, node->column, "the value of the parameter `%.*s` (%s) %s", SPAN_ARG(node->key),
                   parameter_type_text[type], wrong);
    add_name(g, node->key);
    if (buf_code(&g->set) == CODE_OK && yaml_to_json(node, &g->set) != CODE_OK)
        faults_add(&g->faults, path, node->line, node->column, "the value cannot be written as JSON; write another");
}

static void add_scalar(struct buf *out, enum parameter_type type, struct span text)
{
    if (type == PARAMETER_NUMBER)
        buf_add_span(out, text);
    else
        (void)json_write_string(out, text);
}

/* A value as it stands behind --set, as YAML. */
static void write_value(struct buf *out, enum parameter_type type, enum parameter_type of, struct span text)
{
    if (type != PARAMETER_LIST) {
        add_scalar(out, type, text);
        return;
    }
    buf_add_byte(out, '[');
    for (struct span rest = text; rest.at != NULL && rest.len > 0;) {
        struct span one = span_cut(rest, ',', &rest);

        add_scalar(out, of, one);
        buf_add_text(out, rest.len > 0 ? ", " : "");
    }
    buf_add_byte(out, ']');
}

static void add_text(struct giving *g, struct span name, struct span text)
{
    enum parameter_type type, of;
    struct yaml_tree *tree = NULL;
    struct faults unread;
    struct buf json;
    const char *wrong;

    (void)parameters_declared(root_of(g), name, &type, &of);
    buf_init(&json, SET_BYTES);
    faults_init(&unread);
    write_value(&json, type, of, text);
    wrong = buf_code(&json) == CODE_OK && yaml_read(buf_peek(&json), "--set", &tree, &unread) == CODE_OK
                ? parameter_wrong(type, of, yaml_root(tree))
                : "cannot be read; write plain text";
    if (wrong != NULL)
        faults_add(&g->faults, "--set", 0, 0, "the value of the parameter `%.*s` (%s) %s", SPAN_ARG(name),
                   parameter_type_text[type], wrong);
    else if (is_given(g, name))
        faults_add(&g->faults, "--set", 0, 0, "the parameter `%.*s` has a value in the file; change it there", SPAN_ARG(name));
    add_name(g, name);
    buf_add_span(&g->set, buf_peek(&json));
    buf_fini(&json);
    yaml_tree_free(&tree);
}

/* Where the name of `--set POLICY.NAME=VALUE` begins. */
static struct span name_of(struct span given, struct span *policy)
{
    size_t dot = given.len;

    while (dot > 0 && given.at[dot - 1] != '.')
        dot--;
    *policy = dot > 0 ? span_part(given, 0, dot - 1) : SPAN_NONE;
    return span_part(given, dot, SIZE_MAX);
}

static bool takes(const struct giving *g, struct span given)
{
    const struct yaml_node *own = yaml_member(root_of(g), "policy");
    enum parameter_type type, of;
    struct span policy, name = name_of(given, &policy);

    return g->tree != NULL && (policy.at == NULL || (own != NULL && span_equals(own->text, policy))) &&
           parameters_declared(root_of(g), name, &type, &of);
}

/* Each --set belongs to one file. */
static int share_out(struct giving *files, size_t count, const struct asked *asked)
{
    for (size_t i = 0; i < asked->sets.count; i++) {
        struct span value, policy, given = span_cut(span_text(asked->sets.value[i]), '=', &value);
        struct giving *taker = NULL;

        if (strchr(asked->sets.value[i], '=') == NULL)
            return complain(STATUS_USAGE, "--set \"%s\" has no value; write --set NAME=VALUE", asked->sets.value[i]);
        for (size_t f = 0; f < count; f++) {
            if (!takes(&files[f], given))
                continue;
            if (taker != NULL)
                return complain(STATUS_USAGE, "--set %.*s: %.*s and %.*s have this parameter; write --set POLICY.%.*s=VALUE",
                                SPAN_ARG(given), SPAN_ARG(taker->file->path), SPAN_ARG(files[f].file->path), SPAN_ARG(given));
            taker = &files[f];
        }
        if (taker == NULL)
            return complain(STATUS_USAGE, "--set %.*s: no file has this parameter; `parameters:` in a file names those that it "
                            "has", SPAN_ARG(given));
        add_text(taker, name_of(given, &policy), value);
    }
    return OPTIONS_GO;
}

static void take_with(struct giving *g)
{
    const struct yaml_node *set = yaml_member(with_of(g), "set"), *as = yaml_member(with_of(g), "as");

    if (set != NULL && set->type != YAML_MAP)
        faults_add(&g->faults, yaml_file(g->with), set->line, set->column, "`set` is a map of values; write {NAME: VALUE}");
    for (const struct yaml_node *value = set != NULL ? set->child : NULL; value != NULL; value = value->next)
        add_node(g, yaml_file(g->with), value);
    if (as != NULL && as->type != YAML_STRING)
        faults_add(&g->faults, yaml_file(g->with), as->line, as->column, "`as` is the copy's name; write one");
    else if (as != NULL)
        buf_add_span(&g->as, as->text);
}

/* What is required and was not set is tried with its example. */
static void take_examples(struct giving *g)
{
    const struct yaml_node *map = yaml_member(root_of(g), "parameters");

    if (yaml_member(root_of(g), "set") != NULL)
        return; /* the file says its values itself */
    for (const struct yaml_node *one = map != NULL && map->type == YAML_MAP ? map->child : NULL; one != NULL; one = one->next) {
        const struct yaml_node *example = yaml_member(one, "example"), *required = yaml_member(one, "required");
        bool is_set = is_given(g, one->key);

        for (size_t i = 0; i < g->asked->sets.count && !is_set; i++) {
            struct span rest, policy, given = span_cut(span_text(g->asked->sets.value[i]), '=', &rest);

            is_set = takes(g, given) && span_equals(name_of(given, &policy), one->key);
        }
        if (example == NULL || required == NULL || !required->truth || is_set)
            continue;
        add_name(g, one->key);
        (void)yaml_to_json(example, &g->set);
    }
}

/* ---- the text ---- */

/* Where the root's first byte stands. */
static size_t offset_of(struct span text, const struct yaml_node *root)
{
    size_t at = 0;

    for (int line = 1; line < root->line && at < text.len; at++)
        line += text.at[at] == '\n';
    return at + (size_t)root->column - 1;
}

static void add_lines(struct buf *out, const struct giving *g, int indent, const char *end)
{
    if (buf_len(&g->set) > 0)
        buf_addf(out, "%*sset: {%.*s}%s", indent, "", SPAN_ARG(buf_peek(&g->set)), end);
    if (buf_len(&g->as) > 0) {
        buf_addf(out, "%*sas: ", indent, "");
        (void)json_write_string(out, buf_peek(&g->as));
        buf_add_text(out, end);
    }
}

/* Where the document ends: at a line `...`, if there is one. */
static size_t end_of(struct span text)
{
    const char *end = text.len > 0 ? memmem(text.at, text.len, "\n...", 4) : NULL;
    size_t left;

    for (; end != NULL; end = memmem(end + 1, left - 1, "\n...", 4)) {
        left = (size_t)(text.at + text.len - end);
        if (left == 4 || memchr(" \t\r\n", end[4], 4) != NULL) /* else it goes on a text between quotes */
            return (size_t)(end + 1 - text.at);
    }
    return text.len;
}

/* Writes the values behind what the author wrote, so that its lines stay where they are. */
static enum code write_text(struct giving *g)
{
    struct span text = buf_peek(g->text);
    size_t begin = offset_of(text, root_of(g)), last = end_of(text);
    bool is_flow = begin < text.len && text.at[begin] == '{';
    struct buf out;
    enum code code;

    buf_init(&out, SIZE_MAX / 2);
    buf_add_span(&out, span_part(text, 0, is_flow ? begin + 1 : last));
    if (!is_flow && last > 0 && text.at[last - 1] != '\n')
        buf_add_byte(&out, '\n');
    add_lines(&out, g, is_flow ? 0 : root_of(g)->column - 1, is_flow ? ", " : "\n");
    buf_add_span(&out, span_part(text, is_flow ? begin + 1 : last, SIZE_MAX));
    code = buf_code(&g->set) != CODE_OK ? buf_code(&g->set) : buf_code(&out);
    buf_clear(g->text);
    if (code == CODE_OK)
        code = buf_add_span(g->text, buf_peek(&out));
    g->file->text = buf_peek(g->text);
    buf_fini(&out);
    return code;
}

static int check_own(const struct giving *g)
{
    const struct yaml_node *set = yaml_member(root_of(g), "set"), *as = yaml_member(root_of(g), "as");

    if ((set != NULL && buf_len(&g->set) > 0) || (as != NULL && buf_len(&g->as) > 0))
        return complain(STATUS_USAGE, "%.*s:%d: the file has values of its own; change them there", SPAN_ARG(g->file->path),
                        (set != NULL ? set : as)->key_line);
    return OPTIONS_GO;
}

static int finish(struct giving *g)
{
    int status;

    if (g->faults.count > 0) {
        print_faults(&g->faults, "");
        return STATUS_USAGE;
    }
    if (g->tree == NULL || root_of(g)->type != YAML_MAP || buf_len(&g->set) + buf_len(&g->as) == 0)
        return OPTIONS_GO;
    status = check_own(g);
    if (status == OPTIONS_GO && write_text(g) != CODE_OK)
        status = complain(STATUS_CANNOT, "not enough memory");
    return status;
}

static int begin(struct giving *g, const struct asked *asked, struct policy_files *files, size_t at)
{
    struct policy_file *file = &files->files[at];
    struct faults unread;
    char path[PATH_BYTES];

    *g = (struct giving){.asked = asked, .file = file, .arena = &files->arena, .text = &files->texts[at]};
    buf_init(&g->set, SET_BYTES);
    buf_init(&g->as, SET_BYTES);
    faults_init(&g->faults);
    faults_init(&unread); /* the compiler tells them */
    (void)snprintf(path, sizeof path, "%.*s", SPAN_ARG(file->path));
    if (yaml_read(file->text, path, &g->tree, &unread) != CODE_OK)
        return OPTIONS_GO;
    return follow(g);
}

static void end(struct giving *g)
{
    yaml_tree_free(&g->tree);
    yaml_tree_free(&g->with);
    buf_fini(&g->set);
    buf_fini(&g->as);
}

int policy_given_put(struct policy_files *files, const struct asked *asked, bool tries)
{
    struct giving *given = mem_array(files->count + 1, sizeof *given);
    int status = OPTIONS_GO;
    size_t begun = 0;

    if (given == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    if (asked->as != NULL && files->count != 1)
        status = complain(STATUS_USAGE, "--as names the copy of one file; name one, or write with: {file: FILE, as: NAME}");
    for (; begun < files->count && status == OPTIONS_GO; begun++)
        status = begin(&given[begun], asked, files, begun);
    if (status == OPTIONS_GO)
        status = share_out(given, begun, asked);
    for (size_t i = 0; i < begun && status == OPTIONS_GO; i++) {
        take_with(&given[i]);
        if (tries)
            take_examples(&given[i]);
        if (asked->as != NULL)
            buf_add_text(&given[i].as, asked->as);
        status = finish(&given[i]);
    }
    for (size_t i = 0; i < begun; i++)
        end(&given[i]);
    mem_free(given);
    return status;
}
