/* SPDX-License-Identifier: Apache-2.0 */
/* What goes up in `Authorization` in place of whatever the agent showed: `upstream: {authorization:}` of a route.
 *
 * Credentials from files stand in a table that was made when the configuration was read: whose one is, is looked up there, and
 * no name of a file is ever made from what an agent is called.
 *
 * Threads: immutable once the configuration is sealed; any may look.
 * Owns: the values of its entries, which are secrets (crypto/secret.h); the rest is the configuration's.
 * Lifetime: the configuration's.
 * Errors: none; who has no credential gets none. */
#ifndef IDENTITY_OUTGOING_H
#define IDENTITY_OUTGOING_H

#include "base/span.h"

#include <stddef.h>

enum outgoing_kind { OUTGOING_NONE = 0, OUTGOING_FILE }; /* NONE: what the agent sent goes up, where nobody consumed it */

/* Invariant: the names that outgoing.per_* leaves out are empty. */
struct outgoing_entry {
    struct span tenant;
    struct span principal;
    struct span value; /* of the whole header */
};

struct outgoing {
    enum outgoing_kind kind;
    bool per_tenant;
    bool per_principal;        /* of a tenant: two may have principals of one name */
    const char *file;          /* as it was written, for people */
    struct outgoing_entry *entries; /* sorted by outgoing_sort */
    size_t count;
};

void outgoing_sort(struct outgoing *outgoing);
/* Returns: the header's value, or at == NULL: there is none for whoever asks. */
struct span outgoing_find(const struct outgoing *outgoing, struct span tenant, struct span principal);
void outgoing_fini(struct outgoing *outgoing);

#endif
