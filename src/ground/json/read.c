/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a document in one pass over an explicit stack, in two kinds of steps. One begins a value. The other reads what
 * stands behind a complete value, which may complete the container around it, and so on up. */
#include "base/bug.h"
#include "json/json_priv.h"

const struct json_rules json_request_rules = {64, 200000, 4096, JSON_FOLD_ENVELOPE, 0};
const struct json_rules json_reply_rules = {128, 0, 65536, JSON_FOLD_NONE, 0};
const struct json_rules json_file_rules = {64, 200000, 4096, JSON_FOLD_NONE, 0};

enum read_step { STEP_FAIL = 0, STEP_BEGIN, STEP_DONE }; /* a value must begin; a value is complete */

#define SPARE_NODES 14 /* no more than lie beside other things in an arena's block */

enum { BYTE_OTHER = 0, BYTE_BLANK, BYTE_QUOTE, BYTE_OBJECT, BYTE_ARRAY, BYTE_NUMBER, BYTE_WORD };

static const unsigned char byte_class[256] = {
    [' '] = BYTE_BLANK,  ['\t'] = BYTE_BLANK, ['\n'] = BYTE_BLANK, ['\r'] = BYTE_BLANK, ['"'] = BYTE_QUOTE,
    ['{'] = BYTE_OBJECT, ['['] = BYTE_ARRAY,  ['-'] = BYTE_NUMBER, ['0'] = BYTE_NUMBER, ['1'] = BYTE_NUMBER,
    ['2'] = BYTE_NUMBER, ['3'] = BYTE_NUMBER, ['4'] = BYTE_NUMBER, ['5'] = BYTE_NUMBER, ['6'] = BYTE_NUMBER,
    ['7'] = BYTE_NUMBER, ['8'] = BYTE_NUMBER, ['9'] = BYTE_NUMBER, ['t'] = BYTE_WORD,   ['f'] = BYTE_WORD,
    ['n'] = BYTE_WORD};

void json__set_fault(struct json__reader *r, enum json_fault_kind kind, const unsigned char *at, const char *text)
{
    *r->fault = (struct json_fault){kind, (size_t)(at - r->start), text};
    switch (kind) {
    case JSON_FAULT_MEMORY:
        r->code = CODE_NOMEM;
        break;
    case JSON_FAULT_DEPTH:
    case JSON_FAULT_NODES:
    case JSON_FAULT_SIZE:
        r->code = CODE_LIMIT;
        break;
    case JSON_FAULT_NONE:
    case JSON_FAULT_SYNTAX:
    case JSON_FAULT_UTF8:
    case JSON_FAULT_STRING:
    case JSON_FAULT_NUMBER:
    case JSON_FAULT_DUPLICATE:
        r->code = CODE_INVALID;
        break;
    }
}

COLD static enum read_step fail_syntax(struct json__reader *r, const char *text)
{
    (void)json__fail(r, JSON_FAULT_SYNTAX, r->at, r->at == r->end ? "the document ends too early" : text);
    return STEP_FAIL;
}

/* Skips blanks. Returns: the next byte, which is not yet taken; -1: the end. */
static inline int next_byte(struct json__reader *r)
{
    const unsigned char *at = r->at;

    while (at < r->end && *at <= ' ' && byte_class[*at] == BYTE_BLANK)
        at++;
    r->at = at;
    return at < r->end ? *at : -1;
}

static bool unescape(struct json__reader *r, struct span raw, struct buf *scratch, struct span *text)
{
    char *at = NULL;

    if (scratch == NULL) {
        at = arena_alloc(r->arena, raw.len);
    } else {
        buf_clear(scratch);
        if (buf_reserve(scratch, raw.len, &at) != CODE_OK)
            at = NULL;
    }
    if (at == NULL)
        return json__fail(r, JSON_FAULT_MEMORY, r->at, "no memory");
    *text = span_of(at, json__unescape(raw, at));
    return true;
}

/* The decoded text of a slice: the canonical bytes themselves, or for escaped ones a copy in `scratch`; NULL: in the arena. */
static inline bool decode(struct json__reader *r, const struct json__slice *slice, struct buf *scratch, struct span *text)
{
    *text = json__view(r, slice->begin, slice->end);
    return !slice->escaped || unescape(r, *text, scratch, text);
}

static struct json_node *take_node(struct json__reader *r)
{
    if (r->spare_count == 0) {
        /* Every further node takes at least two bytes of the input. So a small document, such as an operand, reserves
         * few nodes. */
        size_t left = (size_t)(r->end - r->at) / 2 + 1;
        uint32_t count = left < SPARE_NODES ? (uint32_t)left : SPARE_NODES;

        r->spare = arena_alloc(r->arena, count * sizeof *r->spare);
        if (r->spare == NULL) {
            (void)json__fail(r, JSON_FAULT_MEMORY, r->at, "no memory");
            return NULL;
        }
        r->spare_count = count;
    }
    r->spare_count--;
    return r->spare++;
}

/* Hangs a new node behind its elder siblings. */
static inline struct json_node *add_node(struct json__reader *r, enum json_type type)
{
    struct json__frame *top = r->top;
    struct json_node *node = take_node(r);

    if (node == NULL)
        return NULL;
    *node = (struct json_node){.type = type};
    if (top->is_object && !decode(r, &r->key, NULL, &node->key))
        return NULL;
    *top->link = node;
    top->link = &node->next;
    return node;
}

/* A walk goes on without the tree beside its events where there is no room for it. Returns: whether this reader may do so. */
static bool give_up_tree(struct json__reader *r)
{
    if (r->tree == NULL || r->code != CODE_NOMEM)
        return false;
    r->arena = r->tree->arena = NULL;
    r->root = NULL;
    r->tree->is_full = true;
    r->code = CODE_OK;
    *r->fault = (struct json_fault){JSON_FAULT_NONE, 0, ""};
    return true;
}

static bool send_event(struct json__reader *r, struct json_event *event, const struct json__slice *key, bool named)
{
    if (named && !decode(r, key, &r->key_text, &event->key))
        return false;
    r->code = r->event(r->context, event);
    return r->code == CODE_OK;
}

/* Takes: node: the scalar in a tree; or NULL. */
static bool send_scalar(struct json__reader *r, enum json_type type, size_t begin, const struct json__slice *text,
                        const struct json_node *node)
{
    const struct json__frame *top = r->top;
    struct json_event event = {.kind = JSON_EVENT_SCALAR, .type = type, .depth = r->depth, .begin = begin,
                               .end = json__offset(r), .member = r->member,
                               .raw = json__view(r, begin, json__offset(r))};
    bool has_text = type == JSON_NUMBER ||
                    (type == JSON_STRING && (r->rules->text_depth == 0 || r->depth <= r->rules->text_depth));

    if (has_text && type == JSON_STRING && node != NULL)
        event.text = node->text;
    else if (has_text && !decode(r, text, &r->text, &event.text))
        return false;
    return send_event(r, &event, &r->key, top->is_object);
}

/* Returns: NULL: there was no memory. */
static inline const struct json_node *hang_scalar(struct json__reader *r, enum json_type type, size_t begin,
                                                  const struct json__slice *text)
{
    struct json_node *node = add_node(r, type);

    if (node == NULL || (type == JSON_STRING && !decode(r, text, NULL, &node->text)))
        return NULL;
    node->raw = json__view(r, begin, json__offset(r));
    return node;
}

/* Whether the listener has begun a tree at the value whose event it was just sent. */
static bool begins_tree(struct json__reader *r)
{
    if (r->tree == NULL || r->tree->arena == r->arena)
        return false;
    r->arena = r->tree->arena;
    r->top->link = &r->root;
    return true;
}

/* A scalar's canonical bytes are complete; `text` is its inside where it is a string. */
static inline enum read_step add_scalar(struct json__reader *r, enum json_type type, size_t begin,
                                        const struct json__slice *text)
{
    const struct json_node *node = NULL;

    if (r->arena != NULL) {
        node = hang_scalar(r, type, begin, text);
        if (node == NULL && !give_up_tree(r))
            return STEP_FAIL;
    }
    if (r->event != NULL && !send_scalar(r, type, begin, text, node))
        return STEP_FAIL;
    if (begins_tree(r)) {
        if (hang_scalar(r, type, begin, text) == NULL && !give_up_tree(r))
            return STEP_FAIL;
        r->arena = r->tree->arena = NULL;
    }
    return STEP_DONE;
}

static enum read_step read_word(struct json__reader *r, size_t begin)
{
    static const struct {
        struct span text;
        enum json_type type;
    } words[] = {{{"true", 4}, JSON_TRUE}, {{"false", 5}, JSON_FALSE}, {{"null", 4}, JSON_NULL}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (span_starts_with(span_of(r->at, (size_t)(r->end - r->at)), words[i].text)) {
            if (!json__emit(r, r->at, words[i].text.len))
                return STEP_FAIL;
            r->at += words[i].text.len;
            return add_scalar(r, words[i].type, begin, NULL);
        }
    return fail_syntax(r, "not a JSON value");
}

/* At the key's quote, or what should be one: reads the name and the colon. */
static enum read_step read_key(struct json__reader *r)
{
    const unsigned char *at = r->at;

    if (r->at == r->end || *r->at != '"')
        return fail_syntax(r, "a member needs a name in quotes");
    r->member = json__offset(r);
    if (!json__read_string(r, &r->key) || !json__keys_push(r, &r->key, at))
        return STEP_FAIL;
    if (next_byte(r) != ':')
        return fail_syntax(r, "a colon is missing");
    r->at++;
    return json__emit_byte(r, ':') ? STEP_BEGIN : STEP_FAIL;
}

/* How strictly the keys of the container that begins now are compared. */
static inline enum json__place place_of(struct json__reader *r)
{
    switch (r->top->place) {
    case PLACE_OUTSIDE:
        return r->rules->folding == JSON_FOLD_ENVELOPE ? PLACE_ENVELOPE
               : r->rules->folding == JSON_FOLD_PARAMS ? PLACE_PARAMS
                                                       : PLACE_ARGUMENTS;
    case PLACE_ENVELOPE:
        return span_is(json__view(r, r->key.begin, r->key.end), "params") ? PLACE_PARAMS : PLACE_PLAIN;
    case PLACE_PARAMS:
        return span_is(json__view(r, r->key.begin, r->key.end), "arguments") ? PLACE_ARGUMENTS : PLACE_PLAIN;
    case PLACE_PLAIN:
    case PLACE_ARGUMENTS:
        break;
    }
    return PLACE_PLAIN;
}

static bool send_end(struct json__reader *r, const struct json__frame *ended)
{
    struct json_event event = {.kind = JSON_EVENT_END, .type = ended->is_object ? JSON_OBJECT : JSON_ARRAY,
                               .depth = r->depth, .begin = ended->begin,
                               .end = json__offset(r), .member = ended->member,
                               .raw = json__view(r, ended->begin, json__offset(r))};

    return send_event(r, &event, &ended->key, r->top->is_object);
}

static enum read_step end_container(struct json__reader *r)
{
    struct json__frame *ended = r->top;

    if (ended->is_object && !json__keys_end(r, ended->first_key, ended->place))
        return STEP_FAIL;
    if (!json__emit_byte(r, ended->is_object ? '}' : ']'))
        return STEP_FAIL;
    r->at++;
    r->depth--;
    r->top--;
    if (r->arena != NULL) {
        ended->node->count = ended->count;
        ended->node->raw = json__view(r, ended->begin, json__offset(r));
        if (r->tree != NULL && ended->node == r->root)
            r->arena = r->tree->arena = NULL;
    }
    return r->event == NULL || send_end(r, ended) ? STEP_DONE : STEP_FAIL;
}

static bool send_begin(struct json__reader *r, enum json_type type, size_t begin)
{
    struct json__frame *outer = r->top, *next = outer + 1;
    struct json_event event = {.kind = JSON_EVENT_BEGIN, .type = type, .depth = r->depth,
                               .begin = begin, .end = begin, .member = r->member};

    next->member = r->member;
    next->key = r->key;
    if (!send_event(r, &event, &r->key, outer->is_object))
        return false;
    (void)begins_tree(r);
    return true;
}

/* At the opening bracket. */
static enum read_step begin_container(struct json__reader *r, size_t begin)
{
    bool is_object = *r->at == '{';
    enum json_type type = is_object ? JSON_OBJECT : JSON_ARRAY;
    struct json__frame *next = r->top + 1;

    if (r->depth == r->rules->max_depth) {
        (void)json__fail(r, JSON_FAULT_DEPTH, r->at, "nested too deeply");
        return STEP_FAIL;
    }
    if (r->event != NULL && !send_begin(r, type, begin))
        return STEP_FAIL;
    if (r->arena != NULL) {
        next->node = add_node(r, type);
        if (next->node == NULL && !give_up_tree(r))
            return STEP_FAIL;
        next->link = next->node != NULL ? &next->node->child : NULL;
    }
    next->is_object = is_object;
    next->place = is_object ? place_of(r) : PLACE_PLAIN;
    next->count = 0;
    next->first_key = r->keys.count;
    next->begin = begin;
    r->top = next;
    r->depth++;
    if (!json__emit_byte(r, (char)*r->at++))
        return STEP_FAIL;
    if (next_byte(r) == (is_object ? '}' : ']'))
        return end_container(r);
    if (is_object)
        return read_key(r);
    r->member = json__offset(r);
    return STEP_BEGIN;
}

static enum read_step begin_value(struct json__reader *r)
{
    struct json__slice text;
    int byte = next_byte(r);
    size_t begin;

    if (byte < 0)
        return fail_syntax(r, "");
    if (r->nodes_left == 0) {
        (void)json__fail(r, JSON_FAULT_NODES, r->at, "too many values");
        return STEP_FAIL;
    }
    r->nodes_left--;
    begin = json__offset(r);
    switch (byte_class[byte]) {
    case BYTE_QUOTE:
        return json__read_string(r, &text) ? add_scalar(r, JSON_STRING, begin, &text) : STEP_FAIL;
    case BYTE_NUMBER:
        if (!json__read_number(r))
            return STEP_FAIL;
        text = (struct json__slice){.begin = begin, .end = json__offset(r)};
        return add_scalar(r, JSON_NUMBER, begin, &text);
    case BYTE_OBJECT:
    case BYTE_ARRAY:
        return begin_container(r, begin);
    case BYTE_WORD:
        return read_word(r, begin);
    }
    return fail_syntax(r, "not a JSON value");
}

/* Behind a complete value inside a container: the next sibling, or the container's end. */
static enum read_step after_value(struct json__reader *r)
{
    struct json__frame *top = r->top;
    int byte = next_byte(r);

    top->count++;
    if (byte == (top->is_object ? '}' : ']'))
        return end_container(r);
    if (byte != ',')
        return fail_syntax(r, "a comma or a closing bracket is missing");
    r->at++;
    if (!json__emit_byte(r, ','))
        return STEP_FAIL;
    if (!top->is_object) {
        r->member = json__offset(r);
        return STEP_BEGIN;
    }
    if (top->count >= r->rules->max_keys) {
        (void)json__fail(r, JSON_FAULT_NODES, r->at, "too many keys in one object");
        return STEP_FAIL;
    }
    (void)next_byte(r);
    return read_key(r);
}

static bool read_document(struct json__reader *r)
{
    enum read_step step = STEP_BEGIN;

    if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0)
        return json__fail(r, JSON_FAULT_UTF8, r->at, "begins with a byte order mark");
    while (step == STEP_BEGIN) {
        step = begin_value(r);
        while (step == STEP_DONE && r->depth > 0)
            step = after_value(r);
    }
    if (step == STEP_FAIL)
        return false;
    return next_byte(r) < 0 || json__fail(r, JSON_FAULT_SYNTAX, r->at, "something follows the document");
}

static bool is_in_place(struct span in, const struct buf *out)
{
    return in.len > 0 && buf_len(out) == in.len && buf_peek(out).at == in.at;
}

/* Takes room for the longest result at once, or as much as the cap allows, because spans into it must stay valid. */
static bool reserve_out(struct json__reader *r, struct span in, struct buf *out, size_t growth)
{
    size_t want = in.len + growth + JSON__SLACK, room = buf_room(out);
    size_t size = want < room ? want : room;

    if (is_in_place(in, out)) {
        r->out = r->out_start = out->block + out->head;
        r->out_end = r->out_start + in.len;
        return true;
    }
    if (buf_reserve(out, size, &r->out_start) != CODE_OK)
        return json__fail(r, JSON_FAULT_MEMORY, r->start, "no memory");
    r->out = r->out_end = r->out_start;
    if (size > 0) /* in C even adding 0 to the NULL of an empty buffer is undefined */
        r->out_end += size;
    return true;
}

static enum code read_all(struct json__reader *r, struct span in, const struct json_rules *rules, struct buf *out,
                     struct json_fault *fault)
{
    size_t growth = json__growth(in);
    struct buf aside; /* a copy of the input, where the result may become longer than it */

    buf_init(&aside, SIZE_MAX / 2);
    if (growth > 0 && is_in_place(in, out))
        buf_move(&aside, out);
    BUG_ON(rules->max_depth > JSON__DEPTH_MAX);
    *fault = (struct json_fault){JSON_FAULT_NONE, 0, ""};
    r->start = r->at = (const unsigned char *)(in.len ? in.at : "");
    r->end = r->start + in.len;
    r->rules = rules;
    r->fault = fault;
    r->code = CODE_OK;
    r->root = NULL;
    r->spare_count = 0;
    r->nodes_left = rules->max_nodes != 0 ? rules->max_nodes : SIZE_MAX;
    r->depth = 0;
    r->top = r->frames;
    r->frames[0].is_object = false;
    r->frames[0].place = rules->folding != JSON_FOLD_NONE ? PLACE_OUTSIDE : PLACE_PLAIN;
    r->frames[0].count = 0;
    r->frames[0].link = &r->root;
    r->member = 0;
    r->key = (struct json__slice){0};
    json__keys_init(&r->keys);
    buf_init(&r->key_text, SIZE_MAX / 2);
    buf_init(&r->text, SIZE_MAX / 2);
    if (is_in_place(in, out)) {
        (void)(reserve_out(r, in, out, growth) && read_document(r));
        buf_truncate(out, r->code == CODE_OK ? json__offset(r) : 0);
    } else if (reserve_out(r, in, out, growth) && read_document(r)) {
        buf_commit(out, json__offset(r));
    }
    buf_fini(&aside);
    json__keys_fini(&r->keys);
    buf_fini(&r->key_text);
    buf_fini(&r->text);
    return r->code;
}

enum code json_read(struct span in, const struct json_rules *rules, struct buf *out, struct arena *arena,
                    const struct json_node **root, struct json_fault *fault)
{
    struct json__reader reader; /* not cleared: its frames are 12 KiB, and only those in use are written */
    enum code code;

    BUG_ON((arena == NULL) != (root == NULL));
    reader.arena = arena;
    reader.tree = NULL;
    reader.event = NULL;
    code = read_all(&reader, in, rules, out, fault);
    if (root != NULL)
        *root = code == CODE_OK ? reader.root : NULL;
    return code;
}

enum code json_walk_tree(struct span in, const struct json_rules *rules, struct buf *out, struct json_tree *tree,
                         json_event_fn event, void *context, struct json_fault *fault)
{
    struct json__reader reader;
    enum code code;

    reader.arena = NULL;
    reader.tree = tree;
    reader.event = event;
    reader.context = context;
    code = read_all(&reader, in, rules, out, fault);
    if (tree != NULL)
        tree->root = code == CODE_OK ? reader.root : NULL;
    return code;
}

enum code json_walk(struct span in, const struct json_rules *rules, struct buf *out, json_event_fn event, void *context,
                    struct json_fault *fault)
{
    return json_walk_tree(in, rules, out, NULL, event, context, fault);
}
