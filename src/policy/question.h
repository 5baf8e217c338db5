/* SPDX-License-Identifier: Apache-2.0 */
/* The question that is put to a policy: who asks what of whom, with which arguments.
 *
 * Threads: built and read by one thread.
 * Owns: nothing; all spans and nodes are borrowed from the message that is judged.
 * Lifetime: one evaluation.
 * Errors: none. */
#ifndef POLICY_QUESTION_H
#define POLICY_QUESTION_H

#include "base/span.h"
#include "json/json.h"

#include <stdint.h>

/* Limits, sequences, approvals: what evaluation may know about the past. Still empty; evaluation takes it as a value so
 * that it stays pure. */
struct policy_state {
    uint32_t reserved;
};

struct question {
    struct span tenant;
    struct span principal;
    struct span upstream;          /* the route's name */
    struct span method;            /* or a pseudo-name: stream/open, session/end, response, stream/message */
    struct span answers;           /* method `response`: the method that is answered; otherwise empty */
    struct span tool;              /* params.name of tools/call; otherwise empty */
    const struct json_node *root;  /* `$`: params.arguments for tools/call and prompts/get, else params; NULL: absent */
    const struct json_node *meta;  /* params._meta, or NULL */
    int64_t time_us;               /* UTC */
    struct span client;            /* the client's address as text */
    struct span session;
    struct span correlation;
    struct policy_state state;
};

#endif
