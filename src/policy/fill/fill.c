/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the values of parameters, the entries of lists and the name of a copy into a file's tree. The tree is made anew, and
 * what was put into it is not looked at again: a value cannot name a parameter, a list or a variable. */
#include "fill/parameters.h"
#include "base/ascii.h"
#include "fill/spot.h"

#include "policy/variable.h"

#include <ctype.h>

#define LISTS_DEPTH 16
#define MADE_MAX 1000000
#define TEXT_MAX_BYTES ((size_t)1 << 20)

struct filling {
    struct compiler *c;
    const struct open_file *files;
    size_t count;
    struct open_file *file;       /* whose tree is made */
    const struct open_file *from; /* whose parameters and lists are meant: another one's within a list that it shares */
    const struct yaml_node *use;  /* where the outermost list is named, which is the place of all that it brings; or NULL */
    const struct yaml_node *open[LISTS_DEPTH]; /* definitions that are within each other */
    size_t open_count;
    bool keeps_lists;
    uint32_t made;
};

#define FAULT_HERE(f, node, ...) FAULT((f)->c, (f)->use != NULL ? (f)->use : (node), __VA_ARGS__)

static struct yaml_node *fill(struct filling *f, const struct yaml_node *node, const struct spot *spot);
static void add_entry(struct filling *f, const struct yaml_node *entry, const struct spot *spot, struct yaml_chain *chain);

/* Counts a value, or a list that is named: one that brings nothing costs time, too. Returns: false: there are too many. */
static bool counts(struct filling *f, const struct yaml_node *node)
{
    if (++f->made == MADE_MAX + 1)
        FAULT_HERE(f, node, "with its lists the file has more than 1,000,000 values; let lists name fewer lists");
    return f->made <= MADE_MAX;
}

static struct yaml_node *copy(struct filling *f, const struct yaml_node *node)
{
    struct yaml_node *made;

    if (!counts(f, node))
        return NULL;
    made = arena_alloc(yaml_arena(f->file->tree), sizeof *made);
    f->c->no_memory |= made == NULL;
    if (made == NULL)
        return NULL;
    *made = *node;
    made->next = NULL;
    if (f->use != NULL) {
        made->line = made->key_line = f->use->line;
        made->column = made->key_column = f->use->column;
    }
    return made;
}

/* ---- lists ---- */

/* Whether it is {list: NAME}. */
static bool names_list(const struct yaml_node *node, const struct spot *spot)
{
    return !spot->keeps_objects && !spot->defines && node->type == YAML_MAP && node->count == 1 &&
           span_is(node->child->key, "list") && node->child->type == YAML_STRING;
}

/* The list of this name, in the file at hand or in one that shares it, and whose it is. */
static const struct yaml_node *definition(const struct filling *f, struct span name, const struct open_file **owner)
{
    const struct yaml_node *found = yaml_member_named(yaml_member(f->from->written, "lists"), name);

    *owner = f->from;
    for (size_t i = 0; i < f->count && found == NULL; i++) {
        *owner = &f->files[i];
        found = f->files[i].tree != NULL ? yaml_member_named(compiler_shared(f->files[i].written, "lists"), name) : NULL;
    }
    return found;
}

#define NAMES_TRIED 256

static void fault_unknown(struct filling *f, const struct yaml_node *name)
{
    const struct yaml_node *lists = yaml_member(f->from->written, "lists");
    const char *names[NAMES_TRIED + 1] = {NULL}, *nearest;
    size_t count = 0;

    for (size_t i = 0; i <= f->count; i++) {
        lists = i == 0 ? lists : f->files[i - 1].tree != NULL ? compiler_shared(f->files[i - 1].written, "lists") : NULL;
        for (const struct yaml_node *at = lists != NULL ? lists->child : NULL; at != NULL && count < NAMES_TRIED; at = at->next)
            names[count++] = at->key.at; /* which ends in a NUL */
    }
    nearest = why_nearest(name->text.at, name->text.len, names);
    if (nearest != NULL)
        FAULT_HERE(f, name, "this file has no list `%.*s`; did you mean `%s`?", SPAN_ARG(name->text), nearest);
    else
        FAULT_HERE(f, name, "this file has no list `%.*s`, and none that says `shared: true` is there to have it; define it "
                   "here under `lists:`, or keep the file that shares it in the set", SPAN_ARG(name->text));
}

/* Notes that the list is used, by its place. */
static void mark(struct filling *f, const struct yaml_node *found)
{
    size_t at = 0;

    for (const struct yaml_node *one = yaml_member(f->file->written, "lists")->child; one != found; one = one->next)
        at++;
    f->file->lists_used[at] = true;
}

static bool is_open(struct filling *f, const struct yaml_node *found, const struct yaml_node *name)
{
    for (size_t i = 0; i < f->open_count; i++)
        if (f->open[i] == found) {
            FAULT_HERE(f, name, "the list `%.*s` holds itself; take {list: %.*s} out of it, or of a list that it names",
                       SPAN_ARG(found->key), SPAN_ARG(found->key));
            return true;
        }
    if (f->open_count == LISTS_DEPTH)
        FAULT_HERE(f, name, "lists of lists are more than %d deep; write the values out", LISTS_DEPTH);
    return f->open_count == LISTS_DEPTH;
}

/* Adds what the list holds. Takes: node: {list: NAME}. */
static void add_list(struct filling *f, const struct yaml_node *node, const struct spot *spot, struct yaml_chain *chain)
{
    const struct yaml_node *name = node->child, *found, *use = f->use;
    const struct open_file *owner, *from = f->from;

    if (!counts(f, node) || (f->open_count > 0 && f->c->faults->count >= FAULTS_MAX)) /* which nobody would read any more */
        return;
    found = definition(f, name->text, &owner);
    if (found == NULL) {
        fault_unknown(f, name);
        return;
    }
    if (owner == f->file)
        mark(f, found);
    if ((found->type != YAML_LIST && found->type != YAML_STRING) || is_open(f, found, name))
        return; /* where it is defined, what is no list is a fault, but for a parameter that is one */
    if (found->type == YAML_LIST && found->count == 0)
        FAULT_HERE(f, node, "nothing is in the list `%.*s`; name at least one", SPAN_ARG(found->key));
    f->open[f->open_count++] = found;
    f->use = use != NULL ? use : node;
    f->from = owner;
    for (const struct yaml_node *entry = found->child; entry != NULL; entry = entry->next)
        add_entry(f, entry, spot, chain);
    if (found->type == YAML_STRING)
        add_entry(f, found, spot, chain);
    f->from = from;
    f->use = use;
    f->open_count--;
}

/* ---- parameters ---- */

/* The parameter at the front, with its braces; NULL: none. */
static struct parameter *parameter_at(const struct filling *f, struct span text)
{
    size_t end = span_find(text, '}');

    if (text.len < 3 || text.at[0] != '{' || end == text.len)
        return NULL;
    for (uint32_t i = 0; i < f->from->count; i++)
        if (span_equals(f->from->parameters[i].name, span_part(text, 1, end - 1)))
            return &f->from->parameters[i];
    return NULL;
}

static size_t len_at(const void *filling, struct span text)
{
    const struct parameter *found = parameter_at(filling, text);

    return found != NULL ? found->name.len + 2 : 0;
}

/* Returns: the parameter that the next piece is; NULL: it is *literal. */
static struct parameter *next_piece(const struct filling *f, enum place place, struct span *rest, struct span *literal)
{
    return variable_cut(rest, place == PLACE_GLOB, len_at, f, literal) ? parameter_at(f, *literal) : NULL;
}

/* Whether several stand there. In a test it is the first entry. */
static bool is_several(const struct parameter *parameter, const struct spot *spot)
{
    return parameter != NULL && parameter->type == PARAMETER_LIST && !spot->is_test;
}

/* The value where one stands. */
static const struct yaml_node *one_of(const struct parameter *parameter)
{
    return parameter->value != NULL && parameter->type == PARAMETER_LIST ? parameter->value->child : parameter->value;
}

static bool is_plain_name(struct span text)
{
    return text.len > 0 && ascii_is_all(text, "a-zA-Z0-9_");
}

/* Where no value goes: of a regex it would become a part, and ids are names for good. Behind a backslash and a letter braces
 * are the regex's own (\x{41}). */
static void refuse_in(struct filling *f, const struct yaml_node *node, enum place place)
{
    for (size_t i = 0; i < node->text.len; i++) {
        const struct parameter *found = node->text.at[i] == '{' ? parameter_at(f, span_part(node->text, i, SIZE_MAX)) : NULL;
        bool is_own = i >= 2 && node->text.at[i - 2] == '\\' && isalpha((unsigned char)node->text.at[i - 1]);

        if (found != NULL && (place == PLACE_ID || !is_own))
            FAULT_HERE(f, node, "`{%.*s}` stands in %s, where no parameter goes; %s", SPAN_ARG(found->name),
                       place == PLACE_ID ? "an id" : "a pattern or form",
                       place == PLACE_ID ? "write the id out"
                                         : "write the text out, or ask with `glob`, `starts_with` or `under`");
    }
}

static void note_use(struct filling *f, const struct yaml_node *node, const struct spot *spot, struct parameter *parameter)
{
    const struct yaml_node *id = spot->rule != NULL ? yaml_member(spot->rule, "id") : NULL;

    parameter->is_used = true;
    if (!spot->closes || parameter->is_required)
        return;
    parameter->is_required = true; /* what is told once is enough */
    FAULT_HERE(f, node, "`{%.*s}` says which calls %s%.*s%s, so it has no default: where that is not there, nothing would "
               "be closed, and nobody would see it; write `required: true` in its place", SPAN_ARG(parameter->name),
               id != NULL ? "`" : "are closed here", SPAN_ARG(id != NULL ? id->text : SPAN_NONE), id != NULL ? "` closes" : "");
}

static void add_value(struct filling *f, const struct yaml_node *node, enum place place, struct span value, struct buf *out)
{
    if (place == PLACE_PATH && !is_plain_name(value))
        FAULT_HERE(f, node, "`%.*s` stands in a path of arguments, where a value is a plain name; write letters, digits and "
                   "`_`", SPAN_ARG(span_part(value, 0, 80)));
    for (size_t i = 0; i < value.len; i++) {
        if (place == PLACE_GLOB && memchr("*?\\", value.at[i], 3) != NULL)
            buf_add_byte(out, '\\');
        buf_add_byte(out, value.at[i]);
    }
}

/* Makes a string of it, or of a number what it is. */
static void put_scalar(struct filling *f, struct yaml_node *made, const struct yaml_node *value, enum place place)
{
    struct buf text;

    if (value->type != YAML_STRING) {
        made->type = value->type;
        made->text = value->text;
        made->json = value->json;
        return;
    }
    buf_init(&text, TEXT_MAX_BYTES);
    add_value(f, made, place, value->text, &text);
    f->c->no_memory |= buf_code(&text) != CODE_OK || yaml_put_text(f->file->tree, made, buf_peek(&text)) != CODE_OK;
    buf_fini(&text);
}

static void add_values(struct filling *f, const struct yaml_node *node, const struct parameter *parameter, enum place place,
                       struct yaml_chain *chain)
{
    for (const struct yaml_node *one = parameter->value->child; one != NULL; one = one->next) {
        struct yaml_node *made = copy(f, node);

        if (made != NULL)
            put_scalar(f, made, one, place);
        yaml_chain_add(chain, made);
    }
}

/* Whether the last brace of the text is open: a value there would become a part of what stands in braces. */
static bool is_within_braces(struct span before)
{
    for (size_t i = before.len; i > 0; i--)
        if (before.at[i - 1] == '{' || before.at[i - 1] == '}')
            return before.at[i - 1] == '{';
    return false;
}

/* In a form letters stand behind a dash, as in -{ab}, which would be read as the parameter of that name. */
static bool looks_like_letters(struct span text, struct span rest, size_t len)
{
    size_t at = text.len - rest.len - len;

    return at >= 2 && text.at[at - 1] == '-' && (text.at[at - 2] == '[' || text.at[at - 2] == ' ');
}

static void add_piece(struct filling *f, const struct yaml_node *node, const struct spot *spot, struct parameter *parameter,
                      struct span rest, struct buf *out)
{
    note_use(f, node, spot, parameter);
    if (parameter->value == NULL)
        return; /* a fault was told */
    if (is_several(parameter, spot))
        FAULT_HERE(f, node, "`{%.*s}` is a list and stands inside of a text; let it stand alone, where a list may stand",
                   SPAN_ARG(parameter->name));
    else if (looks_like_letters(node->text, rest, parameter->name.len + 2))
        FAULT_HERE(f, node, "`-{%.*s}` may be letters of a form or the parameter of that name; give the parameter another name",
                   SPAN_ARG(parameter->name));
    else if (is_within_braces(buf_peek(out)))
        FAULT_HERE(f, node, "`{%.*s}` stands inside of braces; close these in front of it", SPAN_ARG(parameter->name));
    else
        add_value(f, node, spot->place, one_of(parameter)->text, out);
}

/* Warns where a parameter was hardly meant to be written so. Takes: rest: what stands behind a brace. */
static void warn_near(struct filling *f, const struct yaml_node *node, struct span rest)
{
    struct span word = span_part(rest, 0, span_find(rest, '}'));
    const char *names[NAMES_TRIED + 1] = {NULL}, *nearest;

    if (f->c->warnings == NULL || word.len == rest.len || !is_plain_name(word) ||
        variable_in(span_of(word.at - 1, word.len + 2)))
        return;
    for (uint32_t i = 0; i < f->from->count && i < NAMES_TRIED; i++)
        names[i] = f->from->parameters[i].name.at; /* which ends in a NUL */
    nearest = why_nearest(word.at, word.len, names);
    if (nearest != NULL)
        WARN(f->c, f->use != NULL ? f->use : node, "`{%.*s}` is no parameter and stands for itself; did you mean `{%s}`?",
             SPAN_ARG(word), nearest);
}

/* A text with values in it. */
static void put_text(struct filling *f, const struct yaml_node *node, const struct spot *spot, struct yaml_node *made)
{
    struct span rest = node->text, literal;
    struct buf text;

    buf_init(&text, TEXT_MAX_BYTES);
    while (rest.len > 0) {
        struct parameter *parameter = next_piece(f, spot->place, &rest, &literal);

        if (parameter == NULL && span_is(literal, "{"))
            warn_near(f, node, rest);
        if (parameter == NULL)
            buf_add_span(&text, literal);
        else
            add_piece(f, node, spot, parameter, rest, &text);
    }
    f->c->no_memory |= buf_code(&text) != CODE_OK;
    if (!f->c->no_memory && !span_equals(buf_peek(&text), node->text))
        f->c->no_memory |= yaml_put_text(f->file->tree, made, buf_peek(&text)) != CODE_OK;
    buf_fini(&text);
}

/* The parameter that the whole text is; NULL: none. */
static struct parameter *whole(const struct filling *f, const struct yaml_node *node, const struct spot *spot)
{
    struct parameter *found = node->type == YAML_STRING ? parameter_at(f, node->text) : NULL;

    return found != NULL && found->name.len + 2 == node->text.len && spot->place < PLACE_REGEX ? found : NULL;
}

/* ---- the tree ---- */

/* Whether what a list holds is put in the place of its name. */
static bool brings(const struct filling *f, const struct spot *spot)
{
    return !f->keeps_lists || !spot->is_data;
}

/* An entry of a list: it may stand for several. */
static void add_entry(struct filling *f, const struct yaml_node *entry, const struct spot *spot, struct yaml_chain *chain)
{
    struct parameter *parameter = whole(f, entry, spot);

    if (names_list(entry, spot) && brings(f, spot)) {
        add_list(f, entry, spot, chain);
    } else if (is_several(parameter, spot)) {
        note_use(f, entry, spot, parameter);
        if (parameter->value != NULL)
            add_values(f, entry, parameter, spot->place, chain);
    } else {
        yaml_chain_add(chain, fill(f, entry, spot));
    }
}

static void put_key(struct filling *f, const struct yaml_node *member, const struct spot *spot, struct yaml_node *made)
{
    struct yaml_node key = {.type = YAML_STRING, .line = member->key_line, .column = member->key_column, .text = member->key};
    struct yaml_node filled = key;

    if (spot->ids_keys)
        made->key = parameters__id(f->c, f->file, &key, member->key);
    if (!spot->names_keys)
        return;
    put_text(f, &key, spot, &filled);
    made->key = filled.text;
}

static void check_keys(struct filling *f, const struct yaml_node *map)
{
    for (const struct yaml_node *a = map->child; a != NULL; a = a->next)
        for (const struct yaml_node *b = a->next; b != NULL; b = b->next)
            if (span_equals(a->key, b->key))
                FAULT_KEY(f->c, b, "with the parameters' values `%.*s` stands here twice; set other values, or make one of "
                          "both", SPAN_ARG(b->key));
}

static void fill_map(struct filling *f, const struct yaml_node *node, const struct spot *spot, struct yaml_node *made)
{
    struct yaml_chain chain = {.first = NULL};
    struct spot inner = *spot;

    inner.keeps_objects |= spot->is_data; /* within an object of a value */
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next) {
        struct spot below = spot_below(&inner, node, member);
        struct yaml_node *one = fill(f, member, &below);

        if (one != NULL)
            put_key(f, member, spot, one);
        yaml_chain_add(&chain, one);
    }
    yaml_chain_into(&chain, made, YAML_MAP);
    if (spot->names_keys)
        check_keys(f, made);
}

/* Takes: node: a value for which several may stand. */
static void fill_several(struct filling *f, const struct yaml_node *node, const struct spot *spot, struct yaml_node *made)
{
    struct yaml_chain chain = {.first = NULL};

    if (spot->is_one && node->type != YAML_LIST)
        FAULT_HERE(f, node, "`%.*s` asks of one value, where no list stands for it; ask with `in`, or write `any:` with a "
                   "condition for each", SPAN_ARG(node->key));
    if (node->type == YAML_LIST)
        for (const struct yaml_node *entry = node->child; entry != NULL; entry = entry->next)
            add_entry(f, entry, spot, &chain);
    else
        add_entry(f, node, spot, &chain);
    yaml_chain_into(&chain, made, YAML_LIST);
}

/* The id that the copy has. */
static void put_id(struct filling *f, const struct yaml_node *node, struct yaml_node *made)
{
    struct span id = parameters__id(f->c, f->file, f->use != NULL ? f->use : node, made->text);

    if (id.at != made->text.at)
        f->c->no_memory |= yaml_put_text(f->file->tree, made, id) != CODE_OK;
}

static struct yaml_node *fill(struct filling *f, const struct yaml_node *node, const struct spot *spot)
{
    struct parameter *parameter = whole(f, node, spot);
    struct yaml_node *made = copy(f, node);

    if (made == NULL)
        return NULL;
    if ((names_list(node, spot) && brings(f, spot)) || is_several(parameter, spot) || node->type == YAML_LIST) {
        fill_several(f, node, spot, made);
    } else if (node->type == YAML_MAP) {
        fill_map(f, node, spot, made);
    } else if (parameter != NULL) {
        note_use(f, node, spot, parameter);
        if (parameter->value != NULL)
            put_scalar(f, made, one_of(parameter), spot->place);
    } else if (node->type == YAML_STRING && spot->place >= PLACE_REGEX) {
        refuse_in(f, node, spot->place);
    } else if (node->type == YAML_STRING) {
        put_text(f, node, spot, made);
    }
    if (made->type == YAML_STRING && (spot->place == PLACE_ID || spot->place == PLACE_RULE))
        put_id(f, node, made);
    return made;
}

/* Lists are filled where they are defined, too, so that what is wrong with one that nobody names is told. */
static struct yaml_node *fill_lists(struct filling *f, const struct yaml_node *map)
{
    static const struct spot spot;
    struct yaml_chain chain = {.first = NULL};
    struct yaml_node *made = copy(f, map);

    for (const struct yaml_node *list = map->child; list != NULL; list = list->next) {
        f->open_count = 1;
        f->open[0] = list;
        yaml_chain_add(&chain, fill(f, list, &spot));
    }
    f->open_count = 0;
    if (made != NULL)
        yaml_chain_into(&chain, made, YAML_MAP);
    return made;
}

static struct yaml_node *fill_member(struct filling *f, const struct yaml_node *member)
{
    const struct spot spot = spot_at_root(member);

    if (span_is(member->key, "policy") || span_is(member->key, "as") || span_is(member->key, "parameters") ||
        span_is(member->key, "set"))
        return copy(f, member);
    if (span_is(member->key, "lists") && member->type == YAML_MAP)
        return fill_lists(f, member);
    return fill(f, member, &spot);
}

/* Whether something below is to be filled; most files say all themselves. */
static bool names_some_list(const struct yaml_node *node)
{
    static const struct spot anywhere;
    bool found = names_list(node, &anywhere);

    for (const struct yaml_node *member = node->child; member != NULL && !found; member = member->next)
        found = names_some_list(member);
    return found;
}

void parameters__fill(struct compiler *c, struct open_file *files, size_t count, struct open_file *file, bool keeps_lists)
{
    struct filling f = {.c = c, .files = files, .count = count, .file = file, .from = file, .keeps_lists = keeps_lists};
    const struct yaml_node *lists = yaml_member(file->written, "lists");
    struct yaml_chain chain = {.first = NULL};
    struct yaml_node *root;

    file->lists_used = arena_zalloc(yaml_arena(file->tree), (lists != NULL ? lists->count : 0) + 1);
    c->no_memory |= file->lists_used == NULL;
    if (c->no_memory || (file->count == 0 && yaml_member(file->written, "as") == NULL && !names_some_list(file->written)))
        return;
    root = copy(&f, file->written);
    for (const struct yaml_node *member = file->written->child; member != NULL && !c->no_memory; member = member->next)
        yaml_chain_add(&chain, fill_member(&f, member));
    if (root == NULL || c->no_memory)
        return;
    yaml_chain_into(&chain, root, YAML_MAP);
    yaml_put_root(file->tree, root);
}
