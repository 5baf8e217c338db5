/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/skim.h"

#include "json/text.h"

static bool is_in_message(const struct skim *skim)
{
    return skim->depth > 0 && skim->depth == skim->members;
}

static void add(struct skim *skim, char c)
{
    struct skim_text *word = &skim->word;

    if (is_in_message(skim) && word->len <= SKIM_TEXT_MAX) {
        if (word->len < SKIM_TEXT_MAX)
            word->at[word->len] = c;
        word->len++;
    }
}

static bool word_is(const struct skim *skim, const char *text)
{
    return skim->word.len <= SKIM_TEXT_MAX && span_is(span_of(skim->word.at, skim->word.len), text);
}

/* No parser has seen the line, so a word is an id only where it is read as a string or a number. */
static bool is_id(const struct skim_text *word)
{
    if (word->len == 0 || word->len > SKIM_TEXT_MAX || strchr("\"-0123456789", word->at[0]) == NULL)
        return false;
    return json_text_is(span_of(word->at, word->len), 2 * SKIM_TEXT_MAX);
}

/* Called behind each member of a message. */
static void take_value(struct skim *skim)
{
    if (skim->is_id && is_id(&skim->word))
        skim->id = skim->word;
    skim->is_id = false;
    skim->word.len = 0;
}

static void enter(struct skim *skim, char c)
{
    skim->depth++;
    if (skim->members == 0)
        skim->members = c == '{' ? 1 : 2;
    if (skim->depth != skim->members)
        return;
    skim->word.len = skim->id.len = 0;
    skim->is_id = skim->has_method = false;
}

/* Returns: whether a message ends here. */
static bool leave(struct skim *skim, char c)
{
    bool is_message = is_in_message(skim) && c == '}';

    if (is_message)
        take_value(skim);
    skim->depth -= skim->depth > 0;
    return is_message;
}

static void take_key(struct skim *skim)
{
    if (!is_in_message(skim))
        return;
    skim->is_id = word_is(skim, "\"id\"");
    skim->has_method |= word_is(skim, "\"method\"");
    skim->word.len = 0;
}

/* Within a string. */
static void take_char(struct skim *skim, char c)
{
    add(skim, c);
    if (skim->is_escaped)
        skim->is_escaped = false;
    else if (c == '\\')
        skim->is_escaped = true;
    else
        skim->in_string = c != '"';
}

enum skim_step skim_feed(struct skim *skim, struct span *bytes)
{
    while (bytes->len > 0) {
        char c = bytes->at[0];

        *bytes = span_part(*bytes, 1, SIZE_MAX);
        if (c == '\n')
            return SKIM_END;
        if (skim->in_string) {
            take_char(skim, c);
        } else if (c == '{' || c == '[') {
            enter(skim, c);
        } else if (c == '}' || c == ']') {
            if (leave(skim, c))
                return SKIM_MESSAGE;
        } else if (c == ':') {
            take_key(skim);
        } else if (c == ',') {
            if (is_in_message(skim))
                take_value(skim);
        } else if (c != ' ' && c != '\t' && c != '\r') {
            add(skim, c);
            skim->in_string = c == '"';
        }
    }
    return SKIM_MORE;
}
