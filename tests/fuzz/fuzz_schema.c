/* SPDX-License-Identifier: Apache-2.0 */
/* The first line is a JSON Schema, the rest a value: a schema is taken or refused with a sentence that is fit for a terminal, and
 * what a value is by it is told within the budget, twice the same, and guessed where a part of it is lost. */
#include "base/bug.h"
#include "judgement/judgement.h"
#include "schema/schema_priv.h"
#include "unicode/unicode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static enum truth ask(const struct policy_schema *schema, const struct json_node *value, const struct question_hidden *hidden,
                      bool *guessed)
{
    struct question question = {.root = value, .hidden = hidden};
    struct regex_budget budget;
    struct arena arena;
    struct rule_walk walk = {.question = &question, .budget = &budget, .visits_left = VISITS_MAX, .visits_told = VISITS_MAX,
                             .arena = &arena};
    enum truth truth;

    regex_budget_init(&budget);
    budget.max_work = 3000000;
    arena_init(&arena, (size_t)1 << 20);
    truth = policy_schema_fits(&walk, schema, value);
    arena_fini(&arena);
    BUG_ON(walk.depth != 0 || walk.here != NULL);
    *guessed = walk.guessed;
    return budget.spent || walk.spent ? TRUTH_UNDECIDED : truth;
}

/* What is hidden at the root may make it anything; a guess in favour is never less than one against. */
static void lose(const struct policy_schema *schema, const struct json_node *value, enum truth real)
{
    struct question_hidden hidden = {.nodes = &value, .count = 1};
    bool guessed[2];
    enum truth truth[2];

    for (int favours = 0; favours < 2; favours++) {
        hidden.favours_permit = favours == 1;
        truth[favours] = ask(schema, value, &hidden, &guessed[favours]);
    }
    if (truth[0] != TRUTH_UNDECIDED && truth[1] != TRUTH_UNDECIDED && real != TRUTH_UNDECIDED)
        BUG_ON(truth[0] > real || truth[1] < real);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span rest, line = span_cut(span_of(bytes, len), '\n', &rest);
    struct policy_schema *schema;
    const struct json_node *value;
    struct json_fault fault;
    struct why why = {""};
    struct arena arena;
    struct buf text;
    enum code code = policy_schema_compile(line, &schema, &why);
    enum truth truth;
    bool guessed;

    BUG_ON((code == CODE_OK) != (schema != NULL) || (code != CODE_OK && why.text[0] == '\0'));
    BUG_ON(unicode_is_deceptive(span_text(why.text)));
    if (schema == NULL)
        return 0;
    arena_init(&arena, (size_t)8 << 20);
    buf_init(&text, (size_t)1 << 20);
    if (json_read(rest, &json_request_rules, &text, &arena, &value, &fault) == CODE_OK) {
        truth = ask(schema, value, NULL, &guessed);
        BUG_ON(guessed || ask(schema, value, NULL, &guessed) != truth);
        lose(schema, value, truth);
    }
    buf_fini(&text);
    arena_fini(&arena);
    policy_schema_unref(&schema);
    return 0;
}
