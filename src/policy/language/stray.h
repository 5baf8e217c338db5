/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the upstreams, tools and arguments that rules name with those that there are: a forbid for an upstream that no route
 * has keeps nothing back, and nothing else would say so.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: a stray lives during the call that tells it.
 * Errors: none; what cannot be compared counts as there. */
#ifndef LANGUAGE_STRAY_H
#define LANGUAGE_STRAY_H

#include "policy/policy.h"

/* A route as policies name it. */
struct policy_route {
    const char *name;         /* with slugs: a glob */
    const char *const *tools; /* the tools that its server listed, NULL at the end; NULL: not known */
    const char *const *const *args; /* of each of these the arguments that its definitions have, likewise */
};

struct policy_stray {
    struct span policy, path; /* the `policy:` name and the path of the file */
    const char *path_text;
    int line, column;
    bool is_lost; /* something is not forbidden, held or redacted that was meant to be */
    char text[480];
};

/* Takes: routes: where there are none, nothing is told. */
typedef void (*policy_stray_fn)(void *context, const struct policy_stray *stray);
void policy_strays(const struct policy *policy, const struct policy_route *routes, size_t count, policy_stray_fn told,
                   void *context);
/* The same for upstreams alone. */
void policy_stray_upstreams(const struct policy *policy, const struct policy_route *routes, size_t count, policy_stray_fn told,
                            void *context);

/* Whether a call may come with this upstream. */
bool policy_route_exists(const struct policy_route *routes, size_t count, struct span upstream);

#endif
