/* SPDX-License-Identifier: Apache-2.0 */
/* The console's pages, as words that told.h knows, and what stands beside them.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef CONSOLE_TEXTS_H
#define CONSOLE_TEXTS_H

extern const char texts_head[], texts_foot[]; /* around each page */
extern const char texts_login[], texts_fault[], texts_calls[], texts_call[], texts_approvals[], texts_approval[];
extern const char texts_now[], texts_policies[], texts_policy[], texts_diff[], texts_replay[], texts_tools[], texts_tool[],
    texts_evidence[], texts_fleet[], texts_connect[], texts_connecting[], texts_stops[], texts_stop[], texts_waits[];
extern const char texts_css[], texts_js[], texts_icon[];

#endif
