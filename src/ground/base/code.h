/* SPDX-License-Identifier: Apache-2.0 */
/* Expected failures: one enum for every room, 0 is success, failures are negative.
 *
 * Threads: any; nothing here has state.
 * Owns: nothing.
 * Lifetime: texts are static.
 * Errors: this is where they are defined. */
#ifndef BASE_CODE_H
#define BASE_CODE_H

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define COLD __attribute__((cold)) /* for what few calls need: the compiler puts its code, and what leads to it, apart from
                                    * the rest */

enum code {
    CODE_OK = 0,
    CODE_NOMEM = -1,     /* memory, or the budget given for it, is used up */
    CODE_LIMIT = -2,     /* a stated cap was reached: bytes, nodes, depth, work */
    CODE_INVALID = -3,   /* the input is malformed; the room says where */
    CODE_IO = -4,        /* the operating system refused; errno is in the log or in `struct why` */
    CODE_NOT_FOUND = -5,
    CODE_EXISTS = -6,
    CODE_DENIED = -7,    /* permission, credential or signature */
    CODE_BUSY = -8,      /* a ring is full, a lock is held: later may succeed */
    CODE_DOWN = -9,      /* a sticky failure state: refused until it is reset */
    CODE_UNDECIDED = -10 /* neither true nor false; the caller must take the closed branch */
};

/* Returns: a short static English text, never NULL. */
const char *code_text(enum code code);

#endif
