/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a text of the repository into the program as it is, so that no second copy can differ.
 *
 * The symbol is global, because with link-time optimisation the assembler's text and its reader may end up in different
 * objects. The Makefile knows the files that take a text in: it compiles them without link-time optimisation, and anew when the
 * text changes.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none; the assembler says which file it does not find. */
#ifndef BASE_TAKE_IN_H
#define BASE_TAKE_IN_H

/* Defines `name`, which is declared as `extern const char name[]`; NUL stands behind it. `file` is named from the root. */
#define TAKE_IN(name, file)              \
    __asm__(".pushsection .rodata\n"     \
            ".global " #name "\n"        \
            ".type " #name ", @object\n" \
            #name ":\n"                  \
            ".incbin \"" file "\"\n"     \
            ".byte 0\n"                  \
            ".size " #name ", . - " #name "\n" \
            ".popsection\n")

#endif
