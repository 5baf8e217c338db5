/* SPDX-License-Identifier: Apache-2.0 */
/* Names behind a joined endpoint: `search` of the server shop is the agent's `shop__search`, file:///a its shop+file:///a,
 * ui://a its ui://shop+a, and what a server calls its own (a task, a request, a progress token) has shop+ in front.
 *
 * A message is written anew with such names in their places, and nothing else of it is touched. What goes up is judged
 * afterwards, on the server's own route.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_NOT_FOUND: a name of no server; those of the buffer. */
#ifndef JOIN_NAME_H
#define JOIN_NAME_H

#include "base/buf.h"
#include "json/json.h"

#include <stdbool.h>

#define JOIN_SERVERS_MAX 16

struct join_names {
    const struct span *servers;
    size_t count;
};

enum join_kind { JOIN_NAME = 0, JOIN_URI, JOIN_OWN /* what a server has chosen itself */, JOIN_TOKEN /* likewise, any JSON */ };

/* Whether a route of this name can stand in such names: a scheme of URIs takes no `_`. */
bool join_name_is_fit(struct span server);

/* Appends the agent's text for the server's, and the other way round. */
enum code join_name_put(enum join_kind kind, struct span server, struct span text, struct buf *out);
enum code join_name_take(enum join_kind kind, const struct join_names *names, struct span text, size_t *server,
                         struct buf *out) MUST_USE;

/* The server that a message of the agent is for. Takes: method of a request or notification; empty: an answer.
 * Returns: CODE_OK; CODE_NOT_FOUND: it names one that there is not; CODE_EXISTS: it names none, so it is for all. */
enum code join_name_of(const struct join_names *names, struct span method, const struct json_node *root,
                       size_t *server) MUST_USE;

/* Appends a message of the server as the agent reads it. Takes: asked: the method that it answers, or empty. */
enum code join_name_down(struct span server, struct span asked, const struct json_node *root, struct buf *out) MUST_USE;

/* Appends a message of the agent as this server is to read it; of lists what is for others is left out. */
enum code join_name_up(const struct join_names *names, size_t server, struct span method, const struct json_node *root,
                       struct buf *out) MUST_USE;

#endif
