/* SPDX-License-Identifier: Apache-2.0 */
#include "author/near.h"

#include "policy/snapshot.h"

#define NAMED_MAX 6 /* of what passes */
#define TOLD_MAX 512
#define COMMAND_MAX_BYTES 512

struct looking {
    const struct rule *rule;
    struct doc *list, *told, *passing;
    struct span form; /* the part at hand */
    struct op_near seen[TOLD_MAX]; /* parts of this policy, told or not */
    size_t seen_count;
    bool is_again;
    uint64_t tried, tried_here, passed;
};

/* As a shell takes it, so that it can be read and tried. */
static void say_command(struct buf *out, const struct json_node *words)
{
    for (const struct json_node *word = words->child; word != NULL; word = word->next) {
        bool plain = true;

        for (size_t i = 0; i < word->text.len && plain; i++)
            plain = strchr(" \n$`*|~'\"", word->text.at[i]) == NULL;
        buf_add_text(out, word == words->child ? "" : " ");
        buf_addf(out, plain ? "%.*s" : "'%.*s'", SPAN_ARG(word->text));
    }
}

static void end_part(struct looking *looking)
{
    if (looking->told != NULL) {
        doc_int(looking->told, "tried", (int64_t)looking->tried_here);
        doc_int(looking->told, "more", looking->passed > NAMED_MAX ? (int64_t)(looking->passed - NAMED_MAX) : 0);
    }
    looking->told = NULL;
    looking->tried_here = 0;
    looking->passed = 0;
}

static void begin_part(struct looking *looking, const struct op_near *near)
{
    end_part(looking);
    looking->form = near->form;
    looking->is_again = false;
    for (size_t i = 0; i < looking->seen_count && !looking->is_again; i++)
        looking->is_again = looking->seen[i].line == near->line && span_equals(looking->seen[i].form, near->form);
    if (!looking->is_again && looking->seen_count < TOLD_MAX)
        looking->seen[looking->seen_count++] = *near;
}

static void tell_passing(struct looking *looking, const struct op_near *near)
{
    struct buf command;

    if (looking->told == NULL) {
        looking->told = doc_add_object(looking->list, NULL);
        doc_text(looking->told, "file", looking->rule->source->path);
        doc_int(looking->told, "line", near->line);
        doc_text(looking->told, "rule", looking->rule->id);
        doc_text(looking->told, "form", near->form);
        looking->passing = doc_add_array(looking->told, "passing");
    }
    if (looking->passed++ >= NAMED_MAX)
        return;
    buf_init(&command, COMMAND_MAX_BYTES);
    say_command(&command, near->value);
    if (buf_code(&command) == CODE_OK) {
        struct doc *one = doc_add_object(looking->passing, NULL);

        doc_text(one, "command", buf_peek(&command));
        doc_text(one, "change", span_text(near->change));
    }
    buf_fini(&command);
}

static void look_at(void *context, const struct op_near *near)
{
    struct looking *looking = context;

    if (near->form.at != looking->form.at)
        begin_part(looking, near);
    if (looking->is_again || near->change == NULL)
        return;
    looking->tried++;
    looking->tried_here++;
    if (near->passes)
        tell_passing(looking, near);
}

static void look_into(struct looking *looking, const struct condition *condition)
{
    for (uint32_t i = 0; i < condition->op_count; i++) {
        const struct op *op = &condition->ops[i];

        if (op->opening && op->guide != NULL)
            op->guide->near(op, look_at, looking);
    }
    for (uint32_t i = 0; i < condition->count; i++)
        look_into(looking, &condition->members[i]);
}

uint64_t near_misses(const struct policy *policy, struct doc *list)
{
    struct looking looking = {.list = list};

    for (uint32_t i = 0; i < policy->rule_count; i++) {
        looking.rule = &policy->rules[i];
        if (looking.rule->when != NULL)
            look_into(&looking, looking.rule->when);
    }
    end_part(&looking);
    return looking.tried;
}
