/* SPDX-License-Identifier: Apache-2.0 */
#include "past/learn_priv.h"
#include "judgement/judgement.h"

#define LEARN_MAX_BYTES ((size_t)1 << 30)
#define SAMPLE_DEPTH_MAX 12

enum code learn__copy(struct learn *learn, struct span text, struct span *copy)
{
    char *at = arena_dup(&learn->arena, text.at, text.len);

    *copy = span_of(at, text.len);
    return at != NULL ? CODE_OK : CODE_NOMEM;
}

enum code learn_new(struct learn **learn)
{
    struct learn *made = mem_zalloc(sizeof *made);

    *learn = made;
    if (made == NULL)
        return CODE_NOMEM;
    arena_init(&made->arena, LEARN_MAX_BYTES);
    made->kinds = mem_array(LEARN_KINDS_MAX, sizeof(struct learn_kind *));
    if (made->kinds != NULL)
        return CODE_OK;
    learn_free(learn);
    return CODE_NOMEM;
}

void learn_bind(struct learn *learn, const struct definition_set *definitions)
{
    learn->definitions = definitions;
}

void learn_free(struct learn **learn)
{
    struct learn *gone = *learn;

    *learn = NULL;
    if (gone == NULL)
        return;
    mem_free(gone->kinds);
    arena_fini(&gone->arena);
    mem_free(gone);
}

/* ---- kinds of calls ---- */

static bool is_plain_method(const struct question *question, bool from_server)
{
    static const char *const methods[] = {"stream/message", "response", "resources/list", "resources/templates/list",
                                          "skills/list", "prompts/list", "roots/list"};

    if (from_server || policy_is_protocol(question->method))
        return true;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (span_is(question->method, methods[i]))
            return true;
    return false;
}

static enum learn_about about_of(const struct question *question, bool from_server)
{
    if (is_plain_method(question, from_server))
        return LEARN_PLAIN;
    if (span_is(question->method, "tools/call"))
        return LEARN_TOOL;
    return span_is(question->method, "prompts/get") ? LEARN_PROMPT : LEARN_PARAMS;
}

static int compare(const struct learn_kind *a, const struct learn_kind *b)
{
    int order = span_compare(a->upstream, b->upstream);

    if (order == 0)
        order = (int)a->about - (int)b->about;
    if (order == 0)
        order = span_compare(a->method, b->method);
    if (order == 0)
        order = span_compare(a->target, b->target);
    return order != 0 ? order : span_compare(a->path, b->path);
}

/* Returns: where it is, or would be. */
static uint32_t place_of(const struct learn *learn, const struct learn_kind *wanted, bool *is_there)
{
    uint32_t from = 0, to = learn->kind_count;

    *is_there = false;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = compare(learn->kinds[middle], wanted);

        if (order == 0) {
            *is_there = true;
            return middle;
        }
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct learn_kind kind_of(const struct recorded *recorded)
{
    const struct question *question = &recorded->question;
    struct learn_kind kind = {.upstream = question->upstream, .method = question->method,
                              .about = about_of(question, recorded->from_server)};

    /* An answer is judged by the method that it answers, too. */
    if (span_is(question->method, "response"))
        kind.method = question->answers;
    if (kind.about == LEARN_TOOL || kind.about == LEARN_PROMPT)
        kind.target = recorded->target;
    if (kind.about != LEARN_PLAIN)
        kind.path = question->path;
    return kind;
}

static enum code find_kind(struct learn *learn, const struct recorded *recorded, struct learn_kind **kind)
{
    struct learn_kind wanted = kind_of(recorded);
    bool is_there;
    uint32_t at = place_of(learn, &wanted, &is_there);
    enum code code;

    *kind = is_there ? learn->kinds[at] : NULL;
    if (is_there || learn->kind_count == LEARN_KINDS_MAX)
        return CODE_OK;
    *kind = arena_zalloc(&learn->arena, sizeof **kind);
    if (*kind == NULL)
        return CODE_NOMEM;
    (*kind)->about = wanted.about;
    code = learn__copy(learn, wanted.upstream, &(*kind)->upstream);
    if (code == CODE_OK)
        code = learn__copy(learn, wanted.method, &(*kind)->method);
    if (code == CODE_OK)
        code = learn__copy(learn, wanted.target, &(*kind)->target);
    if (code == CODE_OK)
        code = learn__copy(learn, wanted.path, &(*kind)->path);
    (*kind)->root = learn__new_shape(learn, *kind, NULL, SPAN_NONE);
    if (code != CODE_OK || (*kind)->root == NULL)
        return CODE_NOMEM;
    memmove(learn->kinds + at + 1, learn->kinds + at, (learn->kind_count - at) * sizeof *learn->kinds);
    learn->kinds[at] = *kind;
    learn->kind_count++;
    return CODE_OK;
}

/* ---- what is seen of a call ---- */

static enum code add_name(struct learn *learn, struct learn_names *names, struct span name)
{
    uint32_t at = 0;
    int order = -1;

    if (names->many)
        return CODE_OK;
    while (at < names->count && (order = span_compare(names->name[at], name)) < 0)
        at++;
    if (at < names->count && order == 0)
        return CODE_OK;
    if (names->count == LEARN_NAMES_MAX) {
        names->many = true;
        return CODE_OK;
    }
    if (names->name == NULL)
        names->name = arena_alloc(&learn->arena, LEARN_NAMES_MAX * sizeof *names->name);
    if (names->name == NULL)
        return CODE_NOMEM;
    memmove(names->name + at + 1, names->name + at, (names->count - at) * sizeof *names->name);
    names->count++;
    return learn__copy(learn, name, &names->name[at]);
}

static bool is_simple(const struct json_node *node, unsigned depth)
{
    if (depth > SAMPLE_DEPTH_MAX || node->key.len > LEARN_VALUE_BYTES)
        return false;
    for (const struct json_node *child = node->child; child != NULL; child = child->next)
        if (!is_simple(child, depth + 1))
            return false;
    return true;
}

/* One that becomes a test. */
static enum code add_sample(struct learn *learn, struct learn_kind *kind, const struct recorded *recorded)
{
    const struct question *question = &recorded->question;
    struct learn_sample *sample = &kind->samples[kind->sample_count];
    enum code code;

    if (kind->sample_count == LEARN_SAMPLES_MAX || recorded->lack != RECORDED_WHOLE)
        return CODE_OK;
    if (question->root != NULL && (recorded->arguments.len > LEARN_SAMPLE_BYTES || !is_simple(question->root, 0)))
        return CODE_OK;
    code = learn__copy(learn, question->tenant, &sample->tenant);
    if (code == CODE_OK)
        code = learn__copy(learn, question->principal, &sample->principal);
    if (code == CODE_OK)
        code = learn__copy(learn, question->agent, &sample->agent);
    if (code == CODE_OK)
        code = learn__copy(learn, question->answers, &sample->answers);
    if (code == CODE_OK && question->root != NULL && kind->about != LEARN_PLAIN)
        code = learn__copy(learn, recorded->arguments, &sample->raw);
    kind->sample_count += code == CODE_OK;
    return code;
}

static enum code add_arguments(struct learn *learn, struct learn_kind *kind, const struct recorded *recorded)
{
    const struct json_node *root = recorded->question.root;
    const struct question_hidden *hidden = recorded->question.hidden;

    if (kind->about == LEARN_PLAIN)
        return CODE_OK;
    if (root == NULL) { /* as an object without members: a rule that names none permits both */
        kind->root->present++;
        kind->root->objects++;
        return CODE_OK;
    }
    if (hidden != NULL && question_is_hidden(hidden, root)) {
        kind->lost++;
        kind->cut += recorded->lack == RECORDED_CUT;
        kind->erased += recorded->lack == RECORDED_ERASED;
        kind->redacted += recorded->lack == RECORDED_REDACTED;
        return CODE_OK;
    }
    return learn__shape(learn, kind, recorded, kind->root, root);
}

static void note_time(int64_t time_us, int64_t *first_us, int64_t *last_us)
{
    if (*first_us == 0 || time_us < *first_us)
        *first_us = time_us;
    if (time_us > *last_us)
        *last_us = time_us;
}

enum code learn_add(struct learn *learn, const struct recorded *recorded)
{
    const struct question *question = &recorded->question;
    struct learn_kind *kind;
    enum code code;

    if (recorded->kind != RECORDED_JUDGED || recorded->verdict != VERDICT_PERMIT || recorded->answers_unknown)
        return CODE_OK;
    learn->calls++;
    note_time(question->time_us, &learn->first_us, &learn->last_us);
    code = find_kind(learn, recorded, &kind);
    if (code != CODE_OK || kind == NULL) {
        learn->further_calls++;
        return code;
    }
    if (recorded->approved) {
        kind->approved++;
        return CODE_OK;
    }
    kind->calls++;
    if (kind->about == LEARN_TOOL && kind->calls == 1)
        kind->schema = definition_set_schema(learn->definitions, kind->upstream, kind->target);
    kind->unfit += kind->schema != NULL && policy_schema_holds(kind->schema, question->root) != TRUTH_TRUE;
    note_time(question->time_us, &kind->first_us, &kind->last_us);
    code = add_name(learn, &kind->tenants, question->tenant);
    if (code == CODE_OK)
        code = add_name(learn, &kind->principals, question->principal);
    kind->agents.many |= question->agent.len == 0;
    if (code == CODE_OK && !kind->agents.many)
        code = add_name(learn, &kind->agents, question->agent);
    if (code == CODE_OK)
        code = add_sample(learn, kind, recorded);
    return code == CODE_OK ? add_arguments(learn, kind, recorded) : code;
}

bool learn_drafted(const struct learn *learn, struct span upstream, struct span method, struct span target, struct span path)
{
    if (span_is(method, "response")) /* a plain one, which always has a rule */
        return true;
    for (uint32_t i = 0; i < learn->kind_count; i++) {
        const struct learn_kind *kind = learn->kinds[i];
        bool named = kind->about == LEARN_TOOL || kind->about == LEARN_PROMPT;

        if (kind->drafted && span_equals(kind->upstream, upstream) && span_equals(kind->method, method) &&
            (!named || span_equals(kind->target, target)) && (kind->about == LEARN_PLAIN || span_equals(kind->path, path)))
            return true;
    }
    return false;
}
