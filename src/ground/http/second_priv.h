/* SPDX-License-Identifier: Apache-2.0 */
/* The second opinion: strict llhttp over the same bytes, compared with what the gate's scanner found.
 *
 * Threads: the reader's.
 * Owns: llhttp's state.
 * Lifetime: from the end of a head to the end of its message.
 * Errors: false where the two differ; the caller refuses the message. */
#ifndef HTTP_SECOND_PRIV_H
#define HTTP_SECOND_PRIV_H

#include "http/reader.h"

struct http_second *http__second_new(void) MUST_USE;
void http__second_free(struct http_second **second);

/* Runs llhttp over the whole head. Takes: skip_body: the reply has none whatever its headers say. */
bool http__second_head(struct http_second *second, const struct http_head *head, bool is_reply, bool skip_body);

/* Runs llhttp over further raw bytes, in which the reader found `decoded` bytes of body, and the message's end or not. */
bool http__second_body(struct http_second *second, struct span raw, size_t decoded, bool is_done);

/* Whether llhttp too takes EOF as the message's end. */
bool http__second_eof(struct http_second *second);

/* Whether llhttp too would let the connection live on. */
bool http__second_keeps_alive(const struct http_second *second);

#endif
