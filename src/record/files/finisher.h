/* SPDX-License-Identifier: Apache-2.0 */
/* The finisher: a thread of low priority for files that are not written any more. It gives them indices, takes them out of WAL
 * mode and lets nobody write them, as soon as nobody has them open; and it erases in them where that is asked for.
 *
 * Threads: start and stop by main; finisher_poke by any.
 * Owns: its thread; the erasure while it is asked for.
 * Lifetime: finisher_init to finisher_fini.
 * Errors: logged, once for a file; tried again, also after the next start. */
#ifndef FILES_FINISHER_H
#define FILES_FINISHER_H

#include "files/erase_sealed.h"
#include "os/thread.h"

struct finisher {
    const char *audit;         /* the ledger's path: the link, which others may set elsewhere */
    _Atomic uint64_t live;     /* the first row of the file that is written */
    _Atomic int64_t loaded_us; /* when the writer last committed many calls at once, monotonic */
    struct thread thread;
    struct erase_sealed erase;
    uint64_t complained_of;    /* the first row of the last file that was said to wait */
};

void finisher_init(struct finisher *finisher, const char *audit, const char *live);
enum code finisher_start(struct finisher *finisher, struct why *why) MUST_USE;
void finisher_stop(struct finisher *finisher); /* blocks until the thread has ended; fine where it was not started */
void finisher_fini(struct finisher *finisher);

void finisher_follow(struct finisher *finisher, const char *live); /* a file was sealed; live: the one behind it */
void finisher_poke(struct finisher *finisher);                     /* call it when erase.state is set */

/* One round. Returns: whether a file is left that somebody has open, that waits until calls are fewer, or that failed. */
bool finisher_round(struct finisher *finisher);

#endif
