/* SPDX-License-Identifier: Apache-2.0 */
/* A count of who holds a thing that several hold: whoever lets go of it last frees it.
 *
 * Threads: any.
 * Owns: nothing; it lies in the thing.
 * Lifetime: from ref_init to the ref_drop that returns true.
 * Errors: none; to hold what nobody holds any more is a bug, and aborts. */
#ifndef BASE_REF_H
#define BASE_REF_H

#include "base/bug.h"
#include "base/code.h"

#include <stdatomic.h>
#include <stdbool.h>

struct ref {
    atomic_uint holders;
};

/* Whoever makes the thing holds it. */
static inline void ref_init(struct ref *ref)
{
    atomic_init(&ref->holders, 1);
}

/* In no order with anything else, because whoever takes holds the thing already, or a lock under which somebody does. */
static inline void ref_take(struct ref *ref)
{
    BUG_ON(atomic_fetch_add_explicit(&ref->holders, 1, memory_order_relaxed) == 0);
}

/* Returns: whether nobody holds it any more; what others did with the thing has happened by then. */
static inline MUST_USE bool ref_drop(struct ref *ref)
{
    unsigned before = atomic_fetch_sub_explicit(&ref->holders, 1, memory_order_acq_rel);

    BUG_ON(before == 0);
    return before == 1;
}

#endif
