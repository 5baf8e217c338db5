/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print as JSON.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: exit statuses, told on stderr. */
#ifndef APP_PRINT_H
#define APP_PRINT_H

#include "json/doc.h"

#include <stdint.h>

/* One line on stdout; frees the document and wipes the text, which may hold a key. Returns: an exit status. */
int print_doc(struct doc **doc);

/* A member with a time as text; 0 is null. */
void print_time(struct doc *doc, const char *key, int64_t time_us);

#endif
