/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of our own over HTTPS, which are not the way of a call. libcurl lives here.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

/* The library behind this room and its version, for people. Threads: main. */
const char *web_library(void);

#endif
