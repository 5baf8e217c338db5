/* SPDX-License-Identifier: Apache-2.0 */
/* Operators: what a condition asks of one value. All that the compiler, the evaluation and the tools for authors know of an
 * operator is in its struct, which one file fills in.
 *
 * Threads: structs of operators are constants; a compiled op is immutable and shared.
 * Owns: nothing; operands live in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: faults in what an author wrote; a truth never fails, it is undecided. */
#ifndef POLICY_OPERATOR_H
#define POLICY_OPERATOR_H

#include "json/json.h"
#include "texts/truth.h"
#include "regex/regex.h"

#include <stdint.h>

struct compiler;
struct condition;
struct op;
struct op_other;
struct question_hidden;
struct rule_walk;
struct yaml_node;

/* Takes values that are worth asking an operator about: its bounds, what is beside them, what it should take and what not.
 * Implemented by who compares two policies. */
struct samples {
    void (*json)(struct samples *samples, struct span json);
    void (*text)(struct samples *samples, const char *before, struct span text, const char *after); /* adds one string */
    void (*glob)(struct samples *samples, struct span glob);     /* adds a string that the glob matches */
    void (*regex)(struct samples *samples, struct span pattern); /* likewise, as far as can be guessed */
    /* `one` between open and close: one time less than count, count times, one time more; never more than `most` times. */
    void (*around)(struct samples *samples, uint64_t count, uint64_t most, const char *open, const char *one,
                   const char *close);
    /* Each string of op.written between before and after; of a map those of `hosts`. */
    void (*written)(struct samples *samples, struct span written, const char *before, const char *after);
    void (*addresses)(struct samples *samples, struct span written); /* adds the first address of each range in it */
};

/* Called for each place that makes an operator true. Takes: name: the detector's; at == NULL: there is none. */
typedef void (*op_found_fn)(void *context, struct span name, size_t offset, size_t length);

/* A value that makes an operator true, or nearly. */
struct op_near {
    struct span form; /* the part of what was written from which it was made, and its line */
    int line;
    const struct json_node *value;
    const char *change; /* how it differs from what is true; NULL: not at all */
    bool passes;        /* by this part alone */
};

typedef void (*op_near_fn)(void *context, const struct op_near *near);

#define TYPE_BIT(type) (1u << (type))
#define TYPES_SCALAR \
    (TYPE_BIT(JSON_NULL) | TYPE_BIT(JSON_FALSE) | TYPE_BIT(JSON_TRUE) | TYPE_BIT(JSON_NUMBER) | TYPE_BIT(JSON_STRING))
#define TYPES_ALL (TYPES_SCALAR | TYPE_BIT(JSON_ARRAY) | TYPE_BIT(JSON_OBJECT))

/* What a value has to do with the operand: it begins or ends with that, holds it, fits it as a glob or regex, or is a multiple
 * of it. */
enum operator_shape { SHAPE_OTHER = 0, SHAPE_BEGINNING, SHAPE_ENDING, SHAPE_PART, SHAPE_GLOB, SHAPE_REGEX, SHAPE_MULTIPLE,
                      SHAPE_COUNT };

struct operator {
    const char *word;
    unsigned types; /* TYPE_BIT of the JSON types of which it can be true */

    /* Reads what stands behind the word into op; faults for what is wrong with it. */
    void (*compile)(struct compiler *c, const struct yaml_node *node, struct op *op);

    /* One of these, or both. The string operators have of_text: it is asked of scalars, as the text that was sent (Meaning 4).
     * of_value is asked of the rest. Where the one that is needed is missing, the operator is undecided. */
    enum truth (*of_text)(struct rule_walk *walk, const struct op *op, struct span text);
    enum truth (*of_value)(struct rule_walk *walk, const struct op *op, const struct json_node *value);

    /* All places in the text that make the operator true, from left to right, so that they can be cut out: UNDECIDED where
     * there may be more. NULL: it is about the text as a whole. */
    enum truth (*find)(struct rule_walk *walk, const struct op *op, struct span text, op_found_fn found, void *context);
    /* What of_text costs, in visits. NULL: next to nothing, or of_text charges for itself. */
    uint64_t (*cost)(const struct op *op, struct span text);

    bool reads_decoded;   /* it is asked of each decoded reading of a string, as every of_text is */
    bool decides_absence; /* it alone says what an absent value means (Meaning 7) */
    bool looks_inside;    /* hidden values inside an array or object matter to it */
    bool is_decided;      /* never undecided, unless variables are in it */
    bool can_fold;        /* it compares texts, so that `ignore_case` goes with it: op.folds */
    bool has_anchor;      /* `anchor` goes with it: op.whole */

    /* For people who write policies: how true values lie around the operand. */
    enum operator_shape shape;
    /* Values to try; NULL: one of each type will do. */
    void (*sample)(const struct op *op, struct samples *samples);
    /* Says what the operator reads in the value, a string or an array, where that is more than one sees; NULL: nothing. */
    void (*tell)(const struct op *op, const struct json_node *value, struct buf *out);
    /* For a lower bound: the operator of the upper bound. NULL: it is no lower bound. */
    const struct operator *upper;
    /* Says what the author hardly meant, where the operator is in a closing leaf; NULL: nothing. */
    const char *(*closing_doubt)(const struct op *op);
};

/* What people who write policies are told of an operand where that is much; it stands in place of the operator's own functions
 * of these names. It hangs on the op where an author compiles it, so that nothing that enforces is linked with it. */
struct op_guide {
    void (*sample)(const struct op *op, struct samples *samples);
    void (*tell)(const struct op *op, const struct json_node *value, struct buf *out);
    /* Makes values that are true, and for each some that differ in one thing. */
    void (*near)(const struct op *op, op_near_fn take, void *context);
};

/* An operator with its operand. What was written is in `value`, `values`, `written` or `text`, whichever is set first. */
struct op {
    const struct operator *operator;
    const struct op_guide *guide; /* NULL: there is none */
    unsigned types; /* as of the operator, or fewer */
    bool opening;   /* where the leaf opens (Meaning 5) */
    bool whole;     /* has_anchor: a regex matches the whole value, not anywhere in it; `is`: numbers are integers */
    bool truth;     /* `exists`: its operand; `is`: strings are times */
    bool moments; /* it stands beside `is: time`, so that bounds are moments */
    bool folds;  /* texts are compared without case and what NFKC makes equal; the operand is folded */
    bool varies; /* it has variables, so what it asks differs from call to call (variable.h) */
    uint64_t count; /* of lengths and items; `free_of`: bits of its words */
    const struct json_node *value;
    const struct json_node *const *values; /* strings first, in byte order, those with variables behind them */
    uint32_t value_count, string_count, varying_count;
    struct span written; /* as JSON, where the compiled form no longer reads like it */
    struct span text;
    const struct regex *regex;
    struct op_other *other; /* what is named in place of a value (policy/other.h); or NULL */
    const void *terms; /* whatever else the operator's own file keeps */
    uint32_t term_count;
};

static inline bool op_reads_decoded(const struct op *op)
{
    return op->operator->of_text != NULL || op->operator->reads_decoded;
}

/* Whether it says which places of a text make it true, so that these can be cut out. */
static inline bool op_finds(const struct op *op)
{
    return op->operator->find != NULL && !op->folds;
}

static inline void op_sample(const struct op *op, struct samples *samples)
{
    if (op->guide != NULL)
        op->guide->sample(op, samples);
    else if (op->operator->sample != NULL)
        op->operator->sample(op, samples);
}

/* One visit for each 16 bytes: the usual cost of reading a text once. */
static inline uint64_t op_text_cost(const struct op *op, struct span text)
{
    (void)op;
    return (uint64_t)text.len / 16;
}

#endif
