/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator of a condition, by the word that authors write: X(equals) is operator__equals, a struct operator (operator.h).
 *
 * To add an operator: a line here and its struct in a file operator_*.c. Its block in schema/policy.schema.json, its row in
 * tests/unit/words/test_operator_matrix.c and its meaning in tests/oracle/meaning.py are tests of it. */
#ifndef OPERATOR_TABLE
#define OPERATOR_TABLE(X) \
    X(equals)             \
    X(in)                 \
    X(matches)            \
    X(glob)               \
    X(starts_with)        \
    X(ends_with)          \
    X(contains)           \
    X(is)                 \
    X(min)                \
    X(max)                \
    X(min_length)         \
    X(max_length)         \
    X(min_items)          \
    X(max_items)          \
    X(multiple_of)        \
    X(unique)             \
    X(exists)             \
    X(under)              \
    X(path)               \
    X(cut)                \
    X(url)                \
    X(cidr)               \
    X(format)             \
    X(email)              \
    X(free_of)            \
    X(sql)                \
    X(words)              \
    X(detect)
#endif
