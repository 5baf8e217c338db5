/* SPDX-License-Identifier: Apache-2.0 */
/* A joined endpoint: one request of an agent becomes requests to several servers, each through its own route.
 *
 * To the agent's pair it is a server, reached over a pair of sockets as a command's children are; to the servers' routes it
 * is the agent, whose identity its connections are lent (struct lent). So each part is a call that the one way judges,
 * records and limits as it would without the join. Here nothing is judged: messages are taken apart, named anew and put
 * together.
 *
 * Threads: its worker's.
 * Owns: one connection for each request of an agent, and those that it opens for it.
 * Lifetime: until its answer is taken, or the agent leaves.
 * Errors: answered to the agent in JSON-RPC; enum code at the beginning. */
#ifndef JOIN_JOIN_H
#define JOIN_JOIN_H

#include "lane/pair.h"
#include "os/stream.h"

/* Takes: pair: whose call leads to a joined route. */
enum code join_dial(struct pair *pair, struct stream **stream) MUST_USE;

/* Why the endpoint itself refuses a message. Takes: route: a joined one. Returns: SERVER_UNKNOWN: the message names a server
 * that is not of this endpoint; SERVER_UNNAMED: it names none, and its method is not one that all servers are asked;
 * PARAMS_INVALID: it asks for a page of a list that none has (message->detail says so); PERMITTED: it does not. */
enum reason join_refuses(const struct proxy_route *route, struct mcp_message *message);

#endif
