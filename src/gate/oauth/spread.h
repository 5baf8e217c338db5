/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a request shows its access token in a second place, from where it would go up. RFC 6750, 2.
 *
 * Threads: any; nothing here has state.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: without memory the token counts as found. */
#ifndef OAUTH_SPREAD_H
#define OAUTH_SPREAD_H

#include "http/head.h"

/* Looks for the token of Authorization in path, query and the other headers, and for a parameter `access_token`. */
bool spread_is_found(const struct http_head *head);

#endif
