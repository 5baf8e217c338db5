/* SPDX-License-Identifier: Apache-2.0 */
/* A dialogue of a command with a server: JSON-RPC messages and their answers. It blocks, and it is not the way of a call.
 *
 * Threads: one at a time.
 * Owns: its buffers.
 * Lifetime: dialogue_init to dialogue_fini.
 * Errors: enum code with a sentence. */
#ifndef SETUP_DIALOGUE_H
#define SETUP_DIALOGUE_H

#include "json/json.h"
#include "lane/conf.h"
#include "web/web.h"

struct dialogue {
    const struct proxy_upstream *upstream; /* borrowed */
    struct web *web;      /* likewise */
    struct buf session;   /* Mcp-Session-Id that the server gave; empty: none */
    struct buf revision;  /* MCP-Protocol-Version to send; empty: none */
    const char *method;   /* Mcp-Method to send; NULL: none */
    struct buf canonical; /* the last answer */
    struct arena arena;
    int status;           /* HTTP's, of the last answer; 0: none came */
    struct answers *stream; /* HTTP+SSE: on which answers come; NULL: they come to the posts */
    struct buf endpoint;  /* HTTP+SSE: where it has posts go */
};

void dialogue_init(struct dialogue *dialogue, const struct proxy_upstream *upstream, struct web *web);
void dialogue_fini(struct dialogue *dialogue);

/* Posts the message and reads the answer, JSON or the first response in an event stream.
 * Blocks: 15 s at most. Takes: answer NULL: none is due (a notification); otherwise *answer lives until the next post. */
enum code dialogue_post(struct dialogue *dialogue, struct span message, const struct json_node **answer, struct why *why)
    MUST_USE;

/* Opens the stream of a server of HTTP+SSE (MCP 2024-11-05); from then on messages are posted where it says, and answers are
 * awaited on the stream. CODE_INVALID: it is none. Blocks: as long as a post. */
enum code dialogue_open(struct dialogue *dialogue, struct why *why) MUST_USE;

#endif
