/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator of a condition: the single source for the enum, the words and what a string operator is.
 *
 * X(NAME, "word", reads text)    reads text: takes scalars as the text that was sent (policy-language.md, Meaning 4)
 *
 * To add an operator: one line here; the compiler then asks for its operand (compile_operator.c) and its truth
 * (operator.c); one block in schema/policy.schema.json; one row in
 * tests/unit/policy/test_operator_matrix.c, which misses it otherwise, and a table of its own cases beside. */
#ifndef OPERATOR_TABLE
#define OPERATOR_TABLE(X)              \
    X(EQUALS, "equals", false)           \
    X(IN, "in", false)                   \
    X(MATCHES, "matches", true)          \
    X(GLOB, "glob", true)                \
    X(STARTS_WITH, "starts_with", true)  \
    X(ENDS_WITH, "ends_with", true)      \
    X(CONTAINS, "contains", true)        \
    X(IS, "is", false)                   \
    X(MIN, "min", false)                 \
    X(MAX, "max", false)                 \
    X(MIN_LENGTH, "min_length", true)    \
    X(MAX_LENGTH, "max_length", true)    \
    X(MIN_ITEMS, "min_items", false)     \
    X(MAX_ITEMS, "max_items", false)     \
    X(EXISTS, "exists", false)           \
    X(UNDER, "under", true)              \
    X(URL, "url", true)                  \
    X(CIDR, "cidr", true)                \
    X(FORMAT, "format", true)
#endif
