/* SPDX-License-Identifier: Apache-2.0 */
#include "link/budget.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/mem.h"

#define COUNT_BITS 20
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)
#define PROBES 32

enum code budget_init(struct budget *budget, uint32_t connections_max, uint64_t memory_max_bytes)
{
    atomic_init(&budget->connections, 0);
    atomic_init(&budget->memory_bytes, 0);
    budget->connections_max = connections_max;
    budget->memory_max_bytes = memory_max_bytes;
    budget->slots = mem_array(BUDGET_SLOTS, sizeof *budget->slots);
    return budget->slots ? CODE_OK : CODE_NOMEM;
}

void budget_fini(struct budget *budget)
{
    mem_free(budget->slots);
    budget->slots = NULL;
}

bool budget_take_connection(struct budget *budget)
{
    uint32_t before = (uint32_t)atomic_fetch_add_explicit(&budget->connections, 1, memory_order_relaxed);

    if (budget->connections_max == 0 || before < budget->connections_max)
        return true;
    budget_give_connection(budget);
    return false;
}

void budget_give_connection(struct budget *budget)
{
    BUG_ON(atomic_fetch_sub_explicit(&budget->connections, 1, memory_order_relaxed) == 0);
}

void budget_hold(struct budget *budget, uint64_t *held_bytes, uint64_t now_bytes)
{
    if (now_bytes == *held_bytes)
        return;
    /* Unsigned arithmetic wraps, so a difference below zero takes away. */
    atomic_fetch_add_explicit(&budget->memory_bytes, now_bytes - *held_bytes, memory_order_relaxed);
    *held_bytes = now_bytes;
}

bool budget_is_tight(const struct budget *budget)
{
    return budget->memory_max_bytes != 0 &&
           atomic_load_explicit(&budget->memory_bytes, memory_order_relaxed) > budget->memory_max_bytes;
}

/* A slot whose count is 0 belongs to nobody, whatever its tag. Two workers may open two slots for one principal at the same
 * moment; each then counts apart, so the limit may be exceeded for as long as both are in use, never undercut. */
bool budget_enter(struct budget *budget, struct span tenant, struct span principal, uint32_t limit, uint32_t *slot)
{
    uint64_t hash = hash_mix(hash_span(tenant), hash_span(principal));
    uint64_t tag = hash & ~COUNT_MASK;
    uint64_t most = limit == 0 || limit > COUNT_MASK ? COUNT_MASK : limit;
    uint32_t home = (uint32_t)((hash ^ (hash >> 32)) % BUDGET_SLOTS);
    uint32_t empty = BUDGET_SLOTS;

    for (uint32_t probe = 0; probe <= PROBES; probe++) {
        uint32_t index = probe < PROBES ? (home + probe) % BUDGET_SLOTS : empty;
        uint64_t old;

        if (index == BUDGET_SLOTS)
            return false;
        old = atomic_load_explicit(&budget->slots[index], memory_order_relaxed);
        for (;;) {
            bool is_ours = (old & COUNT_MASK) != 0 && (old & ~COUNT_MASK) == tag;

            if (!is_ours && ((old & COUNT_MASK) != 0 || probe < PROBES))
                break;
            if (is_ours && (old & COUNT_MASK) >= most)
                return false;
            if (atomic_compare_exchange_weak_explicit(&budget->slots[index], &old, is_ours ? old + 1 : tag | 1,
                                                      memory_order_relaxed, memory_order_relaxed)) {
                *slot = index;
                return true;
            }
        }
        if (empty == BUDGET_SLOTS && (old & COUNT_MASK) == 0)
            empty = index;
    }
    return false;
}

void budget_leave(struct budget *budget, uint32_t slot)
{
    uint64_t before = atomic_fetch_sub_explicit(&budget->slots[slot], 1, memory_order_relaxed);

    BUG_ON((before & COUNT_MASK) == 0);
}
