/* SPDX-License-Identifier: Apache-2.0 */
/* The notary: a thread beside the writer that grows the Merkle tree over committed rows and signs checkpoints of it. In a
 * rotation the writer signs by itself, since it would wait longer for the thread than for a sync.
 *
 * Threads: notary__push, _take, _seize, _sign, _release and _hand_over by the writer (main before its start and after its end);
 *   start and stop by main.
 * Owns: its thread, the queue of rows, the tree, the tenants' last rows, the checkpoint that is ready.
 * Lifetime: notary__init to notary__fini.
 * Errors: logged and tried again; calls never wait for a checkpoint. */
#ifndef AUDIT_NOTARY_PRIV_H
#define AUDIT_NOTARY_PRIV_H

#include "audit/checkpoints.h"
#include "ledger/ledger.h"
#include "proof/note.h"
#include "proof/signer.h"
#include "proof/tenants.h"
#include "os/thread.h"

#include <sys/types.h>
#include <time.h>

/* A row of table `checkpoint`, and the mark that belongs to it. Freed with checkpoint__free. */
struct mark;
struct checkpoint {
    struct mark *mark; /* or NULL */
    uint64_t size;
    int64_t time_us;
    unsigned char root[DIGEST_BYTES];
    unsigned char peaks[MERKLE_PEAKS * DIGEST_BYTES];
    size_t peaks_len, note_len;
    char note[NOTE_BYTES];
};

void checkpoint__free(struct checkpoint *checkpoint); /* NULL is fine */
void mark__free(struct mark **mark);

/* The file of checkpoints as the last append left it, or as the start found it. */
struct notary_file {
    bool is_known, is_told; /* told: damage was told, and nothing was appended since */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed; /* when its content changed: a file that is made anew often gets the inode of the one before */
};

#define NOTARY_NO_FILE "is no ordinary file"

struct notary {
    bool is_on;
    const char *path;            /* the ledger's */
    struct audit_checkpoints conf;
    char *file;                  /* conf.file, ours */
    char origin[NOTE_ORIGIN_BYTES];
    struct ring_shared *shared;  /* to wake the writer */
    struct thread thread;
    _Atomic(struct checkpoint *) ready;

    pthread_mutex_t lock;        /* what follows, up to the empty line */
    struct buf queue;            /* rows as `leaves` of struct ledger has them */
    uint64_t queue_last, queue_count; /* number of the last; how many */
    uint64_t queue_own;          /* the notary's own events among them, which make no checkpoint due */
    bool is_distrusted;          /* what was read of the file before does not count any more */
    uint64_t wake_rows;          /* poke the thread when so many wait */
    struct checkpoint *untold;   /* made by the writer, or NULL */

    pthread_mutex_t work;        /* held while the tree grows; what follows, up to the empty line */
    struct merkle tree;
    struct tenants tenants;
    struct buf taken;            /* the queue that is being read */
    bool is_loaded, has_tenants;
    uint64_t wanted;             /* number of the last row that the writer told */
    uint64_t fresh;              /* rows since the last checkpoint */
    int64_t fresh_us;            /* monotonic: when the first of them was seen */
    int64_t mark_us;             /* monotonic: when the last mark was made */
    uint64_t mark_size;          /* of it */

    pthread_mutex_t file_lock;   /* held while a checkpoint is appended; what follows, up to the empty line */
    struct notary_file left;
    bool complained;

    _Atomic(struct why *) damage; /* of the file of checkpoints, not recorded yet; or NULL */
    _Atomic uint64_t marked;      /* size of the mark that is durable in the file; 0: there is none, or it is not to be
                                   * believed */
    _Atomic uint64_t signed_size, failures;
    _Atomic int64_t signed_us;         /* since 1970 */
    _Atomic int64_t unsigned_since_us; /* monotonic: since when rows wait for a checkpoint; 0: none do */
    _Atomic int fault;                 /* enum checkpoint_fault */
};

/* Takes: a ledger that is open. Nothing happens where conf has no key. */
enum code notary__init(struct notary *notary, const struct audit_checkpoints *conf, struct ledger *ledger,
                       struct ring_shared *shared, struct why *why) MUST_USE;
enum code notary__start(struct notary *notary, struct why *why) MUST_USE;
void notary__stop(struct notary *notary); /* blocks until the last checkpoint is made; fine where it was not started */
void notary__fini(struct notary *notary);

/* Tells what was committed: rows up to `last`, of which `leaves` has the last `count`. */
void notary__push(struct notary *notary, uint64_t last, struct span leaves, uint64_t count, uint64_t own);

void notary__wake(struct notary *notary); /* lets the thread take what waits, so that few rows are left when the writer wants
                                           * a checkpoint */

/* From here to notary__release the tree is the writer's. Returns: false, without blocking, where the thread is at work, or
 * would have to read rows from the file first; it does that then. Where it was never started, they are read here. */
bool notary__seize(struct notary *notary) MUST_USE;
void notary__release(struct notary *notary);

/* Makes a checkpoint, once while the tree is seized. It covers what was committed and `count` rows behind it, up to
 * `last`. These are not durable yet, so that nobody may hear of it before they are; where they never become durable,
 * call notary__distrust. *made is the caller's. */
enum code notary__sign(struct notary *notary, uint64_t last, struct span leaves, uint64_t count, struct checkpoint **made)
    MUST_USE;
/* Takes over such a checkpoint once it is durable, before notary__release. */
void notary__hand_over(struct notary *notary, struct checkpoint *checkpoint);

/* Makes the notary read the tree again from the last checkpoint in the file, before it signs anything else. */
void notary__distrust(struct notary *notary);

struct checkpoint *notary__take(struct notary *notary); /* or NULL; the caller's */

/* notary_load.c: loads the tree as it stood at the last checkpoint in the file, and the tenants from the mark and the rows
 * behind it. Rows that the tree does not hold yet are read later. */
enum code notary__load_tree(struct notary *notary, struct db *db) MUST_USE;
enum code notary__load_tenants(struct notary *notary, struct db *db) MUST_USE;
void notary__set_tenant(struct notary *notary, struct span tenant, uint64_t seq, struct span hash);

/* notary_publish.c: called while neither lock is held, since the file needs a sync and publishing may need a network. */
bool notary__publish(struct notary *notary, const struct checkpoint *checkpoint); /* returns whether it is in its file */
void notary__look(struct notary *notary); /* looks at the file of checkpoints; damage goes to `damage`. Waits for an append.
                                           * Any thread */

enum code notary__public(const struct notary *notary, unsigned char public[SIGN_PUBLIC_BYTES]) MUST_USE;
/* "checkpoint_key" in an event: name+id+key. */
enum code notary__describe_key(const struct notary *notary, struct buf *out) MUST_USE;

#endif
