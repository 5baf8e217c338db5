/* SPDX-License-Identifier: Apache-2.0 */
/* `paths:` of a file, and the maps that `path:` names or holds. */
#include "words/file_place.h"

#include "base/ascii.h"
#include "base/num.h"
#include "policy/variable.h"
#include "unicode/unicode.h"

#include <inttypes.h>

#define STEPS_MAX (FILE_PATH_MAX / 2)

static bool read_text(struct compiler *c, struct span text, struct file_text *read)
{
    enum code code = file_text_read(text, &c->policy->arena, read);

    c->no_memory |= code == CODE_NOMEM;
    return code == CODE_OK;
}

/* ---- folders ---- */

static void take_folder(struct compiler *c, const struct yaml_node *text, void *part)
{
    static const struct question anybody = {.principal = SPAN_LIT("x"), .tenant = SPAN_LIT("x"), .upstream = SPAN_LIT("x"),
                                            .agent = SPAN_LIT("x")};
    struct file_folder *folder = part;
    struct span said;
    const char *doubt = NULL;
    enum code code;

    folder->text = said = compiler_copy(c, text->text);
    folder->varies = compiler_varies(c, text);
    if (folder->varies && variable_say(&anybody, folder->text, VARIABLE_STEP, &c->policy->arena, &said) != CODE_OK)
        c->no_memory = true;
    code = c->no_memory ? CODE_NOMEM : file_path_read(said, &c->policy->arena, &folder->path, &doubt);
    c->no_memory |= code == CODE_NOMEM;
    if (code == CODE_LIMIT)
        doubt = "is longer than any path that is taken";
    if (doubt != NULL)
        FAULT(c, text, "the folder `%.*s` %s; write it step by step, from / or from `.`, as in /srv/data or src/lib",
              SPAN_ARG(text->text), doubt);
}

static struct file_folders folders_of(struct compiler *c, const struct yaml_node *node)
{
    struct file_folders folders = {.count = 0};

    folders.folder = compiler_texts(c, node, sizeof *folders.folder, take_folder, &folders.count);
    return folders;
}

/* Where the server stands in /srv, `keys/x` is `/srv/keys/x`: what one beginning keeps out comes in by the other. */
static void check_beginnings(struct compiler *c, const struct yaml_node *node, const struct file_folders *under)
{
    for (uint32_t i = 1; i < under->count && c->warnings != NULL; i++)
        if (under->folder[i].path.is_absolute != under->folder[0].path.is_absolute) {
            WARN(c, node, "`not_under` stands beside folders from / and from where the server stands, so that a path could "
                  "come by the other beginning into what it keeps out; write all folders from one beginning, or two paths");
            return;
        }
}

static bool is_inside(const struct file_path *path, const struct file_path *folder)
{
    if (path->is_absolute != folder->is_absolute || path->count <= folder->count)
        return false;
    for (uint32_t i = 0; i < folder->count; i++)
        if (!span_equals(path->steps[i].read[FILE_FOLDED], folder->steps[i].read[FILE_FOLDED]))
            return false;
    return true;
}

/* A `not_under` that lies in no folder of `under` takes nothing out, though its author thinks that it does. */
static void check_not_under(struct compiler *c, const struct yaml_node *node, const struct file_place *place)
{
    for (uint32_t i = 0; i < place->not_under.count; i++) {
        const struct file_folder *out = &place->not_under.folder[i];
        bool has_outer = false;

        for (uint32_t k = 0; k < place->under.count; k++)
            has_outer |= is_inside(&out->path, &place->under.folder[k].path) ||
                         ((out->varies || place->under.folder[k].varies) &&
                          out->path.is_absolute == place->under.folder[k].path.is_absolute);
        if (!has_outer && !c->no_memory)
            FAULT(c, node, "`%.*s` lies below no folder of `under`, so that nothing is taken out; write it whole, from the "
                  "same beginning, as in under: /srv, not_under: /srv/keys", SPAN_ARG(out->text));
    }
}

/* ---- patterns of steps ---- */

/* A glob of one step. Returns: false with a fault. */
static bool take_glob(struct compiler *c, const struct yaml_node *text, struct file_text *pattern)
{
    bool is_step = text->text.len > 0 && span_find(text->text, '/') == text->text.len;

    if (!is_step)
        FAULT(c, text, "`%.*s` is the name of no step; write one without `/`, as in 'README*'", SPAN_ARG(text->text));
    return is_step && read_text(c, compiler_copy(c, text->text), pattern);
}

static void take_name(struct compiler *c, const struct yaml_node *text, void *part)
{
    (void)take_glob(c, text, part);
}

static void take_hidden(struct compiler *c, const struct yaml_node *text, void *part)
{
    size_t plain = 0;

    if (!take_glob(c, text, part))
        return;
    while (plain < text->text.len && strchr(".*?\\", text->text.at[plain]) != NULL)
        plain++;
    if (text->text.at[0] != '.')
        FAULT(c, text, "`%.*s` names no hidden step, as these begin with a dot; write it in front, as in .gitignore",
              SPAN_ARG(text->text));
    else if (plain == text->text.len)
        FAULT(c, text, "`%.*s` names every hidden step, so that none of them is asked `none_of`; write `hidden: any`, or their "
              "names", SPAN_ARG(text->text));
}

static void take_ending(struct compiler *c, const struct yaml_node *text, void *part)
{
    struct span ending = text->text;

    if (memchr(ending.at, '*', ending.len) != NULL || memchr(ending.at, '?', ending.len) != NULL ||
        memchr(ending.at, '/', ending.len) != NULL)
        FAULT(c, text, "`%.*s` is no ending, which is meant letter by letter; write it as in .py, or a glob under `names`",
              SPAN_ARG(ending));
    else if (ending.len < 2 || ending.at[0] != '.')
        FAULT(c, text, "`%.*s` also ends names that are meant otherwise, as `py` ends `copy`; write the dot, as in .py",
              SPAN_ARG(ending));
    else
        (void)read_text(c, compiler_copy(c, ending), part);
}

static void compile_hidden(struct compiler *c, const struct yaml_node *node, struct file_place *place)
{
    if (node == NULL)
        return;
    place->says_hidden = true;
    place->any_hidden = node->type == YAML_STRING && span_is(node->text, "any");
    if (!place->any_hidden)
        place->hidden.pattern = compiler_texts(c, node, sizeof *place->hidden.pattern, take_hidden, &place->hidden.count);
}

/* ---- none_of: detectors and globs ---- */

struct bad {
    const struct detector *detector; /* NULL: a glob */
    struct file_text glob;
};

static void take_bad(struct compiler *c, const struct yaml_node *text, void *part)
{
    struct bad *bad = part;

    if (text->text.len == 0 || !ascii_is_all(text->text, "a-z0-9_"))
        (void)take_glob(c, text, &bad->glob);
    else if (compiler_definition(c, &c->detectors, text->text) != NULL || compiler_detector_file(text->text) != NULL)
        bad->detector = compiler_detector(c, text);
    else
        FAULT(c, text, "this set has no detector `%.*s`; keep the file that has it in the set, or, to mean a step of this very "
              "name, write '\\%.*s'", SPAN_ARG(text->text), SPAN_ARG(text->text));
}

static void compile_none_of(struct compiler *c, const struct yaml_node *node, struct file_place *place)
{
    const struct detector **detectors;
    struct file_text *globs;
    struct bad *all;
    uint32_t count = 0, detector_count = 0;

    if (node == NULL)
        return;
    all = compiler_texts(c, node, sizeof *all, take_bad, &count);
    detectors = compiler_alloc(c, count, sizeof *detectors);
    globs = compiler_alloc(c, count, sizeof *globs);
    for (uint32_t i = 0; all != NULL && detectors != NULL && globs != NULL && i < count; i++)
        if (all[i].detector != NULL)
            detectors[detector_count++] = all[i].detector;
        else if (all[i].glob.read[FILE_WRITTEN].at != NULL)
            globs[place->bad_names.count++] = all[i].glob;
    place->bad_names.pattern = globs;
    if (detector_count > 0)
        place->bad = compiler_detector_set(c, node, detectors, detector_count);
}

/* ---- below, letters, without ---- */

static void compile_below(struct compiler *c, const struct yaml_node *node, struct file_place *place)
{
    struct span most = SPAN_NONE, least;
    bool is_text, is_good, has_end;

    place->least = 0;
    place->most = STEPS_MAX;
    if (node == NULL)
        return;
    is_text = node->type == YAML_STRING || node->type == YAML_INT;
    least = is_text ? span_cut(node->text, '-', &most) : SPAN_NONE;
    has_end = is_text && least.len < node->text.len;
    if (!has_end && span_ends_with(least, SPAN_LIT("+"))) {
        least.len--;
        is_good = num_u64(least, &place->least) == CODE_OK;
    } else {
        is_good = num_u64(least, &place->least) == CODE_OK && num_u64(has_end ? most : least, &place->most) == CODE_OK;
    }
    if (is_good && place->least > place->most)
        FAULT(c, node, "no path lies between %" PRIu64 " and %" PRIu64 " steps below the folder; write the smaller number "
              "first, as in %" PRIu64 "-%" PRIu64, place->least, place->most, place->most, place->least);
    else if (!is_good || place->most > STEPS_MAX)
        FAULT(c, node, "`below` is how many steps lie below the folder, %d at most; write 1+, 2-4 or 3", STEPS_MAX);
}

static void compile_without(struct compiler *c, const struct yaml_node *node, struct file_place *place)
{
    struct file_text *characters;
    struct span rest;
    uint32_t point;

    if (node == NULL || !compiler_is_string(c, node))
        return;
    if (node->text.len == 0 || span_find(node->text, '/') < node->text.len)
        FAULT(c, node, "`without` is the characters that no step may hold; write them one behind the other, as in '*?[]:', and "
              "leave out `/`, which parts the steps");
    rest = compiler_copy(c, node->text);
    characters = compiler_alloc(c, rest.len, sizeof *characters);
    place->without.pattern = characters;
    while (characters != NULL && rest.len > 0) {
        size_t taken = unicode_next(rest, &point);

        if (taken == 0 || !read_text(c, span_part(rest, 0, taken), &characters[place->without.count]))
            return;
        place->without.count++;
        rest = span_part(rest, taken, SIZE_MAX);
    }
}

/* ---- a map ---- */

static uint64_t weight_of(const struct file_place *place)
{
    const struct file_patterns *const all[] = {&place->hidden, &place->names, &place->endings, &place->bad_names,
                                               &place->without};
    uint64_t weight = 2 + place->not_under.count + place->is_plain;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (uint32_t k = 0; k < all[i]->count; k++)
            weight += 1 + all[i]->pattern[k].read[FILE_WRITTEN].len / 16;
    return weight * place->under.count;
}

static const struct file_place *compile_place(struct compiler *c, const struct yaml_node *map)
{
    static const char *const known[] = {"under", "not_under", "below", "hidden", "names", "endings", "none_of", "letters",
                                        "without", NULL};
    static const char *const letters[] = {"plain", NULL};
    struct file_place *place = compiler_alloc(c, 1, sizeof *place);
    const struct yaml_node *under = yaml_member(map, "under"), *out = yaml_member(map, "not_under");
    const struct yaml_node *names = yaml_member(map, "names"), *endings = yaml_member(map, "endings");
    const struct yaml_node *plain = yaml_member(map, "letters");

    if (place == NULL || !compiler_is_map_of(c, map, known, "`path`"))
        return NULL;
    if (under == NULL)
        FAULT(c, map, "`path` lies somewhere; name folders, or `.` for paths from where the server stands, as in {under: "
              "/srv/data}");
    else
        place->under = folders_of(c, under);
    if (out != NULL)
        place->not_under = folders_of(c, out);
    if (out != NULL && under != NULL) {
        check_not_under(c, out, place);
        check_beginnings(c, out, &place->under);
    }
    compile_below(c, yaml_member(map, "below"), place);
    compile_hidden(c, yaml_member(map, "hidden"), place);
    if (names != NULL)
        place->names.pattern = compiler_texts(c, names, sizeof *place->names.pattern, take_name, &place->names.count);
    if (endings != NULL)
        place->endings.pattern = compiler_texts(c, endings, sizeof *place->endings.pattern, take_ending, &place->endings.count);
    compile_none_of(c, yaml_member(map, "none_of"), place);
    place->is_plain = plain != NULL && compiler_word(c, plain, letters) == 0;
    compile_without(c, yaml_member(map, "without"), place);
    place->weight = weight_of(place);
    return place;
}

/* ---- by name ---- */

/* The map under `paths:`, compiled once, since what it names means the same in every file that may name it. */
static const struct file_place *named_place(struct compiler *c, const struct yaml_node *name)
{
    bool is_folder = span_find(name->text, '/') < name->text.len;
    const struct yaml_node *map = is_folder ? NULL : compiler_named_text(c, name, &c->paths);
    struct known_path *known = c->policy->paths;
    struct policy_source *back, there;

    while (known != NULL && known->node != map)
        known = known->next;
    if (is_folder)
        FAULT(c, name, "`path` takes a name of `paths:`, or a map that says where the path lies; write {under: %.*s}",
              SPAN_ARG(name->text));
    if (map == NULL || known != NULL)
        return known != NULL ? known->place : NULL;
    known = compiler_alloc(c, 1, sizeof *known);
    if (known == NULL)
        return NULL;
    back = compiler_enter(c, &c->paths, map, &there);
    *known = (struct known_path){.next = c->policy->paths, .node = map, .place = compile_place(c, map)};
    c->source = back;
    c->policy->paths = known;
    return known->place;
}

void compiler_file_paths(struct compiler *c)
{
    size_t at = 0;

    c->slow_allowed = false; /* what a detector costs is told here, since no rule is at hand */
    for (const struct yaml_node *map = c->paths.map != NULL ? c->paths.map->child : NULL; map != NULL && !c->no_memory;
         map = map->next, at++) {
        const struct yaml_node name = {.type = YAML_STRING, .text = map->key, .line = map->line, .column = map->column};
        bool used = c->paths.used[at];

        (void)named_place(c, &name);
        c->paths.used[at] = used;
    }
}

static const struct file_place *place_of(struct compiler *c, const struct yaml_node *node)
{
    if (node->type == YAML_STRING)
        return named_place(c, node);
    return node->type == YAML_MAP || compiler_is_map(c, node) ? compile_place(c, node) : NULL;
}

const struct file_places *compiler_file_places(struct compiler *c, const struct yaml_node *node)
{
    struct file_places *places = compiler_alloc(c, 1, sizeof *places);
    bool is_list = node->type == YAML_LIST;
    const struct file_place **all = compiler_alloc(c, is_list ? node->count : 1, sizeof *all);

    if (places == NULL || all == NULL)
        return NULL;
    places->place = all;
    if (is_list && node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one");
    YAML_EACH(one, node) {
        const struct file_place *place = place_of(c, one);

        if (place == NULL)
            return NULL;
        all[places->count++] = place;
        places->weight += place->weight;
        for (uint32_t i = 0; i < place->under.count; i++)
            places->varies |= place->under.folder[i].varies;
        for (uint32_t i = 0; i < place->not_under.count; i++)
            places->varies |= place->not_under.folder[i].varies;
    }
    return places;
}
