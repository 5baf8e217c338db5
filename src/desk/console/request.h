/* SPDX-License-Identifier: Apache-2.0 */
/* What a browser asks, taken apart: the path, the fields of a query or of a form, the cookie.
 *
 * Threads: one.
 * Owns: nothing; texts are in the request's head and body, decoded ones in its arena.
 * Lifetime: the request's.
 * Errors: false where something of it cannot be read as one thing. */
#ifndef CONSOLE_REQUEST_H
#define CONSOLE_REQUEST_H

#include "base/buf.h"
#include "base/mem.h"
#include "http/head.h"

#define REQUEST_FIELDS_MAX 48

struct request {
    const struct http_head *head;
    struct span path, query;
    struct {
        struct span name, value;
    } fields[REQUEST_FIELDS_MAX];
    size_t count;
};

/* Reads the query, or of a POST the form. Takes: body: empty of others. */
bool request_read(const struct http_head *head, struct span body, struct arena *arena, struct request *request);

/* Overwrites what was decoded, since a key that is typed is a field. */
void request_wipe(struct request *request);

/* at == NULL: it is not there. */
struct span request_field(const struct request *request, const char *name);

/* The value of the one cookie of that name; empty: there is none, or more than one, since another page of the machine's may
 * have set it. */
struct span request_cookie(const struct request *request, const char *name);

#endif
