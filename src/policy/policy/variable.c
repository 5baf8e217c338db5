/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/variable.h"

#include "base/ascii.h"
#include "texts/reading.h"
#include "policy/trace.h"
#include "policy/walk.h"
#include "unicode/unicode.h"

#include <stdio.h>

#define VARIABLES 4

const struct span policy_variables[VARIABLES + 1] = {
    SPAN_LIT("{principal}"), SPAN_LIT("{tenant}"), SPAN_LIT("{upstream}"), SPAN_LIT("{agent}")};

/* The variable at the front of the text; VARIABLES: none. */
static size_t variable_at(struct span text)
{
    size_t i = 0;

    while (i < VARIABLES && !span_starts_with(text, policy_variables[i]))
        i++;
    return i;
}

bool variable_cut(struct span *rest, bool is_glob, size_t (*len_at)(const void *context, struct span text),
                  const void *context, struct span *piece)
{
    size_t brace = span_find(*rest, '{'), escape = is_glob ? span_find(*rest, '\\') : rest->len, len = 0;

    if (escape < brace) {
        brace = escape + 2;
    } else if (brace == 0) {
        struct span inner = span_part(*rest, 1, SIZE_MAX);
        size_t inner_len = len_at(context, inner);

        len = len_at(context, *rest);
        if (len == 0 && inner_len > 0 && span_starts_with(span_part(inner, inner_len, SIZE_MAX), SPAN_LIT("}"))) {
            *piece = span_part(inner, 0, inner_len);
            *rest = span_part(inner, inner_len + 1, SIZE_MAX);
            return false;
        }
        brace = len > 0 ? len : 1;
    }
    *piece = span_part(*rest, 0, brace);
    *rest = span_part(*rest, brace, SIZE_MAX);
    return len > 0;
}

static size_t len_at(const void *context, struct span text)
{
    (void)context;
    return policy_variables[variable_at(text)].len; /* the one behind the last is empty */
}

/* Returns: the variable that the next piece is; VARIABLES: it is *literal. */
static size_t next_piece(struct span *rest, enum variable_place place, struct span *literal)
{
    return variable_cut(rest, place == VARIABLE_GLOB, len_at, NULL, literal) ? variable_at(*literal) : VARIABLES;
}

bool variable_is_name(struct span word)
{
    for (size_t i = 0; i < VARIABLES; i++)
        if (span_equals(span_part(policy_variables[i], 1, policy_variables[i].len - 2), word))
            return true;
    return false;
}

bool variable_in(struct span text)
{
    for (size_t i = 0; i < VARIABLES; i++)
        if (text.len > 0 && memmem(text.at, text.len, policy_variables[i].at, policy_variables[i].len) != NULL)
            return true;
    return false;
}

static struct span value_of(const struct question *question, size_t which)
{
    const struct span values[VARIABLES] = {question->principal, question->tenant, question->upstream, question->agent};

    return values[which];
}

struct span variable_value(const struct question *question, struct span variable)
{
    return value_of(question, variable_at(variable));
}

static bool may_stand(struct span value, enum variable_place place)
{
    /* Authors ask of paths with `starts_with`, too, and servers walk them. */
    if (value.len == 0 || (reading_of_steps(value) & (READING_DOT | READING_CLIMBS)) != 0 || unicode_is_deceptive(value))
        return false;
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.at[i] < ' ' || (place == VARIABLE_STEP && strchr("/\\%", value.at[i]) != NULL))
            return false;
    return place != VARIABLE_LABEL || ascii_is_all(value, "a-z0-9_-");
}

static size_t put(char *at, struct span value, bool escapes)
{
    size_t len = 0;

    for (size_t i = 0; i < value.len; i++) {
        if (escapes && strchr("*?\\", value.at[i]) != NULL)
            at[len++] = '\\';
        at[len++] = value.at[i];
    }
    return len;
}

enum code variable_say(const struct question *question, struct span text, enum variable_place place, struct arena *arena,
                       struct span *said)
{
    struct span rest = text, literal;
    size_t room = 0, len = 0;
    char *at;

    while (rest.len > 0) {
        size_t which = next_piece(&rest, place, &literal);

        if (which < VARIABLES && !may_stand(value_of(question, which), place))
            return CODE_INVALID;
        room += which < VARIABLES ? 2 * value_of(question, which).len : literal.len;
    }
    at = arena_alloc(arena, room + 1);
    if (at == NULL)
        return CODE_NOMEM;
    for (rest = text; rest.len > 0;) {
        size_t which = next_piece(&rest, place, &literal);

        if (which < VARIABLES)
            literal = value_of(question, which);
        len += put(at + len, literal, which < VARIABLES && place == VARIABLE_GLOB);
    }
    *said = span_of(at, len);
    return CODE_OK;
}

void variable_quote(struct span text, struct buf *out)
{
    while (text.len > 0) {
        size_t which = variable_at(text), len = which < VARIABLES ? policy_variables[which].len : 1;

        if (which < VARIABLES)
            buf_add_byte(out, '{');
        buf_add_span(out, span_part(text, 0, len));
        if (which < VARIABLES)
            buf_add_byte(out, '}');
        text = span_part(text, len, SIZE_MAX);
    }
}

bool variable_said(struct rule_walk *walk, struct span text, enum variable_place place, struct span *said)
{
    enum code code = variable_say(walk->question, text, place, walk->arena, said);
    char why[256];

    walk->no_memory |= code == CODE_NOMEM;
    if (code == CODE_INVALID && walk->trace != NULL) {
        snprintf(why, sizeof why, "what a variable of `%.*s` stands for in this call cannot stand there",
                 SPAN_ARG(span_part(text, 0, 120)));
        walk->trace->fact(walk->trace, span_text(why));
    }
    return code == CODE_OK && walk_charge(walk, said->len / 16);
}
