/* SPDX-License-Identifier: Apache-2.0 */
/* What clients say to a program before and after a tool of theirs runs, and what they want to hear.
 *
 * Threads: one.
 * Owns: nothing; what is read points into the document.
 * Lifetime: that of the document.
 * Errors: a sentence that says what is missing; enum code from buffers. */
#ifndef HOOK_CLIENT_H
#define HOOK_CLIENT_H

#include "base/buf.h"
#include "base/why.h"
#include "json/json.h"

enum hook_event { HOOK_ASKS = 0 /* before a tool runs */, HOOK_REPORTS /* after it, or where it failed */ };

struct hook_client; /* one kind of client */

struct hook_said {
    enum hook_event event;
    struct span tool;
    bool is_asked_later;               /* another event of the same call is what the gate is asked about */
    bool is_servers;                   /* it is an MCP server's, and its name does not say so */
    const struct json_node *root;
    const struct json_node *arguments; /* an object, or a string that holds one; NULL: the members of `root` that follow */
    const char *const *members;        /* NULL-terminated */
    const struct json_node *id;        /* the client's name of the call, a string; NULL: it says none */
    const struct json_node *session;   /* likewise of its session */
    struct span server;                /* of an MCP server's tool: the client's name of the server; or empty */
    struct span url;                   /* likewise its URL */
    struct span version;               /* the client's; empty: it does not say */
};

/* All names, with ", " between them, for errors. */
#define HOOK_CLIENTS "claude-code, codex or cursor"

/* Returns: NULL: there is no such client. */
const struct hook_client *hook_client_find(const char *name);
const char *hook_client_name(const struct hook_client *client);

/* Reads what came. Takes: client: the one that was named; becomes the one that speaks, where what came says so. */
enum code hook_read(const struct json_node *root, const struct hook_client **client, struct hook_said *said,
                    struct why *why) MUST_USE;

/* Appends what the gate is asked. Returns: CODE_INVALID: the arguments are a text that is no JSON. */
enum code hook_question(const struct hook_said *said, struct buf *out) MUST_USE;

/* Appends what the client wants on stdout; nothing where it wants nothing. */
enum code hook_permit(const struct hook_client *client, struct buf *out) MUST_USE;
enum code hook_deny(const struct hook_client *client, struct span text, struct buf *out) MUST_USE;

#endif
