/* SPDX-License-Identifier: Apache-2.0 */
/* 15.2: any bytes as what a browser, a client or a page asks of a front. What goes to the provider is a form of plain letters and escapes
 * with the one client in it, once, and without `resource`; where a browser goes begins with the provider's address. The first byte
 * chooses which is asked. */
#include "base/ascii.h"
#include "base/bug.h"
#include "json/json.h"
#include "oauth/front.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const struct oauth_front front = {.url = {"https://gate.example/login", 26}, .path_at = 20, .client = {"app", 3},
                                         .authorize = {"https://id.example/a", 20}, .scopes = {"api://app/", 10}};

static void check_form(struct span form)
{
    size_t clients = 0;

    BUG_ON(!ascii_is_all(form, "a-zA-Z0-9._%&=-"));
    while (!span_is_empty(form)) {
        struct span field = span_cut(form, '&', &form);

        clients += span_is(field, "client_id=app");
        BUG_ON(span_starts_with(field, SPAN_LIT("resource")));
        BUG_ON(span_starts_with(field, SPAN_LIT("client_")) && !span_is(field, "client_id=app"));
    }
    BUG_ON(clients != 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_of((const char *)bytes, len);
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf out, again;

    if (len == 0)
        return 0;
    text = span_part(text, 1, SIZE_MAX);
    arena_init(&arena, (size_t)4 << 20);
    buf_init(&out, (size_t)1 << 20);
    buf_init(&again, (size_t)1 << 20);
    switch (bytes[0] % 3) {
    case 0:
        if (oauth_front_authorize(&front, text, &out) == REASON_OAUTH_SENT) {
            BUG_ON(!span_starts_with(buf_peek(&out), SPAN_LIT("https://id.example/a?")));
            check_form(span_part(buf_peek(&out), 21, SIZE_MAX));
        }
        break;
    case 1:
        if (oauth_front_token(&front, text, &out) == REASON_PERMITTED)
            check_form(buf_peek(&out));
        break;
    default:
        if (oauth_front_register(&front, text, &arena, &out) == REASON_OAUTH_REGISTERED) {
            BUG_ON(json_read(buf_peek(&out), &json_file_rules, &again, &arena, &root, &fault) != CODE_OK);
            BUG_ON(!span_is(json_member_text(root, "client_id"), "app"));
        }
        break;
    }
    buf_fini(&again);
    buf_fini(&out);
    arena_fini(&arena);
    return 0;
}
