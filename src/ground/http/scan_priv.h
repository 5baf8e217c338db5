/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's own scanner of heads: line by line into struct http_head, then the rules that need the whole head.
 *
 * Threads: the reader's.
 * Owns: nothing; the bytes are in head->bytes already.
 * Lifetime: during one call.
 * Errors: false, with the reader's reason and detail set. */
#ifndef HTTP_SCAN_PRIV_H
#define HTTP_SCAN_PRIV_H

#include "http/reader.h"

/* Takes: line: offset and length within head->bytes, without CRLF. */
bool http__scan_start_line(struct http_reader *reader, struct http_piece line);
bool http__scan_header(struct http_reader *reader, struct http_piece line);

/* Checks framing, Host, Expect and what the method allows. */
bool http__scan_end(struct http_reader *reader);

/* Sets the reader's fault. Returns: false. Cold, so that the code of refusals does not stand among that of messages that
 * pass. */
COLD bool http__refuse(struct http_reader *reader, enum reason reason, const char *detail);

#endif
