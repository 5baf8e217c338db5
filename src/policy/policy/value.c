/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a limit counts, as digests: what is equal as in `equals` has the same one. */
#include "policy/policy.h"

#include "crypto/parts.h"

#include <string.h>

static void digest_value(struct span sort, struct span text, struct policy_value *value)
{
    const struct span parts[] = {sort, text};
    unsigned char full[DIGEST_BYTES];

    parts_digest(parts, 2, full);
    memcpy(value->bytes, full, sizeof value->bytes);
}

enum code policy_value_of(const struct json_node *node, struct policy_value *value)
{
    struct buf plain;
    enum code code;

    if (node->type != JSON_NUMBER) {
        digest_value(node->type == JSON_STRING ? SPAN_LIT("string") : SPAN_LIT("boolean"),
                     node->type == JSON_STRING ? node->text : node->raw, value);
        return CODE_OK;
    }
    buf_init(&plain, SIZE_MAX / 2);
    code = json_number_plain(node->raw, &plain);
    if (code == CODE_OK)
        digest_value(SPAN_LIT("number"), buf_peek(&plain), value);
    buf_fini(&plain);
    return code;
}

void policy_value_lost(uint64_t record, struct policy_value *value)
{
    digest_value(SPAN_LIT("lost"), span_of((const char *)&record, sizeof record), value);
}
