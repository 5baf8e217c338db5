/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/outgoing_ways.h"

#include "identity/outgoing.h"
#include "identity/provider.h"

#define ANSWER_BYTES ((size_t)64 << 10)

enum code outgoing_post(const struct outgoing_ways *ways, struct span url, const struct outgoing *outgoing,
                        const struct outgoing_wish *wish, struct span secret, web_done_fn done, void *context,
                        struct why *why)
{
    struct buf form, authorization;
    struct web_header headers[] = {{SPAN_LIT("Content-Type"), SPAN_LIT("application/x-www-form-urlencoded")},
                                   {SPAN_LIT("Accept"), SPAN_LIT("application/json")},
                                   {SPAN_LIT("Authorization"), SPAN_NONE}};
    struct web_request request = {.url = url, .headers = headers, .header_count = 3, .tls = outgoing->provider->tls,
                                  .body_max_bytes = ANSWER_BYTES, .done = done, .context = context};
    enum code code;

    buf_init(&form, LOOKUP_PAYLOAD_MAX * 4);
    buf_init(&authorization, LOOKUP_PAYLOAD_MAX);
    buf_wipes(&form);
    buf_wipes(&authorization);
    code = outgoing_write_request(outgoing, wish, secret, &form, &authorization);
    headers[2].value = buf_peek(&authorization);
    request.header_count -= buf_is_empty(&authorization);
    request.body = buf_peek(&form);
    if (code == CODE_OK)
        code = web_begin(ways->web, &request, why);
    buf_fini(&form);
    buf_fini(&authorization);
    return code;
}
