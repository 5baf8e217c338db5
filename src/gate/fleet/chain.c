/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/chain.h"

#include <inttypes.h>
#include <string.h>

enum code chain_read_own(struct chain_read *read, struct span text, struct why *why)
{
    arena_init(&read->arena, 8 * CHANGE_TEXT_BYTES);
    buf_init(&read->bytes, CHANGE_TEXT_BYTES);
    return change_read(text, &read->arena, &read->bytes, &read->change, why);
}

void chain_done(struct chain_read *read)
{
    arena_fini(&read->arena);
    buf_fini(&read->bytes);
}

static enum code verify(const struct roster *roster, int64_t number, const struct chain_shown *shown, struct why *why)
{
    unsigned char key[SIGN_PUBLIC_BYTES];

    if (!roster_key_of(roster, shown->signer, number, key))
        return why_set(why, CODE_DENIED, "change %" PRId64 " is said to be of node %.*s, which the roster does not have",
                       number, SPAN_ARG(span_part(shown->signer, 0, FLEET_NAME_BYTES)));
    if (!change_is_signed(shown->text, shown->signature, key))
        return why_set(why, CODE_DENIED, "change %" PRId64 " is not signed by node %.*s, whose it is said to be", number,
                       SPAN_ARG(shown->signer));
    return CODE_OK;
}

enum code chain_verify(const struct roster *roster, const struct store_fleet_end *end, const struct chain_shown *shown,
                       struct chain_read *read, struct why *why)
{
    enum code code;

    *read = (struct chain_read){.change = {.number = 0}};
    code = verify(roster, end->number + 1, shown, why);
    if (code == CODE_OK)
        code = chain_read_own(read, shown->text, why);
    if (code == CODE_OK)
        code = change_goes_on(&read->change, span_text(roster->fleet), end->number, end->hash, why);
    if (code == CODE_OK && !span_equals(read->change.node, shown->signer))
        code = why_set(why, CODE_DENIED, "change %" PRId64 " is signed by node %.*s, and says that it is %.*s's",
                       end->number + 1, SPAN_ARG(shown->signer), SPAN_ARG(read->change.node));
    return code;
}

enum code chain_pass(const struct roster *roster, struct store_fleet_end *end, const struct chain_shown *shown, struct why *why)
{
    struct chain_read read;
    enum code code = chain_verify(roster, end, shown, &read, why);

    if (code == CODE_OK) {
        end->number = read.change.number;
        memcpy(end->hash, read.change.hash, sizeof end->hash);
        code = chain_is_rosters(roster, end, why);
    }
    chain_done(&read);
    return code;
}

enum code chain_is_rosters(const struct roster *roster, const struct store_fleet_end *end, struct why *why)
{
    if (end->number != roster->end.number || memcmp(end->hash, roster->end.hash, sizeof end->hash) == 0)
        return CODE_OK;
    return why_set(why, CODE_DENIED, "change %" PRId64 " is another one than the fleet's key had seen when it signed roster %"
                   PRId64 ": somebody shows another chain", end->number, roster->number);
}
