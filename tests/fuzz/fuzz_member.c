/* SPDX-License-Identifier: Apache-2.0 */
/* 14.1, P192: any bytes as a fleet's roster, signed and unsigned, as a membership and as a fleet's key. What is not signed is not read;
 * what is read and written again is the same. The first byte chooses which. */
#include "base/bug.h"
#include "crypto/secret.h"
#include "fleet/member.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define FLEET "00112233445566778899aabbccddeeff"

static struct sign_key *root;
static unsigned char root_public[SIGN_PUBLIC_BYTES];

static void open_once(void)
{
    static const unsigned char seed[SIGN_SEED_BYTES] = {7};

    if (root == NULL)
        BUG_ON(sign_key_of_seed(seed, &root) != CODE_OK || sign_key_public(root, root_public) != CODE_OK);
}

static void read_roster(struct span text)
{
    unsigned char signature[SIGN_BYTES];
    struct roster *roster, *again;
    struct buf written;

    BUG_ON(roster_read(text, span_part(text, 0, SIGN_BYTES), root_public, FLEET, &roster, NULL) != CODE_DENIED);
    BUG_ON(roster_sign(text, root, signature) != CODE_OK);
    if (roster_read(text, span_of(signature, SIGN_BYTES), root_public, FLEET, &roster, NULL) != CODE_OK) {
        BUG_ON(roster != NULL);
        return;
    }
    buf_init(&written, ROSTER_TEXT_BYTES);
    BUG_ON(roster_write(roster, &written) != CODE_OK);
    BUG_ON(roster_sign(buf_peek(&written), root, signature) != CODE_OK);
    BUG_ON(roster_read(buf_peek(&written), span_of(signature, SIGN_BYTES), root_public, FLEET, &again, NULL) != CODE_OK);
    BUG_ON(again->number != roster->number || again->count != roster->count || again->end.number != roster->end.number);
    for (size_t i = 0; i < again->count; i++)
        BUG_ON(memcmp(&again->nodes[i], &roster->nodes[i], sizeof again->nodes[i]) != 0);
    buf_fini(&written);
    roster_free(&roster);
    roster_free(&again);
}

static void read_member(struct span text)
{
    struct member *member = secret_new(sizeof *member), *again = secret_new(sizeof *again);
    struct buf written;

    buf_init(&written, MEMBER_FILE_BYTES);
    if (member_read_text(text, member, NULL) == CODE_OK) {
        BUG_ON(member_write(member, &written) != CODE_OK);
        BUG_ON(member_read_text(buf_peek(&written), again, NULL) != CODE_OK);
        BUG_ON(strcmp(member->password, again->password) != 0 || member->is_reader != again->is_reader);
    }
    buf_fini(&written);
    member_free(&member);
    member_free(&again);
}

static void read_key(struct span text)
{
    struct fleet_key *key = secret_new(sizeof *key);

    if (fleet_key_read_text(text, key, NULL) == CODE_OK)
        BUG_ON(key->root == NULL || key->secrets == NULL);
    fleet_key_free(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_part(span_of(bytes, len), 1, SIZE_MAX);

    open_once();
    if (len == 0)
        return 0;
    switch (bytes[0] % 3) {
    case 0:
        read_roster(text);
        break;
    case 1:
        read_member(text);
        break;
    default:
        read_key(text);
    }
    return 0;
}
