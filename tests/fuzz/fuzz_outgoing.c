/* SPDX-License-Identifier: Apache-2.0 */
/* 8.6: any bytes as a provider's answer to who asks for a token for an upstream, also of a person's own account: what is taken of it is one
 * header's value, and no longer valid than a day. What is kept beside it stood in it. Any bytes as a file's name that says whose
 * account it is: one name has one spelling. The first byte chooses how it was asked for. */
#include "base/ascii.h"
#include "base/bug.h"
#include "http/writer.h"
#include "identity/outgoing.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define NOW (INT64_C(1800000000) * 1000000)

static void keep(struct span body)
{
    struct buf refresh, scopes;

    buf_init(&refresh, SIZE_MAX / 2);
    buf_init(&scopes, SIZE_MAX / 2);
    outgoing_read_refresh(body, &refresh, &scopes);
    BUG_ON(buf_len(&refresh) + buf_len(&scopes) > body.len);
    buf_fini(&refresh);
    buf_fini(&scopes);
}

/* What is read of it, written as the guide says, is what stood there. */
static void name(struct span written)
{
    char read[1024], again[3 * sizeof read + 1];
    size_t len, end = 0;

    if (written.len > sizeof read)
        return;
    len = outgoing_name_read(written, read);
    for (size_t i = 0; i < len; i++)
        end += (size_t)snprintf(again + end, sizeof again - end, ascii_is_of(read[i], "a-zA-Z0-9_.@+:=~,-") ? "%c" : "%%%02X",
                                (unsigned char)read[i]);
    BUG_ON(len > 0 && !span_equals(span_of(again, end), written));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const enum outgoing_kind kinds[] = {OUTGOING_CLIENT, OUTGOING_EXCHANGE, OUTGOING_ACCOUNT};
    const struct outgoing outgoing = {.kind = kinds[len > 0 ? bytes[0] % 3 : 0]};
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
        BUG_ON(wish.tenant.len + wish.subject.len + wish.login.len + wish.token.len > body.len);
    keep(body);
    name(body);
    return 0;
}
