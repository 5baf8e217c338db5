/* SPDX-License-Identifier: Apache-2.0 */
/* A server's command, run once so that `callgate init` can ask it for its tools, and how desktop clients are told of it.
 *
 * Threads: one.
 * Owns: the process, its words and buffers.
 * Lifetime: init_command_open to init_command_close.
 * Errors: enum code with a sentence. */
#ifndef SETUP_INIT_COMMAND_H
#define SETUP_INIT_COMMAND_H

#include "base/buf.h"
#include "base/why.h"
#include "json/json.h"

#include <sys/types.h>

#define INIT_WORDS_MAX 64

struct init_command {
    char *text;                          /* what `words` point into */
    const char *words[INIT_WORDS_MAX + 1]; /* NULL-terminated */
    pid_t pid;                           /* -1: it does not run */
    int in, out, ended;
    struct buf lines, canonical;
    struct arena arena;
};

/* Takes the line apart as a shell would, quotes and backslashes alone: nothing else in it means anything. */
enum code init_command_open(struct init_command *command, const char *line, struct why *why) MUST_USE;
void init_command_close(struct init_command *command);

/* A name for it: of `npx -y @modelcontextprotocol/server-memory` that is `memory`. */
void init_command_name(const struct init_command *command, char out[64]);

enum code init_command_start(struct init_command *command, struct why *why) MUST_USE;

/* Writes the message and reads lines up to its answer. Blocks: 120 s at most, since packages may be fetched first.
 * Takes: answer NULL: none is due; otherwise *answer lives until the next. */
enum code init_command_ask(struct init_command *command, struct span message, const struct json_node **answer, struct why *why)
    MUST_USE;

/* What is to be pasted where. Takes: conf: the configuration's absolute path. */
enum code init_command_tell(const struct init_command *command, const char *name, const char *conf, struct buf *out) MUST_USE;

#endif
