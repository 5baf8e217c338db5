/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that take their time: each goes on behind a page that says how far it is, until its answer is there, somebody stops
 * it, or nobody looks any more. It is known by the session that asked and by its words: who opens the page again sees the same.
 *
 * Threads: any; one more for each.
 * Owns: the commands that go on, with a copy of the login.
 * Lifetime: the process's.
 * Errors: JOBS_FULL. */
#ifndef CONSOLE_JOBS_H
#define CONSOLE_JOBS_H

#include "console/asking.h"
#include "console/sessions.h"

#define JOBS_MAX 2 /* at once, one a session, since each takes a place at the socket */

enum jobs_state { JOBS_FULL = 0, JOBS_GO_ON, JOBS_DONE };

/* Takes: *progress: where it goes on; *answer: the caller's (answer_fini) where it is done. Blocks: a moment. */
enum jobs_state jobs_ask(const struct session *session, const struct words *words, struct asking_progress *progress,
                         struct answer *answer);

/* Stops what the session has asked: its answer is what is there by now. */
void jobs_stop(const struct session *session);

#endif
