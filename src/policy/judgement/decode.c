/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of a string: what a server may take it for. They are found breadth first, each at its least depth, so
 * that the set does not depend on the order in which an author names the decoders. */
#include "judgement/decode_priv.h"
#include "texts/decode_text.h"
#include "policy/trace.h"
#include "words/operators.h"

#include "base/ascii.h"
#include "base/hash.h"
#include "crypto/digest.h"
#include "unicode/lookalike.h"
#include "unicode/unicode.h"

#define DEPTH_MAX 3
#define READINGS_MAX 64
#define READINGS_MAX_BYTES ((size_t)16 << 20)

struct decoded_reading {
    struct span text;
    uint64_t hash;
    uint32_t from; /* the reading that it was made of, by `by` */
    enum decoder by;
    unsigned depth;
};

struct readings {
    uint32_t count;
    bool too_many;
    size_t bytes;
    const struct span *parts; /* that the string was joined of */
    size_t part_count;
    struct decoded_reading reading[READINGS_MAX];
};

/* Most marks of escapes are none: a sentence has `%` and `&`. */
static bool stands_for_something(struct span text, char mark)
{
    size_t at = span_find(text, mark);

    while (at < text.len && mark == '%' && decode_escape_at(text, at) < 0)
        at += 1 + span_find(span_part(text, at + 1, SIZE_MAX), mark);
    return at < text.len;
}

static enum code by_escapes(struct span text, char mark, size_t growth, size_t (*read)(struct span, char *), struct buf *out)
{
    enum code code = CODE_INVALID;
    char *at;

    if (!stands_for_something(text, mark))
        return code;
    code = buf_reserve(out, text.len + growth, &at);
    if (code == CODE_OK)
        buf_commit(out, read(text, at));
    return code;
}

/* Appends to `out`. Returns: CODE_INVALID: no reading; CODE_LIMIT: too much of one. */
static enum code decode(enum decoder decoder, struct span text, struct buf *out)
{
    switch (decoder) {
    case DECODER_PERCENT: return by_escapes(text, '%', 0, decode_percent_utf8, out);
    case DECODER_HTML: return by_escapes(text, '&', decode_html_growth(text.len), decode_html, out);
    case DECODER_BASE64: return base64_decode_loose(text, out);
    case DECODER_JSON: return json_say(text, out);
    case DECODER_UNICODE: return ascii_is_only(text) ? CODE_INVALID : unicode_plain(text, out);
    case DECODER_HEX: return decode_hex(text, out);
    case DECODER_INSIDE: return decode_base64(text, out);
    case DECODER_HOMOGLYPH: return ascii_is_only(text) ? CODE_INVALID : lookalike_plain(text, out);
    case DECODER_COUNT: break;
    }
    return CODE_INVALID;
}

/* What a decoder costs before it runs, in units of the call's budget, as measured. To look for a mark costs little. To find
 * that a long text is no base64 or JSON costs more. Unicode's tables cost most. */
static uint64_t cost_before(enum decoder decoder, struct span text)
{
    switch (decoder) {
    case DECODER_PERCENT:
    case DECODER_HTML: return 8 + text.len / 8;
    case DECODER_BASE64:
    case DECODER_JSON: return 8 + text.len;
    case DECODER_HEX: return 8 + text.len * 4;
    case DECODER_INSIDE: return 8 + text.len * 6;
    case DECODER_UNICODE:
    case DECODER_HOMOGLYPH: return ascii_is_only(text) ? 8 + text.len / 2 : 8 + text.len * 8;
    case DECODER_COUNT: break;
    }
    return 8;
}

/* What a decoder costs after it ran, since what it wrote is looked over once more. */
static uint64_t cost_after(enum decoder decoder, struct span text, size_t written)
{
    uint64_t over = written * 2;

    if (written == 0)
        return 0;
    if (decoder == DECODER_UNICODE || decoder == DECODER_HOMOGLYPH)
        return over + written * 5;
    return decoder == DECODER_HTML ? over + text.len * 6 : over + text.len;
}

/* Spends from the call's budget at once and not by visits: one value may be long, and the budget looks at the clock. */
static bool spend(struct rule_walk *walk, uint64_t work)
{
    walk->spent |= !regex_budget_spend(walk->budget, work);
    return !walk->spent;
}

static bool is_known(const struct readings *readings, struct span text, uint64_t hash)
{
    for (uint32_t i = 0; i < readings->count; i++)
        if (readings->reading[i].hash == hash && span_equals(readings->reading[i].text, text))
            return true;
    return false;
}

/* Takes: one.text in a buffer that will be used again. */
static enum code keep(struct rule_walk *walk, struct readings *readings, struct decoded_reading one)
{
    if (span_equals(one.text, readings->reading[one.from].text))
        return CODE_OK;
    if (readings->count == 1)
        readings->reading[0].hash = hash_mix_span(0, readings->reading[0].text);
    one.hash = hash_mix_span(0, one.text);
    if (!unicode_is_utf8(one.text) || is_known(readings, one.text, one.hash))
        return CODE_OK;
    readings->bytes += one.text.len;
    readings->too_many = readings->count == READINGS_MAX || readings->bytes > READINGS_MAX_BYTES;
    if (readings->too_many)
        return CODE_LIMIT;
    one.text.at = arena_dup(walk->arena, one.text.at, one.text.len);
    if (one.text.at == NULL)
        return CODE_NOMEM;
    readings->reading[readings->count++] = one;
    return CODE_OK;
}

/* Decodes each part by itself; a part of which the decoder makes nothing stays as it is. */
static enum code decode_parts(enum decoder decoder, const struct readings *readings, struct buf *out)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < readings->part_count && (code == CODE_OK || code == CODE_INVALID); i++) {
        struct buf_mark before = buf_mark(out);

        code = decode(decoder, readings->parts[i], out);
        if (code == CODE_OK && unicode_is_utf8(span_part(buf_peek(out), before.len, SIZE_MAX)))
            continue;
        if (code == CODE_OK || code == CODE_INVALID) {
            buf_rewind(out, before);
            code = buf_add_span(out, readings->parts[i]);
        }
    }
    return code;
}

static enum code add_readings(struct rule_walk *walk, unsigned decoders, uint32_t from, struct readings *readings,
                              struct buf *work)
{
    const struct decoded_reading *reading = &readings->reading[from];
    int ways = from == 0 && readings->part_count > 0 ? 2 : 1;

    for (enum decoder decoder = 0; decoder < DECODER_COUNT; decoder++)
        for (int way = 0; (decoders >> decoder & 1) != 0 && way < ways; way++) {
            enum code code;

            if (!spend(walk, cost_before(decoder, reading->text)))
                return CODE_LIMIT;
            buf_clear(work);
            code = way == 0 ? decode(decoder, reading->text, work) : decode_parts(decoder, readings, work);
            if (!spend(walk, cost_after(decoder, reading->text, buf_len(work))))
                return CODE_LIMIT;
            if (code == CODE_OK)
                code = keep(walk, readings, (struct decoded_reading){.text = buf_peek(work), .from = from, .by = decoder,
                                                             .depth = reading->depth + 1});
            if (code != CODE_OK && code != CODE_INVALID)
                return code;
        }
    return CODE_OK;
}

/* Takes: readings: with its parts. */
static void find_readings(struct rule_walk *walk, unsigned decoders, struct span text, struct readings *readings)
{
    enum code code = CODE_OK;
    struct buf work;

    readings->count = 1;
    readings->bytes = text.len;
    readings->too_many = text.len > READINGS_MAX_BYTES;
    readings->reading[0] = (struct decoded_reading){.text = text};
    buf_init(&work, READINGS_MAX_BYTES);
    for (uint32_t i = 0; i < readings->count && code == CODE_OK && !readings->too_many; i++)
        if (readings->reading[i].depth < DEPTH_MAX)
            code = add_readings(walk, decoders, i, readings, &work);
    buf_fini(&work);
    readings->too_many |= code == CODE_LIMIT;
    walk->no_memory |= code == CODE_NOMEM;
    if (readings->too_many && walk->trace != NULL)
        walk->trace->too_many(walk->trace);
}

/* ---- asking them ---- */

/* The words of the decoders that made a reading, the first one first. */
static size_t chain_of(const struct readings *readings, uint32_t at, enum decoder chain[DEPTH_MAX])
{
    size_t depth = readings->reading[at].depth;

    for (size_t i = depth; i-- > 0; at = readings->reading[at].from)
        chain[i] = readings->reading[at].by;
    return depth;
}

static enum truth ask_readings(struct rule_walk *walk, const struct condition *leaf, const struct op *op,
                               const struct readings *readings)
{
    enum truth best = leaf->opening ? TRUTH_TRUE : TRUTH_FALSE;
    enum decoder chain[DEPTH_MAX];
    struct trace_reading seen;
    uint32_t decided = 0;

    for (uint32_t i = 0; i < readings->count; i++) {
        struct span text = readings->reading[i].text;
        struct json_node node = {.type = JSON_STRING, .text = text, .raw = text};
        enum truth truth = policy_op(walk, op, &node);

        if (i == 0 || (leaf->opening ? truth < best : truth > best)) {
            best = truth;
            decided = i;
        }
        if (best == (leaf->opening ? TRUTH_FALSE : TRUTH_TRUE))
            break;
    }
    if (walk->trace != NULL) {
        seen = (struct trace_reading){.op = op, .text = readings->reading[decided].text, .chain = chain,
                                      .depth = chain_of(readings, decided, chain), .count = readings->count, .truth = best};
        walk->trace->reading(walk->trace, &seen);
    }
    return best;
}

bool eval__each_reading(struct rule_walk *walk, unsigned decoders, struct span text, void (*take)(void *context, struct span),
                        void *context)
{
    struct readings readings;

    if (decoders == 0) {
        take(context, text);
        return true;
    }
    readings.parts = NULL;
    readings.part_count = 0;
    find_readings(walk, decoders, text, &readings);
    for (uint32_t i = 0; i < readings.count && !readings.too_many; i++)
        take(context, readings.reading[i].text);
    return !readings.too_many;
}

enum truth eval__decoded(struct rule_walk *walk, const struct condition *leaf, const struct json_node *string,
                         const struct span *parts, size_t count)
{
    enum truth all = TRUTH_TRUE;
    struct readings readings;

    readings.parts = parts;
    readings.part_count = count;
    find_readings(walk, leaf->decoders, string->text, &readings);
    for (uint32_t i = 0; i < leaf->op_count && all != TRUTH_FALSE; i++) {
        const struct op *op = &leaf->ops[i];
        enum truth truth = TRUTH_UNDECIDED;

        if (!op_reads_decoded(op))
            truth = policy_op(walk, op, string);
        else if (!readings.too_many)
            truth = ask_readings(walk, leaf, op, &readings);
        if (walk->trace != NULL)
            walk->trace->op(walk->trace, op, truth);
        all = truth_and(all, truth);
    }
    return all;
}
