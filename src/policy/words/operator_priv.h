/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of all operators, and what they say to the compiler.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef WORDS_OPERATOR_PRIV_H
#define WORDS_OPERATOR_PRIV_H

#include "words/compiler.h"
#include "words/operators.h"
#include "policy/walk.h"

#define X(word) extern const struct operator operator__##word;
OPERATOR_TABLE(X)
#undef X

#endif
