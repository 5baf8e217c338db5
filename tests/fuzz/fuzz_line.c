/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a child and bodies for it: what is read is one line of canonical JSON, its places are values of it, what is written
 * anew reads back with the new values in the same places, and the members of a batch are its values. 5.12 */
#include "base/bug.h"
#include "json/json.h"
#include "pipe/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void is_value(struct span text)
{
    struct json_fault fault;
    struct buf out;

    buf_init(&out, 1 << 20);
    BUG_ON(json_read(text, &json_reply_rules, &out, NULL, NULL, &fault) != CODE_OK);
    BUG_ON(!span_equals(buf_peek(&out), text));
    buf_fini(&out);
}

static void write_anew(struct span canonical, const struct line *line)
{
    struct line_edit edits[] = {{line->id, SPAN_LIT("18446744073709551615")}, {line->token, SPAN_LIT("\"t\"")},
                                {line->subscription, SPAN_LIT("7")}, {line->cancels, SPAN_LIT("8")},
                                {line->capabilities, SPAN_LIT("{}")}};
    struct buf edited, again;
    struct line other;

    buf_init(&edited, 1 << 20);
    buf_init(&again, 1 << 20);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        if (edits[i].place.end > 0)
            is_value(line_text(canonical, edits[i].place));
    BUG_ON(line_write(canonical, edits, sizeof edits / sizeof *edits, &edited) != CODE_OK);
    BUG_ON(line_read(buf_peek(&edited), &again, &other) != CODE_OK);
    BUG_ON(!span_equals(buf_peek(&again), buf_peek(&edited)) || other.kind != line->kind);
    if (line->id.end > 0)
        BUG_ON(!span_equals(line_text(buf_peek(&again), other.id), edits[0].text));
    if (line->token.end > 0)
        BUG_ON(!span_equals(line_text(buf_peek(&again), other.token), edits[1].text));
    buf_fini(&edited);
    buf_fini(&again);
}

static void take_apart(struct span batch)
{
    struct span member;
    size_t at = 0, joined = 2;

    while (line_member(batch, &at, &member)) {
        is_value(member);
        joined += member.len + (joined > 2);
    }
    BUG_ON(joined != batch.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct buf canonical;
    struct line line;

    if (len > 1 << 16)
        return 0;
    buf_init(&canonical, 1 << 20);
    if (line_read(span_of(bytes, len), &canonical, &line) == CODE_OK) {
        BUG_ON(span_find(buf_peek(&canonical), '\n') < buf_len(&canonical));
        if (line.kind == LINE_BATCH)
            take_apart(buf_peek(&canonical));
        else
            write_anew(buf_peek(&canonical), &line);
    }
    buf_fini(&canonical);
    return 0;
}
