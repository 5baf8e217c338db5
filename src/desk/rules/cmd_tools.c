/* SPDX-License-Identifier: Apache-2.0 */
/* callgate tools: what servers say that their tools are, and what people accepted of it. */
#include "rules/cmd_tools_priv.h"

#include "args/print.h"
#include "tools/definition_words.h"
#include "tools/unseen.h"
#include "base/num.h"
#include "cli/table.h"
#include "cli/told.h"
#include "os/clock.h"
#include "unicode/lookalike.h"
#include "json/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 65536
#define LIKES_MAX 1000 /* definitions, in a list, whose names are compared each with each */
#define TOOL_CELLS 20
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

    kept = meant->count < 2 * SHOWN_MAX ? mem_room(meant->all, &meant->room, meant->count + 1, sizeof *kept) : NULL;
    if (kept == NULL)
        return CODE_NOMEM;
    meant->all = kept;
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

/* The one that was accepted last of the same tool, but for this one; NULL: none. */
static const struct store_definition *accepted_of(const struct tools_meant *meant, const struct store_definition *than)
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

/* accepted, changed, new, withdrawn or past. Takes: meant: with all definitions of its tool. */
static const char *state_of(const struct tools_meant *meant, const struct store_definition *definition)
{
    if (definition->is_spoken)
        return definition->is_accepted ? "accepted" : "withdrawn";
    if (!definition->is_waiting)
        return "past";
    return accepted_of(meant, definition) != NULL ? "changed" : "new";
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
    struct json_text text;
    struct buf lines;
};

static enum code read_definition(struct read_definition *read, struct span text, bool as_lines)
{
    enum code code = json_text_read(&read->text, text, &json_reply_rules, 2 * DEFINITION_MAX_BYTES);

    buf_init(&read->lines, (size_t)64 << 20);
    return code == CODE_OK && as_lines ? definition_lines(read->text.root, &read->lines) : code;
}

static void read_end(struct read_definition *read)
{
    json_text_fini(&read->text);
    buf_fini(&read->lines);
}

struct marks {
    const struct tools_meant *meant;
    struct doc *list; /* NULL: they are only counted */
    size_t count;
};

static void add_mark_text(struct marks *marks, struct span path, const char *text)
{
    struct doc *one = ++marks->count <= MARKS_MAX && marks->list != NULL ? doc_add_object(marks->list, NULL) : NULL;

    doc_text(one, "path", path);
    doc_text(one, "mark", span_text(text));
}

static void add_mark(void *context, enum definition_mark mark, struct span path)
{
    add_mark_text(context, path, definition_mark_text(mark));
}

/* Names of other tools that a reader takes for this one's, or that are the same at another server. */
static void mark_likes(struct marks *marks, const struct store_definition *definition)
{
    char own[512], other[512], text[1024];
    size_t len = lookalike_skeleton(definition->tool, own, sizeof own);
    const struct store_definition *last = NULL;

    for (size_t i = 0; i < marks->meant->count && len > 0; i++) {
        const struct store_definition *at = &marks->meant->all[i];
        bool is_same = span_equals(at->tool, definition->tool);

        if (is_same_tool(at, definition) || (last != NULL && is_same_tool(at, last)) ||
            lookalike_skeleton(at->tool, other, sizeof other) != len || memcmp(own, other, len) != 0)
            continue;
        last = at;
        (void)snprintf(text, sizeof text, "%s `%.*s` of %.*s", is_same ? "the same name as" : "looks like", SPAN_ARG(at->tool),
                       SPAN_ARG(at->upstream));
        add_mark_text(marks, SPAN_LIT("name"), text);
    }
}

static enum code mark_all(struct marks *marks, const struct store_definition *definition, const struct json_node *root)
{
    if (marks->list != NULL || marks->meant->count <= LIKES_MAX)
        mark_likes(marks, definition);
    return definition_marks(root, marks->meant->detectors.set, add_mark, marks);
}

static void add_look(struct doc *doc, const struct tools_meant *meant, const struct store_definition *definition,
                     const struct json_node *root, bool is_marked)
{
    char look[64];
    struct buf sentence;
    const char *word;

    buf_init(&sentence, UNSEEN_MAX_BYTES);
    word = root != NULL ? unseen_word(unseen_by(meant->file, definition->upstream, definition->tool, root, &sentence)) : NULL;
    (void)snprintf(look, sizeof look, "%s%s%s", is_marked ? "look twice" : "", is_marked && word != NULL ? ", " : "",
                   word != NULL ? word : "");
    doc_text_or_null(doc, "look", look[0] != '\0' ? span_text(look) : SPAN_NONE);
    doc_text_or_null(doc, "unseen", word != NULL ? buf_peek(&sentence) : SPAN_NONE);
    buf_fini(&sentence);
}

/* All that is known of it. Takes: is_whole: with its text; else marks are counted alone where nobody reads them one by one. */
static int make_doc(const struct tools_meant *meant, const struct store_definition *definition, bool is_whole, bool lists_marks,
                    struct doc **made)
{
    struct read_definition read;
    struct doc *doc = doc_object();
    struct marks marks = {.meant = meant};
    enum code code = read_definition(&read, definition->text, false);

    doc_text(doc, "upstream", definition->upstream);
    doc_text(doc, "tool", definition->tool);
    doc_text(doc, "state", span_text(state_of(meant, definition)));
    doc_text(doc, "digest", definition->digest);
    print_time(doc, "first_seen", definition->told_us);
    print_time(doc, "last_seen", definition->seen_us);
    doc_bool(doc, "told_last", definition->is_latest);
    doc_bool(doc, "accepted", definition->is_accepted);
    doc_text_or_null(doc, "given_by", definition->given_by);
    doc_text_or_null(doc, "login", definition->login);
    doc_text_or_null(doc, "why", definition->why);
    print_time(doc, "given", definition->given_us);
    marks.list = lists_marks ? doc_add_array(doc, "marks") : NULL;
    if (code == CODE_OK)
        code = mark_all(&marks, definition, read.text.root);
    doc_int(doc, "further_marks", marks.count > MARKS_MAX ? (int64_t)marks.count - MARKS_MAX : 0);
    add_look(doc, meant, definition, read.text.root, marks.count > 0);
    if (is_whole)
        doc_text(doc, "definition", definition->text);
    read_end(&read);
    if (code == CODE_OK) {
        *made = doc;
        return STATUS_DONE;
    }
    doc_free(&doc);
    return complain(STATUS_CANNOT, "a definition in the store cannot be read: %s", code_text(code));
}

struct changes {
    struct doc *list;
    size_t count;
};

static void add_change(void *context, const struct definition_change *change)
{
    struct changes *changes = context;
    struct doc *one = changes->count++ < MARKS_MAX ? doc_add_object(changes->list, NULL) : NULL;

    doc_text(one, "change", span_text(change->what == '+' ? "new" : change->what == '-' ? "gone" : "changed"));
    doc_text(one, "path", change->path);
}

/* Its lines, or those that differ from what was accepted. Takes: accepted: NULL: it is compared with nothing. */
static enum code add_lines(struct doc *doc, const struct store_definition *definition, const struct store_definition *accepted)
{
    const struct span text = accepted != NULL ? accepted->text : definition->text;
    struct changes changes = {.list = doc_add_array(doc, "changes")};
    struct read_definition old, now;
    struct buf diff;
    enum code code = read_definition(&now, definition->text, true), other = read_definition(&old, text, accepted != NULL);

    buf_init(&diff, (size_t)128 << 20);
    if (code == CODE_OK)
        code = other;
    if (code == CODE_OK && accepted != NULL)
        code = definition_changes(old.text.root, now.text.root, add_change, &changes);
    if (code == CODE_OK && accepted != NULL)
        code = definition_diff(buf_peek(&old.lines), buf_peek(&now.lines), &diff);
    doc_int(doc, "further_changes", changes.count > MARKS_MAX ? (int64_t)changes.count - MARKS_MAX : 0);
    doc_text_or_null(doc, "against", accepted != NULL ? accepted->digest : SPAN_NONE);
    doc_text(doc, "lines", buf_peek(accepted != NULL ? &diff : &now.lines));
    read_end(&old);
    read_end(&now);
    buf_fini(&diff);
    return code;
}

static const char told_words[] =
    "{tool} of {upstream}: {state}[{!told_last}, not what the server told last]\n"
    "  digest:    {digest}\n  seen:      first {first_seen}, last {last_seen}\n"
    "[  [{?accepted}accepted:  ][{!accepted}withdrawn: ]{given} by {given_by} ({login}): {why}\n][  against:   {against}\n]"
    "{*marks}  look:      {path}: {mark}\n{/}[  look:      and {further_marks} more\n]"
    "[  unseen:    it {unseen}\n]"
    "{*changes}  [{?change=new}new:      ][{?change=gone}gone:     ][{?change=changed}changed:  ] {path}\n{/}"
    "[  and {further_changes} changes more\n]{lines:lines 4}";

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
    looking->known.file = looking->asked->file;
    if (code == CODE_OK)
        code = text_detectors_open(&looking->known.detectors);
    if (code == CODE_OK)
        code = store_definitions_each(*db, &asked, cmd_tools__keep, &looking->known, &why);
    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

static int list_all(const struct looking *looking, struct table *table)
{
    const struct asked *asked = looking->asked;
    size_t waiting = 0;
    int status = STATUS_DONE;

    for (size_t i = 0; i < looking->known.count && status == STATUS_DONE; i++) {
        const struct store_definition *at = &looking->known.all[i];
        struct doc *row = NULL;

        if ((asked->upstream != NULL && !span_is(at->upstream, asked->upstream)) ||
            (!asked->all && !at->is_accepted && !at->is_waiting))
            continue;
        waiting += at->is_waiting;
        status = make_doc(&looking->known, at, false, asked->json, &row);
        if (status == STATUS_DONE && table_add(table, &row) != CODE_OK)
            status = complain(STATUS_CANNOT, "not enough memory");
    }
    table_flush(table);
    if (status != STATUS_DONE || asked->json)
        return status;
    if (waiting > 0)
        printf("\n%zu wait:    callgate tools diff NAME\n           callgate tools accept NAME... --why TEXT\n", waiting);
    return STATUS_DONE;
}

int cmd_tools_list(const struct asked *asked)
{
    static const struct table_column columns[] = {
        {.title = "state", .least = TABLE_WHOLE}, {.title = "digest", .words = "{digest:first 12}", .least = TABLE_WHOLE},
        {.title = "last seen", .key = "last_seen"}, {.title = "upstream"}, {.title = "tool", .least = TOOL_CELLS},
        {.title = "", .key = "look", .none = "", .least = TABLE_WHOLE},
    };
    struct looking looking = {.asked = asked};
    struct table table;
    struct db *db = NULL;
    int status = open_known(&looking, &db);

    db_close(&db);
    TABLE_BEGIN(&table, columns, asked->json);
    if (status == OPTIONS_GO)
        status = list_all(&looking, &table);
    table.nothing = status == STATUS_DONE ? "no server has told its tools yet; agents' lists are kept as they pass, and "
                                            "`callgate tools fetch` asks" : NULL;
    (void)table_end(&table);
    cmd_tools__drop(&looking.known);
    return status;
}

/* Of a diff against what was accepted last; where nothing was, all of it is new. */
static int tell(const struct looking *looking, const struct store_definition *definition, bool is_diff)
{
    struct doc *doc = NULL;
    int status = make_doc(&looking->known, definition, true, true, &doc);
    enum code code;

    if (status != STATUS_DONE)
        return status;
    code = add_lines(doc, definition, is_diff ? accepted_of(&looking->known, definition) : NULL);
    if (code == CODE_OK)
        return told_answer(&doc, looking->asked->json, told_words);
    doc_free(&doc);
    return complain(STATUS_CANNOT, "it cannot be read: %s", code_text(code));
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
        status = tell(looking, at, is_diff);
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
