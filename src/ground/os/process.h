/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: one of our own beside this one, without a program of its own; programs of others, each with a group of its own.
 *
 * Threads: process_beside from main, before others are started; the rest from one thread, for its own.
 * Owns: nothing; the descriptors are the caller's.
 * Lifetime: a process beside ends when its function returns, and is ended when the thread that made it ends. Nobody waits.
 * Errors: CODE_IO with a sentence. */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include "base/why.h"
#include "os/cage.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process of ours beside the one that starts it. Calls run(context, its end) with no descriptor but that and the log's, and
 * takes no signal. */
struct process_beside {
    const char *name;
    void (*run)(void *context, int end);
    void *context;
    /* It starts programs: whatever ends it, or this process, nothing that it started is left, not even what took leave of its
     * group. For that there is one more process, its parent, which does nothing else. */
    bool is_family;
};

/* Returns: *end: ours; each write is one read of the other side, and an end is seen as the end of the stream. */
enum code process_beside(const struct process_beside *beside, int *end, struct why *why) MUST_USE;

/* Kills all that this process has started, and what that has left behind, and returns when there is none of it. */
void process_kill_all(void);

/* What the ended have left: kills each child of this thread that is not among `known`. */
void process_kill_strays(const pid_t *known, size_t count);

/* Waits for those of them that have ended, and for no other: each would keep its number, and these come to an end. */
void process_reap_strays(const pid_t *known, size_t count);

struct process_program {
    const char *const *argv;        /* NULL-terminated; argv[0] has a slash, or is looked for in PATH */
    const char *const *environment; /* NULL: ours */
    const char *folder;             /* NULL: ours */
    int in, out, err;               /* its standard descriptors, and all that it gets; err -1: ours */
    uint64_t memory_bytes;          /* that it, and each process that it starts, may write to (RLIMIT_DATA); 0: any */
    const struct cage *cage;        /* NULL: none */
};

/* Starts a program in a group of its own, which has its number, with no signal blocked or ignored. It is killed when the thread
 * that started it ends. *ended becomes readable when it has ended; it has then to be waited for. */
enum code process_start(const struct process_program *program, pid_t *pid, int *ended, struct why *why) MUST_USE;

/* What is left of a group, and its leader, which has ended or does now. Blocks: until it has. Returns: its wait(2) status. */
int process_finish(pid_t pid);

/* Takes this process's place: a program of ours, which stands at one of `places` as seen from the folder of the one that runs.
 * Returns: where none could be started, with errno and the place that was tried last. */
#define PROCESS_PATH_BYTES 8192
void process_become(const char *const *places, char *const *argv, char path[PROCESS_PATH_BYTES]);

#endif
