/* SPDX-License-Identifier: Apache-2.0 */
#include "link/budget.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"

#define COUNT_BITS 20
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)
#define PROBES 32

static enum code table_init(struct budget_table *table, uint32_t size)
{
    table->size = size;
    table->slots = mem_array(size, sizeof *table->slots);
    return table->slots ? CODE_OK : CODE_NOMEM;
}

enum code budget_init(struct budget *budget, uint32_t connections_max, uint64_t memory_max_bytes)
{
    atomic_init(&budget->connections, 0);
    atomic_init(&budget->memory_bytes, 0);
    atomic_init(&budget->memory_max_bytes, memory_max_bytes);
    budget->connections_max = connections_max;
    lock_init(&budget->opening);
    budget->account_bytes = mem_array(BUDGET_ACCOUNTS, sizeof *budget->account_bytes);
    if (table_init(&budget->requests, BUDGET_REQUEST_SLOTS) == CODE_OK &&
        table_init(&budget->accounts, BUDGET_ACCOUNTS) == CODE_OK && budget->account_bytes != NULL)
        return CODE_OK;
    return CODE_NOMEM;
}

void budget_fini(struct budget *budget)
{
    pthread_mutex_destroy(&budget->opening);
    mem_free(budget->requests.slots);
    mem_free(budget->accounts.slots);
    mem_free(budget->account_bytes);
    budget->requests.slots = budget->accounts.slots = budget->account_bytes = NULL;
}

void budget_limit_memory(struct budget *budget, uint64_t max_bytes)
{
    atomic_store_explicit(&budget->memory_max_bytes, max_bytes, memory_order_relaxed);
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

uint32_t budget_connection_share(const struct budget *budget)
{
    uint32_t open = (uint32_t)atomic_load_explicit(&budget->connections, memory_order_relaxed);

    if (budget->connections_max == 0)
        return UINT32_MAX;
    return open < budget->connections_max ? budget->connections_max - open : 1;
}

/* UINT64_MAX where there is no limit. */
static uint64_t free_bytes(const struct budget *budget)
{
    uint64_t most = atomic_load_explicit(&budget->memory_max_bytes, memory_order_relaxed);
    uint64_t held = atomic_load_explicit(&budget->memory_bytes, memory_order_relaxed);

    return most == 0 ? UINT64_MAX : held < most ? most - held : 0;
}

/* ---- who ---- */

enum who { WHO_PRINCIPAL = 1, WHO_TENANT, WHO_ADDRESS };

uint64_t budget_principal(struct span tenant, struct span principal)
{
    return hash_mix(hash_mix(hash_span(tenant), hash_span(principal)), WHO_PRINCIPAL);
}

uint64_t budget_tenant(struct span tenant)
{
    return hash_mix(hash_span(tenant), WHO_TENANT);
}

uint64_t budget_address(const struct sock_address *address)
{
    unsigned char network[16];

    sock_network(address, network);
    return hash_mix(hash_bytes(network, sizeof network), WHO_ADDRESS);
}

/* ---- tables ---- */

enum entered { ENTERED, FULL, ABSENT };

/* Goes to the slot where `tag` stands already, be it that of its last one that left, since most come back before another has
 * taken it. ABSENT: it stands nowhere, and *slot is the first that is nobody's. */
static inline enum entered try_enter(struct budget_table *table, uint32_t home, uint64_t tag, uint64_t most, uint32_t *slot)
{
    uint32_t empty = table->size;

    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t at = (home + probe) % table->size;
        uint64_t old = atomic_load_explicit(&table->slots[at], memory_order_relaxed);

        *slot = at;
        while ((old & ~COUNT_MASK) == tag) {
            if ((old & COUNT_MASK) >= most)
                return FULL;
            if (atomic_compare_exchange_weak_explicit(&table->slots[at], &old, old + 1, memory_order_relaxed,
                                                      memory_order_relaxed))
                return ENTERED;
        }
        if (empty == table->size && (old & COUNT_MASK) == 0)
            empty = at;
    }
    *slot = empty;
    return empty < table->size ? ABSENT : FULL;
}

static bool is_opened(atomic_uint_fast64_t *slot, uint64_t tag)
{
    uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);

    return (old & COUNT_MASK) == 0 &&
           atomic_compare_exchange_strong_explicit(slot, &old, tag | 1, memory_order_relaxed, memory_order_relaxed);
}

/* Under a lock, because two workers that open a slot for the same principal at once would count him in two. Whose a slot was
 * last may come back to it without the lock: then another is looked for. */
static COLD bool open_slot(struct budget *budget, struct budget_table *table, uint32_t home, uint64_t tag, uint64_t most,
                           uint32_t *slot)
{
    enum entered entered;

    lock_take(&budget->opening);
    do
        entered = try_enter(table, home, tag, most, slot);
    while (entered == ABSENT && !is_opened(&table->slots[*slot], tag));
    lock_give(&budget->opening);
    return entered != FULL;
}

static bool enter(struct budget *budget, struct budget_table *table, uint64_t who, uint32_t limit, uint32_t *slot)
{
    uint64_t most = limit == 0 || limit > COUNT_MASK ? COUNT_MASK : limit, tag = who & ~COUNT_MASK;
    uint32_t home = (uint32_t)((who ^ (who >> 32)) % table->size);
    enum entered entered = try_enter(table, home, tag, most, slot);

    return entered == ENTERED || (entered == ABSENT && open_slot(budget, table, home, tag, most, slot));
}

static void leave(struct budget_table *table, uint32_t slot)
{
    uint64_t before = atomic_fetch_sub_explicit(&table->slots[slot], 1, memory_order_relaxed);

    BUG_ON((before & COUNT_MASK) == 0);
}

bool budget_enter(struct budget *budget, uint64_t who, uint32_t limit, uint32_t *slot)
{
    return enter(budget, &budget->requests, who, limit, slot);
}

void budget_leave(struct budget *budget, uint32_t slot)
{
    leave(&budget->requests, slot);
}

bool budget_open(struct budget *budget, uint64_t who, uint64_t tenant, uint32_t limit, struct budget_account *account)
{
    if (!enter(budget, &budget->accounts, who, limit, &account->own))
        return false;
    account->tenant = account->own;
    if (tenant == 0 || enter(budget, &budget->accounts, tenant, budget_connection_share(budget), &account->tenant))
        return true;
    leave(&budget->accounts, account->own);
    return false;
}

void budget_close(struct budget *budget, struct budget_account account)
{
    leave(&budget->accounts, account.own);
    if (account.tenant != account.own)
        leave(&budget->accounts, account.tenant);
}

void budget_keep(struct budget *budget, struct budget_account account)
{
    atomic_fetch_add_explicit(&budget->accounts.slots[account.own], 1, memory_order_relaxed);
    if (account.tenant != account.own)
        atomic_fetch_add_explicit(&budget->accounts.slots[account.tenant], 1, memory_order_relaxed);
}

void budget_charge(struct budget *budget, struct budget_account account, uint64_t *charged_bytes, uint64_t now_bytes)
{
    uint64_t more = now_bytes - *charged_bytes;

    if (more == 0)
        return;
    atomic_fetch_add_explicit(&budget->account_bytes[account.own], more, memory_order_relaxed);
    if (account.tenant != account.own)
        atomic_fetch_add_explicit(&budget->account_bytes[account.tenant], more, memory_order_relaxed);
    *charged_bytes = now_bytes;
}

enum reason budget_refuses(const struct budget *budget, struct budget_account account, size_t bytes)
{
    uint64_t left = free_bytes(budget);
    uint64_t held = atomic_load_explicit(&budget->account_bytes[account.own], memory_order_relaxed);
    uint64_t of_tenant = atomic_load_explicit(&budget->account_bytes[account.tenant], memory_order_relaxed);

    if (bytes <= BUDGET_SMALL_BYTES && held < BUDGET_LITTLE_BYTES)
        return REASON_UNSET;
    if (left == 0)
        return REASON_MEMORY;
    return held >= left || of_tenant >= left ? REASON_MEMORY_SHARE : REASON_UNSET;
}
