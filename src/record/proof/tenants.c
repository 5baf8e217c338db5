/* SPDX-License-Identifier: Apache-2.0 */
#include "proof/tenants.h"

#include "base/mem.h"

#include <stdlib.h>

enum code tenants_init(struct tenants *tenants)
{
    *tenants = (struct tenants){.listed = 0};
    return heads_init(&tenants->heads);
}

void tenants_fini(struct tenants *tenants)
{
    mem_free(tenants->sorted);
    mem_free(tenants->leaf);
    heads_fini(&tenants->heads);
    *tenants = (struct tenants){.listed = 0};
}

enum code tenants_set(struct tenants *tenants, struct span tenant, uint64_t seq, const unsigned char hash[DIGEST_BYTES])
{
    struct head *head;
    enum code code = heads_find(&tenants->heads, tenant, &head);

    if (code != CODE_OK || seq <= head->seq)
        return code;
    head->seq = seq;
    head->known = false;
    memcpy(head->hash, hash, DIGEST_BYTES);
    return tenants->heads.count > TENANTS_MAX ? CODE_LIMIT : CODE_OK;
}

static void put_number(unsigned char *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (unsigned char)(number >> (bytes - 1 - i) * 8);
}

/* 'T', then the values as a row's canonical bytes have them. */
void tenants_leaf(struct span tenant, uint64_t seq, const unsigned char hash[DIGEST_BYTES], unsigned char leaf[DIGEST_BYTES])
{
    unsigned char before[7] = {0, 'T', 2}, after[9 + 5] = {[0] = 1, [9] = 3};
    struct digest digest;

    put_number(before + 3, tenant.len, 4);
    put_number(after + 1, seq, 8);
    put_number(after + 10, DIGEST_BYTES, 4);
    digest_init(&digest);
    digest_add(&digest, before, sizeof before); /* the 0 at its beginning is the tree's */
    digest_add(&digest, tenant.at, tenant.len);
    digest_add(&digest, after, sizeof after);
    digest_add(&digest, hash, DIGEST_BYTES);
    digest_final(&digest, leaf);
}

static int by_name(const void *left, const void *right)
{
    const struct head *a = *(struct head *const *)left, *b = *(struct head *const *)right;

    return span_compare(span_of(a->tenant, a->len), span_of(b->tenant, b->len));
}

static enum code list(struct tenants *tenants)
{
    size_t count = tenants->heads.count;
    struct head **sorted = mem_resize(tenants->sorted, (count + 1) * sizeof *sorted);
    void *leaf = NULL;

    if (sorted != NULL) {
        tenants->sorted = sorted;
        leaf = mem_resize(tenants->leaf, (count + 1) * sizeof tenants->leaf[0]);
    }
    if (leaf == NULL)
        return CODE_NOMEM;
    tenants->leaf = leaf;
    heads_list(&tenants->heads, sorted);
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count; i++)
        sorted[i]->known = false;
    tenants->listed = count;
    return CODE_OK;
}

enum code tenants_root(struct tenants *tenants, unsigned char root[DIGEST_BYTES])
{
    struct merkle tree = {0};
    enum code code = tenants->listed != tenants->heads.count ? list(tenants) : CODE_OK;

    if (code != CODE_OK)
        return code;
    for (size_t i = 0; i < tenants->listed; i++) {
        struct head *head = tenants->sorted[i];

        if (!head->known)
            tenants_leaf(span_of(head->tenant, head->len), head->seq, head->hash, tenants->leaf[i]);
        head->known = true;
        merkle_add(&tree, tenants->leaf[i]);
    }
    merkle_root(&tree, root);
    return CODE_OK;
}
