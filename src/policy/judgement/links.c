/* SPDX-License-Identifier: Apache-2.0 */
/* `links: true`: a condition is asked of each URL inside of a text, in whatever reading of it. */
#include "judgement/decode_priv.h"
#include "judgement/judge_priv.h"
#include "policy/trace.h"
#include "texts/links.h"

struct asking {
    struct rule_walk *walk;
    const struct condition *leaf;
    enum truth truth;
    bool any, is_decided;
};

static void ask(struct asking *asking, struct span link)
{
    struct json_node node = {.type = JSON_STRING, .text = link, .raw = link};
    struct rule_walk *walk = asking->walk;
    bool every = asking->leaf->every;
    enum truth truth = walk_charge(walk, 1 + link.len / 16) ? eval__ops(walk, asking->leaf, &node) : TRUTH_UNDECIDED;

    if (walk->trace != NULL)
        walk->trace->value(walk->trace, asking->leaf, &node, truth);
    asking->truth = !asking->any ? truth : every ? truth_and(asking->truth, truth) : truth_or(asking->truth, truth);
    asking->any = true;
    asking->is_decided = asking->truth == (every ? TRUTH_FALSE : TRUTH_TRUE) || walk->spent;
}

static void ask_all(void *context, struct span text)
{
    struct asking *asking = context;
    struct links links = {.text = text};
    struct span link;

    (void)walk_charge(asking->walk, text.len / 16);
    while (!asking->is_decided && links_next(&links, &link))
        ask(asking, link);
}

enum truth eval__links(struct rule_walk *walk, const struct condition *leaf, const struct json_node *value, bool *any)
{
    struct asking asking = {.walk = walk, .leaf = leaf, .truth = TRUTH_FALSE};

    bool is_container = value->type == JSON_ARRAY || value->type == JSON_OBJECT; /* in whose texts links may be */

    if (is_container || (value->type == JSON_STRING &&
                         !eval__each_reading(walk, leaf->decoders, value->text, ask_all, &asking))) {
        asking.truth = TRUTH_UNDECIDED;
        asking.any = true;
    }
    if (is_container && walk->trace != NULL)
        walk->trace->value(walk->trace, leaf, value, asking.truth);
    *any = asking.any;
    return asking.truth;
}

enum truth eval__find_links(struct rule_walk *walk, const struct condition *leaf, struct span text, op_found_fn found,
                            void *context)
{
    struct links links = {.text = text};
    struct trace *trace = walk->trace;
    enum truth all = TRUTH_FALSE;
    struct span link;

    walk->trace = NULL;
    while (!walk->spent && links_next(&links, &link)) {
        struct json_node node = {.type = JSON_STRING, .text = link, .raw = link};
        enum truth truth = walk_charge(walk, 1 + link.len / 16) ? eval__ops(walk, leaf, &node) : TRUTH_UNDECIDED;

        if (truth == TRUTH_TRUE)
            found(context, SPAN_NONE, (size_t)(link.at - text.at), link.len);
        all = truth_or(all, truth == TRUTH_UNDECIDED ? TRUTH_UNDECIDED : TRUTH_FALSE);
    }
    walk->trace = trace;
    return all;
}
