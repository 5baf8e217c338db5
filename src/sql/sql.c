/* SPDX-License-Identifier: Apache-2.0 */
/* The call of the library, whose ways with stack, time, memory and threads were measured (15-4.0.0):
 *
 *  - It writes its tree by recursion, without its check of the stack's depth: 64 bytes a level, and `1+1+1` is a level for two
 *    bytes. Its parser has a stack of its own, 10,000 deep. So the length bounds the stack.
 *  - It reads a run of operators' characters again from each of them: 65,000 of `+` took 3 s, of `/` and `*` in turn 8. So the
 *    length of a run is bounded, also in comments and strings, where nobody needs more.
 *  - Where memory ends while it writes the tree, it ends the process. So the most that it may need is asked for before.
 *  - Each thread that begins makes a key for its end and keeps it in one variable of them all. So threads begin one by one. */
#include "sql/sql.h"

#include "base/mem.h"

#include <pg_query.h>
#include <pthread.h>

#define RUN_MAX 256              /* 32 KiB in such runs take 5 ms */
#define MEMORY_EACH 400          /* bytes that one of the text becomes at most: tree, JSON as it grows, and its copy */
#define MEMORY_LEAST 65536

/* The library's own, a setting of the server; it has no function for it before version 16. */
extern __thread bool standard_conforming_strings;

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
    BUG_ON(pthread_mutex_lock(&lock) != 0);
    pg_query_init();
    BUG_ON(pthread_mutex_unlock(&lock) != 0);
    begun = true;
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
        run = strchr("~!@#^&|`?+-*/%<>=", text.at[i]) != NULL ? run + 1 : 0;
        if (run > RUN_MAX)
            return "it holds over 256 characters of operators in a row";
    }
    return NULL;
}

enum code sql_parse(struct span text, bool conforming, struct buf *tree, struct why *why)
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
    standard_conforming_strings = conforming;
    result = pg_query_parse(ended);
    standard_conforming_strings = true;
    mem_free(ended);
    if (result.error != NULL && strcmp(result.error->message, "out of memory") == 0)
        code = CODE_NOMEM; /* a server that has some would read it */
    else if (result.error != NULL)
        code = why_set(why, CODE_INVALID, "PostgreSQL's parser: %.200s", result.error->message);
    else
        code = result.parse_tree != NULL ? buf_add_text(tree, result.parse_tree) : CODE_NOMEM;
    pg_query_free_parse_result(result);
    return code;
}
