/* SPDX-License-Identifier: Apache-2.0 */
/* words: a command that is handed to a program word by word is one of these forms (forms/form.h). */
#include "forms/form.h"
#include "words/compiler.h"
#include "words/operators.h"
#include "words/text_condition.h"

struct written_form {
    const struct yaml_node *node;
};

static void take_form(struct compiler *c, const struct yaml_node *text, void *part)
{
    (void)c;
    ((struct written_form *)part)->node = text;
}

static bool value_varies(const struct form_value *value)
{
    bool found = false;

    for (uint32_t i = 0; i < value->count; i++)
        found |= value->choices[i].kind != NULL && text_condition_varies(value->choices[i].kind);
    return found;
}

/* Whether some kind of the form has variables of the call. */
static bool varies(const struct form *form)
{
    bool found = false;

    for (uint32_t i = 0; i < form->count; i++) {
        found |= value_varies(&form->nodes[i].value);
        for (uint32_t k = 0; k < form->nodes[i].option_count; k++)
            found |= value_varies(&form->nodes[i].options[k].value);
    }
    return found;
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const known[] = {"forms", NULL};
    const struct yaml_node *list = yaml_member(node, "forms");
    const struct written_form *written;
    struct form *forms;
    uint32_t count = 0;

    op->written = compiler_written(c, node);
    op->guide = c->author != NULL ? c->author->forms : NULL;
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
            op->varies |= varies(&forms[op->term_count]);
            if (op->opening && c->pumps && c->warnings != NULL && !c->no_memory)
                c->author->warn_form(c, written[i].node, &forms[op->term_count]);
            op->term_count++;
        }
}

static enum truth words(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    const struct form *forms = op->terms;
    enum truth truth = TRUTH_FALSE;

    if (value->type != JSON_ARRAY)
        return TRUTH_FALSE;
    if (!walk_charge(walk, value->count / 16))
        return TRUTH_UNDECIDED;
    if (!form_is_command(value))
        return TRUTH_FALSE;
    for (uint32_t i = 0; i < op->term_count && truth != TRUTH_TRUE; i++)
        truth = truth_or(truth, form_fits(walk, &forms[i], value, NULL));
    return truth;
}

const struct operator operator__words = {
    .word = "words", .types = TYPE_BIT(JSON_ARRAY), .compile = compile, .of_value = words, .looks_inside = true,
};
