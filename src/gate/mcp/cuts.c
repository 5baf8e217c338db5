/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/reply_priv.h"

#define OWN_META "dev.callgate/"

void mcp__cuts_init(struct mcp__cuts *cuts)
{
    buf_init(&cuts->list, SIZE_MAX / 2);
    buf_init(&cuts->texts, SIZE_MAX / 2);
}

void mcp__cuts_fini(struct mcp__cuts *cuts)
{
    buf_fini(&cuts->list);
    buf_fini(&cuts->texts);
}

static size_t count_of(const struct mcp__cuts *cuts)
{
    return buf_len(&cuts->list) / sizeof(struct mcp__cut);
}

static struct mcp__cut cut_at(const struct mcp__cuts *cuts, size_t index)
{
    struct mcp__cut cut;

    memcpy(&cut, buf_peek(&cuts->list).at + index * sizeof cut, sizeof cut);
    return cut;
}

static enum code add(struct mcp__cuts *cuts, const struct mcp__cut *cut)
{
    size_t count = count_of(cuts);

    while (count > 0 && cut_at(cuts, count - 1).begin >= cut->begin)
        count--;
    buf_truncate(&cuts->list, count * sizeof *cut);
    return buf_add(&cuts->list, cut, sizeof *cut);
}

enum code mcp__cuts_add(struct mcp__cuts *cuts, size_t begin, size_t end)
{
    struct mcp__cut cut = {.begin = begin, .end = end};

    return add(cuts, &cut);
}

enum code mcp__cuts_add_text(struct mcp__cuts *cuts, size_t begin, size_t end)
{
    struct mcp__cut cut = {.begin = begin, .end = end, .is_text = true};

    return add(cuts, &cut);
}

enum code mcp__cut_member(const struct mcp__editing *editing, const struct json_node *member)
{
    size_t begin = (size_t)(member->raw.at - buf_peek(editing->canonical).at), len;
    struct buf key;
    enum code code;

    buf_init(&key, SIZE_MAX / 2);
    code = json_write_string(&key, member->key);
    len = buf_len(&key) + 1;
    buf_fini(&key);
    return code == CODE_OK ? mcp__cuts_add(editing->cuts, begin - len, begin + member->raw.len) : code;
}

enum code mcp__cuts_put(struct mcp__cuts *cuts, size_t begin, size_t end, struct span text)
{
    struct mcp__cut cut = {.begin = begin, .end = end, .is_text = true, .text_at = buf_len(&cuts->texts), .text_len = text.len};
    enum code code = buf_add_span(&cuts->texts, text);

    return code == CODE_OK ? add(cuts, &cut) : code;
}

/* Makes room for what is put in and moves the bytes to its end, so that writing never overtakes reading. */
static enum code make_room(const struct mcp__cuts *cuts, struct buf *out)
{
    size_t len = buf_len(out), more = 0;
    enum code code;
    char *end;

    for (size_t i = 0; i < count_of(cuts); i++)
        more += cut_at(cuts, i).text_len;
    if (more == 0)
        return CODE_OK;
    code = buf_reserve(out, more, &end);
    if (code != CODE_OK)
        return code;
    buf_commit(out, more);
    memmove(end - len + more, end - len, len);
    return CODE_OK;
}

enum code mcp__cuts_apply(const struct mcp__cuts *cuts, struct buf *out)
{
    size_t count = count_of(cuts), from = 0, len = buf_len(out), to = 0;
    enum code code = make_room(cuts, out);
    char *bytes = out->block + out->head;
    const char *source = bytes + (buf_len(out) - len);

    for (size_t i = 0; i < count && code == CODE_OK; i++) {
        struct mcp__cut cut = cut_at(cuts, i);

        memmove(bytes + to, source + from, cut.begin - from);
        to += cut.begin - from;
        from = cut.end;
        if (cut.text_len > 0)
            memcpy(bytes + to, buf_peek(&cuts->texts).at + cut.text_at, cut.text_len);
        to += cut.text_len;
        /* A member takes the comma behind it along; the last sibling takes the one before it, which was kept last. */
        if (cut.is_text)
            continue;
        if (source[from] == ',')
            from++;
        else if (bytes[to - 1] == ',')
            to--;
    }
    if (count == 0 || code != CODE_OK)
        return code;
    memmove(bytes + to, source + from, len - from);
    buf_truncate(out, to + len - from);
    return CODE_OK;
}

enum code mcp__cut_own(bool is_meta[MCP__REPLY_DEPTH_MAX + 1], const struct json_event *event, struct mcp__cuts *cuts)
{
    if (event->kind == JSON_EVENT_BEGIN)
        is_meta[event->depth] = event->type == JSON_OBJECT && span_is(event->key, "_meta");
    else if (event->depth > 0 && is_meta[event->depth - 1] && span_starts_with(event->key, SPAN_LIT(OWN_META)))
        return mcp__cuts_add(cuts, event->member, event->end);
    return CODE_OK;
}

/* What some programs write for numbers that JSON does not have. */
static bool is_no_number(struct span text)
{
    return span_starts_with(text, SPAN_LIT("NaN")) || span_starts_with(text, SPAN_LIT("Infinity")) ||
           span_starts_with(text, SPAN_LIT("-Infinity"));
}

enum reason mcp__reply_fault(const struct json_fault *fault, struct span data)
{
    size_t at = fault->offset < data.len ? fault->offset : data.len;

    switch (fault->kind) {
    case JSON_FAULT_MEMORY: return REASON_MEMORY;
    case JSON_FAULT_SIZE: return REASON_UPSTREAM_TOO_LARGE;
    case JSON_FAULT_DUPLICATE: return REASON_UPSTREAM_DUPLICATE;
    case JSON_FAULT_NUMBER: return REASON_UPSTREAM_NUMBER;
    case JSON_FAULT_NONE:
    case JSON_FAULT_SYNTAX:
    case JSON_FAULT_UTF8:
    case JSON_FAULT_STRING:
    case JSON_FAULT_DEPTH:
    case JSON_FAULT_NODES: break;
    }
    /* Where the number has a sign, the fault's place is behind it. */
    return is_no_number(span_part(data, at, SIZE_MAX)) || (at > 0 && is_no_number(span_part(data, at - 1, SIZE_MAX)))
               ? REASON_UPSTREAM_NUMBER : REASON_UPSTREAM_JSON;
}
