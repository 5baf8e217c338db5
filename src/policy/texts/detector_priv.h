/* SPDX-License-Identifier: Apache-2.0 */
/* What compiling and finding share: the table of a set's literals.
 *
 * Threads: as detector.h.
 * Owns: nothing.
 * Lifetime: the arena's.
 * Errors: none. */
#ifndef TEXTS_DETECTOR_PRIV_H
#define TEXTS_DETECTOR_PRIV_H

#include "base/mem.h"
#include "texts/detector.h"

/* The bytes of all pairs are sorted into so many kinds. Where there are more bytes, some share a kind,
 * which costs a comparison. */
#define DETECTOR_KINDS 64u

struct detector_entry { /* a pair of bytes of one literal */
    const struct detector_literal *literal;
    uint16_t detector; /* of the set */
    uint16_t next;     /* the index plus one of the next entry of the same pair; 0: none */
};

struct detector_set {
    const struct detector *const *detectors;
    uint32_t count;
    const struct detector_entry *entries;
    unsigned char kind_of[256];                     /* 0: in no pair */
    uint16_t first[DETECTOR_KINDS * DETECTOR_KINDS]; /* by the kinds of two bytes: the index plus one of their first entry; 0:
                                                      * none */
};

#endif
