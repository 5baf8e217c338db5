/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/spread.h"

#include "base/mem.h"
#include "texts/decode_text.h"

#include <string.h>

#define ROUNDS_MAX 4 /* how often escapes may lie within escapes */
#define TOKEN_MIN_BYTES 8 /* shorter tokens may be part of other words by chance */

/* Whether the text holds the token, or a query has a parameter `access_token`. */
static bool says_token(struct span text, struct span token, bool is_query)
{
    if (token.len >= TOKEN_MIN_BYTES && memmem(text.at, text.len, token.at, token.len) != NULL)
        return true;
    while (is_query && !span_is_empty(text)) {
        size_t end = span_find(text, '&') < span_find(text, ';') ? span_find(text, '&') : span_find(text, ';');
        struct span one = span_part(text, 0, end);

        if (span_equals_nocase(span_part(one, 0, span_find(one, '=')), SPAN_LIT("access_token")))
            return true;
        text = span_part(text, end + 1, SIZE_MAX);
    }
    return false;
}

/* The same for what servers, and servers behind them, make of the text by unescaping it again and again. Returns: true also
 * after more rounds than anybody needs, and without memory. */
static bool holds(struct span text, struct span token, bool is_query)
{
    bool found = says_token(text, token, is_query);
    size_t size = text.len, len;
    char *plain = NULL;

    for (unsigned round = 0; !found && span_find(text, '%') < text.len; round++) {
        if (plain == NULL && (plain = mem_alloc(size)) == NULL)
            return true;
        len = decode_percent(text, plain);
        if (len == text.len)
            break;
        text = span_of(plain, len);
        found = round == ROUNDS_MAX || says_token(text, token, is_query);
    }
    if (plain != NULL)
        mem_wipe(plain, size);
    mem_free(plain);
    return found;
}

bool spread_is_found(const struct http_head *head)
{
    struct span shown = http_head_known(head, HTTP_NAME_AUTHORIZATION);
    struct span token = span_trim(span_part(shown, span_find(shown, ' '), SIZE_MAX));

    if (holds(http_head_path(head), token, false) || (head->has_query && holds(http_head_query(head), token, true)))
        return true;
    for (size_t i = 0; i < head->count; i++)
        if (head->headers[i].known != HTTP_NAME_AUTHORIZATION && holds(http_head_value(head, i), token, false))
            return true;
    return false;
}
