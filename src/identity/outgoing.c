/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/outgoing.h"

#include "crypto/secret.h"

#include <stdint.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct outgoing_entry *a = left, *b = right;
    int order = span_compare(a->tenant, b->tenant);

    return order != 0 ? order : span_compare(a->principal, b->principal);
}

void outgoing_sort(struct outgoing *outgoing)
{
    if (outgoing->count > 1)
        qsort(outgoing->entries, outgoing->count, sizeof *outgoing->entries, compare);
}

struct span outgoing_find(const struct outgoing *outgoing, struct span tenant, struct span principal)
{
    const struct outgoing_entry wanted = {.tenant = outgoing->per_tenant ? tenant : SPAN_NONE,
                                          .principal = outgoing->per_principal ? principal : SPAN_NONE};
    const struct outgoing_entry *found = NULL;

    if (outgoing->count > 0)
        found = bsearch(&wanted, outgoing->entries, outgoing->count, sizeof *outgoing->entries, compare);
    return found != NULL ? found->value : SPAN_NONE;
}

void outgoing_fini(struct outgoing *outgoing)
{
    for (size_t i = 0; i < outgoing->count; i++)
        secret_free((void *)(uintptr_t)outgoing->entries[i].value.at, outgoing->entries[i].value.len);
    outgoing->count = 0;
}
