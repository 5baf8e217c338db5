/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that the console gives over the gate's socket for whoever is logged in, a few at a time, and what they answer.
 *
 * Threads: any.
 * Owns: the places at the socket.
 * Lifetime: the process's.
 * Errors: in the answer. */
#ifndef CONSOLE_ASKING_H
#define CONSOLE_ASKING_H

#include "base/buf.h"
#include "base/mem.h"
#include "console/sessions.h"
#include "json/json.h"

#define ASKING_PLACES 6 /* at the socket; whoever has the same account keeps two for a shell */
#define ASKING_OUT_BYTES ((size_t)32 << 20)
#define ASKING_WORDS_MAX 48

/* A command's words. */
struct words {
    struct arena *arena; /* of what is added */
    char *argv[ASKING_WORDS_MAX + 1];
    int count, operands; /* operands: counted by who writes them */
    bool is_short; /* of memory, or of places */
};
void words_begin(struct words *words, struct arena *arena);
/* Takes: option: without dashes: `--option=value`, which no value makes another option; NULL: the value alone. */
void words_add(struct words *words, const char *option, struct span value);
void words_add_flag(struct words *words, const char *option);
void words_add_all(struct words *words, const char *line); /* parted at blanks; its words are the program's own */

struct answer {
    int status;        /* as the command's */
    bool is_refused;   /* the gate does not let this person give it */
    bool is_stopped;   /* by who asked: these are the lines that were there by then */
    int64_t at;        /* of one that was stopped: the row down to which it had looked; 0: it did not say */
    struct buf out;
    struct buf said;   /* why not, as a sentence */
};
void answer_fini(struct answer *answer);
/* The answer's lines of JSON as one array, in the arena; NULL: they are none. */
const char *answer_array(const struct answer *answer, struct arena *arena);

/* Before anything is asked. Takes: socket: which lives as long as the process. */
void asking_open(const char *socket);

/* Takes: session: whose command it is: nobody has more of the places than are free. *answer: the caller's in any case
 * (answer_fini). Blocks: until a place is free and the gate has answered, some seconds each at most. */
void asking_give(const struct session *session, struct words *words, struct answer *answer);

/* How far a command is, as it says with --progress. */
struct asking_progress {
    uint64_t done, total; /* total 0: nobody knows */
    int64_t at;
    size_t bytes; /* of its answer, by now */
};
/* Asked now and then while the command goes on. Returns: whether it is to go on. */
typedef bool asking_goes_on_fn(void *context, const struct asking_progress *progress);
/* Likewise, for as long as it takes. Takes: goes_on: NULL: no longer than asking_give. */
void asking_give_watched(const struct session *session, struct words *words, asking_goes_on_fn *goes_on, void *context,
                         struct answer *answer);

#endif
