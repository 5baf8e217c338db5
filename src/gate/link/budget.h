/* SPDX-License-Identifier: Apache-2.0 */
/* What all workers share as numbers: connections, memory, and whose they are.
 *
 * Memory and connections have accounts: each connection belongs to those of the principal that it has shown and of his tenant,
 * or to that of its address before. The one rule: an account may grow only while it holds less than what is free. So a tenant
 * that takes all it can gets half, n of them get n parts of n + 1, and whoever comes next finds as much free as each of them
 * has; so do a tenant's principals. Nothing is set aside for anybody.
 *
 * Threads: any; relaxed atomics, and a short lock for whom no slot knows yet.
 * Owns: its tables.
 * Lifetime: outlives every worker that was handed it.
 * Errors: false: over the limit, or no room to count one more. A limit of 0 means none. What failed to begin is ended, too. */
#ifndef LINK_BUDGET_H
#define LINK_BUDGET_H

#include "base/code.h"
#include "base/reason.h"
#include "base/span.h"
#include "os/sock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define BUDGET_REQUEST_SLOTS 16384 /* principals with requests in flight at one time */
#define BUDGET_ACCOUNTS 65536      /* principals, tenants and addresses with connections at one time */

/* A slot holds 44 bits of a hash and 20 bits of a count; where the count is 0 it is nobody's. */
struct budget_table {
    atomic_uint_fast64_t *slots;
    uint32_t size;
};

struct budget {
    atomic_uint_fast32_t connections;
    uint32_t connections_max;
    pthread_mutex_t opening; /* of slots */
    atomic_uint_fast64_t memory_bytes;
    atomic_uint_fast64_t memory_max_bytes;
    struct budget_table requests;
    struct budget_table accounts;        /* counts connections */
    atomic_uint_fast64_t *account_bytes; /* of each account, as told */
};

enum code budget_init(struct budget *budget, uint32_t connections_max, uint64_t memory_max_bytes) MUST_USE;
void budget_fini(struct budget *budget);
void budget_limit_memory(struct budget *budget, uint64_t max_bytes); /* from now on */

bool budget_take_connection(struct budget *budget);
void budget_give_connection(struct budget *budget);

/* How many connections anybody may have now: the rule for memory holds for them too. At least 1. */
uint32_t budget_connection_share(const struct budget *budget);

/* Tells how much somebody holds now; `held` is what it told last time. */
void budget_hold(struct budget *budget, uint64_t *held_bytes, uint64_t now_bytes);

/* Who is counted. Takes: tenant: the credential's own, not one that it claims; an address's port is left out, and of IPv6 the
 * last 64 bits, which one machine may choose. */
uint64_t budget_principal(struct span tenant, struct span principal);
uint64_t budget_tenant(struct span tenant);
uint64_t budget_address(const struct sock_address *address);

/* One more request of `who`, at most `limit` at once. *slot is handed back to budget_leave. */
bool budget_enter(struct budget *budget, uint64_t who, uint32_t limit, uint32_t *slot);
void budget_leave(struct budget *budget, uint32_t slot);

struct budget_account {
    uint32_t own, tenant; /* the same where there is no tenant */
};

/* One more connection of `who`, at most `limit` at once, and of his tenant (0: none), no more than are free. What it charged
 * must be 0 again before budget_close. */
bool budget_open(struct budget *budget, uint64_t who, uint64_t tenant, uint32_t limit, struct budget_account *account);
void budget_close(struct budget *budget, struct budget_account account);
/* For something beside a connection that works for the same: the account stays open until that has closed it, too. */
void budget_keep(struct budget *budget, struct budget_account account);
void budget_charge(struct budget *budget, struct budget_account account, uint64_t *charged_bytes, uint64_t now_bytes);

/* When memory is short, a principal or an address that holds less than BUDGET_LITTLE_BYTES may still have a message of no more
 * than BUDGET_SMALL_BYTES. */
#define BUDGET_SMALL_BYTES 65536
#define BUDGET_LITTLE_BYTES (1u << 20)

/* Whether the account may have a message of so many bytes. Small ones are asked about as well: many of them, or what is read
 * out of one, are as much as a large one. Returns: UNSET: yes; MEMORY_SHARE; MEMORY: there is no room for anybody. */
enum reason budget_refuses(const struct budget *budget, struct budget_account account, size_t bytes);

#endif
