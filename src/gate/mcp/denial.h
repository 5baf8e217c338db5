/* SPDX-License-Identifier: Apache-2.0 */
/* How to say no: the HTTP status and body of each refusal, exactly as mcp/README.md, "How no is said", has it.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_NOMEM or CODE_LIMIT from the buffer. */
#ifndef MCP_DENIAL_H
#define MCP_DENIAL_H

#include "base/buf.h"
#include "base/reason.h"
#include "mcp/message.h"

enum mcp_form { MCP_FORM_JSON = 0, MCP_FORM_SSE, MCP_FORM_NONE /* no body */ };

struct mcp_denial {
    enum reason reason;
    struct span say;         /* the rule's sentence for the agent; or empty */
    uint64_t decision;       /* seq; 0: none (JSON null) */
    uint64_t asked;          /* APPROVAL: the decision by which people find the call; 0: nobody was asked */
    const char *console;     /* where who asks decides a held call himself, or connects his account, to be opened by his client;
                              * NULL: he is not told so */
    const char *connect;     /* ACCOUNT_MISSING: the console, for the sentence; else NULL */
    uint64_t retry_after_s;  /* told to the model; 0: nothing is known, or it does not help */
    bool wants_sse;          /* what Accept and the route's `denials` come to */
    bool was_sent;           /* the call has gone up, so that what it does may be done */
    bool by_status;          /* told by an HTTP error with JSON, since one of its headers says what helps */
    const char *const *revisions; /* NULL-terminated: data.supported */
    struct span requested;   /* canonical JSON: data.requested of VERSION_UNSUPPORTED; or empty */
    struct span route;       /* whose `tool_names` TOOL_NAME_INVALID is due to; or empty */
    const char *detail;      /* static: what is wrong with the request; NULL: not told. Dialect mcp tells its message's
                              * instead */
    struct span unknown;     /* the member that it is about; or empty */
    struct span pseudo;      /* "stream/open", "session/end" where there is no message; or empty */
};

/* The HTTP status that the denial of this message has. Takes: message NULL or of kind NONE where it could not be read. */
int mcp_denial_status(const struct mcp_message *message, const struct mcp_denial *denial);

/* Appends the body (JSON, or one whole SSE event) and says its form. NONE: 403 of notifications and responses, 405. */
enum code mcp_denial_write(const struct mcp_message *message, const struct mcp_denial *denial, struct buf *out,
                           enum mcp_form *form) MUST_USE;

/* The answer with which a server itself ends the stream of subscriptions/listen. */
enum code mcp_stream_end(const struct mcp_message *message, struct buf *out) MUST_USE;

/* The JSON-RPC error (for the upstream) to a server's request that no rule permits; `id` is canonical JSON. */
enum code mcp_refusal_write(struct span id, enum reason reason, struct buf *out) MUST_USE;

#endif
