/* SPDX-License-Identifier: Apache-2.0 */
/* words: a command that is handed to a program word by word is one of these forms (forms/form.h). */
#include "forms/form_near.h"
#include "words/compiler.h"
#include "words/operators.h"

struct written_form {
    const struct yaml_node *node;
};

static void take_form(struct compiler *c, const struct yaml_node *text, void *part)
{
    (void)c;
    ((struct written_form *)part)->node = text;
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const known[] = {"forms", NULL};
    const struct yaml_node *list = yaml_member(node, "forms");
    const struct written_form *written;
    struct form *forms;
    uint32_t count = 0;

    op->written = compiler_written(c, node);
    if (!compiler_is_map_of(c, node, known, "`words`"))
        return;
    if (list == NULL)
        FAULT(c, node, "`words` without `forms` allows no command; write {forms: ['ls [-{la}] [FILE...]']}");
    if (list == NULL)
        return;
    if (c->warnings != NULL && !op->opening && c->effect == EFFECT_FORBID)
        WARN(c, node, "this forbids commands as they are written here and lets each other spelling of them pass; permit what "
             "may be, or write `not: {..., words: ...}`");
    written = compiler_texts(c, list, sizeof *written, take_form, &count);
    op->terms = forms = compiler_alloc(c, count, sizeof *forms);
    for (uint32_t i = 0; written != NULL && forms != NULL && i < count; i++)
        if (form_read(c, written[i].node, op->opening, &forms[op->term_count])) {
            op->varies |= form_varies(&forms[op->term_count]);
            if (op->opening && c->pumps && c->warnings != NULL && !c->no_memory)
                form_warn(c, written[i].node, &forms[op->term_count]);
            op->term_count++;
        }
}

/* Whether the value is a command: an array of texts of which none is empty, since no program has other words. */
static bool is_command(const struct json_node *value)
{
    for (const struct json_node *word = value->child; word != NULL; word = word->next)
        if (word->type != JSON_STRING || word->text.len == 0)
            return false;
    return value->type == JSON_ARRAY;
}

static enum truth words(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    const struct form *forms = op->terms;
    enum truth truth = TRUTH_FALSE;

    if (value->type != JSON_ARRAY)
        return TRUTH_FALSE;
    if (!walk_charge(walk, value->count / 16))
        return TRUTH_UNDECIDED;
    if (!is_command(value))
        return TRUTH_FALSE;
    for (uint32_t i = 0; i < op->term_count && truth != TRUTH_TRUE; i++)
        truth = truth_or(truth, form_fits(walk, &forms[i], value, NULL));
    return truth;
}

/* Names the form that the command is, or the one that it follows furthest and the word that this does not take. */
static void tell(const struct op *op, const struct json_node *value, struct buf *out)
{
    const struct json_node *word = value->child;
    const struct form *nearest;
    uint32_t furthest;
    bool fits;

    if (!is_command(value)) {
        buf_add_text(out, "no command, which is an array of texts of which none is empty");
        return;
    }
    nearest = form_nearest(op->terms, op->term_count, value, &furthest, &fits);
    if (fits) {
        buf_addf(out, "the form `%.*s`", SPAN_ARG(nearest->text));
        return;
    }
    for (uint32_t i = 0; i < furthest && word != NULL; i++)
        word = word->next;
    if (nearest == NULL)
        buf_add_text(out, "a command with which no form begins");
    else if (word == NULL)
        buf_addf(out, "the beginning of `%.*s`, without its end", SPAN_ARG(nearest->text));
    else
        buf_addf(out, "`%.*s` up to its word %u, `%.*s`, which cannot stand there", SPAN_ARG(nearest->text), furthest + 1,
                 SPAN_ARG(span_part(word->text, 0, 80)));
}

/* Each command of a form, and what is nearly one: the form is told with its line. */
static void near(const struct op *op, op_near_fn take, void *context)
{
    const struct form *forms = op->terms;

    for (uint32_t i = 0; i < op->term_count; i++)
        form_near(&forms[i], take, context);
}

struct sampling {
    struct samples *samples;
    struct span form;
    uint32_t given; /* of this form */
};

/* Of each form its commands and some of what is nearly one: the first are those in which a word is another. */
#define SAMPLES_EACH 4

static void give_sample(void *context, const struct op_near *near)
{
    struct sampling *sampling = context;
    const char *sep = "[";
    struct buf json;

    sampling->given = near->form.at == sampling->form.at ? sampling->given + 1 : 1;
    sampling->form = near->form;
    if (sampling->given > SAMPLES_EACH)
        return;
    buf_init(&json, (size_t)64 << 10);
    for (const struct json_node *word = near->value->child; word != NULL; word = word->next, sep = ",") {
        buf_add_text(&json, sep);
        json_write_string(&json, word->text);
    }
    buf_add_text(&json, *sep == '[' ? "[]" : "]");
    if (buf_code(&json) == CODE_OK)
        sampling->samples->json(sampling->samples, buf_peek(&json));
    buf_fini(&json);
}

static void sample(const struct op *op, struct samples *samples)
{
    struct sampling sampling = {.samples = samples};

    near(op, give_sample, &sampling);
}

const struct operator operator__words = {
    .word = "words", .types = TYPE_BIT(JSON_ARRAY), .compile = compile, .of_value = words, .looks_inside = true,
    .sample = sample, .tell = tell, .near = near,
};
