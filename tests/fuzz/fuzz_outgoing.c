/* SPDX-License-Identifier: Apache-2.0 */
/* 8.6: any bytes as a provider's answer to who asks for a token for an upstream: what is taken of it is one header's value, and no
 * longer valid than a day. The first byte chooses how it was asked for. */
#include "base/bug.h"
#include "http/writer.h"
#include "identity/outgoing.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define NOW (INT64_C(1800000000) * 1000000)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct outgoing outgoing = {.kind = len > 0 && (bytes[0] & 1) != 0 ? OUTGOING_EXCHANGE : OUTGOING_CLIENT};
    struct span body = span_part(span_of((const char *)bytes, len), 1, SIZE_MAX);
    struct outgoing_token *token;
    struct outgoing_wish wish;
    struct why why = {""};
    char error[64];

    if (outgoing_read_answer(&outgoing, body, NOW, NOW, &token, &why) == CODE_OK) {
        struct span value = span_of(token->value, token->len);

        BUG_ON(!http_value_is_writable(value) || value.len > OUTGOING_TOKEN_BYTES_MAX + 7 || !span_starts_with(value, SPAN_LIT("Bearer ")));
        BUG_ON(span_find(span_part(value, 7, SIZE_MAX), ' ') < value.len - 7 || value.len == 7);
        BUG_ON(token->until_us <= NOW || token->until_us > NOW + OUTGOING_LONGEST_US || token->renew_us > token->until_us);
        outgoing_token_unref(&token);
    } else {
        BUG_ON(token != NULL || why.text[0] == '\0');
    }
    outgoing_read_error(body, error);
    for (size_t i = 0; error[i] != '\0'; i++)
        BUG_ON(i >= 63 || !(error[i] == '_' || (error[i] >= 'a' && error[i] <= 'z')));
    if (outgoing_unpack(body, &wish))
        BUG_ON(wish.tenant.len + wish.subject.len + wish.token.len > body.len);
    return 0;
}
