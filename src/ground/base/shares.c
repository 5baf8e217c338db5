/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shares.h"

#include "base/hash.h"
#include "base/mem.h"

#define FIRST_SIZE 16

static struct share share_by(uint64_t tenant, uint64_t principal, bool has_principal)
{
    uint64_t hash = tenant | 1; /* 0 means nobody */

    return (struct share){hash, has_principal ? hash_mix(hash, principal) | 1 : 0};
}

struct share share_of(struct span tenant, struct span principal)
{
    return share_by(hash_span(tenant), hash_span(principal), principal.len > 0);
}

struct share share_under(const struct hash_key *key, struct span tenant, struct span principal)
{
    return share_by(hash_under(key, tenant), hash_under(key, principal), principal.len > 0);
}

void shares_init(struct shares *shares, size_t cap)
{
    *shares = (struct shares){.cap = cap};
}

void shares_fini(struct shares *shares)
{
    mem_free(shares->accounts);
    *shares = (struct shares){.cap = 0};
}

/* Finds an account, or the empty place where it would be. */
static struct share_account *place_of(const struct shares *shares, uint64_t who)
{
    uint32_t at = (uint32_t)(who >> 32) & (shares->size - 1);

    while (shares->accounts[at].who != 0 && shares->accounts[at].who != who)
        at = (at + 1) & (shares->size - 1);
    return &shares->accounts[at];
}

size_t shares_held(const struct shares *shares, uint64_t who)
{
    return shares->size > 0 ? place_of(shares, who)->held : 0;
}

bool shares_allow(const struct shares *shares, struct share who, size_t amount)
{
    size_t free = shares->cap > shares->held ? shares->cap - shares->held : 0, of_tenant = shares_held(shares, who.tenant);

    if (of_tenant > free || amount > free - of_tenant)
        return false;
    return who.principal == 0 || shares_held(shares, who.principal) + amount <= free - of_tenant;
}

/* Room for two more accounts. */
static enum code grow(struct shares *shares)
{
    struct shares larger = *shares;

    if (shares->size > 0 && (shares->count + 2) * 2 <= shares->size)
        return CODE_OK;
    larger.size = shares->size > 0 ? shares->size * 2 : FIRST_SIZE;
    larger.accounts = mem_array(larger.size, sizeof *larger.accounts);
    if (larger.accounts == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < shares->size; i++)
        if (shares->accounts[i].who != 0)
            *place_of(&larger, shares->accounts[i].who) = shares->accounts[i];
    mem_free(shares->accounts);
    *shares = larger;
    return CODE_OK;
}

static void add(struct shares *shares, uint64_t who, size_t amount)
{
    struct share_account *account = place_of(shares, who);

    shares->count += account->who == 0;
    account->who = who;
    account->held += amount;
}

enum code shares_take(struct shares *shares, struct share who, size_t amount)
{
    enum code code = shares_allow(shares, who, amount) ? grow(shares) : CODE_LIMIT;

    if (code != CODE_OK || amount == 0)
        return code;
    shares->held += amount;
    add(shares, who.tenant, amount);
    if (who.principal != 0)
        add(shares, who.principal, amount);
    return CODE_OK;
}

/* Removes the account of somebody who holds nothing any more. Accounts behind it move up, so that no search ends too early. */
static void close_account(struct shares *shares, struct share_account *account)
{
    uint32_t mask = shares->size - 1, hole = (uint32_t)(account - shares->accounts);

    for (uint32_t at = (hole + 1) & mask; shares->accounts[at].who != 0; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)(shares->accounts[at].who >> 32) & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            shares->accounts[hole] = shares->accounts[at];
            hole = at;
        }
    }
    shares->accounts[hole] = (struct share_account){.who = 0};
    shares->count--;
}

static void take_off(struct shares *shares, uint64_t who, size_t amount)
{
    struct share_account *account = shares->size > 0 ? place_of(shares, who) : NULL;

    if (account == NULL || account->who == 0)
        return;
    account->held -= amount < account->held ? amount : account->held;
    if (account->held == 0)
        close_account(shares, account);
}

void shares_give(struct shares *shares, struct share who, size_t amount)
{
    shares->held -= amount < shares->held ? amount : shares->held;
    take_off(shares, who.tenant, amount);
    if (who.principal != 0)
        take_off(shares, who.principal, amount);
}
