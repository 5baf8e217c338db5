/* SPDX-License-Identifier: Apache-2.0 */
/* What of params._meta goes up. It is taken out before anything else is read, so that what is judged is what is sent. */
#include "mcp/reply_priv.h"

#define KNOWN_PREFIX "io.modelcontextprotocol/"

static bool is_known(struct span key)
{
    static const char *const names[] = {"progressToken", "traceparent", "tracestate", "baggage"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (span_is(key, names[i]))
            return true;
    return span_starts_with(key, SPAN_LIT(KNOWN_PREFIX));
}

/* A member with its key, which stands right before the value in canonical bytes. */
static enum code cut_member(struct mcp__cuts *cuts, const struct buf *canonical, const struct json_node *member)
{
    size_t begin = (size_t)(member->raw.at - buf_peek(canonical).at), len;
    struct buf key;
    enum code code;

    buf_init(&key, SIZE_MAX / 2);
    code = json_write_string(&key, member->key);
    len = buf_len(&key) + 1;
    buf_fini(&key);
    return code == CODE_OK ? mcp__cuts_add(cuts, begin - len, begin + member->raw.len) : code;
}

static enum code find_cuts(struct mcp__cuts *cuts, const struct buf *canonical, const struct json_node *meta,
                           enum mcp_meta pass)
{
    enum code code = CODE_OK;

    if (pass == MCP_META_NONE || meta->type != JSON_OBJECT)
        return cut_member(cuts, canonical, meta);
    for (const struct json_node *member = meta->child; member != NULL && code == CODE_OK; member = member->next)
        if (!is_known(member->key))
            code = cut_member(cuts, canonical, member);
    return code;
}

enum code mcp__cut_meta(const struct json_node *root, enum mcp_meta pass, struct buf *canonical, struct arena *arena,
                        struct span *edited)
{
    const struct json_node *params = root->type == JSON_OBJECT ? json_member(root, SPAN_LIT("params")) : NULL;
    const struct json_node *meta = params != NULL && params->type == JSON_OBJECT ? json_member(params, SPAN_LIT("_meta"))
                                                                                 : NULL;
    struct mcp__cuts cuts;
    enum code code;

    *edited = SPAN_NONE;
    if (pass == MCP_META_PASS || meta == NULL || json_member(meta, SPAN_LIT(MCP__MODERN_VERSION)) != NULL)
        return CODE_OK; /* a modern request is refused as what it is */
    mcp__cuts_init(&cuts);
    code = find_cuts(&cuts, canonical, meta, pass);
    if (code == CODE_OK && !buf_is_empty(&cuts.list)) {
        mcp__cuts_apply(&cuts, canonical);
        *edited = span_of(arena_dup(arena, buf_peek(canonical).at, buf_len(canonical)), buf_len(canonical));
        code = edited->at != NULL ? CODE_OK : CODE_NOMEM;
    }
    mcp__cuts_fini(&cuts);
    return code;
}
