/* SPDX-License-Identifier: Apache-2.0 */
/* Each keyword becomes conditions of the language about the value at hand, `$`. What a schema says of members and elements
 * becomes the leaf of their path, or an EACH where one leaf cannot say it; what it says of one type of value alone is asked
 * where the value is of that type. A schema that a $ref names is compiled once, so that one may refer to itself. */
#include "schema/schema_priv.h"

#include "base/bug.h"
#include "base/num.h"
#include "texts/decode_text.h"
#include "base/utf8.h"
#include "unicode/unicode.h"

#include <stdio.h>

#define ARENA_MAX_BYTES ((size_t)16 << 20)
#define CONDITIONS_MAX 10000
#define DEPTH_MAX 128 /* schemas in each other, those that are referred to included: compiling recurses */
#define SHOWN_MAX 240 /* bytes of a JSON pointer */

/* ---- failures, memory, places ---- */

static struct span pointer(const struct schemer *s)
{
    return buf_code(&s->pointer) == CODE_OK ? utf8_cut(buf_peek(&s->pointer), SHOWN_MAX) : SPAN_LIT("/...");
}

void schema__fail(struct schemer *s, enum code code, const char *word, const char *what)
{
    if (s->code == CODE_OK)
        s->code = why_set(s->why, code, "`%s` of the schema at #%.*s: %s", word, SPAN_ARG(pointer(s)), what);
}

void *schema__alloc(struct schemer *s, size_t count, size_t bytes)
{
    void *at = arena_zalloc(&s->schema->arena, count * bytes); /* both are bounded by the text */

    if (at == NULL)
        schema__fail(s, CODE_NOMEM, "$schema", "it needs too much memory");
    return at;
}

static struct span keep_text(struct schemer *s, const char *text)
{
    size_t len = strlen(text);
    char *at = schema__alloc(s, len + 1, 1);

    if (at == NULL)
        return SPAN_NONE;
    memcpy(at, text, len);
    return span_of(at, len);
}

/* Adds a step to the pointer that errors show. Names come from a server, so that one which deceives a reader is not shown. */
static void step(struct schemer *s, const char *word, struct span name)
{
    buf_addf(&s->pointer, "/%s", word);
    if (name.at == NULL)
        return;
    buf_add_byte(&s->pointer, '/');
    if (unicode_is_deceptive(name))
        name = SPAN_LIT("(hidden characters)");
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] == '~' || name.at[i] == '/')
            buf_add_text(&s->pointer, name.at[i] == '~' ? "~0" : "~1");
        else
            buf_add_byte(&s->pointer, name.at[i]);
}

/* ---- conditions ---- */

static void begin(struct schemer *s, struct condition *condition, enum condition_kind kind)
{
    *condition = (struct condition){.kind = kind, .number = CONDITION_UNCOUNTED, .path = {.text = SPAN_LIT("$")},
                                    .opening = !s->negated, .every = true, .absent = TRUTH_TRUE};
    if (++s->count > CONDITIONS_MAX)
        schema__fail(s, CODE_LIMIT, "$ref", "the schema comes to more than 10,000 conditions");
}

/* Makes its label again. */
static void label_again(struct schemer *s, struct condition *condition)
{
    bool has_path = condition->kind == CONDITION_LEAF || condition->kind == CONDITION_EACH;
    struct span path = has_path ? condition->path.text : SPAN_NONE;
    char text[512];
    int len = snprintf(text, sizeof text, "by_schema #%.*s%s%.*s", SPAN_ARG(pointer(s)), path.len > 0 ? " " : "",
                       SPAN_ARG(utf8_cut(path, 100)));

    for (uint32_t i = 0; i < condition->op_count && len > 0 && (size_t)len < sizeof text; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, " %s", condition->ops[i].operator->word);
    condition->label = keep_text(s, text);
}

void schema__init_op(const struct schemer *s, struct op *op, const char *word)
{
    *op = (struct op){.operator = policy_operator(span_text(word)), .opening = !s->negated};
    op->types = op->operator->types;
}

struct op *schema__leaf(struct schemer *s, struct condition *leaf, const struct path *path, const char *word)
{
    struct op *op = schema__alloc(s, 1, sizeof *op);

    begin(s, leaf, CONDITION_LEAF);
    if (op == NULL)
        return NULL;
    schema__init_op(s, op, word);
    leaf->ops = op;
    leaf->op_count = 1;
    if (path != NULL)
        leaf->path = *path;
    label_again(s, leaf);
    return op;
}

struct condition *schema__group(struct schemer *s, struct condition *group, enum condition_kind kind, uint32_t count)
{
    struct condition *members = schema__alloc(s, count, sizeof *members);

    begin(s, group, kind);
    group->members = members;
    group->count = members != NULL ? count : 0;
    label_again(s, group);
    return members;
}

struct condition *schema__part(struct schemer *s, struct schema_body *body)
{
    if (body->part_count == body->part_room) {
        uint32_t room = body->part_room * 2 + 2;
        struct condition *parts = schema__alloc(s, room, sizeof *parts);

        if (parts == NULL)
            return NULL;
        if (body->part_count > 0)
            memcpy(parts, body->parts, body->part_count * sizeof *parts);
        body->parts = parts;
        body->part_room = room;
    }
    return &body->parts[body->part_count++];
}

struct op *schema__op(struct schemer *s, struct schema_body *body, const char *word)
{
    struct op *op = &body->ops[body->leaf.op_count++];

    schema__init_op(s, op, word);
    return op;
}

/* A keyword adds one operator at most, and `type` one more. */
static bool begin_body(struct schemer *s, struct schema_body *body, const struct json_node *node)
{
    *body = (struct schema_body){.part_count = 0};
    begin(s, &body->leaf, CONDITION_LEAF);
    body->leaf.ops = body->ops = schema__alloc(s, node->count + 1, sizeof *body->ops);
    return body->ops != NULL;
}

static void end_body(struct schemer *s, struct schema_body *body, struct condition *out)
{
    uint32_t leaves = body->leaf.op_count > 0;
    struct condition *members;

    if (leaves)
        label_again(s, &body->leaf);
    if (leaves + body->part_count == 1) {
        *out = leaves ? body->leaf : body->parts[0];
        return;
    }
    members = schema__group(s, out, CONDITION_ALL, leaves + body->part_count);
    if (members != NULL && leaves)
        members[0] = body->leaf;
    if (members != NULL && body->part_count > 0)
        memcpy(members + leaves, body->parts, body->part_count * sizeof *members);
}

struct path schema__to(struct schemer *s, struct path_selector selector, const char *text)
{
    struct path_selector *kept = schema__alloc(s, 1, sizeof *kept);
    struct path_segment *segment = schema__alloc(s, 1, sizeof *segment);

    if (kept == NULL || segment == NULL)
        return (struct path){.count = 0};
    *kept = selector;
    *segment = (struct path_segment){.count = 1, .selectors = kept};
    return (struct path){.text = keep_text(s, text), .count = 1, .segments = segment};
}

bool schema__asks_nothing(const struct condition *condition)
{
    if (condition->kind == CONDITION_EACH)
        condition = condition->members;
    return condition->kind == CONDITION_ALL && condition->count == 0;
}

/* ---- $ref ---- */

/* Appends one step of a JSON pointer in a URI's fragment. Returns: false: it cannot be read. */
static bool read_step(struct span text, struct buf *out)
{
    bool is_escaped = false; /* by `~` */

    for (size_t i = 0; i < text.len; i++) {
        int byte = decode_escape_at(text, i);
        char c = byte >= 0 ? (char)byte : text.at[i];

        if (byte < 0 && c == '%')
            return false;
        i += byte >= 0 ? 2 : 0;
        if (is_escaped && c != '0' && c != '1')
            return false;
        if (!is_escaped && c == '~') {
            is_escaped = true;
            continue;
        }
        buf_add_byte(out, !is_escaped ? c : c == '0' ? '~' : '/');
        is_escaped = false;
    }
    return !is_escaped;
}

static const struct json_node *child_at(const struct json_node *node, struct span name)
{
    uint64_t index = 0;

    if (node->type != JSON_ARRAY)
        return json_member(node, name);
    if (num_u64(name, &index) != CODE_OK || index >= node->count)
        return NULL;
    for (node = node->child; index > 0; index--)
        node = node->next;
    return node;
}

/* Takes: ref: "#", or a JSON pointer behind it. */
static const struct json_node *find_referred(struct schemer *s, struct span ref)
{
    const struct json_node *node = s->root;
    struct span rest = span_part(ref, 1, SIZE_MAX), text;
    struct buf name;
    bool is_read = rest.len == 0 || rest.at[0] == '/';

    buf_init(&name, POLICY_SCHEMA_MAX_BYTES);
    rest = span_part(rest, 1, SIZE_MAX);
    for (bool more = ref.len > 1; more && is_read && node != NULL;) {
        size_t end = span_find(rest, '/');

        text = span_part(rest, 0, end);
        more = end < rest.len;
        rest = span_part(rest, end + 1, SIZE_MAX);
        buf_clear(&name);
        is_read = read_step(text, &name);
        if (buf_code(&name) != CODE_OK) {
            schema__fail(s, buf_code(&name), "$ref", "it needs too much memory");
            break;
        }
        node = is_read ? child_at(node, buf_peek(&name)) : NULL;
    }
    buf_fini(&name);
    return is_read ? node : NULL;
}

static void compile(struct schemer *s, const struct json_node *node, struct condition *out);

/* Compiles the schema when it is referred to for the first time. A schema that comes back to itself without a step down
 * into the value would never end. */
static const struct condition *refer(struct schemer *s, const struct json_node *node)
{
    struct schema_referred *made;

    for (made = s->referred; made != NULL; made = made->next)
        if (made->node == node && made->negated == s->negated)
            break;
    if (made != NULL && made->is_open && made->level == s->level)
        schema__fail(s, CODE_INVALID, "$ref", "it comes back to the same schema for the same value, without end");
    if (made != NULL)
        return made->condition;
    made = schema__alloc(s, 1, sizeof *made);
    if (made == NULL)
        return NULL;
    *made = (struct schema_referred){.next = s->referred, .node = node, .level = s->level, .negated = s->negated,
                                     .is_open = true, .condition = schema__alloc(s, 1, sizeof *made->condition)};
    s->referred = made;
    if (made->condition != NULL)
        compile(s, node, made->condition);
    made->is_open = false;
    return made->condition;
}

static void take_ref(struct schemer *s, const struct json_node *schema, const struct json_node *ref,
                     struct schema_body *body)
{
    const struct json_node *node = NULL;
    struct buf around = s->pointer;
    struct condition *part;

    if (ref->type == JSON_STRING && ref->text.len > 0 && ref->text.at[0] == '#')
        node = find_referred(s, ref->text);
    if (node == NULL)
        schema__fail(s, CODE_INVALID, "$ref", "it names no schema of this document by # and a JSON pointer, as in "
                     "#/$defs/item; others are not fetched or looked for");
    for (const struct json_node *other = schema->child; s->dialect <= DRAFT_07 && other != NULL; other = other->next) {
        const struct schema_keyword *keyword = schema__keyword(other->key);

        if (other != ref && (keyword == NULL || keyword->take != NULL || span_is(other->key, "type")))
            schema__fail(s, CODE_INVALID, "$ref", "other keywords stand beside it, which draft-07 ignores and readers "
                         "do not; put them into an allOf");
    }
    part = node != NULL ? schema__part(s, body) : NULL;
    if (part == NULL)
        return;
    begin(s, part, CONDITION_ALL);
    label_again(s, part);
    buf_init(&s->pointer, around.cap_bytes);
    buf_add_span(&s->pointer, unicode_is_deceptive(ref->text) ? SPAN_LIT("/...") : span_part(ref->text, 1, SIZE_MAX));
    part->members = refer(s, node);
    part->count = part->members != NULL;
    buf_fini(&s->pointer);
    s->pointer = around;
}

/* ---- one schema ---- */

static const struct { unsigned types; const char *word; } families[FAMILY_COUNT] = {
    [OF_ANY] = {TYPES_ALL, ""},
    [OF_NUMBER] = {TYPE_BIT(JSON_NUMBER), "number"},
    [OF_STRING] = {TYPE_BIT(JSON_STRING), "string"},
    [OF_ARRAY] = {TYPE_BIT(JSON_ARRAY), "array"},
    [OF_OBJECT] = {TYPE_BIT(JSON_OBJECT), "object"},
};

/* Returns: the types that the value may have. */
static unsigned take_type(struct schemer *s, const struct json_node *type, struct schema_body *body)
{
    const struct json_node *word = type->type == JSON_ARRAY ? type->child : type;
    struct op *op = schema__op(s, body, "is");

    op->types = 0;
    op->value = type;
    if (word == NULL)
        schema__fail(s, CODE_INVALID, "type", "the list is empty");
    for (; word != NULL; word = type->type == JSON_ARRAY ? word->next : NULL)
        if (word->type != JSON_STRING || !operator_type_add(op, word->text))
            schema__fail(s, CODE_INVALID, "type", "it is none of null, boolean, number, integer, string, array, "
                         "object");
    return op->types;
}

static void check_keyword(struct schemer *s, const struct json_node *member)
{
    const struct schema_keyword *keyword = schema__keyword(member->key);
    char word[64];

    snprintf(word, sizeof word, "%.*s",
             SPAN_ARG(unicode_is_deceptive(member->key) ? SPAN_LIT("(hidden characters)") : utf8_cut(member->key, 60)));
    if (keyword == NULL)
        schema__fail(s, CODE_INVALID, word, "no keyword of JSON Schema 2020-12 has this name; a note of one's own "
                     "begins with x-");
    else if (keyword->refused != NULL)
        schema__fail(s, CODE_INVALID, word, keyword->refused);
    else if (s->dialect < keyword->first || s->dialect > keyword->last)
        schema__fail(s, CODE_INVALID, word, "the schema's dialect does not have it, and readers differ about what it "
                     "then says; `$schema` names the dialect, and without it that is 2020-12");
}

static void take_family(struct schemer *s, const struct json_node *schema, enum schema_family family,
                        struct schema_body *body)
{
    for (const struct json_node *member = schema->child; member != NULL && s->code == CODE_OK; member = member->next) {
        const struct schema_keyword *keyword = schema__keyword(member->key);

        if (keyword != NULL && keyword->family == family && keyword->take != NULL)
            keyword->take(s, keyword, schema, member, body);
    }
}

/* Adds what the schema says of values of one type as one more part: the value is of another type, or this holds. */
static void take_guarded(struct schemer *s, const struct json_node *schema, enum schema_family family,
                         struct schema_body *around)
{
    struct schema_body body;
    struct condition *part, *members, *not;
    struct op *op;

    if (!begin_body(s, &body, schema))
        return;
    take_family(s, schema, family, &body);
    if (body.leaf.op_count + body.part_count == 0)
        return;
    part = schema__part(s, around);
    members = part != NULL ? schema__group(s, part, CONDITION_ANY, 2) : NULL;
    not = members != NULL ? schema__group(s, &members[0], CONDITION_NOT, 1) : NULL;
    s->negated = !s->negated;
    op = not != NULL ? schema__leaf(s, not, NULL, "is") : NULL;
    s->negated = !s->negated;
    if (op == NULL)
        return;
    op->types = families[family].types;
    op->text = span_text(families[family].word);
    end_body(s, &body, &members[1]);
}

static void compile_object(struct schemer *s, const struct json_node *node, struct condition *out)
{
    const struct json_node *type = json_member(node, SPAN_LIT("type")), *ref = json_member(node, SPAN_LIT("$ref"));
    struct schema_body body;
    unsigned types;

    for (const struct json_node *member = node->child; member != NULL; member = member->next)
        check_keyword(s, member);
    if (node != s->root && (json_member(node, SPAN_LIT("$id")) != NULL))
        schema__fail(s, CODE_INVALID, "$id", "a schema inside another has none; $ref would mean something else below "
                     "it");
    if (!begin_body(s, &body, node) || s->code != CODE_OK)
        return;
    types = type != NULL ? take_type(s, type, &body) : TYPES_ALL;
    if (ref != NULL)
        take_ref(s, node, ref, &body);
    for (enum schema_family family = OF_ANY; family < FAMILY_COUNT; family++) {
        if ((types & ~families[family].types) == 0 || family == OF_ANY)
            take_family(s, node, family, &body);
        else if ((types & families[family].types) != 0)
            take_guarded(s, node, family, &body);
    }
    end_body(s, &body, out);
}

static void compile(struct schemer *s, const struct json_node *node, struct condition *out)
{
    struct op *op;

    begin(s, out, CONDITION_ALL);
    if (++s->depth > DEPTH_MAX)
        schema__fail(s, CODE_LIMIT, "$ref", "schemas stand over 128 deep in each other");
    if (node->type == JSON_FALSE) { /* no value that is there fits */
        op = schema__leaf(s, out, NULL, "exists");
        if (op != NULL)
            op->text = SPAN_LIT("false");
    } else if (node->type == JSON_OBJECT && s->code == CODE_OK) {
        compile_object(s, node, out);
    } else if (node->type != JSON_TRUE) {
        schema__fail(s, CODE_INVALID, "schema", "it is no object, true or false");
    }
    s->depth--;
}

/* Compiles a schema for the values that the path selects: a leaf about `$` becomes one about the path. */
static void compile_below(struct schemer *s, const struct json_node *node, const struct path *path, struct condition *out)
{
    struct condition *inner = schema__alloc(s, 1, sizeof *inner);

    begin(s, out, CONDITION_EACH);
    if (inner == NULL)
        return;
    out->members = inner;
    out->count = 1;
    s->level++;
    compile(s, node, inner);
    s->level--;
    if (inner->kind == CONDITION_LEAF && path_is_root(&inner->path))
        *out = *inner;
    out->path = *path;
    label_again(s, out);
}

void schema__at(struct schemer *s, const char *word, struct span name, const struct json_node *node,
                const struct path *path, struct condition *out)
{
    struct buf_mark mark = buf_mark(&s->pointer);

    step(s, word, name);
    if (path != NULL)
        compile_below(s, node, path, out);
    else
        compile(s, node, out);
    buf_rewind(&s->pointer, mark);
}

/* ---- the seam ---- */

/* Reads the dialect that the schema is written in; without `$schema` it is 2020-12, as MCP says. */
static void read_dialect(struct schemer *s)
{
    static const char *const dialects[] = {
        [DRAFT_06] = "http://json-schema.org/draft-06/schema",
        [DRAFT_07] = "http://json-schema.org/draft-07/schema",
        [DRAFT_2019] = "https://json-schema.org/draft/2019-09/schema",
        [DRAFT_2020] = "https://json-schema.org/draft/2020-12/schema",
    };
    const struct json_node *dialect = json_member(s->root, SPAN_LIT("$schema"));
    struct span uri = dialect != NULL ? dialect->text : SPAN_LIT("https://json-schema.org/draft/2020-12/schema");

    if (uri.len > 0 && uri.at[uri.len - 1] == '#')
        uri.len--;
    for (s->dialect = DRAFT_06; s->dialect <= DRAFT_2020; s->dialect++)
        if (span_is(uri, dialects[s->dialect]))
            return;
    schema__fail(s, CODE_INVALID, "$schema", "it is none of 2020-12, 2019-09, draft-07 and draft-06");
}

static enum code compile_root(struct policy_schema *schema, struct span json, struct why *why)
{
    struct schemer s = {.schema = schema, .why = why};
    struct json_fault fault = {.text = ""};
    enum code code = json_read(json, &json_file_rules, &schema->text, &schema->arena, &s.root, &fault);

    if (code != CODE_OK)
        return why_set(why, code, "the schema is not usable at its byte %zu: %s", fault.offset + 1, fault.text);
    buf_init(&s.pointer, POLICY_SCHEMA_MAX_BYTES);
    read_dialect(&s);
    compile(&s, s.root, &schema->condition);
    buf_fini(&s.pointer);
    return s.code;
}

enum code policy_schema_compile(struct span json, struct policy_schema **schema, struct why *why)
{
    struct policy_schema *made;
    enum code code;

    *schema = NULL;
    if (json.len > POLICY_SCHEMA_MAX_BYTES)
        return why_set(why, CODE_LIMIT, "a schema of more than 256 KiB");
    made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return why_set(why, CODE_NOMEM, "no memory for this schema");
    ref_init(&made->ref);
    arena_init(&made->arena, ARENA_MAX_BYTES);
    buf_init(&made->text, POLICY_SCHEMA_MAX_BYTES * 6); /* an escape for each byte */
    code = compile_root(made, json, why);
    if (code == CODE_OK)
        *schema = made;
    else
        policy_schema_unref(&made);
    return code;
}
