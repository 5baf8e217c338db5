/* SPDX-License-Identifier: Apache-2.0 */
/* A dialect: how one kind of client and server say what is asked, answered and refused. One table of functions a dialect, in
 * one file (dialect_*.c); whoever moves bytes calls through the route's table and knows no dialect's name.
 *
 * All dialects come to one vocabulary, that of policies and records: struct mcp_message, with MCP's names of methods
 * (`tools/list`, `tools/call`, `ping`) and the names below for what has no method.
 *
 * Threads: any; constant tables.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: enum reason where an agent or an upstream is at fault, enum code from buffers. */
#ifndef MCP_DIALECT_H
#define MCP_DIALECT_H

#include "http/head.h"
#include "mcp/denial.h"
#include "mcp/message.h"
#include "mcp/reply.h"

/* Names for what has no method (mcp/README.md), beside `pass`, which is no dialect's matter. */
#define DIALECT_STREAM_OPEN SPAN_LIT("stream/open")
#define DIALECT_SESSION_END SPAN_LIT("session/end")
#define DIALECT_RESPONSE SPAN_LIT("response")
#define DIALECT_STREAM_MESSAGE SPAN_LIT("stream/message")

struct dialect {
    const char *name;             /* in `dialect:` of a route, and in the audit's column */
    const char *verbs;            /* HTTP methods that it takes, as Allow lists them */
    const char *const *revisions; /* that it judges: the default of a route's `revisions`; NULL-terminated */
    const char *batch_revision;   /* in whose sessions several messages may come in one array; NULL: none */
    const char *const *foreign;   /* keys of a route, or its limits, that mean nothing to it; NULL-terminated; NULL: none */
    bool is_subtree;              /* the path below the route says what is asked; else it may say nothing */
    bool is_run_once;             /* a command that speaks it reads one request, writes one answer and ends */
    bool is_plain;                /* each request has one JSON document for its answer: no streams, nothing empty; that of a
                                   * 4xx or 5xx is read, too, and left out where it is no error */
    bool is_asked;                /* whether a call may be made is all that is asked: nothing goes up, and all that comes is the
                                   * gate's own answer, which denial_write writes for PERMITTED, too */
    const char *tenant_header, *correlation_header; /* of a route that names none; NULL: the gate's own defaults */
    uint32_t reply_ms;            /* likewise: until the answer's head, and between its pieces; 0 */
    uint64_t response_bytes;      /* likewise */

    /* HEAD: what verb and path say before a body is read. Takes: path: below the route; at == NULL: the route is exact. A
     * POST's body follows and is read; with any other verb the message is complete: of a kind, or of kind NONE and with a
     * name for what has no method. Returns: UNSET to go on, or why not. */
    enum reason (*open)(enum http_method verb, struct span path, struct mcp_message *message);

    /* BODY: reads a POST's body into `message`, as `open` left it. Takes and returns what mcp_read does. */
    enum reason (*read)(struct span body, const struct mcp_read_rules *rules, struct buf *canonical, struct arena *arena,
                        struct mcp_message *message, struct json_fault *fault);

    /* BODY: what a message that was read calls its session; empty: nothing. NULL: none does, and the head says it. */
    struct span (*session)(const struct mcp_message *message);

    /* SEND: appends the path below the upstream's; NULL: what came below the route. */
    enum code (*write_path)(const struct mcp_message *message, struct buf *out);
    /* SEND: as mcp_mirror; NULL: no header says again what the body says. */
    enum code (*mirror)(const struct mcp_message *message, struct span name, struct buf *out);

    /* DENY: as mcp_denial_status and mcp_denial_write. */
    int (*denial_status)(const struct mcp_message *message, const struct mcp_denial *denial);
    enum code (*denial_write)(const struct mcp_message *message, const struct mcp_denial *denial, struct buf *out,
                              enum mcp_form *form);

    /* Of a dialect that is run once: what the gate has to tell beside a call, for whoever reads the command's output. */
    enum code (*error_write)(const char *text, struct buf *out);

    /* REPLY: as mcp_reply_read. What is only asked has none. */
    enum reason (*reply_read)(struct span data, const struct mcp_reply_rules *rules, struct buf *out, struct arena *arena,
                              struct mcp_reply *reply, struct json_fault *fault);

    /* A plain dialect leaves out all that follows. */
    /* Whether the answer names the session and the revision, so that a stream's head waits for it. */
    bool (*begins_session)(const struct mcp_message *message);
    /* Within a stream: as mcp_reply_error, and as mcp_refusal_write. */
    enum code (*reply_error)(struct span id, enum reason reason, uint64_t decision, struct buf *out);
    /* Of a request whose stream would last: as mcp_stream_end. NULL: none has. */
    enum code (*stream_end)(const struct mcp_message *message, struct buf *out);
    enum code (*refusal_write)(struct span id, enum reason reason, struct buf *out);
};

/* All that this build speaks, NULL-terminated; the first is a route's default, and answers where no route is known. */
#define DIALECTS_MAX 8
extern const struct dialect *const dialects[DIALECTS_MAX + 1];

extern const struct dialect dialect_mcp, dialect_octopus, dialect_okso, dialect_hook;

#endif
