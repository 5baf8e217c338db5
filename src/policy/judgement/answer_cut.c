/* SPDX-License-Identifier: Apache-2.0 */
/* Redacts answers: finds which parts of which strings are cut, and writes the strings without them. A text that holds
 * JSON is written anew string by string, so that it stays JSON. */
#include "judgement/answer_priv.h"
#include "judgement/judge_priv.h"

#include <stdlib.h>

/* ---- collecting ---- */

static void add_cut(struct rule_walk *walk, const struct cut *cut)
{
    struct cuts *cuts = walk->cuts;
    struct cut *all = arena_room(cuts->arena, cuts->cut, &cuts->room, cuts->count + 1, sizeof *all);

    walk->no_memory |= all == NULL;
    if (all == NULL)
        return;
    cuts->cut = all;
    all[cuts->count++] = *cut;
}

static void add_check(struct rule_walk *walk, const struct cut_check *check)
{
    struct cuts *cuts = walk->cuts;
    struct cut_check *all = arena_room(cuts->arena, cuts->check, &cuts->check_room, cuts->check_count + 1, sizeof *all);

    walk->no_memory |= all == NULL;
    if (all == NULL)
        return;
    cuts->check = all;
    all[cuts->check_count++] = *check;
}

void eval__cut_undecided(struct cuts *cuts)
{
    cuts->undecided = true;
}

/* Where something is looked for. */
struct finding_in {
    struct rule_walk *walk;
    struct cut cut;
    bool any;
};

static void found(void *context, struct span name, size_t offset, size_t length)
{
    struct finding_in *in = context;

    if (length == 0) /* there is nothing to cut */
        return;
    in->any = true;
    in->cut.name = name.at != NULL ? name : in->walk->cuts->rule->id;
    in->cut.at = offset;
    in->cut.len = length;
    add_cut(in->walk, &in->cut);
}

static bool has_find(const struct condition *leaf)
{
    if (leaf->links)
        return true;
    for (uint32_t i = 0; i < leaf->op_count; i++)
        if (op_finds(&leaf->ops[i]))
            return true;
    return false;
}

static bool is_everywhere(const struct path *path)
{
    while (path != NULL && !(path->count == 1 && path->ends_everywhere))
        path = path->next;
    return path != NULL;
}

/* Takes: string: NULL: the text is in no string that could be cut. Returns: whether something was found. */
static bool find_in(struct rule_walk *walk, const struct condition *leaf, const struct json_node *string,
                    const struct path_inside *within, struct span text)
{
    struct finding_in in = {.walk = walk,
                            .cut = {.within = within, .string = string, .leaf = leaf,
                                    .everywhere = is_everywhere(&leaf->path)}};

    if (leaf->links && eval__find_links(walk, leaf, text, found, &in) == TRUTH_UNDECIDED)
        walk->cuts->undecided = true;
    for (uint32_t i = 0; i < leaf->op_count && !leaf->links; i++)
        if (op_finds(&leaf->ops[i]) &&
            leaf->ops[i].operator->find(walk, &leaf->ops[i], text, found, &in) == TRUTH_UNDECIDED)
            walk->cuts->undecided = true;
    return in.any;
}

static bool find_inside(struct rule_walk *walk, const struct condition *leaf, const struct json_node *node,
                        const struct path_inside *within)
{
    bool any = node->type == JSON_STRING && find_in(walk, leaf, node, within, node->text);

    for (const struct json_node *child = node->child; child != NULL && walk_charge(walk, 1); child = child->next)
        any |= find_inside(walk, leaf, child, within);
    return any;
}

static const struct path_inside *inside_of(const struct rule_walk *walk, const struct json_node *string)
{
    return path_inside_of(walk->inside, walk->inside_count, string);
}

/* Whether the condition only says when a rule applies, because another one says what to find. */
static bool only_asks(const struct rule_walk *walk, const struct condition *leaf)
{
    return walk->cuts->rule->finds && !has_find(leaf);
}

void eval__cut_nowhere(struct rule_walk *walk, const struct condition *leaf, struct span text, enum truth truth)
{
    struct cuts *cuts = walk->cuts;

    if (only_asks(walk, leaf))
        return;
    if (truth == TRUTH_UNDECIDED) {
        cuts->undecided = true;
        return;
    }
    cuts->not_in_text = true;
    if (!find_in(walk, leaf, NULL, NULL, text))
        add_cut(walk, &(struct cut){.name = cuts->rule->id});
}

void eval__cut(struct rule_walk *walk, const struct condition *leaf, const struct json_node *value,
               const struct path_inside *within, enum truth truth)
{
    const struct path_inside *inside = within == NULL && !leaf->asks_keys ? inside_of(walk, value) : NULL;
    bool is_text = !leaf->asks_keys && value->type == JSON_STRING, any = false;

    if (only_asks(walk, leaf))
        return;
    if (truth == TRUTH_TRUE && is_text && !has_find(leaf)) {
        add_cut(walk, &(struct cut){.within = within, .string = value, .len = value->text.len, .name = walk->cuts->rule->id,
                                  .whole = true});
        return;
    }
    if (truth == TRUTH_TRUE && is_text)
        any = inside != NULL ? find_inside(walk, leaf, inside->root, inside) : find_in(walk, leaf, value, within, value->text);
    if (any)
        add_check(walk, &(struct cut_check){.leaf = leaf, .within = within, .string = value});
    else
        eval__cut_nowhere(walk, leaf, value->type == JSON_STRING ? value->text : value->raw, truth);
}

/* ---- in order ---- */

static const struct json_node *outer_of(const struct path_inside *within, const struct json_node *string)
{
    return within != NULL ? within->string : string;
}

static int by_address(const char *a, const char *b)
{
    return a < b ? -1 : a > b;
}

/* Sorts cuts in document order, those without a string last; of cuts at one place the longer first. */
static int by_place(const void *a, const void *b)
{
    const struct cut *left = a, *right = b;
    int order;

    if (left->string == NULL || right->string == NULL)
        return (left->string == NULL) - (right->string == NULL);
    order = by_address(outer_of(left->within, left->string)->raw.at, outer_of(right->within, right->string)->raw.at);
    if (order != 0 || (left->within != NULL) != (right->within != NULL))
        return order != 0 ? order : (left->within != NULL) - (right->within != NULL);
    order = by_address(left->string->raw.at, right->string->raw.at);
    if (order != 0 || left->at != right->at)
        return order != 0 ? order : left->at < right->at ? -1 : 1;
    if (left->len != right->len)
        return left->len > right->len ? -1 : 1;
    return span_compare(left->name, right->name);
}

void eval__sort_cuts(struct cuts *cuts)
{
    uint32_t kept = 0;

    if (cuts->count > 0)
        qsort(cuts->cut, cuts->count, sizeof *cuts->cut, by_place);
    for (uint32_t i = 0; i < cuts->count; i++)
        if (kept == 0 || cuts->cut[i].string == NULL || by_place(&cuts->cut[kept - 1], &cuts->cut[i]) != 0)
            cuts->cut[kept++] = cuts->cut[i];
    cuts->count = kept;
}

/* Finds the first cut of the string, or where it would be. */
static uint32_t lower_bound(const struct cut *cuts, uint32_t count, const struct json_node *string,
                            const struct path_inside *within)
{
    const struct cut first = {.within = within, .string = string, .len = SIZE_MAX};
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (by_place(&cuts[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- the same text elsewhere: `content` and `structuredContent` hold the same ---- */

struct likewise {
    struct rule_walk *walk;
    const struct cut *like; /* copies of the cuts, sorted by what they cut */
    uint32_t count;
    uint32_t found;         /* the cuts that were there before, sorted */
};

static struct span cut_text(const struct cut *cut)
{
    return span_part(cut->string->text, cut->at, cut->len);
}

static int by_text(const void *a, const void *b)
{
    const struct cut *left = a, *right = b;
    int order = span_compare(cut_text(left), cut_text(right));

    if (order != 0 || left->whole != right->whole)
        return order != 0 ? order : left->whole - right->whole;
    return span_compare(left->name, right->name);
}

#define LEAVES_MAX 8

/* Lists the leaves that have searched the string themselves and found something. Returns: how many. */
static uint32_t leaves_of(const struct likewise *likewise, const struct json_node *string, const struct path_inside *within,
                          const struct condition *leaves[LEAVES_MAX])
{
    const struct cuts *cuts = likewise->walk->cuts;
    uint32_t count = 0, at = lower_bound(cuts->cut, likewise->found, string, within);

    for (; at < likewise->found && cuts->cut[at].string == string && count < LEAVES_MAX; at++)
        if (cuts->cut[at].leaf != NULL && (count == 0 || leaves[count - 1] != cuts->cut[at].leaf))
            leaves[count++] = cuts->cut[at].leaf;
    return count;
}

/* Cuts the same in another string: a part of a text wherever the string has it; a text that goes as a whole
 * only where the string equals it. */
static void cut_alike(const struct likewise *likewise, const struct json_node *string, const struct path_inside *within)
{
    const struct condition *leaves[LEAVES_MAX];
    uint32_t leaf_count = leaves_of(likewise, string, within, leaves);

    for (uint32_t i = 0; i < likewise->count && walk_charge(likewise->walk, 1); i++) {
        const struct cut *like = &likewise->like[i];
        struct span text = cut_text(like), left = string->text;
        const char *at;

        bool is_done = like->whole && !span_equals(text, left);

        for (uint32_t j = 0; j < leaf_count && !like->whole; j++)
            is_done |= leaves[j] == like->leaf;
        if (is_done || !walk_charge(likewise->walk, left.len / 16))
            continue;
        while (text.len > 0 && left.len >= text.len && (at = memmem(left.at, left.len, text.at, text.len)) != NULL) {
            size_t offset = (size_t)(at - string->text.at);

            add_cut(likewise->walk, &(struct cut){.within = within, .string = string, .at = offset, .len = text.len,
                                                  .name = like->name, .everywhere = true});
            left = span_part(string->text, offset + text.len, SIZE_MAX);
        }
    }
}

static bool is_like(const struct likewise *likewise, struct span text)
{
    for (uint32_t i = 0; i < likewise->count && walk_charge(likewise->walk, 1); i++)
        if (span_equals(cut_text(&likewise->like[i]), text))
            return true;
    return false;
}

/* Takes: is_data: the names of members are a tool's own and not the protocol's. */
static void look_alike(const struct likewise *likewise, const struct json_node *node, const struct path_inside *within,
                       bool is_data)
{
    const struct path_inside *inside = node->type == JSON_STRING && within == NULL ? inside_of(likewise->walk, node) : NULL;
    struct cuts *cuts = likewise->walk->cuts;

    /* a word of the protocol, which is not cut */
    bool is_word = !is_data && (span_is(node->key, "type") || span_is(node->key, "role"));

    if (inside != NULL)
        look_alike(likewise, inside->root, inside, true);
    else if (node->type == JSON_STRING && !is_word)
        cut_alike(likewise, node, within);
    cuts->not_in_text |= (node->type == JSON_NUMBER && is_like(likewise, node->raw)) ||
                         (is_data && node->key.len > 0 && is_like(likewise, node->key));
    for (const struct json_node *child = node->child; child != NULL && walk_charge(likewise->walk, 1); child = child->next)
        look_alike(likewise, child, within, is_data || span_is(node->key, "structuredContent"));
}

void eval__cut_likewise(struct rule_walk *walk, struct cuts *cuts)
{
    struct likewise likewise = {.walk = walk, .found = cuts->count};
    struct cut *like = arena_alloc(cuts->arena, (cuts->count + 1) * sizeof *like);
    uint32_t count = 0;

    walk->no_memory |= like == NULL;
    if (like == NULL)
        return;
    for (uint32_t i = 0; i < cuts->count; i++)
        if (cuts->cut[i].string != NULL && !cuts->cut[i].everywhere)
            like[count++] = cuts->cut[i];
    qsort(like, count, sizeof *like, by_text);
    for (uint32_t i = 0; i < count; i++)
        if (likewise.count == 0 || like[likewise.count - 1].leaf != like[i].leaf ||
            !span_equals(cut_text(&like[likewise.count - 1]), cut_text(&like[i])))
            like[likewise.count++] = like[i];
    likewise.like = like;
    walk->cuts = cuts;
    if (likewise.count > 0)
        look_alike(&likewise, walk->answer->root, NULL, false);
    walk->cuts = NULL;
}

/* ---- what is left ---- */

/* Cuts that follow each other. */
struct cut_range {
    const struct cut *at, *end;
};

static struct cut_range range_of(const struct cut *from, const struct cut *end, bool by_outer)
{
    struct cut_range range = {from, from};

    while (range.end < end && range.end->string != NULL &&
           (by_outer ? outer_of(range.end->within, range.end->string) == outer_of(from->within, from->string)
                     : range.end->string == from->string))
        range.end++;
    return range;
}

/* Takes: range: the cuts of one string; marks: put the name of what was cut in its place. */
static void add_rest(struct buf *out, struct cut_range range, bool marks)
{
    struct span text = range.at->string->text;
    size_t done = 0;

    for (const struct cut *cut = range.at, *last = NULL; cut < range.end; cut++) {
        bool goes_on = last != NULL && (cut->at < done || (cut->at == done && span_equals(cut->name, last->name)));

        if (!goes_on) {
            buf_add(out, text.at + done, cut->at - done);
            if (marks)
                buf_addf(out, "[left out: %.*s]", SPAN_ARG(cut->name));
            last = cut;
        }
        done = cut->at + cut->len > done ? cut->at + cut->len : done;
    }
    buf_add(out, text.at + done, text.len - done);
}

static struct span keep(struct rule_walk *walk, struct arena *arena, struct buf *text)
{
    const char *at = buf_code(text) == CODE_OK ? arena_dup(arena, buf_peek(text).at, buf_len(text)) : NULL;

    walk->no_memory |= at == NULL;
    return span_of(at, at != NULL ? buf_len(text) : 0);
}

/* Takes: range: the cuts of one of the answer's own strings, and of the strings in it. */
static struct span rest_of(struct rule_walk *walk, struct arena *arena, struct cut_range range, bool marks)
{
    const struct path_inside *within = range.at->within;
    struct json_edits edits;
    struct span text = SPAN_NONE;
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    if (within == NULL) { /* a text that is cut and holds JSON goes as a whole */
        add_rest(&out, range_of(range.at, range.end, false), marks);
        text = keep(walk, arena, &out);
        buf_fini(&out);
        return text;
    }
    json_edits_init(&edits);
    for (const struct cut *cut = range.at; !walk->no_memory && cut < range.end;) {
        struct cut_range one = range_of(cut, range.end, false);
        size_t begin = (size_t)(cut->string->raw.at - within->document.at);

        buf_clear(&out);
        add_rest(&out, one, marks);
        walk->no_memory |= buf_code(&out) != CODE_OK ||
                           json_edits_say(&edits, begin, begin + cut->string->raw.len, buf_peek(&out)) != CODE_OK;
        cut = one.end;
    }
    buf_clear(&out);
    walk->no_memory |= walk->no_memory || eval__write_edits(&edits, within->document, &out) != CODE_OK;
    if (!walk->no_memory)
        text = keep(walk, arena, &out);
    json_edits_fini(&edits);
    buf_fini(&out);
    return text;
}

/* Whether a leaf finds something in what is left of the string. Takes: leaf: it found something in the string before. An
 * operator may still hold without finding anything in particular, as a regex does that matches the empty text. */
static bool finds_more(struct rule_walk *walk, const struct condition *leaf, struct span text)
{
    struct cuts nothing = {.arena = NULL, .rule = walk->cuts->rule}, *cuts = walk->cuts;
    bool more = eval__still_holds(walk, leaf, text);

    if (!more || leaf->decoders != 0)
        return more;
    nothing.arena = cuts->arena;
    walk->cuts = &nothing;
    more = find_in(walk, leaf, NULL, NULL, text) || nothing.undecided;
    walk->cuts = cuts;
    return more;
}

/* The string without what was cut. */
static struct span checked_text(struct rule_walk *walk, const struct cuts *cuts, const struct cut_check *check)
{
    uint32_t low = lower_bound(cuts->cut, cuts->count, check->string, check->within);
    struct span text;
    struct buf out;

    if (check->within == NULL)
        return rest_of(walk, cuts->arena, range_of(&cuts->cut[low], cuts->cut + cuts->count, true), false);
    if (low == cuts->count || cuts->cut[low].string != check->string)
        return SPAN_LIT(""); /* the string goes with the whole text that it is in */
    buf_init(&out, SIZE_MAX / 2);
    add_rest(&out, range_of(&cuts->cut[low], cuts->cut + cuts->count, false), false);
    text = keep(walk, cuts->arena, &out);
    buf_fini(&out);
    return text;
}

bool eval__can_cut(struct rule_walk *walk, struct cuts *cuts)
{
    bool can = !cuts->undecided && !cuts->not_in_text && cuts->count > 0 && !walk->no_memory;

    walk->cuts = cuts;
    for (uint32_t i = 0; i < cuts->check_count && can; i++)
        can = !finds_more(walk, cuts->check[i].leaf, checked_text(walk, cuts, &cuts->check[i]));
    walk->cuts = NULL;
    return can && !cuts->undecided;
}

void eval__cut_edits(struct rule_walk *walk, const struct cuts *cuts, struct answer_verdict *verdict)
{
    struct answer_edit *edits = arena_alloc(cuts->arena, cuts->count * sizeof *edits);
    const struct cut *end = cuts->cut + cuts->count;

    walk->no_memory |= edits == NULL;
    verdict->edits = edits;
    for (const struct cut *cut = cuts->cut; edits != NULL && cut < end && cut->string != NULL;) {
        struct cut_range range = range_of(cut, end, true);

        edits[verdict->edit_count++] =
            (struct answer_edit){outer_of(cut->within, cut->string), rest_of(walk, cuts->arena, range, true)};
        cut = range.end;
    }
}

enum code eval__write_edits(struct json_edits *edits, struct span document, struct buf *out)
{
    enum code code = buf_add_span(out, document);

    return code == CODE_OK ? json_edits_apply(edits, out, NULL, NULL) : code;
}
