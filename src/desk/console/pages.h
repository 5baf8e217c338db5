/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages there are.
 *
 * Threads: a visit's.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: answered. */
#ifndef CONSOLE_PAGES_H
#define CONSOLE_PAGES_H

#include "console/visit.h"

/* Before anybody comes. */
void pages_open(void);

/* As visit_conf has it. */
void pages_answer(struct visit *visit);

/* Takes: number: the call's or the approval's that the path names, or a name in it; empty: none. */
typedef void page_fn(struct visit *visit, struct span number);
extern page_fn page_calls, page_calls_json, page_calls_csv, page_calls_sql, page_call, page_call_json, page_call_proof,
    page_tenant_proof;
extern page_fn page_connect_begin, page_connect_back, page_connect_client;
extern page_fn page_approvals, page_approvals_json, page_approval, page_approval_json, page_answer_approval,
    page_approvals_mark, page_held;

/* Adds the newest calls that fit the words, at most so many, as the member `key`. Returns: as visit_ask. */
bool page_add_calls(struct visit *visit, const char *key, struct words *words, unsigned most);

#endif
