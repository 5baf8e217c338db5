/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bug.h"
#include "base/mem.h"
#include "regex/regex_priv.h"

#include <ctype.h>

/* What an attacker does: something that gets the pattern going, one piece over and over, and an end that spoils the
 * match. A pattern is refused where four times the subject costs more than eight times the work. */
#define SHORT_BYTES 2048u
#define LONG_BYTES 8192u
#define CHEAP_WORK 250000u /* at SHORT_BYTES; even if it is quadratic, the long subject then costs under 4 ms */
#define DEAR_WORK 4000000u /* at LONG_BYTES */
#define GROWTH 8u
#define STOP_WORK 64000000u
#define MAX_PIECES 64
#define MAX_RUN_BYTES 64

struct pieces {
    struct span piece[MAX_PIECES];
    size_t count;
    struct span first_run; /* the pattern's first literal run */
    char literals[MAX_RUN_BYTES];
    size_t literals_len;
};

static void add_piece(struct pieces *pieces, struct span piece)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (span_equals(pieces->piece[i], piece))
            return;
    if (pieces->count < MAX_PIECES)
        pieces->piece[pieces->count++] = piece;
}

static bool is_literal(char c)
{
    return (unsigned char)c >= 0x80 || isalnum((unsigned char)c) || strchr(" !\"#%&',-/:;<=>@_`~", c) != NULL;
}

static size_t character_len(struct span text)
{
    size_t len = 1;

    while (len < text.len && ((unsigned char)text.at[len] & 0xc0) == 0x80)
        len++;
    return len;
}

/* Only guesses: a character that is no literal in truth costs one vain pump. */
static void collect_literals(struct pieces *pieces, struct span pattern)
{
    size_t run = 0;

    for (size_t i = 0; i < pattern.len;) {
        size_t len = character_len(span_part(pattern, i, SIZE_MAX));
        bool escaped = pattern.at[i] == '\\' && i + 1 < pattern.len;

        if (escaped && isalnum((unsigned char)pattern.at[i + 1])) {
            i += 2; /* \d, \s, \b and their like */
            run = i;
            continue;
        }
        if (escaped) {
            run = ++i;
            len = character_len(span_part(pattern, i, SIZE_MAX));
        }
        if (escaped || is_literal(pattern.at[i])) {
            struct span so_far = span_part(pattern, run, i + len - run);

            add_piece(pieces, span_part(pattern, i, len));
            if (so_far.len > len && so_far.len <= MAX_RUN_BYTES)
                add_piece(pieces, so_far);
            if (pieces->first_run.len == 0 || pieces->first_run.at == so_far.at)
                pieces->first_run = span_part(so_far, 0, MAX_RUN_BYTES);
            if (pieces->literals_len + len <= MAX_RUN_BYTES) {
                memcpy(pieces->literals + pieces->literals_len, pattern.at + i, len);
                pieces->literals_len += len;
            }
        } else {
            run = i + len;
        }
        i += len;
    }
}

static void collect_pieces(struct pieces *pieces, struct span pattern)
{
    static const char *const usual[] = {"a", " ", "0",  "A",  "\n", "/",  ".",   "-", "_",
                                        ",", "=", "\"", "a ", "a.", "a0", "../", NULL};

    *pieces = (struct pieces){.count = 0};
    for (size_t i = 0; usual[i] != NULL; i++)
        add_piece(pieces, span_text(usual[i]));
    collect_literals(pieces, pattern);
}

static size_t put(char *subject, size_t at, size_t bytes, struct span what)
{
    if (what.len > bytes - at)
        return at;
    if (what.len > 0)
        memcpy(subject + at, what.at, what.len);
    return at + what.len;
}

static size_t build(char *subject, size_t bytes, struct span prefix, struct span piece, struct span suffix)
{
    size_t at = put(subject, 0, bytes, prefix), end = bytes - 1 - suffix.len;

    while (at + piece.len <= end)
        at = put(subject, at, end, piece);
    subject[at++] = '\x01';
    return put(subject, at, bytes, suffix);
}

/* The match limit guards single calls; here the growth of work itself is asked for. */
static const struct regex__limits limits = {.match_limit = UINT32_MAX, .max_work = STOP_WORK};

static void ask_whole(const void *regex, struct span subject, struct regex_budget *budget)
{
    (void)regex__match(regex, subject, true, &limits, budget);
}

static void ask_anywhere(const void *regex, struct span subject, struct regex_budget *budget)
{
    (void)regex__match(regex, subject, false, &limits, budget);
}

static uint64_t work_on(regex_ask_fn ask, const void *context, struct span subject)
{
    struct regex_budget budget;

    regex_budget_init(&budget);
    budget.max_work = STOP_WORK * 2;
    ask(context, subject, &budget);
    return budget.work;
}

static bool explodes(regex_ask_fn ask, const void *context, char *subject, struct span prefix, struct span piece,
                     struct span suffix)
{
    size_t len = build(subject, SHORT_BYTES, prefix, piece, suffix);
    uint64_t little = work_on(ask, context, span_of(subject, len)), much;

    if (little < CHEAP_WORK)
        return false;
    if (little >= STOP_WORK)
        return true;
    len = build(subject, LONG_BYTES, prefix, piece, suffix);
    much = work_on(ask, context, span_of(subject, len));
    return much >= STOP_WORK || (much > DEAR_WORK && much / GROWTH > little);
}

/* Static words for a message, since the pieces do not live as long. */
static const char *describe(struct span piece)
{
    if (span_is(piece, " ") || span_is(piece, "\n"))
        return "8 KiB of white space";
    if (span_is(piece, "0"))
        return "8 KiB of digits";
    if (piece.len == 1 && isalpha((unsigned char)piece.at[0]))
        return "8 KiB of one letter";
    if (piece.len == 1)
        return "8 KiB of one punctuation mark";
    return "8 KiB of one word over and over";
}

bool regex_is_affordable(const struct regex *regex, bool whole, const char **example)
{
    return regex_is_affordable_to(whole ? ask_whole : ask_anywhere, regex, regex, example);
}

bool regex_is_affordable_to(regex_ask_fn ask, const void *context, const struct regex *regex, const char **example)
{
    struct span pattern = regex->pattern;
    struct pieces pieces;
    char *subject;
    bool good = true;

    *example = NULL;
    /* Without repetition an item is tried once at each start. */
    if (span_find(pattern, '*') == pattern.len && span_find(pattern, '+') == pattern.len &&
        span_find(pattern, '{') == pattern.len && !regex->looks_back && strstr(pattern.at, "(?") == NULL)
        return true;
    subject = mem_alloc(LONG_BYTES);
    if (subject == NULL) {
        *example = "nothing: there was no memory to try";
        return false;
    }
    collect_pieces(&pieces, pattern);
    for (size_t i = 0; good && i < pieces.count; i++) {
        struct span literals = span_of(pieces.literals, pieces.literals_len);
        struct span starts[] = {SPAN_NONE, pieces.first_run, literals}, ends[] = {SPAN_NONE, literals};

        for (size_t s = 0; good && s < 3; s++)
            for (size_t e = 0; good && e < 2; e++)
                if ((s == 0 || starts[s].len > 0) && (e == 0 || ends[e].len > 0))
                    good = !explodes(ask, context, subject, starts[s], pieces.piece[i], ends[e]);
        if (!good)
            *example = describe(pieces.piece[i]);
    }
    mem_free(subject);
    return good;
}
