/* SPDX-License-Identifier: Apache-2.0 */
/* The steps RELAY and DENY: what goes down to the agent, be it the upstream's answer, checked, whole or as a stream, or
 * the gate's own.
 *
 * Threads: its pair's worker.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_REPLY_PRIV_H
#define BACK_REPLY_PRIV_H

#include "mcp/denial.h"
#include "back/back.h"

#define STREAM_HIGH_WATER 65536     /* the most that waits for a slow reader; then its upstream is read no further */
#define QUIET_US INT64_C(15000000)  /* how long an event stream may be quiet before it gets a comment */

COLD void reply__pass_by(struct pair *pair, enum reason reason); /* logs and counts what is left out of a stream that goes on */
/* fails the reply before it goes down, or within it */
COLD void reply__fail(struct pair *pair, enum audit_outcome outcome, enum reason reason);
COLD void reply__fail_for(struct pair *pair, enum audit_outcome outcome, enum reason reason, const char *detail);
enum code reply__write_head(struct pair *pair, int status, bool passes, struct span session_id, struct buf *out);
enum code reply__session_id(struct pair *pair, const struct mcp_reply *reply, struct buf *out) MUST_USE;
/* false: the upstream names a session id that no header can hold */
bool reply__session_is_fit(struct pair *pair, const struct mcp_reply *reply);
bool reply__whole(struct pair *pair);
/* Reads the next of what the upstream sends. At a fault, or an end before the reply's, the reply has failed already. Only for
 * BODY the bytes are still in back.in: the caller drops *used of them. */
enum http_step reply__feed(struct pair *pair, size_t *used, struct span *body);
/* Writes the whole reply. Takes: whole: the buffer that holds `body` and nothing else; NULL: the body is elsewhere. */
void reply__deliver(struct pair *pair, int status, bool passes, struct span media, struct span body, struct buf *whole,
                    const struct mcp_reply *reply);
bool pass__begin(struct pair *pair);                     /* sends a declared path's head down; reply__whole does the rest */
void reply__end_upstream(struct pair *pair);             /* keeps the upstream's connection where that is possible */
/* A JSON-RPC message of the upstream; its canonical bytes are in exchange->event. Takes: is_own: an answer would be that to
 * exchange->call. Returns: VERSION_NEGOTIATED: it is an answer that may be delivered as it was changed. */
enum reason reply__read(struct pair *pair, struct span raw, uint64_t max_bytes, bool is_own, struct mcp_reply *reply);
void reply__settle(struct pair *pair, const struct mcp_reply *reply, bool is_refused); /* sets the outcome by the answer */
bool stream__begin(struct pair *pair);
bool stream__step(struct pair *pair);
void stream__tick(struct pair *pair);
void stream__fail(struct pair *pair, enum audit_outcome outcome, enum reason reason);
/* Sends the answer to exchange->call down, once it was judged. Takes: reply: its body is in exchange->event or ->body.
 * Returns: whether more may go down. */
bool reply__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply);
void whole__answer(struct pair *pair, const struct mcp_reply *reply);
bool stream__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_refused);
/* Adds an event to exchange->text, which goes down when all that was read has been looked at. Returns: whether more
 * may be added. */
bool stream__emit(struct pair *pair, const struct sse_event *event, struct span json);
bool stream__flush(struct pair *pair);                   /* sends exchange->text down at once */
void stream__end(struct pair *pair);                     /* ends the stream in good order, whatever the upstream does */
bool stream__release_head(struct pair *pair);            /* sends the head down, if it waits */
bool stream__emit_refusal(struct pair *pair, struct span json); /* sends a refusal to a pipe, for its server */

/* ---- answered.c: rules for answers ---- */
struct gate_came answered__came(const struct exchange *exchange, const struct mcp_reply *reply, bool is_own);
/* Keeps what rules said for the outcome. Takes: body: as it came. Returns: UNSET, or why it may not go on. */
enum reason answered__note(struct pair *pair, const struct gate_weighed *weighed, struct span body, bool is_own);

/* ---- batch.c: several answers in one body ---- */
int batch__status(struct pair *pair, enum reason reason);
enum code batch__deny(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form) MUST_USE;
void batch__deliver(struct pair *pair, struct span raw); /* takes a whole JSON reply, part by part */
void batch__fail(struct pair *pair, enum reason reason); /* fails the reply, since a part of it may not go down */
bool batch__gathers(const struct exchange *exchange);    /* whether such a reply is being gathered */
void batch__go_on(struct pair *pair);
bool batch__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply); /* as reply__answer */
bool batch__take(struct pair *pair, const struct sse_event *event);
bool batch__has_parts(const struct exchange *exchange);  /* whether an event has messages that were not looked at yet */
bool batch__next(struct pair *pair);
bool batch__owes_answer(const struct exchange *exchange);
bool batch__answer_rest(struct pair *pair, enum reason reason);

/* ---- deny.c: DENY, the gate's own answers ---- */
enum code deny__write(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form) MUST_USE; /* as called */
/* a denial in place of an answer that is withheld; JSON */
enum code deny__withheld(struct pair *pair, struct span say, struct buf *out) MUST_USE;
enum code deny__common_headers(struct pair *pair, struct buf *out);

/* Whether the answer may be such a one. Takes: is_own: as reply__read; false: nobody knows whose answer it is. */
bool listed__concerns(const struct pair *pair, bool is_own);
/* Learns the tools of such an answer, and leaves out of it what the agent may not call. Takes: reply: just read, no error
 * of the protocol. */
enum reason listed__filter(struct pair *pair, bool is_own, struct mcp_reply *reply);
/* Cuts what pages may reach to what the route allows, in any message: an answer, an error, what a server asks or notifies. */
enum reason listed__cut_apps(struct pair *pair, struct mcp_reply *reply);
/* Whether lists may take more of the worker's time. */
bool reply__has_time_for_lists(struct pair *pair);

#endif
