/* SPDX-License-Identifier: Apache-2.0 */
/* The last row of each tenant, and the permits that still wait for their outcome: what the writer remembers of the chain.
 *
 * Threads: the writer's alone (main, before it is started and after it has ended).
 * Owns: its entries. A head that permits point to stays.
 * Lifetime: heads_fini, permits_fini.
 * Errors: CODE_NOMEM; bounded by the tenants of one file, by heads_trim, and by the rooms that rings reserve for outcomes. */
#ifndef ROWS_HEADS_H
#define ROWS_HEADS_H

#include "rows/row.h"
#include "base/code.h"

struct head {
    struct head *next; /* in its bucket */
    uint64_t seq;      /* 0: the tenant has no row yet */
    uint32_t permits;  /* open ones that point here */
    bool known;        /* false: seq and hash must be asked of the database */
    unsigned char hash[DIGEST_BYTES];
    uint64_t sound_seq; /* the last row that is known to be durable, where `seq` is not */
    unsigned char sound_hash[DIGEST_BYTES];
    uint32_t len;
    char tenant[];
};

#define HEADS_MAX 65536 /* with more heads, heads_trim drops those that the database can be asked for */

struct heads {
    struct head **buckets;
    size_t count;
};

enum code heads_init(struct heads *heads) MUST_USE;
void heads_fini(struct heads *heads);
enum code heads_find(struct heads *heads, struct span tenant, struct head **head) MUST_USE; /* or makes an unknown one */
void heads_list(const struct heads *heads, struct head **out); /* all of them, in no order */
/* Sets the tenant's last row. Takes: sound_seq: rows up to this one are durable. */
void heads_move(struct head *head, uint64_t seq, const unsigned char hash[DIGEST_BYTES], uint64_t sound_seq);
void heads_undo(struct heads *heads, uint64_t sound_seq);  /* takes back the rows behind this one */
void heads_forget(struct heads *heads);                    /* all become unknown */
void heads_trim(struct heads *heads);

struct permit {
    uint64_t seq; /* 0: free */
    struct head *head; /* NULL: no tenant */
    unsigned char salt[ROW_SALT_BYTES];
    bool is_told_later; /* as it was put */
    bool closing; /* its outcome is in the batch that is being written */
};

struct permits {
    struct permit *slots;
    size_t size; /* power of two */
    size_t count;
};

enum code permits_init(struct permits *permits) MUST_USE;
void permits_fini(struct permits *permits);
enum code permits_add(struct permits *permits, uint64_t seq, struct head *head,
                      const unsigned char salt[ROW_SALT_BYTES]) MUST_USE;
struct permit *permits_find(const struct permits *permits, uint64_t seq); /* or NULL; until the next add or remove */
void permits_remove(struct permits *permits, uint64_t seq);               /* fine where it is not */
void permits_drop_closed(struct permits *permits);                        /* all that are `closing` */

#endif
