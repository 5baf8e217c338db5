/* SPDX-License-Identifier: Apache-2.0 */
/* What a route says of its server's messages that no specification says: where a method of an extension has its URI, where a
 * tool that calls tools has the call that it is to make, and what its pages may reach.
 *
 * Threads: read on main; what was read is constant.
 * Owns: nothing; all lies in the reader's arena.
 * Lifetime: the configuration's.
 * Errors: told as faults at their place. */
#ifndef DECLARED_DECLARED_H
#define DECLARED_DECLARED_H

#include "base/mem.h"
#include "base/reason.h"
#include "base/why.h"
#include "json/json.h"
#include "mcp/method.h"
#include "yaml/yaml.h"

#include <stdbool.h>

struct declared_reader {
    struct arena *arena;
    const char *file;
    struct faults *faults;
    bool out_of_memory;
};

#define DECLARED_FAULT(reader, node, ...) \
    faults_add((reader)->faults, (reader)->file, (node)->line, (node)->column, __VA_ARGS__)

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

/* ---- tools that call tools ---- */

#define DECLARED_LISTS_MAX 4

/* Where an answer names tools: `$.tools[*].name`. */
struct declared_list {
    struct declared_path path; /* count 0: the document is the list */
    struct span key;           /* the member of its elements by which a tool is called; empty: they are names themselves */
};

/* One of a route's `unwrap`. */
struct declared_unwrap {
    struct span tool;
    struct declared_path name;      /* of the tool that it is to call; count 0: it calls none, but lists some */
    struct declared_path arguments; /* of that tool's; count 0: it has none */
    struct declared_path server;    /* whose tool it is, of a list in each element; count 0: there is one */
    const struct span *besides;     /* members of the arguments that may stand beside these, and are not judged */
    size_t beside_count;
    struct declared_list lists[DECLARED_LISTS_MAX]; /* forms that its answer may have */
    size_t list_count;              /* 0: it lists none */
};

struct declared_unwraps {
    const struct declared_unwrap *of;
    size_t count;
};

/* NULL: the tool is none of them. */
const struct declared_unwrap *declared_unwrap_find(const struct declared_unwraps *unwraps, struct span tool);

/* Whether a server that folds case or takes NFKC for equal may take the tool for one of them, by its name or another. */
bool declared_unwrap_is_like(const struct declared_unwraps *unwraps, struct span tool);

/* The keys of the map are known. Takes: before: those that were read. Returns: whether it is good. */
bool declared_unwrap_read(struct declared_reader *reader, const struct yaml_node *map, const struct declared_unwraps *before,
                          struct declared_unwrap *unwrap);

/* The call that stands in another. */
struct declared_inner {
    struct span tool;                  /* SERVER__NAME where there is a server; in the arena, or in the outer call */
    const struct json_node *arguments; /* over `canonical`; NULL: none */
};

/* Takes: outer: its arguments, or NULL; strict: `tool_names`; canonical: empty, lives as long as the arguments.
 * Returns: PERMITTED; INNER_CALL: it cannot be read, or there is more than one; MEMORY. */
enum reason declared_inner_read(const struct declared_unwraps *unwraps, const struct declared_unwrap *unwrap,
                                const struct json_node *outer, bool strict, struct buf *canonical, struct arena *arena,
                                struct declared_inner *inner);

/* A tool of such a list. */
struct declared_listed {
    struct span tool;                 /* as in declared_inner */
    const struct json_node *element;
};

/* Told each tool of a list. Returns: whether it may be shown. */
typedef bool (*declared_keep_fn)(void *context, const struct declared_listed *listed);

/* Whether some tool of the route lists others. */
bool declared_lists_any(const struct declared_unwraps *unwraps);

/* Marks in `edits` what is not kept of the tools that a result lists: in structuredContent, and in each text of its content,
 * which is JSON. Takes: unwrap: whose result it is; NULL: nobody knows (a resumed stream, or a task, whose `result` it may be),
 * or it is an error, so that what has the form of some tool's list is filtered, and the rest is left; result: a tree over
 * `document`. Returns: CODE_INVALID: nobody knows what its tool lists, since it holds more than texts, or a text is no JSON, or
 * has no such list, or one of over 4,096; or a name is spelled in another way, so that who reads loosely finds another list;
 * CODE_NOMEM. */
enum code declared_list_filter(const struct declared_unwraps *unwraps, const struct declared_unwrap *unwrap,
                               struct span document, const struct json_node *result, declared_keep_fn keep, void *context,
                               struct arena *arena, struct json_edits *edits) MUST_USE;

/* ---- pages that a server brings ---- */

/* `apps` of a route. */
struct declared_apps {
    bool is_on;               /* false: pages may have all that the server says */
    const struct span *domains; /* with a scheme; `*.` may stand before the host's name */
    size_t domain_count;
    const struct span *permissions;
    size_t permission_count;
};

/* Whether it is such a domain. */
bool declared_domain_is_fit(struct span text);

/* Marks in `edits` what the route does not allow, wherever `_meta` stands in a result, an error or params: domains and
 * permissions of `ui`, and what in its `csp` is not known. Takes: result: a tree over `document`. */
enum code declared_apps_cut(const struct declared_apps *apps, struct span document, const struct json_node *result,
                            struct json_edits *edits) MUST_USE;

#endif
