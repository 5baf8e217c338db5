/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back: one JSON-RPC message from an upstream, classified, made canonical, edited where it must be.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: spans of mcp_reply point into `out`.
 * Errors: enum reason: PERMITTED (deliver or judge it), or why not. */
#ifndef MCP_REPLY_H
#define MCP_REPLY_H

#include "base/buf.h"
#include "base/reason.h"
#include "mcp/message.h"

/* Modern results (2026-07-28) are kept by no shared cache: `cacheScope` becomes private on lists and reads. server/discover
 * names no revision that the route has not. requestState is sealed, so that it comes back with the same request only.
 *
 * Removed from every message: members of any `_meta` whose names begin with "dev.callgate/". In the answer to tools/list,
 * prompts/list, resources/list and resources/templates/list (and, where the request is not known, in any result with such a
 * list): what `keep` does not keep. Where nothing is removed, every value, member and order stays. A tool's name over 128
 * bytes, which no call could use, is not asked about and not kept; over 4,096 tools or templates and 16,384 prompts or
 * resources are refused.
 *
 * Characters that deceive a reader (unicode/unicode.h) are refused, stripped or passed, by what the message is for: */

enum mcp_treatment { MCP_REFUSE = 0, MCP_STRIP, MCP_PASS };

/* STRIP leaves them out of strings; in a member's name, a tool's or prompt's name or a resource's URI, which say what is
 * what, they are refused all the same. What is not kept is not looked at. Where the request of an answer is not known (a
 * resumed stream), the names of its members say what it answers. */
struct mcp_deceptive {
    enum mcp_treatment definitions;  /* lists of tools, prompts, resources */
    enum mcp_treatment instructions; /* the answer to initialize */
    enum mcp_treatment prompts;      /* to prompts/get */
    enum mcp_treatment results;      /* to anything else, and errors */
    enum mcp_treatment messages;     /* requests and notifications of the server */
};

/* Whether a list may show what `method` (tools/call, prompts/get, resources/read) takes as its target. Takes: is_template:
 * the target is no URI but a template (RFC 6570) of many. */
typedef bool (*mcp_keep_fn)(void *context, struct span method, struct span target, bool is_template);

/* What a tool's `annotations` say; anything but true and false is left unsaid. */
enum mcp_said { MCP_UNSAID = 0, MCP_SAID_FALSE, MCP_SAID_TRUE };
struct mcp_hints {
    enum mcp_said read_only, destructive, idempotent, open_world;
};

/* A tool of a list of tools, or the one that is described, as the server says what it is. */
struct mcp_tool {
    struct span name;
    struct mcp_hints hints;  /* dialects without annotations: unsaid */
    struct span definition;  /* canonical JSON, before anything is left out of it; valid during the call */
    bool is_first;           /* of its answer */
};

/* Called for each tool. Returns: whether it may be shown; `keep` is asked too. */
typedef bool (*mcp_learn_fn)(void *context, const struct mcp_tool *tool);

/* Faults of official servers that official clients do not mind and that no two readers read apart: with its bit an answer's
 * fault is mended, and what goes on is as strict as any; without, it is refused by the name of that rule. */
enum mcp_leniency {
    MCP_LENIENT_ERROR_NULL = 1, /* `"error":null` is left out */
    MCP_LENIENT_ID_TYPE = 2     /* "1" where 1 was asked becomes 1 */
};

/* Whether rules look into the answer to the request, so that a tree of it is needed. Called once, before the answer is read. */
typedef bool (*mcp_wants_fn)(void *context);

/* Whether the policy permits every notification of this method, whatever it holds. */
typedef bool (*mcp_passes_fn)(void *context, struct span method);

struct mcp_reply_rules {
    struct span request_method;   /* of the request whose response is expected; empty: none (GET streams) */
    const struct mcp_methods *own; /* methods that the route declares; NULL: none */
    struct span request_target;   /* of that request: the tool that it is about; or empty */
    const char *const *revisions; /* initialize, server/discover: what the server may answer */
    const struct mcp_message *request; /* that request, where it is a modern one; or NULL */
    const struct mcp_binding *binding; /* for whom its requestState is sealed */
    struct mcp_deceptive deceptive;
    bool is_failure;              /* its HTTP status is 400 or above; plain dialects alone are asked then */
    struct span request_id;       /* of that request, canonical JSON; empty: none */
    bool is_ours;                 /* the gate has put it together of answers that went through this: its own members stay */
    unsigned lenient;             /* bits of enum mcp_leniency */
    mcp_keep_fn keep;             /* lists; NULL keeps all */
    mcp_learn_fn learn;           /* NULL: nobody learns of tools, and all may be shown */
    mcp_passes_fn passes;         /* NULL: each is judged */
    mcp_wants_fn wants;           /* NULL: nobody looks into the answer */
    void *keep_context;           /* for all four functions */
};

struct mcp_reply {
    enum mcp_kind kind;      /* a response, a request from the server, a notification */
    struct span method;      /* requests and notifications; decoded, in the arena */
    struct span id;          /* canonical JSON, in the arena; empty: none; an error's may be `null` */
    struct span body;        /* canonical bytes to deliver, edits done; in `out` */
    struct span result;      /* responses: the value of `result` or `error` in `body` */
    bool is_error;           /* JSON-RPC error */
    int64_t error_code;
    bool is_tool_error;      /* result.isError is true */
    bool is_unsupported_version; /* initialize: replaced by -32602 with data.supported; reason VERSION_NEGOTIATED */
    struct span version;     /* initialize: the negotiated protocolVersion, in the arena */
    uint32_t removed;        /* elements left out of lists */
    uint32_t stripped;       /* characters left out of strings */
    bool is_mended;          /* as rules.lenient allows */
    bool passes;             /* a notification that needs no judgement; nothing is built of it */
    const struct json_node *outcome; /* `result` as a tree over `body`, where `wants` says so; NULL: the arena is too small */
    const struct json_node *params; /* the tree of the params of a request, or of a notification that is judged; or NULL */
    const struct json_node *meta;
    const struct json_node *asks; /* modern: the server's requests within it (inputRequests), an object of objects with
                                   * `method` and maybe `params`, each to be judged; or NULL */
};

/* Takes: `out` empty, or with `data` in it and nothing else; its cap is the limit of the canonical message; `arena` for what
 * outlives the walk.
 * Returns: PERMITTED; VERSION_NEGOTIATED with the error for the agent in reply->body; or UPSTREAM_JSON,
 * UPSTREAM_DUPLICATE, UPSTREAM_NUMBER, UPSTREAM_ERROR_NULL, UPSTREAM_ID_TYPE,
 * QUESTION_DENIED (an error that asks for elicitation where `keep` knows no rule for it), UPSTREAM_DEFINITION,
 * UPSTREAM_DECEPTIVE, UPSTREAM_TOO_LARGE, MEMORY: `out` is empty then, and *fault says what was wrong
 * (its text is set too where the JSON itself was good and kind is NONE). */
enum reason mcp_reply_read(struct span data, const struct mcp_reply_rules *rules, struct buf *out, struct arena *arena,
                           struct mcp_reply *reply, struct json_fault *fault);

/* Whether a string or a name in a JSON text that is no message deceives a reader, or the text cannot be read. */
bool mcp_json_is_deceptive(struct span text);

/* Whether the body of an HTTP error holds, or may to some reader, a message that is no error: a result, a request or a
 * notification, alone or in a batch. */
bool mcp_hides_message(struct span body);

/* Appends an error for the agent in place of a reply that is not fit to deliver; `id` canonical JSON. */
enum code mcp_reply_error(struct span id, enum reason reason, uint64_t decision, struct buf *out) MUST_USE;

#endif
