/* SPDX-License-Identifier: Apache-2.0 */
/* callgate tools: what servers say that their tools are, and what people accepted of it. */
#include "rules/cmd_tools_priv.h"

#include "args/print.h"
#include "author/definition_words.h"
#include "base/num.h"
#include "os/clock.h"
#include "unicode/lookalike.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 65536
#define LIKES_MAX 1000 /* definitions, in a list, whose names are compared each with each */
#define MARKS_MAX 40 /* of one definition that are told one by one */

/* ---- rows ---- */

void cmd_tools__init(struct tools_meant *meant)
{
    *meant = (struct tools_meant){.count = 0};
    arena_init(&meant->arena, (size_t)256 << 20);
}

void cmd_tools__drop(struct tools_meant *meant)
{
    mem_free(meant->all);
    text_detectors_close(&meant->detectors);
    arena_fini(&meant->arena);
}

static bool copy(struct arena *arena, struct span *text)
{
    if (text->at != NULL)
        text->at = arena_dup(arena, text->at, text->len);
    return text->at != NULL;
}

enum code cmd_tools__keep(void *context, const struct store_definition *definition)
{
    struct tools_meant *meant = context;
    struct store_definition *kept;

    if (meant->count == meant->room) {
        size_t room = meant->room * 2 + 64;
        struct store_definition *more = room <= 2 * SHOWN_MAX ? mem_resize(meant->all, room * sizeof *more) : NULL;

        if (more == NULL)
            return CODE_NOMEM;
        meant->all = more;
        meant->room = room;
    }
    kept = &meant->all[meant->count];
    *kept = *definition;
    (void)copy(&meant->arena, &kept->before);
    (void)copy(&meant->arena, &kept->given_by);
    (void)copy(&meant->arena, &kept->login);
    (void)copy(&meant->arena, &kept->why);
    if (!copy(&meant->arena, &kept->upstream) || !copy(&meant->arena, &kept->tool) || !copy(&meant->arena, &kept->digest) ||
        !copy(&meant->arena, &kept->text))
        return CODE_NOMEM;
    meant->count++;
    return CODE_OK;
}

static bool is_same_tool(const struct store_definition *a, const struct store_definition *b)
{
    return span_equals(a->upstream, b->upstream) && span_equals(a->tool, b->tool);
}

const struct store_definition *cmd_tools__accepted(const struct tools_meant *meant, const struct store_definition *than)
{
    const struct store_definition *found = NULL;

    for (size_t i = 0; i < meant->count; i++) {
        const struct store_definition *at = &meant->all[i];

        if (at != than && at->id != than->id && at->is_accepted && is_same_tool(at, than) &&
            (found == NULL || at->given_us > found->given_us))
            found = at;
    }
    return found;
}

const char *cmd_tools__state(const struct tools_meant *meant, const struct store_definition *definition)
{
    if (definition->is_spoken)
        return definition->is_accepted ? "accepted" : "withdrawn";
    if (!definition->is_waiting)
        return "past";
    return cmd_tools__accepted(meant, definition) != NULL ? "changed" : "new";
}

/* TOOL@DIGEST where the digest is hexadecimal. A tool may have the whole as its name: then both are found. */
static struct span digest_in(struct span name, struct span *tool)
{
    size_t at = name.len;

    *tool = name;
    while (at > 0 && num_hex_digit(name.at[at - 1]) >= 0)
        at--;
    if (at < 2 || name.at[at - 1] != '@' || name.len - at < 4)
        return SPAN_NONE;
    *tool = span_part(name, 0, at - 1);
    return span_part(name, at, SIZE_MAX);
}

int cmd_tools__find(struct db *db, const char *upstream, const char *name, struct tools_meant *meant)
{
    struct store_definitions_asked asked = {.upstream = upstream != NULL ? span_text(upstream) : SPAN_NONE,
                                            .tool = span_text(name)};
    size_t before = meant->count;
    struct why why = {0};
    enum code code = store_definitions_each(db, &asked, cmd_tools__keep, meant, &why);

    asked.digest = digest_in(span_text(name), &asked.tool);
    if (code == CODE_OK && asked.digest.at != NULL)
        code = store_definitions_each(db, &asked, cmd_tools__keep, meant, &why);
    if (code != CODE_OK)
        return complain_why(code, &why);
    if (meant->count == before)
        return complain(STATUS_NEGATIVE, "no definition of a tool %s is known%s%s; `callgate tools list --all` shows those "
                        "there are, and `callgate tools fetch` asks the servers", name, upstream != NULL ? " of " : "",
                        upstream != NULL ? upstream : "");
    return OPTIONS_GO;
}

/* ---- one definition ---- */

struct read_definition {
    struct arena arena;
    struct buf text, lines;
    const struct json_node *root;
};

static enum code read_definition(struct read_definition *read, struct span text, bool as_lines)
{
    struct json_fault fault;
    enum code code;

    arena_init(&read->arena, (size_t)64 << 20);
    buf_init(&read->text, 2 * DEFINITION_MAX_BYTES);
    buf_init(&read->lines, (size_t)64 << 20);
    code = json_read(text, &json_reply_rules, &read->text, &read->arena, &read->root, &fault);
    return code == CODE_OK && as_lines ? definition_lines(read->root, &read->lines) : code;
}

static void read_end(struct read_definition *read)
{
    arena_fini(&read->arena);
    buf_fini(&read->text);
    buf_fini(&read->lines);
}

struct marks {
    const struct tools_meant *meant;
    struct doc *doc;  /* NULL: nothing is printed as JSON */
    bool is_quiet;
    size_t count;
};

static void add_mark(void *context, enum definition_mark mark, struct span path)
{
    struct marks *marks = context;
    struct doc *doc;

    if (++marks->count > MARKS_MAX || marks->is_quiet)
        return;
    if (marks->doc == NULL) {
        print_safely(stdout, "  look:      %.*s: %s\n", SPAN_ARG(path), definition_mark_text(mark));
        return;
    }
    doc = doc_add_object(marks->doc, NULL);
    doc_text(doc, "path", path);
    doc_text(doc, "mark", span_text(definition_mark_text(mark)));
}

/* Names of other tools that a reader takes for this one's, or that are the same at another server. */
static void mark_likes(struct marks *marks, const struct store_definition *definition)
{
    char own[512], other[512], text[1024];
    size_t len = lookalike_skeleton(definition->tool, own, sizeof own);
    const struct store_definition *last = NULL;
    struct doc *doc;

    for (size_t i = 0; i < marks->meant->count && len > 0; i++) {
        const struct store_definition *at = &marks->meant->all[i];
        bool is_same = span_equals(at->tool, definition->tool);

        if (is_same_tool(at, definition) || (last != NULL && is_same_tool(at, last)) ||
            lookalike_skeleton(at->tool, other, sizeof other) != len || memcmp(own, other, len) != 0)
            continue;
        last = at;
        if (++marks->count > MARKS_MAX || marks->is_quiet)
            continue;
        (void)snprintf(text, sizeof text, "%s `%.*s` of %.*s", is_same ? "the same name as" : "looks like", SPAN_ARG(at->tool),
                       SPAN_ARG(at->upstream));
        if (marks->doc == NULL) {
            print_safely(stdout, "  look:      name: %s\n", text);
            continue;
        }
        doc = doc_add_object(marks->doc, NULL);
        doc_text(doc, "path", SPAN_LIT("name"));
        doc_text(doc, "mark", span_text(text));
    }
}

static void mark_all(struct marks *marks, const struct store_definition *definition, const struct json_node *root)
{
    if (!marks->is_quiet || marks->meant->count <= LIKES_MAX)
        mark_likes(marks, definition);
    if (definition_marks(root, marks->meant->detectors.set, add_mark, marks) != CODE_OK || marks->count <= MARKS_MAX ||
        marks->is_quiet || marks->doc != NULL)
        return;
    printf("  look:      and %zu more\n", marks->count - MARKS_MAX);
}

static void print_change(void *context, const struct definition_change *change)
{
    size_t *count = context;

    if ((*count)++ < MARKS_MAX)
        print_safely(stdout, "  %-10s %.*s\n", change->what == '+' ? "new:" : change->what == '-' ? "gone:" : "changed:",
                     SPAN_ARG(change->path));
}

static void print_head(const struct tools_meant *meant, const struct store_definition *definition)
{
    char told[CLOCK_TEXT_BYTES], seen[CLOCK_TEXT_BYTES], given[CLOCK_TEXT_BYTES];

    clock_text(definition->told_us, told);
    clock_text(definition->seen_us, seen);
    print_safely(stdout, "%.*s of %.*s: %s%s\n", SPAN_ARG(definition->tool), SPAN_ARG(definition->upstream),
                 cmd_tools__state(meant, definition), definition->is_latest ? "" : ", not what the server told last");
    print_safely(stdout, "  digest:    %.*s\n  seen:      first %.19sZ, last %.19sZ\n", SPAN_ARG(definition->digest), told,
                 seen);
    if (definition->is_spoken) {
        clock_text(definition->given_us, given);
        print_safely(stdout, "  %s %.19sZ by %.*s (%.*s): %.*s\n", definition->is_accepted ? "accepted: " : "withdrawn:", given,
                     SPAN_ARG(definition->given_by), SPAN_ARG(definition->login), SPAN_ARG(definition->why));
    }
}

static int print_json(const struct tools_meant *meant, const struct store_definition *definition, bool with_text)
{
    struct read_definition read;
    struct doc *doc = doc_object();
    struct marks marks = {.meant = meant};
    enum code code = read_definition(&read, definition->text, false);

    doc_text(doc, "upstream", definition->upstream);
    doc_text(doc, "tool", definition->tool);
    doc_text(doc, "state", span_text(cmd_tools__state(meant, definition)));
    doc_text(doc, "digest", definition->digest);
    print_time(doc, "first_seen", definition->told_us);
    print_time(doc, "last_seen", definition->seen_us);
    doc_bool(doc, "told_last", definition->is_latest);
    doc_text(doc, "by", definition->given_by);
    doc_text(doc, "login", definition->login);
    doc_text(doc, "why", definition->why);
    print_time(doc, "given", definition->given_us);
    marks.doc = doc_add_array(doc, "marks");
    if (code == CODE_OK)
        mark_all(&marks, definition, read.root);
    if (with_text)
        doc_text(doc, "definition", definition->text);
    read_end(&read);
    if (code != CODE_OK) {
        doc_free(&doc);
        return complain(STATUS_CANNOT, "a definition in the store cannot be read: %s", code_text(code));
    }
    return print_doc(&doc);
}

static int print_one(const struct tools_meant *meant, const struct store_definition *definition)
{
    struct read_definition read;
    struct marks marks = {.meant = meant};
    enum code code = read_definition(&read, definition->text, true);

    print_head(meant, definition);
    if (code == CODE_OK) {
        mark_all(&marks, definition, read.root);
        print_lines(stdout, buf_peek(&read.lines), "    ");
    }
    read_end(&read);
    return code == CODE_OK ? STATUS_DONE : complain(STATUS_CANNOT, "it cannot be read: %s", code_text(code));
}

/* Against what was accepted last; where nothing was, all of it is new. */
static int print_diff(const struct tools_meant *meant, const struct store_definition *definition)
{
    const struct store_definition *accepted = cmd_tools__accepted(meant, definition);
    struct read_definition old, now;
    struct marks marks = {.meant = meant};
    struct buf out;
    size_t changes = 0;
    enum code code;

    if (accepted == NULL)
        return print_one(meant, definition);
    buf_init(&out, (size_t)128 << 20);
    code = read_definition(&old, accepted->text, true);
    if (read_definition(&now, definition->text, true) != CODE_OK || code != CODE_OK)
        code = CODE_INVALID;
    print_head(meant, definition);
    print_safely(stdout, "  against:   %.*s\n", SPAN_ARG(accepted->digest));
    if (code == CODE_OK) {
        mark_all(&marks, definition, now.root);
        code = definition_changes(old.root, now.root, print_change, &changes);
        if (changes > MARKS_MAX)
            printf("  and %zu changes more\n", changes - MARKS_MAX);
    }
    if (code == CODE_OK)
        code = definition_diff(buf_peek(&old.lines), buf_peek(&now.lines), &out);
    if (code == CODE_OK)
        print_lines(stdout, buf_peek(&out), "    ");
    read_end(&old);
    read_end(&now);
    buf_fini(&out);
    return code == CODE_OK ? STATUS_DONE : complain(STATUS_CANNOT, "it cannot be read: %s", code_text(code));
}

/* ---- commands ---- */

struct looking {
    const struct asked *asked;
    struct tools_meant known;
};

static int open_known(struct looking *looking, struct db **db)
{
    const struct store_definitions_asked asked = {.upstream = SPAN_NONE}; /* all: names may look like those of any server */
    struct why why = {0};
    enum code code = asked_store(looking->asked, DB_READ, db, &why);

    cmd_tools__init(&looking->known);
    if (code == CODE_OK)
        code = text_detectors_open(&looking->known.detectors);
    if (code == CODE_OK)
        code = store_definitions_each(*db, &asked, cmd_tools__keep, &looking->known, &why);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

static int list_one(const struct looking *looking, const struct store_definition *definition)
{
    char seen[CLOCK_TEXT_BYTES];
    struct read_definition read;
    struct marks marks = {.meant = &looking->known, .is_quiet = true};

    if (looking->asked->json)
        return print_json(&looking->known, definition, false);
    if (read_definition(&read, definition->text, false) == CODE_OK)
        mark_all(&marks, definition, read.root);
    read_end(&read);
    clock_text(definition->seen_us, seen);
    print_safely(stdout, "%-9s  %.*s  %.19sZ  %.*s / %.*s%s\n", cmd_tools__state(&looking->known, definition),
                 TOOLS_DIGEST_SHOWN, definition->digest.at, seen, SPAN_ARG(definition->upstream), SPAN_ARG(definition->tool),
                 marks.count > 0 ? "  (look twice)" : "");
    return STATUS_DONE;
}

static int list_all(struct looking *looking)
{
    size_t shown = 0, waiting = 0;
    int status = STATUS_DONE;

    for (size_t i = 0; i < looking->known.count && status == STATUS_DONE; i++) {
        const struct store_definition *at = &looking->known.all[i];

        if ((looking->asked->upstream != NULL && !span_is(at->upstream, looking->asked->upstream)) ||
            (!looking->asked->all && !at->is_accepted && !at->is_waiting))
            continue;
        shown++;
        waiting += at->is_waiting;
        status = list_one(looking, at);
    }
    if (status != STATUS_DONE || looking->asked->json)
        return status;
    if (shown == 0)
        printf("no server has told its tools yet; agents' lists are kept as they pass, and `callgate tools fetch` asks\n");
    if (waiting > 0)
        printf("\n%zu wait:    callgate tools diff NAME\n           callgate tools accept NAME... --why TEXT\n", waiting);
    return STATUS_DONE;
}

int cmd_tools_list(const struct asked *asked)
{
    struct looking looking = {.asked = asked};
    struct db *db = NULL;
    int status = open_known(&looking, &db);

    db_close(&db);
    if (status == OPTIONS_GO)
        status = list_all(&looking);
    cmd_tools__drop(&looking.known);
    return status;
}

/* Shows those of a name: of a diff what waits, or else what was told last. */
static int show_named(struct looking *looking, struct db *db, const char *name, bool is_diff)
{
    struct tools_meant meant;
    bool any_waits = false;
    int status;

    cmd_tools__init(&meant);
    status = cmd_tools__find(db, looking->asked->upstream, name, &meant);
    for (size_t i = 0; i < meant.count; i++)
        any_waits |= meant.all[i].is_waiting;
    for (size_t i = 0; i < meant.count && (status == OPTIONS_GO || status == STATUS_DONE); i++) {
        const struct store_definition *at = &meant.all[i];

        if (is_diff && meant.count > 1 && !(any_waits ? at->is_waiting : at->is_latest))
            continue;
        status = looking->asked->json ? print_json(&looking->known, at, true)
                 : is_diff        ? print_diff(&looking->known, at)
                                  : print_one(&looking->known, at);
    }
    cmd_tools__drop(&meant);
    return status;
}

static int look(const struct asked *asked, bool is_diff)
{
    struct looking looking = {.asked = asked};
    struct db *db = NULL;
    int status = open_known(&looking, &db);

    for (int i = 0; i < asked->given.count && (status == OPTIONS_GO || status == STATUS_DONE); i++)
        status = show_named(&looking, db, asked->given.operands[i], is_diff);
    db_close(&db);
    cmd_tools__drop(&looking.known);
    return status;
}

int cmd_tools_show(const struct asked *asked)
{
    return look(asked, false);
}

int cmd_tools_diff(const struct asked *asked)
{
    return look(asked, true);
}
