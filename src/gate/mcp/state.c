/* SPDX-License-Identifier: Apache-2.0 */
/* requestState: what a server gives a client to bring back with its answers (2026-07-28, multi round-trip requests). It is
 * the server's, but the client could bring it with another request, or somebody else could. So it goes down as
 * `<MAC>.<the server's>` and is taken apart on its way up. The MAC stands for who asked, where, and for what: the method and
 * all parameters but those that a retry changes. No table remembers anything. */
#include "crypto/parts.h"
#include "mcp/reply_priv.h"

#define MAC_BYTES 43 /* 32 bytes as base64url without padding */

/* _meta belongs to a message, not to what it asks for; the others are what a retry brings. */
static bool may_change(struct span key)
{
    return span_is(key, "_meta") || span_is(key, "inputResponses") || span_is(key, MCP__STATE);
}

/* Members in the order of their names: a client may build them anew. They are a few. */
static void add_params(struct digest *digest, const struct json_node *params)
{
    const struct json_node *last = NULL, *next;

    do {
        next = NULL;
        for (const struct json_node *node = params->child; node != NULL; node = node->next)
            if (!may_change(node->key) && (last == NULL || span_compare(node->key, last->key) > 0) &&
                (next == NULL || span_compare(node->key, next->key) < 0))
                next = node;
        if (next != NULL) {
            parts_add(digest, next->key);
            parts_add(digest, next->raw);
        }
        last = next;
    } while (next != NULL);
}

/* A key of its own, so that no session's MAC is one of these. */
static void make_mac(const struct mcp_message *message, const struct mcp_binding *binding, struct span state,
                     unsigned char mac[DIGEST_BYTES])
{
    const struct mcp_session_scope *scope = &binding->scope;
    unsigned char key[DIGEST_BYTES], sum[DIGEST_BYTES];
    struct digest digest;

    hmac_of(span_of(binding->key, MCP_SESSION_KEY_BYTES), SPAN_LIT("callgate " MCP__STATE), key);
    digest_init(&digest);
    parts_add(&digest, scope->route);
    parts_add(&digest, scope->tenant);
    parts_add(&digest, scope->principal);
    parts_add(&digest, scope->agent);
    parts_add(&digest, scope->path);
    parts_add(&digest, message->method);
    parts_add(&digest, state);
    add_params(&digest, message->params);
    digest_final(&digest, sum);
    hmac_of(span_of(key, sizeof key), span_of(sum, sizeof sum), mac);
}

enum code mcp__state_seal(const struct mcp_message *message, const struct mcp_binding *binding, struct span state,
                          struct buf *out)
{
    unsigned char mac[DIGEST_BYTES];

    make_mac(message, binding, state, mac);
    base64url_encode(span_of(mac, sizeof mac), out);
    return buf_add_byte(out, '.');
}

static enum reason check(const struct mcp_message *message, const struct mcp_binding *binding, struct span text)
{
    struct span state = span_part(text, MAC_BYTES + 1, SIZE_MAX);
    enum reason reason = REASON_STATE_FOREIGN;
    struct buf expected;

    if (binding == NULL || text.len <= MAC_BYTES)
        return reason;
    buf_init(&expected, MAC_BYTES + 1);
    if (mcp__state_seal(message, binding, state, &expected) != CODE_OK)
        reason = REASON_MEMORY;
    else if (secret_equals(buf_peek(&expected), span_part(text, 0, MAC_BYTES + 1)))
        reason = REASON_PERMITTED;
    buf_fini(&expected);
    return reason;
}

enum reason mcp__state_open(const struct mcp_message *message, const struct mcp_binding *binding, struct buf *canonical,
                            struct arena *arena, bool *is_open)
{
    const struct json_node *state = json_member(message->params, SPAN_LIT(MCP__STATE));
    struct json_edits edits;
    enum reason reason;
    struct span opened;
    size_t begin;

    if (state == NULL)
        return REASON_PERMITTED;
    reason = check(message, binding, state->text);
    if (reason != REASON_PERMITTED)
        return reason;
    opened = span_part(state->text, MAC_BYTES + 1, SIZE_MAX);
    begin = (size_t)(state->raw.at - buf_peek(canonical).at);
    json_edits_init(&edits);
    *is_open = json_edits_say(&edits, begin, begin + state->raw.len, opened) == CODE_OK &&
               json_edits_apply(&edits, canonical, arena, message->root) == CODE_OK;
    json_edits_fini(&edits);
    return *is_open ? REASON_PERMITTED : REASON_MEMORY;
}
