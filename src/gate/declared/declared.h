/* SPDX-License-Identifier: Apache-2.0 */
/* What a route says of its server's messages that no specification says: where a method of an extension has its URI.
 *
 * Threads: read on main; what was read is constant.
 * Owns: nothing; all lies in the reader's arena.
 * Lifetime: the configuration's.
 * Errors: told as faults at their place. */
#ifndef DECLARED_DECLARED_H
#define DECLARED_DECLARED_H

#include "base/mem.h"
#include "base/why.h"
#include "mcp/method.h"
#include "yaml/yaml.h"

#include <stdbool.h>

struct declared_reader {
    struct arena *arena;
    const char *file;
    struct faults *faults;
    bool out_of_memory;
};

#define DECLARED_STEPS_MAX 8

/* A way from an object to one of its values by names of members: `$.a.b`. */
struct declared_path {
    uint32_t count; /* 0: there is none */
    struct span step[DECLARED_STEPS_MAX];
};

/* Reads `$.a.b`. Takes: text: lives as long as the path. Returns: whether it is one. */
bool declared_path_read(struct span text, struct declared_path *path);

/* One of a route's `methods`: a map whose keys are known. Takes: before: those that were read. Returns: whether it is good. */
bool declared_method_read(struct declared_reader *reader, const struct yaml_node *map, const struct mcp_methods *before,
                          struct mcp_method *method);

#endif
