/* SPDX-License-Identifier: Apache-2.0 */
#include "past/learn_priv.h"

#include "base/ascii.h"
#include "os/clock.h"
#include "json/text.h"

#include <inttypes.h>
#include <stdio.h>

#define ID_BYTES 100
#define NAMES_IN_LINE 6 /* tenants and principals of a `match` on one line */
#define CONDITIONS_MAX_BYTES ((size_t)16 << 20)

struct writing {
    struct learn *learn;
    struct draft draft;
    struct span name;
    uint64_t min_calls;
    struct learn_sum sum;
};

/* Such methods share a rule. */
static bool is_protocol(const struct learn_kind *kind)
{
    return kind->about == LEARN_PLAIN && kind->calls > 0 && policy_is_protocol(kind->method);
}

static struct span title_of(const struct learn_kind *kind)
{
    return kind->about == LEARN_TOOL || kind->about == LEARN_PROMPT ? kind->target : kind->method;
}

/* ---- ids ---- */

static size_t put_plain(char *out, size_t len, size_t room, struct span text)
{
    for (size_t i = 0; i < text.len && len < room; i++) {
        char c = text.at[i];

        out[len++] = ascii_is_of(c, "a-zA-Z0-9_.") ? c : c == '/' ? '.' : '-';
    }
    return len;
}

static bool is_taken(const struct learn *learn, struct span id)
{
    for (uint32_t i = 0; i < learn->kind_count; i++)
        if (span_equals(learn->kinds[i]->id, id))
            return true;
    return false;
}

/* name.upstream.tool; a number behind it where two come out alike. */
static void make_id(struct writing *writing, struct learn_kind *kind, struct span title)
{
    char text[ID_BYTES + 16];
    size_t len = put_plain(text, 0, ID_BYTES / 4, writing->name);
    struct span id;

    text[len++] = '.';
    len = put_plain(text, len, ID_BYTES / 2, kind->upstream);
    text[len++] = '.';
    len = put_plain(text, len, ID_BYTES, title);
    id = span_of(text, len);
    for (unsigned more = 2; is_taken(writing->learn, id); more++)
        id.len = len + (size_t)snprintf(text + len, sizeof text - len, "-%u", more);
    (void)buf_fail(writing->draft.out, learn__copy(writing->learn, id, &kind->id));
}

/* ---- rules ---- */

static void add_names(struct learn_names *all, const struct learn_names *more, struct span *room)
{
    all->many |= more->many;
    all->name = room;
    for (uint32_t i = 0; i < more->count && !all->many; i++) {
        uint32_t at = 0;

        while (at < all->count && span_compare(all->name[at], more->name[i]) < 0)
            at++;
        if (at < all->count && span_equals(all->name[at], more->name[i]))
            continue;
        if (all->count == LEARN_NAMES_MAX) {
            all->many = true;
            return;
        }
        memmove(all->name + at + 1, all->name + at, (all->count - at) * sizeof *all->name);
        all->name[at] = more->name[i];
        all->count++;
    }
}

/* A `match`: on one line, or, where many are named, a line for each list. */
struct matching {
    struct draft *draft;
    bool in_block, begun;
};

static void begin_list(struct matching *matching, const char *key)
{
    struct draft *draft = matching->draft;

    if (matching->in_block)
        draft__line(draft, "%s: [", key);
    else
        buf_addf(draft->out, "%s%s: [", matching->begun ? ", " : "", key);
    matching->begun = true;
}

static void end_list(struct matching *matching)
{
    buf_addf(matching->draft->out, matching->in_block ? "]\n" : "]");
}

static void write_one(struct matching *matching, const char *key, struct span name)
{
    begin_list(matching, key);
    draft__name(matching->draft, name);
    end_list(matching);
}

static void write_names(struct matching *matching, const char *key, const struct learn_names *names)
{
    if (names->many || names->count == 0)
        return;
    begin_list(matching, key);
    for (uint32_t i = 0; i < names->count; i++) {
        buf_addf(matching->draft->out, i > 0 ? ", " : "");
        draft__name(matching->draft, names->name[i]);
    }
    end_list(matching);
}

static uint32_t listed(const struct learn_names *names)
{
    return names->many ? 0 : names->count;
}

static void begin_match(struct matching *matching, const struct learn_names *tenants, const struct learn_names *principals,
                        const struct learn_names *agents)
{
    struct draft *draft = matching->draft;

    if (tenants->many)
        draft__line(draft, "# more than %d tenants: all are permitted\n", LEARN_NAMES_MAX);
    if (principals->many)
        draft__line(draft, "# more than %d principals: all are permitted\n", LEARN_NAMES_MAX);
    if (agents->many && agents->count > 0)
        draft__line(draft, "# more than %d agents, or calls without one: all are permitted\n", LEARN_NAMES_MAX);
    matching->in_block = listed(tenants) + listed(principals) + listed(agents) > NAMES_IN_LINE;
    draft__line(draft, matching->in_block ? "match:\n" : "match: {");
    draft->indent += matching->in_block;
    write_names(matching, "tenants", tenants);
    write_names(matching, "principals", principals);
    write_names(matching, "agents", agents);
}

static void end_match(struct matching *matching)
{
    matching->draft->indent -= matching->in_block;
    buf_addf(matching->draft->out, matching->in_block ? "" : "}\n");
}

/* All protocol methods of one upstream, from kinds[at] on: they stand together. */
static void write_protocol(struct writing *writing, uint32_t at)
{
    struct span tenant_room[LEARN_NAMES_MAX], principal_room[LEARN_NAMES_MAX], agent_room[LEARN_NAMES_MAX];
    struct learn_names tenants = {0}, principals = {0}, agents = {0};
    struct learn *learn = writing->learn;
    struct learn_kind *first = learn->kinds[at];
    struct draft *draft = &writing->draft;
    struct matching matching = {.draft = draft};
    uint64_t calls = 0;
    bool is_first = true;

    for (uint32_t i = at; i < learn->kind_count && span_equals(learn->kinds[i]->upstream, first->upstream); i++)
        if (is_protocol(learn->kinds[i])) {
            add_names(&tenants, &learn->kinds[i]->tenants, tenant_room);
            add_names(&principals, &learn->kinds[i]->principals, principal_room);
            add_names(&agents, &learn->kinds[i]->agents, agent_room);
            calls += learn->kinds[i]->calls;
        }
    make_id(writing, first, SPAN_LIT("protocol"));
    draft__line(draft, "- id: %.*s\n", SPAN_ARG(first->id));
    draft->indent++;
    draft__line(draft, "effect: permit\n");
    begin_match(&matching, &tenants, &principals, &agents);
    write_one(&matching, "upstreams", first->upstream);
    begin_list(&matching, "methods");
    for (uint32_t i = at; i < learn->kind_count && span_equals(learn->kinds[i]->upstream, first->upstream); i++)
        if (is_protocol(learn->kinds[i])) {
            buf_addf(draft->out, is_first ? "" : ", ");
            draft__name(draft, learn->kinds[i]->method);
            is_first = false;
            learn->kinds[i]->drafted = true;
            learn->kinds[i]->id = first->id;
        }
    end_list(&matching);
    end_match(&matching);
    draft__line(draft, "reason: Learned from %" PRIu64 " recorded messages.\n\n", calls);
    draft->indent--;
    writing->sum.rules++;
}

static bool is_bound(const struct learn_kind *kind)
{
    return kind->schema != NULL && kind->unfit == 0;
}

static void write_bound(struct draft *draft, const struct learn_kind *kind)
{
    if (is_bound(kind))
        draft__line(draft, "arguments: by_schema\n");
    else if (kind->schema != NULL)
        draft__line(draft, "# not bound by the accepted definition: as far as the record tells, %" PRIu64
                    " calls do not fit it\n", kind->unfit);
}

static void write_only_args(struct draft *draft, const struct learn_kind *kind)
{
    const struct shape *member = kind->root->members;

    if (kind->about == LEARN_PLAIN)
        return;
    if (kind->root->unbounded) {
        draft__line(draft, "# too many different arguments were seen: they are free, and without conditions\n");
        return;
    }
    draft__line(draft, "only_args: [");
    for (; member != NULL; member = member->next) {
        draft__text(draft, member->name);
        buf_addf(draft->out, member->next != NULL ? ", " : "");
    }
    buf_addf(draft->out, "]\n");
}

/* Comments alone need no `when`. */
static void write_when(struct draft *draft, const struct learn_kind *kind)
{
    struct buf text;
    struct draft inner = {.out = &text, .indent = draft->indent + 1};

    if (kind->about == LEARN_PLAIN)
        return;
    buf_init(&text, CONDITIONS_MAX_BYTES);
    if (draft__conditions(&inner, kind) > 0)
        draft__line(draft, "when:\n");
    if (buf_fail(draft->out, buf_code(&text)) == CODE_OK)
        buf_add_span(draft->out, buf_peek(&text));
    buf_fini(&text);
}

static void write_seen(struct draft *draft, const struct learn_kind *kind)
{
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];

    clock_text(kind->first_us, from);
    clock_text(kind->last_us, to);
    draft__line(draft, "# %" PRIu64 " calls from %.19sZ to %.19sZ\n", kind->calls, from, to);
    if (kind->approved > 0)
        draft__line(draft, "# %" PRIu64 " more passed because a person approved them, and were not learned from\n",
                         kind->approved);
    if (kind->lost > 0)
        draft__line(draft,
                         "# of %" PRIu64 " the arguments are not in the record (%" PRIu64 " cut, %" PRIu64 " redacted, %" PRIu64
                         " erased): these may be denied by this rule\n", kind->lost, kind->cut, kind->redacted, kind->erased);
    if (kind->too_many_shapes)
        draft__line(draft, "# more than %d different places in the arguments: not all have conditions\n",
                         LEARN_SHAPES_MAX);
}

static void write_match(struct draft *draft, const struct learn_kind *kind)
{
    struct matching matching = {.draft = draft};

    begin_match(&matching, &kind->tenants, &kind->principals, &kind->agents);
    write_one(&matching, "upstreams", kind->upstream);
    if (kind->path.len > 0)
        write_one(&matching, "paths", kind->path);
    if (kind->about == LEARN_TOOL)
        write_one(&matching, "tools", kind->target);
    else
        write_one(&matching, "methods", kind->method);
    if (kind->about == LEARN_PROMPT)
        write_one(&matching, "prompts", kind->target);
    end_match(&matching);
}

static void write_rule(struct writing *writing, struct learn_kind *kind)
{
    struct draft *draft = &writing->draft;

    make_id(writing, kind, title_of(kind));
    write_seen(draft, kind);
    draft__line(draft, "- id: %.*s\n", SPAN_ARG(kind->id));
    draft->indent++;
    draft__line(draft, "effect: permit\n");
    write_match(draft, kind);
    write_when(draft, kind);
    write_only_args(draft, kind);
    write_bound(draft, kind);
    draft__line(draft, "reason: Learned from %" PRIu64 " recorded calls.\n\n", kind->calls);
    draft->indent--;
    kind->drafted = true;
    writing->sum.rules++;
}

static void write_left_out(struct writing *writing, const struct learn_kind *kind, const char *why)
{
    struct draft *draft = &writing->draft;

    draft__line(draft, "# no rule for ");
    draft__quoted(draft, title_of(kind));
    buf_addf(draft->out, " of ");
    draft__quoted(draft, kind->upstream);
    buf_addf(draft->out, ": %" PRIu64 " calls, %s\n\n", kind->calls, why);
    writing->sum.left_out += kind->calls;
}

static void write_kind(struct writing *writing, uint32_t at)
{
    struct learn_kind *kind = writing->learn->kinds[at];

    if (kind->drafted)
        return;
    writing->sum.left_out += kind->approved;
    if (kind->calls == 0) {
        draft__line(&writing->draft, "# no rule for ");
        draft__quoted(&writing->draft, title_of(kind));
        buf_addf(writing->draft.out, " of ");
        draft__quoted(&writing->draft, kind->upstream);
        buf_addf(writing->draft.out, ": a person approved each of its %" PRIu64 " calls\n\n", kind->approved);
        return;
    }
    if (is_protocol(kind))
        write_protocol(writing, at);
    else if (kind->about != LEARN_PLAIN && kind->calls < writing->min_calls)
        write_left_out(writing, kind, "too few");
    else if (kind->about != LEARN_PLAIN && kind->root->present == 0)
        write_left_out(writing, kind, "whose arguments are not in the record: write one by hand");
    else
        write_rule(writing, kind);
}

/* ---- what the record redacts goes on being redacted ---- */

static bool has_hidden(const struct shape *shape)
{
    if (shape->hidden > 0 || (shape->element != NULL && has_hidden(shape->element)))
        return true;
    for (const struct shape *member = shape->members; member != NULL; member = member->next)
        if (has_hidden(member))
            return true;
    return false;
}

static void list_hidden(struct draft *draft, const struct shape *shape, bool *first)
{
    if (shape->hidden > 0) {
        buf_addf(draft->out, *first ? "" : ", ");
        draft__path(draft, shape, "");
        *first = false;
        return;
    }
    if (shape->element != NULL)
        list_hidden(draft, shape->element, first);
    for (const struct shape *member = shape->members; member != NULL; member = member->next)
        list_hidden(draft, member, first);
}

static void write_redactions(struct writing *writing)
{
    struct draft *draft = &writing->draft;
    bool any = false;

    for (uint32_t i = 0; i < writing->learn->kind_count; i++) {
        const struct learn_kind *kind = writing->learn->kinds[i];
        bool first = true;

        if (!kind->drafted || kind->about == LEARN_PLAIN || (kind->redacted == 0 && !has_hidden(kind->root)))
            continue;
        if (!any)
            draft__line(draft, "redact:  # what was redacted then\n");
        any = true;
        buf_addf(draft->out, "  - {match: {upstreams: [");
        draft__name(draft, kind->upstream);
        buf_addf(draft->out, kind->about == LEARN_TOOL ? "], tools: [" : "], methods: [");
        draft__name(draft, kind->about == LEARN_TOOL ? kind->target : kind->method);
        buf_addf(draft->out, "]}, args: [");
        if (kind->redacted > 0)
            buf_addf(draft->out, "$");
        else
            list_hidden(draft, kind->root, &first);
        buf_addf(draft->out, "]}\n");
    }
    buf_addf(draft->out, any ? "\n" : "");
}

/* ---- tests ---- */

/* Takes: more: an argument that nobody sent, or NULL. */
static void write_arguments(struct draft *draft, const struct learn_sample *sample, const char *more)
{
    struct json_text read = {.root = NULL};

    if (sample->raw.at != NULL)
        (void)buf_fail(draft->out, json_text_read(&read, sample->raw, &json_file_rules, LEARN_SAMPLE_BYTES * 8));
    buf_addf(draft->out, "{");
    for (const struct json_node *member = read.root != NULL ? read.root->child : NULL; member != NULL; member = member->next) {
        draft__text(draft, member->key);
        buf_addf(draft->out, ": ");
        draft__value(draft, member);
        buf_addf(draft->out, member->next != NULL || more != NULL ? ", " : "");
    }
    if (more != NULL)
        buf_addf(draft->out, "%s: 1", more);
    buf_addf(draft->out, "}");
    json_text_fini(&read);
}

static void write_test(struct draft *draft, const struct learn_kind *kind, const struct learn_sample *sample, const char *more)
{
    buf_addf(draft->out, "  - name: \"%.*s: %s\"\n", SPAN_ARG(kind->id), more != NULL ? "another argument" : "as recorded");
    buf_addf(draft->out, "    call: {tenant: ");
    draft__text(draft, sample->tenant);
    buf_addf(draft->out, ", principal: ");
    draft__text(draft, sample->principal);
    if (sample->agent.len > 0) {
        buf_addf(draft->out, ", agent: ");
        draft__text(draft, sample->agent);
    }
    buf_addf(draft->out, ", upstream: ");
    draft__text(draft, kind->upstream);
    if (kind->path.len > 0) {
        buf_addf(draft->out, ", path: ");
        draft__text(draft, kind->path);
    }
    buf_addf(draft->out, ", %s: ", kind->about == LEARN_TOOL ? "tool" : "method");
    if (kind->about == LEARN_PLAIN && sample->answers.len > 0)
        buf_addf(draft->out, "response, answers: ");
    draft__text(draft, kind->about == LEARN_TOOL ? kind->target : kind->method);
    if (kind->about == LEARN_PROMPT) {
        buf_addf(draft->out, ", prompt: ");
        draft__text(draft, kind->target);
    }
    if (kind->about != LEARN_PLAIN) {
        buf_addf(draft->out, kind->about == LEARN_PARAMS ? ", params: " : ", arguments: ");
        write_arguments(draft, sample, more);
    }
    if (is_bound(kind))
        buf_addf(draft->out, ", schema: %.*s", SPAN_ARG(policy_schema_text(kind->schema)));
    buf_addf(draft->out, "}\n");
    if (more != NULL)
        buf_addf(draft->out, "    expect: {verdict: deny, rule: null}\n");
    else
        buf_addf(draft->out, "    expect: {verdict: permit, rule: %.*s}\n", SPAN_ARG(kind->id));
}

/* A name that none of them has. */
static const char *another_argument(const struct learn_kind *kind)
{
    static const char *const names[] = {"another", "another_one", "yet_another_one"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct shape *member = kind->root->members;

        while (member != NULL && !span_is(member->name, names[i]))
            member = member->next;
        if (member == NULL)
            return names[i];
    }
    return NULL;
}

static void write_tests(struct writing *writing)
{
    struct draft *draft = &writing->draft;
    bool any = false;

    for (uint32_t i = 0; i < writing->learn->kind_count; i++) {
        const struct learn_kind *kind = writing->learn->kinds[i];

        if (!kind->drafted || kind->sample_count == 0)
            continue;
        if (!any)
            buf_addf(draft->out, "tests:\n");
        any = true;
        for (uint32_t s = 0; s < kind->sample_count && (s == 0 || kind->about != LEARN_PLAIN); s++)
            write_test(draft, kind, &kind->samples[s], NULL);
        if (kind->about != LEARN_PLAIN && !kind->root->unbounded && another_argument(kind) != NULL)
            write_test(draft, kind, &kind->samples[0], another_argument(kind));
    }
}

/* ---- the whole ---- */

static void write_head(struct writing *writing)
{
    const struct learn *learn = writing->learn;
    struct draft *draft = &writing->draft;
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];

    clock_text(learn->first_us, from);
    clock_text(learn->last_us, to);
    buf_addf(draft->out, "# Drafted by `callgate policy learn` from %" PRIu64 " permitted calls,\n", learn->calls);
    buf_addf(draft->out, "# %.19sZ to %.19sZ. It permits what was seen, and nothing else:\n", from, to);
    buf_addf(draft->out, "# read it, widen what is too tight, drop what should not have been, add what is forbidden.\n");
    buf_addf(draft->out, "# It asks for no group, scope, claim or plan that these calls had: add those that are needed.\n");
    buf_addf(draft->out, "policy: ");
    draft__text(draft, writing->name);
    buf_addf(draft->out, "\n\n");
}

static void write_rules(struct writing *writing, struct buf *out)
{
    struct learn *learn = writing->learn;

    writing->draft = (struct draft){.out = out, .indent = 1};
    for (uint32_t i = 0; i < learn->kind_count; i++) {
        learn->kinds[i]->drafted = false;
        learn->kinds[i]->id = SPAN_NONE;
    }
    for (uint32_t i = 0; i < learn->kind_count; i++)
        write_kind(writing, i);
    if (learn->further_calls > 0)
        draft__line(&writing->draft, "# no rules for %" PRIu64 " calls of more than %d tools and methods\n\n",
                    learn->further_calls, LEARN_KINDS_MAX);
}

enum code learn_write(struct learn *learn, struct span name, uint64_t min_calls, struct buf *out, struct learn_sum *sum)
{
    struct writing writing = {.learn = learn, .name = name, .min_calls = min_calls,
                              .sum = {.calls = learn->calls, .left_out = learn->further_calls}};
    struct buf rules;

    buf_init(&rules, SIZE_MAX / 2);
    write_rules(&writing, &rules);
    writing.draft = (struct draft){.out = out};
    write_head(&writing);
    buf_addf(writing.draft.out, writing.sum.rules > 0 ? "rules:\n" : "rules: []\n");
    if (buf_fail(out, buf_code(&rules)) == CODE_OK)
        buf_add_span(out, buf_peek(&rules));
    write_redactions(&writing);
    write_tests(&writing);
    *sum = writing.sum;
    buf_fini(&rules);
    return buf_code(out);
}
