/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the library. Its use of stack, time, memory and threads was measured (15-4.0.0; 17-6.1.0 is alike):
 *
 *  - It writes its tree by recursion, without its check of the stack's depth: 64 bytes a level, and `1+1+1` is a level for two
 *    bytes. Its parser has a stack of its own, 10,000 deep. So the length bounds the stack.
 *  - It reads a run of operators' characters again from each of them: 65,000 of `+` took 3 s, of `/` and `*` in turn 8. So the
 *    length of a run is bounded, also in comments and strings, where nobody needs more.
 *  - Where memory runs out while it writes the tree, it ends the process. So that much is tried for before.
 *  - Each thread that begins makes a key for its end in one variable for all threads. So threads begin one by one. */
#include "sql/sql.h"

#include "base/ascii.h"
#include "base/lock.h"
#include "base/mem.h"

#include <pg_query.h>
#include <pthread.h>

#define RUN_MAX 256              /* 32 KiB of such runs take 5 ms */
#define MEMORY_EACH 400          /* bytes that a byte of the text takes at most: tree, JSON as it grows, and its copy */
#define MEMORY_LEAST 65536

const char *sql_library(void)
{
    return "libpg_query, PostgreSQL " PG_VERSION;
}

static void begin_thread(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static __thread bool begun;

    if (begun)
        return;
    lock_take(&lock);
    pg_query_init();
    lock_give(&lock);
    begun = true;
}

/* ---- checks before the parser: what versions of PostgreSQL, or its settings, take differently is not read ---- */

static bool is_word(char c)
{
    return ascii_is_word(c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool begins(struct span text, size_t at, struct span with)
{
    return span_starts_with(span_part(text, at, SIZE_MAX), with);
}

/* Reads $$ or $tag$. Returns: how many bytes it has; 0: none begins here. */
static size_t tag_of(struct span text)
{
    size_t len = 1;

    while (len < text.len && text.at[len] != '$' && is_word(text.at[len]))
        len++;
    return *text.at == '$' && len < text.len && text.at[len] == '$' && !ascii_is_digit(text.at[1]) ? len + 1 : 0;
}

/* Takes: text: not empty. Returns: the bytes of the string, quoted name or comment that it begins with, more where its end is
 * missing; 1 where it begins with none. A backslash means nothing in any of them, since texts with one before a quote are
 * refused. */
static size_t passed_by(struct span text)
{
    size_t tag = tag_of(text), at = tag > 0 ? tag : 1, deep = 1;

    if (*text.at == '\'' || *text.at == '"')
        return 2 + span_find(span_part(text, 1, SIZE_MAX), *text.at);
    if (begins(text, 0, SPAN_LIT("--")))
        return span_find(text, '\n');
    if (tag > 0) {
        while (at < text.len && !begins(text, at, span_part(text, 0, tag)))
            at++;
        return at + tag;
    }
    if (!begins(text, 0, SPAN_LIT("/*")))
        return 1;
    for (at = 2; at < text.len && deep > 0; at++)
        if (begins(text, at, SPAN_LIT("/*"))) {
            deep++;
            at++;
        } else if (begins(text, at, SPAN_LIT("*/"))) {
            deep--;
            at++;
        }
    return at;
}

/* PostgreSQL 16 reads 0x1F and 1_000 as numbers, 15 refuses them, 14 reads a number and a name; so was $1a before 15. */
static bool is_odd_number(struct span word)
{
    bool is_parameter = *word.at == '$';

    if (!is_parameter && !ascii_is_digit(*word.at))
        return false;
    for (size_t i = is_parameter; i < word.len; i++)
        if (!ascii_is_digit(word.at[i]) && (is_parameter || (word.at[i] | 32) != 'e'))
            return true;
    return false;
}

/* Whether it is a word for which PostgreSQL 16 and 17 have a grammar of its own, or ends a phrase that older ones read
 * otherwise. A name in double quotes is no word. Takes: before: the word in front; word: the word, or another byte. */
static bool is_new(struct span before, struct span word)
{
    static const char *const words[] = {
        "system_user", "json_array", "json_arrayagg", "json_exists", "json_object", "json_objectagg", "json_query",
        "json_scalar", "json_serialize", "json_table", "json_value", "merge_action",
    };
    static const char *const phrases[][2] = {{"json", "("}, {"at", "local"}, {"matched", "by"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_equals_nocase(word, span_text(words[i])))
            return true;
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (span_equals_nocase(before, span_text(phrases[i][0])) && span_equals_nocase(word, span_text(phrases[i][1])))
            return true;
    return false;
}

static const char *wrong_with_words(struct span text)
{
    struct span before = SPAN_NONE, word;
    size_t step;

    for (; text.len > 0; text = span_part(text, step, SIZE_MAX)) {
        step = passed_by(text);
        if (step > 1)
            continue;
        while (step < text.len && is_word(*text.at) && is_word(text.at[step]))
            step++;
        word = span_part(text, 0, step);
        if (is_odd_number(word))
            return "it holds a number with letters or _ in it or behind it, which versions of PostgreSQL read differently";
        if (is_new(before, word))
            return "it holds SYSTEM_USER, a word of SQL/JSON's, AT LOCAL or MATCHED BY, which PostgreSQL 15 does not know; put "
                   "what is meant as a name in double quotes";
        if (strchr(" \t\r\n\f\v", *word.at) == NULL)
            before = word;
    }
    return NULL;
}

static const char *wrong_with(struct span text)
{
    size_t run = 0;

    if (text.len > SQL_MAX_BYTES)
        return "it is longer than 32 KiB";
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '\0')
            return "it holds NUL";
        if (text.at[i] == '\\' && i > 0 && (unsigned char)text.at[i - 1] >= 0x80)
            return "it holds a backslash behind a character that is none of ASCII's, which some encodings take for its end";
        if (text.at[i] == '\'' && i > 0 && text.at[i - 1] == '\\')
            return "it holds a backslash right before a quote, which ends the string or not as the server's "
                   "standard_conforming_strings says; write a quote in a string twice";
        run = strchr("~!@#^&|`?+-*/%<>=", text.at[i]) != NULL ? run + 1 : 0;
        if (run > RUN_MAX)
            return "it holds over 256 characters of operators in a row";
    }
    return wrong_with_words(text);
}

enum code sql_parse(struct span text, struct buf *tree, struct why *why)
{
    const char *wrong = wrong_with(text);
    PgQueryParseResult result;
    char *ended, *room;
    enum code code;

    if (wrong != NULL)
        return why_set(why, CODE_UNDECIDED, "%s", wrong);
    ended = mem_dup(text.len > 0 ? text.at : "", text.len);
    room = mem_alloc(MEMORY_LEAST + MEMORY_EACH * text.len);
    mem_free(room);
    if (ended == NULL || room == NULL) {
        mem_free(ended);
        return CODE_NOMEM;
    }
    begin_thread();
    result = pg_query_parse(ended);
    mem_free(ended);
    if (result.error != NULL && strcmp(result.error->message, "out of memory") == 0)
        code = CODE_NOMEM; /* a server with more memory would read the text */
    else if (result.error != NULL)
        code = why_set(why, CODE_UNDECIDED, "PostgreSQL's parser: %.200s", result.error->message);
    else
        code = result.parse_tree != NULL ? buf_add_text(tree, result.parse_tree) : CODE_NOMEM;
    pg_query_free_parse_result(result);
    return code;
}
