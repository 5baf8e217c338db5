/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: a process of the gate's beside this one, without a program of its own; and programs of others, each in a group
 * of its own.
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

/* A process beside the one that starts it. It calls run(context, its end) with no descriptor but that and the log's, and
 * takes no signal. */
struct process_beside {
    const char *name;
    void (*run)(void *context, int end);
    void *context;
    /* It starts programs. Whatever ends it, or this process, nothing that it started is left, not even what has left its
     * group. One more process, its parent, does nothing but see to that. */
    bool is_family;
};

/* Returns: *end: this process's end; each write is one read of the other side, and the end of a process is seen
 * as the end of the stream. */
enum code process_beside(const struct process_beside *beside, int *end, struct why *why) MUST_USE;

/* Kills all that this process has started and what that has left behind, and returns when nothing of it is left. */
void process_kill_all(void);

/* Kills each child of this thread that is not among `known`: ended programs have left it. */
void process_kill_strays(const pid_t *known, size_t count);

/* Waits for those strays that have ended, and for no others: each would keep its process number, of which there are
 * only so many. */
void process_reap_strays(const pid_t *known, size_t count);

struct process_program {
    const char *const *argv;        /* NULL-terminated; argv[0] has a slash, or is looked for in PATH */
    const char *const *environment; /* NULL: ours */
    const char *folder;             /* NULL: ours */
    int in, out, err;               /* its standard descriptors, and all that it gets; err -1: ours */
    uint64_t memory_bytes;          /* how much memory it, and each process that it starts, may write to (RLIMIT_DATA); 0:
                                     * any */
    const struct cage *cage;        /* NULL: none */
};

/* Starts a program in a group of its own, which has its number, with no signal blocked or ignored. It is killed when the thread
 * that started it ends. *ended becomes readable when it has ended; it has then to be waited for. */
enum code process_start(const struct process_program *program, pid_t *pid, int *ended, struct why *why) MUST_USE;

/* Kills what is left of a group, its leader included, and waits for the leader. Blocks: until that has ended. Returns: its
 * wait(2) status. */
int process_finish(pid_t pid);

/* For a process beside: starts a program of the gate's with `end` as its own, again whenever it has ended: after 0.2 s at
 * first, then after twice as long, 5 s at most. The program is killed when this process ends. Never returns. Takes: places,
 * argv: as process_become. Who started the process beside is told where there is no such program. */
_Noreturn void process_keep(const char *const *places, char *const *argv, int end);

/* Replaces this process by a program of the gate's, which stands at one of `places`, as seen from the folder of the running
 * program.
 * Returns: where none could be started, with errno and the place that was tried last. */
#define PROCESS_PATH_BYTES 8192
void process_become(const char *const *places, char *const *argv, char path[PROCESS_PATH_BYTES]);
/* The same with `end` as the program's own, through which whoever started this process is told where there is none. */
void process_become_with(const char *const *places, char *const *argv, int end);

#endif
