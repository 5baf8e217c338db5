/* SPDX-License-Identifier: Apache-2.0 */
/* A server that a command asks for its tools: of either era, over HTTP or as a command's process.
 *
 * Threads: one.
 * Owns: nothing but what it notes.
 * Lifetime: the dialogue's or the command's, which it borrows.
 * Errors: enum code with a sentence. */
#ifndef SETUP_LISTER_H
#define SETUP_LISTER_H

#include "setup/dialogue.h"
#include "setup/init_command.h"

/* What a server may say it can do beside tools. */
#define LISTER_OFFERS 4
extern const struct lister_offer {
    const char *capability, *methods;
} lister_offers[LISTER_OFFERS];

/* One tool of a page. Returns: CODE_OK to go on. */
typedef enum code (*lister_fn)(void *context, const struct json_node *tool);

struct lister {
    struct dialogue *dialogue;      /* or NULL, and */
    struct init_command *command;
    lister_fn each;
    void *context;
    bool is_modern;                 /* the server knows only revisions without sessions */
    bool is_offered[LISTER_OFFERS];
};

/* Greets the server and asks for all pages of its tools. */
enum code lister_ask(struct lister *lister, struct why *why) MUST_USE;
/* The same of a server that may speak HTTP+SSE alone; *is_old: it does. Takes: a dialogue. */
enum code lister_ask_any(struct lister *lister, bool *is_old, struct why *why) MUST_USE;

#endif
