/* SPDX-License-Identifier: Apache-2.0 */
/* 8.5: Certificates that a trusted proxy hands on: whoever is read out of the header is one that stands in it, in one spelling. */
#include "base/bug.h"
#include "identity/certificate_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct span find(const void *context, const char *name)
{
    (void)name;
    return *(const struct span *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    unsigned choice = len > 0 ? bytes[0] : 0;
    struct span value = span_part(span_of(bytes, len), 1, SIZE_MAX);
    struct arena arena;
    const struct identity_source source = {
        .kind = IDENTITY_CERTIFICATE, .name = (enum identity_name)(choice % 4), .tenant = "acme",
        .header = choice & 128 ? "Client-Cert" : "X-Forwarded-Client-Cert",
    };
    struct identity_request request = {.header = find, .context = &value, .is_from_proxy = true, .arena = &arena};
    struct identity identity;

    arena_init(&arena, 1 << 20);
    if (identity_decide(&source, 1, NULL, &request, &identity) == REASON_PERMITTED) {
        struct span who = identity.principal;

        BUG_ON(who.len == 0 || who.len > IDENTITY_URI_MAX || !span_is(identity.tenant, "acme"));
        for (size_t i = 0; i < who.len; i++)
            BUG_ON(who.at[i] < ' ' || who.at[i] > '~');
        request.is_from_proxy = false;
        BUG_ON(identity_decide(&source, 1, NULL, &request, &identity) == REASON_PERMITTED);
    }
    arena_fini(&arena);
    return 0;
}
