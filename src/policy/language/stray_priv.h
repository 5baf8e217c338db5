/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of stray.h share: names of upstreams, which the gate compares, and what is known of servers' tools.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: one call of stray.h.
 * Errors: none. */
#ifndef LANGUAGE_STRAY_PRIV_H
#define LANGUAGE_STRAY_PRIV_H

#include "language/stray.h"
#include "policy/snapshot.h"

#define NEAR_MAX 256 /* names among which the one that was meant is looked for, or that are told */
#define NAME_SHOWN 80

struct straying {
    const struct policy *policy;
    const struct policy_route *routes;
    size_t count;
    policy_stray_fn told;
    void *context;
    /* Compares the tools and arguments of the part; NULL: nothing is known of any. */
    void (*look_at_lists)(const struct straying *s, const struct match *match);
    /* the part of the policy that is looked at */
    const struct policy_source *source;
    const struct rule *rule;   /* NULL: a label or a redaction */
    const struct label *label;
    int line, column;
};

void stray__look(struct straying *s); /* at the whole policy */

bool stray__meets(const struct match_name *name, const struct policy_route *route);
void stray__say_whose(const struct straying *s, char *out, size_t size);
void stray__say_instead(const char *const *known, const char *what, struct span name, char *out, size_t size);
void stray__tell(const struct straying *s, bool is_lost, const char *text);

#endif
