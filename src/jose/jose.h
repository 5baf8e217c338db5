/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of JOSE (RFC 7515). cjose lives here, over OpenSSL; jansson, which it reads with, it brings along.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef JOSE_JOSE_H
#define JOSE_JOSE_H

/* The library behind this room and its version, for people. Threads: main. */
const char *jose_library(void);

#endif
