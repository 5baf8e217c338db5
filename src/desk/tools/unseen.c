/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/unseen.h"

#include "names/route_names_read.h"
#include "base/ascii.h"
#include "json/text.h"
#include "store/store_definitions.h"

#include <string.h>

#define SHOWN_BYTES 64
#define LEVELS 2 /* of objects in which a call may stand */

/* Words by which servers call the members, without their case, `_` and `-`. */
static const char *const names[] = {"tool", "toolname", "toolid", "toolslug", "function", "functionname", "toolkey", NULL};
static const char *const argument_names[] = {"arguments", "args", "parameters", "params", "input", "inputs", "toolargs",
    "toolarguments", "toolinput", "toolparameters", "toolparams", "functionarguments", NULL};
static const char *const program_names[] = {"script", "program", "sourcecode", "codesnippet", "pythoncode", "jscode",
    "javascript", "typescript", "pythonscript", NULL};
static const char *const searches[] = {"search", "find", "list", "discover", "describe", "browse", "query", "get", NULL};
static const char *const callers[] = {"call", "invoke", "exec", "tool", NULL};
static const char *const runners[] = {"run", "exec", "eval", "script", "python", "javascript", "typescript", "sandbox",
    "interpret", "notebook", NULL};

/* Lower case without what stands between words. */
static struct span plain_of(struct span text, char *out, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len && len < size; i++)
        if (text.at[i] != '_' && text.at[i] != '-')
            out[len++] = ascii_lower(text.at[i]);
    return span_of(out, len);
}

static bool is_one_of(struct span key, const char *const *words)
{
    char plain[SHOWN_BYTES];
    struct span text = plain_of(key, plain, sizeof plain);
    bool is = false;

    for (; *words != NULL && !is; words++)
        is = span_is(text, *words);
    return is;
}

static bool holds_one_of(struct span text, const char *const *words)
{
    bool holds = false;

    for (; *words != NULL && !holds; words++) {
        size_t len = strlen(*words);

        for (size_t i = 0; i + len <= text.len && !holds; i++)
            holds = span_equals_nocase(span_part(text, i, len), span_text(*words));
    }
    return holds;
}

static const struct json_node *member_of(const struct json_node *node, const char *name)
{
    return node != NULL && node->type == JSON_OBJECT ? json_member(node, span_text(name)) : NULL;
}

static bool may_be_text(const struct json_node *schema)
{
    const struct json_node *type = member_of(schema, "type");

    return type == NULL || type->type != JSON_STRING || span_is(type->text, "string");
}

static const struct json_node *find(const struct json_node *properties, const char *const *words)
{
    const struct json_node *at = properties != NULL ? properties->child : NULL;

    while (at != NULL && !is_one_of(at->key, words))
        at = at->next;
    return at;
}

/* Whether an object of these properties is a call of a tool. Takes: of_caller: `name` may be a tool's. */
static bool is_call(const struct json_node *properties, bool of_caller, struct span *name, struct span *arguments)
{
    const struct json_node *named = find(properties, names), *given = find(properties, argument_names);

    if (named == NULL && of_caller)
        named = member_of(properties, "name");
    if (named == NULL || given == NULL || !may_be_text(named))
        return false;
    *name = named->key;
    *arguments = given->key;
    return true;
}

/* Looks for a call in the properties and in the objects and lists below them. */
static enum unseen find_call(const struct json_node *properties, bool of_caller, int level, struct span *name,
                             struct span *arguments)
{
    enum unseen found = UNSEEN_NOTHING;

    if (properties == NULL || properties->type != JSON_OBJECT)
        return UNSEEN_NOTHING;
    if (is_call(properties, of_caller, name, arguments))
        return UNSEEN_CALLS;
    for (const struct json_node *at = level > 0 ? properties->child : NULL; at != NULL && found == UNSEEN_NOTHING;
         at = at->next) {
        found = find_call(member_of(at, "properties"), of_caller, level - 1, name, arguments);
        if (found == UNSEEN_NOTHING &&
            find_call(member_of(member_of(at, "items"), "properties"), of_caller, level - 1, name, arguments) != UNSEEN_NOTHING)
            found = UNSEEN_CALLS_SEVERAL;
    }
    return found;
}

static struct span shown(struct span text)
{
    return span_part(text, 0, SHOWN_BYTES);
}

static bool takes_program(const struct json_node *definition, struct span tool, const struct json_node *properties,
                          struct span *name)
{
    const struct json_node *program = find(properties, program_names), *code = member_of(properties, "code");
    struct span what = json_member_text(definition, "description");

    if (program == NULL && code != NULL && (holds_one_of(tool, runners) || holds_one_of(what, runners)))
        program = code;
    if (program == NULL || !may_be_text(program))
        return false;
    *name = program->key;
    return true;
}

enum unseen unseen_of(const struct json_node *definition, struct buf *out)
{
    struct span tool = json_member_text(definition, "name"), name = SPAN_NONE, arguments = SPAN_NONE;
    const struct json_node *properties = member_of(member_of(definition, "inputSchema"), "properties");
    enum unseen found;

    if (properties != NULL && properties->type != JSON_OBJECT)
        properties = NULL;
    found = find_call(properties, holds_one_of(tool, callers), LEVELS, &name, &arguments);
    if (found == UNSEEN_CALLS)
        buf_addf(out, "looks as if it called other tools (`%.*s`, `%.*s`): rules see this tool alone, unless `unwrap` of its "
                 "route says where the other stands", SPAN_ARG(shown(name)), SPAN_ARG(shown(arguments)));
    else if (found == UNSEEN_CALLS_SEVERAL)
        buf_addf(out, "looks as if it called several tools at once (`%.*s`, `%.*s`), which cannot be seen through: permit it "
                 "to whom you permit all of them", SPAN_ARG(shown(name)), SPAN_ARG(shown(arguments)));
    else if (takes_program(definition, tool, properties, &name)) {
        found = UNSEEN_PROGRAM;
        buf_addf(out, "takes a program's text (`%.*s`), which cannot be seen through: permit it as you would permit a shell",
                 SPAN_ARG(shown(name)));
    } else if (holds_one_of(tool, searches) && holds_one_of(tool, (const char *const[]){"tool", NULL})) {
        found = UNSEEN_LISTS;
        buf_addf(out, "looks as if it listed tools: its answer shows all, unless `unwrap` of its route says with `lists` where "
                 "they stand");
    }
    return found;
}

enum unseen unseen_by(struct conf_file *file, struct span upstream, struct span tool, const struct json_node *definition,
                      struct buf *out)
{
    enum unseen found = unseen_of(definition, out);

    if (found == UNSEEN_NOTHING || found == UNSEEN_PROGRAM || !conf_unwraps(file, upstream, tool))
        return found;
    buf_clear(out);
    return UNSEEN_NOTHING;
}

const char *unseen_word(enum unseen unseen)
{
    switch (unseen) {
    case UNSEEN_NOTHING: break;
    case UNSEEN_CALLS:
    case UNSEEN_CALLS_SEVERAL: return "calls tools";
    case UNSEEN_LISTS: return "lists tools";
    case UNSEEN_PROGRAM: return "takes programs";
    }
    return NULL;
}

struct looking {
    struct conf_file *file;
    struct doc *list;
};

static enum code look(void *context, const struct store_definition *definition)
{
    struct looking *looking = context;
    struct json_text text;
    struct buf sentence;
    enum unseen found = UNSEEN_NOTHING;
    enum code code;

    if (!definition->is_latest)
        return CODE_OK;
    buf_init(&sentence, UNSEEN_MAX_BYTES);
    code = json_text_read(&text, definition->text, &json_reply_rules, 2 * DEFINITION_MAX_BYTES);
    if (code == CODE_OK)
        found = unseen_by(looking->file, definition->upstream, definition->tool, text.root, &sentence);
    if (found != UNSEEN_NOTHING) {
        struct doc *one = doc_add_object(looking->list, NULL);

        doc_text(one, "upstream", definition->upstream);
        doc_text(one, "tool", definition->tool);
        doc_text(one, "unseen", buf_peek(&sentence));
    }
    json_text_fini(&text);
    buf_fini(&sentence);
    return code == CODE_NOMEM ? code : CODE_OK;
}

enum code unseen_tools(struct db *db, struct conf_file *file, struct doc *list, struct why *why)
{
    const struct store_definitions_asked asked = {.upstream = SPAN_NONE};
    struct looking looking = {file, list};

    return store_definitions_each(db, &asked, look, &looking, why);
}
