/* SPDX-License-Identifier: Apache-2.0 */
/* `upstream: {command: [npx, -y, ...]}`, a program that the gate runs itself; and one that says a secret, `{run: [...]}`. */
#include "conf/conf_priv.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/parts.h"
#include "crypto/secret.h"
#include "os/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MOST 256
#define COMMANDS_MOST 256

static bool keeps(struct conf_reader *reader, const void *made)
{
    reader->out_of_memory = reader->out_of_memory || made == NULL;
    return made != NULL;
}

static const char *dup_text(struct conf_reader *reader, struct span text)
{
    const char *copy = arena_dup(&reader->commands->arena, text.at, text.len);

    return keeps(reader, copy) ? copy : "";
}

/* A word as a shell would have it: numbers need no quotes, and any character but NUL may be in it. */
static const char *word_of(struct conf_reader *reader, const struct yaml_node *node)
{
    if ((node->type == YAML_INT || node->type == YAML_STRING) && span_find(node->text, '\0') == node->text.len)
        return dup_text(reader, node->text);
    CONF_FAULT(reader, node, "a word of a command is a text; put it in quotes");
    return "";
}

/* ---- the program ---- */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* Looks in PATH as a shell does, but when the configuration is read: what stands first there later is not what was meant. */
static const char *find_program(struct conf_reader *reader, const char *name)
{
    struct span rest = span_text(getenv("PATH"));
    char path[PATH_MAX];

    if (strchr(name, '/') != NULL) {
        char *beside = file_beside(reader->path, span_text(name));
        const char *found = keeps(reader, beside) && is_program(beside) ? dup_text(reader, span_text(beside)) : NULL;

        mem_free(beside);
        return found;
    }
    while (rest.len > 0) {
        struct span folder = span_cut(rest, ':', &rest);
        int len = snprintf(path, sizeof path, "%.*s/%s", SPAN_ARG(folder), name);

        if (folder.len > 0 && folder.at[0] == '/' && len > 0 && (size_t)len < sizeof path && is_program(path))
            return dup_text(reader, span_text(path));
    }
    return NULL;
}

static const char *const *read_words(struct conf_reader *reader, const struct yaml_node *map, const char *key)
{
    const struct yaml_node *list = conf__list(reader, map, key, WORDS_MOST);
    const char **words = list != NULL ? arena_zalloc(&reader->commands->arena, (list->count + 1) * sizeof *words) : NULL;
    size_t count = 0;

    if (list == NULL || !keeps(reader, words))
        return NULL;
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next)
        words[count++] = word_of(reader, node);
    if (words[0][0] == '\0')
        return NULL;
    words[0] = find_program(reader, words[0]);
    if (words[0] == NULL && !reader->out_of_memory)
        CONF_FAULT(reader, list->child, "there is no program %.*s that may be run; write its path, or put its folder into the "
                   "gate's PATH", SPAN_ARG(list->child->text));
    return words[0] != NULL ? words : NULL;
}

/* ---- its environment ---- */

static bool is_name(struct span name)
{
    return name.len > 0 && name.len <= 128 && !ascii_is_digit(name.at[0]) && ascii_is_all(name, "a-zA-Z0-9_");
}

static const char *pair_of(struct conf_reader *reader, struct span name, struct span value)
{
    char *text = arena_alloc(&reader->commands->arena, name.len + value.len + 2);

    if (!keeps(reader, text))
        return "";
    memcpy(text, name.at, name.len);
    text[name.len] = '=';
    if (value.len > 0)
        memcpy(text + name.len + 1, value.at, value.len);
    text[name.len + 1 + value.len] = '\0';
    return text;
}

static bool read_program(struct conf_reader *reader, const struct yaml_node *map, struct span of, const struct conf_run *run,
                         struct runner_command *out);

/* Takes: command: gets the program of a variable that has one; NULL: that is no place for one. at: where in the environment. */
static const char *read_variable(struct conf_reader *reader, const struct yaml_node *node, struct runner_command *command,
                                 size_t at)
{
    struct conf_run run;
    struct runner_command *program;
    const char *text;
    struct buf secret;

    if (!is_name(node->key))
        CONF_FAULT(reader, node, "`%.*s` is no name of a variable; write letters, digits and `_`", SPAN_ARG(node->key));
    if (node->type != YAML_MAP)
        return pair_of(reader, node->key, span_text(word_of(reader, node)));
    if (!conf__read(reader, node, conf__variable, "a variable", &run) || !conf__has_one_source(reader, node, "a variable"))
        return "";
    if (yaml_member(node, "run") != NULL && command == NULL) {
        CONF_FAULT(reader, node, "the environment of this program is written out, or stands in a file: write {file: NAME}");
        return "";
    }
    if (yaml_member(node, "run") != NULL) {
        program = arena_zalloc(&reader->commands->arena, sizeof *program);
        if (keeps(reader, program) && read_program(reader, node, span_text(command->route), &run, program))
            ((struct runner_value *)(uintptr_t)command->values)[command->value_count++] = (struct runner_value){at, program};
        return pair_of(reader, node->key, SPAN_NONE);
    }
    buf_init(&secret, CONF_SECRET_BYTES);
    text = pair_of(reader, node->key, conf__secret(reader, yaml_member(node, "file"), conf__path(reader, node, "file", NULL),
                                                   &secret));
    mem_wipe(secret.block, secret.size);
    buf_fini(&secret);
    return text;
}

/* The whole environment of the program: what is written, and PATH, without which few programs find what they need. Takes:
 * command: as read_variable. */
static const char *const *read_environment(struct conf_reader *reader, const struct yaml_node *map,
                                           struct runner_command *command)
{
    const struct yaml_node *node = yaml_member(map, "env");
    const char **all, *path = getenv("PATH");
    size_t count = 0;

    if (node != NULL && (node->type != YAML_MAP || node->count > WORDS_MOST)) {
        CONF_FAULT(reader, node, "`env` is a map of at most %d; write {LANG: C.UTF-8, TOKEN: {file: shop.token}}", WORDS_MOST);
        node = NULL;
    }
    all = arena_zalloc(&reader->commands->arena, ((node != NULL ? node->count : 0) + 2) * sizeof *all);
    if (command != NULL)
        command->values = arena_zalloc(&reader->commands->arena, (WORDS_MOST + 1) * sizeof *command->values);
    if (!keeps(reader, all) || (command != NULL && !keeps(reader, command->values)))
        return NULL;
    for (const struct yaml_node *one = node != NULL ? node->child : NULL; one != NULL; one = one->next, count++)
        all[count] = read_variable(reader, one, command, count);
    if ((node == NULL || yaml_member(node, "PATH") == NULL) && path != NULL)
        all[count] = pair_of(reader, SPAN_LIT("PATH"), span_text(path));
    return all;
}

/* ---- a program that says a secret ---- */

bool conf__has_one_source(struct conf_reader *reader, const struct yaml_node *map, const char *what)
{
    static const char *const alone[] = {"env", "timeout", "ttl"};
    bool has_file = yaml_member(map, "file") != NULL, has_run = yaml_member(map, "run") != NULL;

    if (has_file == has_run)
        CONF_FAULT(reader, map, "%s comes from exactly one of `file` and `run`; write {file: shop.token}, or {run: [PROGRAM, "
                   "ARGUMENT]}", what);
    for (size_t i = 0; i < sizeof alone / sizeof *alone && !has_run; i++)
        if (yaml_member(map, alone[i]) != NULL)
            CONF_FAULT(reader, yaml_member(map, alone[i]), "`%s` has no meaning without `run`; leave it out", alone[i]);
    return has_file != has_run;
}

/* Takes: of: the route. Returns: false: there was a fault. */
static bool read_program(struct conf_reader *reader, const struct yaml_node *map, struct span of, const struct conf_run *run,
                         struct runner_command *out)
{
    *out = (struct runner_command){.kind = PIPE_VALUE, .per = RUNNER_GATE, .is_free = true, .wait_ms = run->timeout_ms};
    out->of = dup_text(reader, of);
    out->argv = read_words(reader, map, "run");
    out->environment = read_environment(reader, map, NULL);
    for (const char *const *word = out->argv; word != NULL && *word != NULL; word++)
        if (strstr(*word, "{tenant}") != NULL || strstr(*word, "{principal}") != NULL)
            CONF_FAULT(reader, yaml_member(map, "run"), "a program is run for all callers alike, since no agent's name becomes "
                       "its argument; write `file: 'tokens/{tenant}.token'` where each tenant has its own");
    return out->argv != NULL && out->environment != NULL;
}

/* What is written, name by name. Files count by their names alone. */
static void add_written(struct digest *digest, const struct yaml_node *node)
{
    parts_add_maybe(digest, node->key);
    parts_add_maybe(digest, node->text);
    parts_add_number(digest, node->count);
    for (const struct yaml_node *child = node->child; child != NULL; child = child->next)
        add_written(digest, child);
}

/* By which the gate names a program: what is written decides, so that another program never answers for it, whatever of two
 * configurations each process has read. */
static struct span name_program(struct conf_reader *reader, const struct yaml_node *map, struct span prefix)
{
    unsigned char bytes[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES], name[64];
    struct digest digest;

    digest_init(&digest);
    add_written(&digest, map);
    parts_add(&digest, prefix);
    digest_final(&digest, bytes);
    num_hex(bytes, sizeof bytes, hex);
    return conf__copy(reader, span_of(name, (size_t)snprintf(name, sizeof name, "(says %.*s)", 32, hex)));
}

static struct runner_command *add_command(struct conf_reader *reader);

void conf__value_program(struct conf_reader *reader, const struct yaml_node *map, struct span route, struct span prefix,
                         const struct conf_run *run, struct outgoing *out)
{
    struct span name = name_program(reader, map, prefix);
    struct runner_command *command = add_command(reader);
    char *before = secret_copy(prefix.at, prefix.len);

    out->entries = conf__array(reader, 1, sizeof *out->entries);
    out->health = conf__array(reader, 1, sizeof *out->health);
    if (out->entries == NULL || out->health == NULL || !keeps(reader, before)) {
        secret_free(before, prefix.len);
        return;
    }
    out->entries->value = span_of(before, prefix.len);
    out->count = 1;
    if (command == NULL) {
        CONF_FAULT(reader, map, "%d commands are the most", COMMANDS_MOST);
        return;
    }
    if (run->timeout_ms >= run->ttl_ms)
        CONF_FAULT(reader, map, "a value that takes up to `timeout` to come is over after `ttl`; write a longer `ttl`");
    if (!read_program(reader, map, route, run, command))
        return;
    command->route = dup_text(reader, name);
    reader->commands->count++;
    out->program = name;
    out->ttl_us = (int64_t)run->ttl_ms * 1000;
    out->file = conf__copy(reader, span_text(command->argv[0])).at;
    outgoing_seal(out, name.at);
}

/* ---- the whole ---- */

static const char *read_folder(struct conf_reader *reader, const struct yaml_node *map)
{
    const char *folder = dup_text(reader, span_text(conf__path(reader, map, "cwd", NULL)));
    struct stat about;

    if (folder[0] != '\0' && (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode)))
        CONF_FAULT(reader, yaml_member(map, "cwd"), "there is no folder %s; make it, or leave `cwd` out", folder);
    return folder;
}

static struct runner_command *add_command(struct conf_reader *reader)
{
    if (reader->commands == NULL)
        reader->commands = runner_commands_new();
    if (!keeps(reader, reader->commands))
        return NULL;
    if (reader->commands->commands == NULL)
        reader->commands->commands = arena_zalloc(&reader->commands->arena, COMMANDS_MOST * sizeof *reader->commands->commands);
    if (!keeps(reader, reader->commands->commands))
        return NULL;
    return reader->commands->count < COMMANDS_MOST ? &reader->commands->commands[reader->commands->count] : NULL;
}

#define NOTIFY_MOST 2 /* one that has just been killed may still be there */
#define NOTIFY_MEMORY_BYTES ((uint64_t)256 << 20)

void conf__notify_program(struct conf_reader *reader, const struct yaml_node *map, const char *name,
                          struct proxy_upstream *out)
{
    struct runner_command *command = add_command(reader);

    if (command == NULL) {
        reader->out_of_memory = true;
        return;
    }
    *command = (struct runner_command){.route = name, .kind = PIPE_ONCE, .per = RUNNER_GATE, .idle_ms = 60000,
                                       .most = NOTIFY_MOST, .memory_bytes = NOTIFY_MEMORY_BYTES, .is_told = true,
                                       .is_free = true};
    command->argv = read_words(reader, map, "run");
    command->environment = read_environment(reader, map, NULL);
    if (command->argv == NULL || command->environment == NULL)
        return;
    reader->commands->count++;
    *out = (struct proxy_upstream){.command = span_text(name), .path = SPAN_LIT("/"),
                                   .authority = SPAN_LIT("command")};
    out->host = conf__copy(reader, span_text(command->argv[0])).at;
}

void conf__command(struct conf_reader *reader, const struct yaml_node *map, const struct yaml_node *yaml_route,
                   struct proxy_route *route)
{
    struct runner_command read = {0}, *command;

    if (yaml_member(map, "authorization") != NULL) {
        CONF_FAULT(reader, yaml_member(map, "authorization"), "a command gets no headers; what it "
                   "authenticates with stands in its environment: write `env: {TOKEN: {file: shop.token}}`");
        return;
    }
    if (!conf__read(reader, map, conf__program, "an `upstream` with a command", &read))
        return;
    if (route->subtree)
        CONF_FAULT(reader, map, "a command has no paths; write the route's `path` without `/*`");
    if (yaml_member(yaml_route, "pass") != NULL)
        CONF_FAULT(reader, yaml_member(yaml_route, "pass"), "a command has no paths: whatever came by a declared one would be "
                   "a call that nobody judges; leave `pass` out");
    if (route->http_sse)
        CONF_FAULT(reader, yaml_member(yaml_route, "transports"), "http+sse is how a server behind a `url` may answer; a "
                   "command speaks stdio, and agents speak streamable HTTP to it: leave `transports` out");
    command = add_command(reader);
    if (command == NULL) {
        if (!reader->out_of_memory)
            CONF_FAULT(reader, map, "%d commands are the most", COMMANDS_MOST);
        return;
    }
    *command = read;
    command->route = dup_text(reader, route->name);
    command->line_bytes = route->limits.event_bytes;
    command->argv = read_words(reader, map, "command");
    command->environment = read_environment(reader, map, command);
    if (yaml_member(map, "cwd") != NULL)
        command->folder = read_folder(reader, map);
    if (route->dialect->is_run_once)
        command->kind = PIPE_ONCE;
    if (command->argv == NULL)
        return;
    reader->commands->count++;
    route->upstream.command = conf__copy(reader, route->name);
    route->upstream.host = conf__copy(reader, span_text(command->argv[0])).at;
    route->upstream.path = SPAN_LIT("/");
    route->upstream.authority = SPAN_LIT("command");
}
