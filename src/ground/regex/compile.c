/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/utf8.h"
#include "regex/regex_priv.h"

#include <ctype.h>

#define MAX_PATTERN_BYTES 16384
#define COMPILE_OPTIONS \
    (PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UCP | PCRE2_USE_OFFSET_LIMIT)
#define CALLOUT_WORK 16u
#define FIRST_OF_LINE 2u /* of PCRE2_INFO_FIRSTCODETYPE, which has no names; a byte (1) is found in no time */
#define GROUPS_FREE 16u /* PCRE2 copies the places of all groups at each step; CALLOUT_WORK covers this many groups */

static void *compile_alloc(PCRE2_SIZE bytes, void *nothing)
{
    (void)nothing;
    return mem_alloc(bytes);
}

static void compile_free(void *block, void *nothing)
{
    (void)nothing;
    mem_free(block);
}

/* Finds "(*" and a letter, which is a verb outside of brackets, quotes and comments. What PCRE2 takes for those is not worked
 * out here (in `\c\(*COMMIT)` the backslash before the parenthesis belongs to `\c`), so it is refused wherever it stands. */
static size_t find_verb(struct span pattern)
{
    for (size_t i = 0; i + 2 < pattern.len; i++)
        if (pattern.at[i] == '(' && pattern.at[i + 1] == '*' &&
            (isalpha((unsigned char)pattern.at[i + 2]) || pattern.at[i + 2] == ':'))
            return i;
    return SIZE_MAX;
}

/* Finds "(?C", a callout. It is refused likewise, because only the callouts that PCRE2 adds by itself are counted. */
static size_t find_callout(struct span pattern)
{
    for (size_t i = 0; i + 2 < pattern.len; i++)
        if (memcmp(pattern.at + i, "(?C", 3) == 0)
            return i;
    return SIZE_MAX;
}

/* Finds {,3} and { 1, 3 }: from PCRE2 10.43 on they repeat what stands before them, and before they are plain characters.
 * They are refused, because no pattern may mean something else by the version of the library. */
static size_t find_new_repeat(struct span pattern)
{
    for (size_t i = 0, at, old; i < pattern.len; i++) {
        if (pattern.at[i] != '{')
            continue;
        for (at = i + 1; at < pattern.len && strchr(" \t,0123456789", pattern.at[at]) != NULL && pattern.at[at] != '\0';)
            at++;
        for (old = i + 1; old < at && isdigit((unsigned char)pattern.at[old]);)
            old++;
        if (at < pattern.len && pattern.at[at] == '}' && at > old && (pattern.at[old] != ',' || old == i + 1 ||
            memchr(pattern.at + i, ' ', at - i) != NULL || memchr(pattern.at + i, '\t', at - i) != NULL))
            return i;
    }
    return SIZE_MAX;
}

/* Finds an `i` among the letters of (?imsx-...) before the minus. A literal that only looks like it counts too, since
 * that costs hardly anything: few values hold the two characters that are undecided then. */
static bool has_caseless(struct span pattern)
{
    for (size_t i = 0; i + 1 < pattern.len; i++) {
        if (pattern.at[i] != '(' || pattern.at[i + 1] != '?')
            continue;
        for (size_t j = i + 2; j < pattern.len; j++) {
            char c = pattern.at[j];

            if (c == 'i')
                return true;
            if (!isalpha((unsigned char)c) && c != '^')
                break;
        }
    }
    return false;
}

/* x{5000} looks at up to 5,000 bytes before it fails, and no callout sees that. */
static uint32_t largest_repeat(struct span pattern)
{
    uint32_t largest = 0;

    for (size_t i = 0; i < pattern.len; i++) {
        uint32_t count = 0;

        if (pattern.at[i] != '{')
            continue;
        for (size_t j = i + 1; j < pattern.len && pattern.at[j] >= '0' && pattern.at[j] <= '9' && count < 100000; j++)
            count = count * 10 + (uint32_t)(pattern.at[j] - '0');
        largest = count > largest ? count : largest;
    }
    return largest;
}

static enum code pcre_fault(int error, size_t at, size_t *offset, struct why *why)
{
    PCRE2_UCHAR text[160];

    if (error == 121) /* its number for "failed to allocate heap memory", which has no name in its header */
        return why_set(why, CODE_NOMEM, "no memory for this pattern");
    if (pcre2_get_error_message(error, text, sizeof text) < 0)
        text[0] = '\0';
    *offset = at;
    return why_set(why, CODE_INVALID, "%s at byte %zu of the pattern; mend it, or write \\ before a character meant as such",
                   (const char *)text, at);
}

static enum code compile(struct span pattern, uint32_t options, pcre2_code **code, size_t *offset, struct why *why)
{
    pcre2_general_context *general = pcre2_general_context_create(compile_alloc, compile_free, NULL);
    pcre2_compile_context *context = general != NULL ? pcre2_compile_context_create(general) : NULL;
    PCRE2_SIZE at = 0;
    int error = 0;
    enum code result = CODE_OK;

    *code = NULL;
    if (context == NULL) {
        result = why_set(why, CODE_NOMEM, "no memory for this pattern");
        goto out;
    }
    *code = pcre2_compile((PCRE2_SPTR)(pattern.len ? pattern.at : ""), pattern.len, COMPILE_OPTIONS | options, &error, &at,
                          context);
    if (*code == NULL)
        result = pcre_fault(error, at, offset, why);
out:
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    return result;
}

/* Compiles the pattern without callouts, for what is to be known of it alone. *looks_back: it has back references. */
static enum code check_alone(struct span pattern, bool *looks_back, size_t *offset, struct why *why)
{
    pcre2_code *code;
    enum code result = compile(pattern, PCRE2_UTF, &code, offset, why);
    uint32_t back = 0;

    if (result != CODE_OK)
        return result;
    *looks_back = pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &back) != 0 || back > 0;
    pcre2_code_free(code);
    return CODE_OK;
}

/* Compiles without capturing groups where it can: nobody asks what a group has matched, and to note it at each try costs
 * up to half as much again. PCRE2 refuses that where a number names a group in another way than by a back reference.
 * Patterns with back references keep their groups, since `\11` may be a reference or a character. */
static enum code compile_counted(struct regex *regex, size_t *offset, struct why *why)
{
    uint32_t options = PCRE2_UTF | PCRE2_AUTO_CALLOUT;

    if (!regex->looks_back) {
        regex->options = PCRE2_NO_AUTO_CAPTURE;
        if (compile(regex->pattern, options | regex->options, &regex->code, offset, why) != CODE_INVALID)
            return regex->code != NULL ? CODE_OK : CODE_NOMEM;
        regex->options = 0;
    }
    return compile(regex->pattern, options, &regex->code, offset, why);
}

/* A pattern of ASCII matches a subject of ASCII alike with and without UTF, since neither holds the characters from outside
 * that fold to ASCII. A pattern that names a code point past U+00FF cannot be compiled without UTF. */
static enum code compile_ascii(struct regex *regex)
{
    size_t offset;
    struct why why;
    bool is_ascii = true;
    enum code code;

    (void)utf8_check(regex->pattern, 0, regex->pattern.len, &is_ascii); /* it is valid, since PCRE2 has compiled it as UTF-8 */
    if (!is_ascii)
        return CODE_OK;
    code = compile(regex->pattern, PCRE2_AUTO_CALLOUT | regex->options, &regex->ascii_code, &offset, &why);
    return code == CODE_NOMEM ? code : CODE_OK;
}

static void look_up(struct regex *regex)
{
    uint32_t groups = 0, first = 0;
    const uint8_t *firsts = NULL;

    regex->folds_case = has_caseless(regex->pattern);
    regex->repeat = largest_repeat(regex->pattern);
    regex->item_work = CALLOUT_WORK;
    if (pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &groups) == 0 && groups > GROUPS_FREE)
        regex->item_work += groups - GROUPS_FREE;
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FIRSTCODETYPE, &first);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FIRSTBITMAP, &firsts);
    if (firsts != NULL || first == FIRST_OF_LINE)
        regex->search_rate = REGEX__RATE_SEARCH;
    if (pcre2_pattern_info(regex->code, PCRE2_INFO_MINLENGTH, &regex->least) != 0)
        regex->least = 0;
}

enum code regex_compile(struct span pattern, struct regex **regex, size_t *offset, struct why *why)
{
    struct regex *made;
    size_t verb = find_verb(pattern), repeat = find_new_repeat(pattern), callout = find_callout(pattern);
    bool looks_back = false;
    enum code code;

    *regex = NULL;
    *offset = 0;
    if (pattern.len > MAX_PATTERN_BYTES)
        return why_set(why, CODE_LIMIT, "a pattern of more than 16 KiB; split it, or use a list with `in`");
    if (verb != SIZE_MAX) {
        *offset = verb;
        return why_set(why, CODE_INVALID,
                       "a verb (*...) at byte %zu of the pattern; leave it out, or write [(][*] for the two characters", verb);
    }
    if (callout != SIZE_MAX) {
        *offset = callout;
        return why_set(why, CODE_INVALID,
                       "a callout (?C...) at byte %zu of the pattern; leave it out, or write [(] for the parenthesis", callout);
    }
    if (repeat != SIZE_MAX) {
        *offset = repeat;
        return why_set(why, CODE_INVALID, "a repeat at byte %zu of the pattern that only PCRE2 10.43 and newer take for one; "
                       "write it as {0,3} or {1,3}, or [{] for the character", repeat);
    }
    code = check_alone(pattern, &looks_back, offset, why);
    if (code != CODE_OK)
        return code;
    made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return why_set(why, CODE_NOMEM, "no memory for this pattern");
    made->looks_back = looks_back;
    made->pattern = span_of(mem_dup(pattern.at, pattern.len), pattern.len);
    if (made->pattern.at == NULL)
        code = why_set(why, CODE_NOMEM, "no memory for this pattern");
    if (code == CODE_OK)
        code = compile_counted(made, offset, why);
    made->rates = mem_zalloc(pattern.len + 1); /* a callout stands behind the last item too */
    if (code == CODE_OK && (made->rates == NULL || compile_ascii(made) != CODE_OK))
        code = why_set(why, CODE_NOMEM, "no memory for this pattern");
    if (code != CODE_OK) {
        regex_free(&made);
        return code;
    }
    look_up(made);
    *regex = made;
    return CODE_OK;
}

void regex_free(struct regex **regex)
{
    if (*regex != NULL) {
        pcre2_code_free((*regex)->code);
        pcre2_code_free((*regex)->ascii_code);
        mem_free((void *)(uintptr_t)(*regex)->rates);
        mem_free((void *)(uintptr_t)(*regex)->pattern.at);
    }
    mem_free(*regex);
    *regex = NULL;
}

bool regex_folds_case(const struct regex *regex)
{
    return regex->folds_case;
}
