/* SPDX-License-Identifier: Apache-2.0 */
/* What stands where in a policy file, as far as a value that is put there has to know.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: the tree's.
 * Errors: none. */
#ifndef FILL_SPOT_H
#define FILL_SPOT_H

#include "yaml/yaml.h"

/* How a value stands in a text. */
enum place {
    PLACE_TEXT = 0, /* as it is */
    PLACE_GLOB,     /* `*`, `?` and `\` escaped */
    PLACE_PATH,     /* of arguments: a plain name */
    PLACE_RULE,     /* as it is: what names a rule, whose id a value may be a part of by `allow` and its like */
    PLACE_REGEX,    /* not at all */
    PLACE_ID,       /* not at all; and ids belong to the copy */
};

struct spot {
    enum place place;
    bool is_test;       /* below `tests`, which have words of their own */
    bool keeps_objects; /* {list: x} is an object */
    bool is_data;       /* below a value of JSON, where keys have no meaning */
    bool is_one;        /* the value is one, and no list may stand for it */
    bool closes;        /* it says which calls a rule that closes is about */
    bool defines;       /* keys are names of what is defined */
    bool names_keys;    /* at any depth keys are upstreams and who asks */
    bool ids_keys;      /* keys are ids */
    const struct yaml_node *rule; /* the one that it belongs to, for messages */
};

/* Where a member of the file's map stands; and one of another map, of which `spot` says where that stands. */
struct spot spot_at_root(const struct yaml_node *member);
struct spot spot_below(const struct spot *spot, const struct yaml_node *map, const struct yaml_node *member);

#endif
