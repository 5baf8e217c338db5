/* SPDX-License-Identifier: Apache-2.0 */
/* `upstream: {command: [npx, -y, ...]}`: a program that the gate runs itself. */
#include "conf/conf_priv.h"
#include "base/ascii.h"
#include "base/mem.h"
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

static const char *read_variable(struct conf_reader *reader, const struct yaml_node *node)
{
    static const struct conf_key known[] = {{.name = "file", .at = BY_HAND}, {.name = NULL}};
    const char *text;
    struct buf secret;

    if (!is_name(node->key))
        CONF_FAULT(reader, node, "`%.*s` is no name of a variable; write letters, digits and `_`", SPAN_ARG(node->key));
    if (node->type != YAML_MAP)
        return pair_of(reader, node->key, span_text(word_of(reader, node)));
    if (!conf__map(reader, node, known, "a variable") || conf__need(reader, node, "file", "shop.token") == NULL)
        return "";
    buf_init(&secret, CONF_SECRET_BYTES);
    text = pair_of(reader, node->key, conf__secret(reader, yaml_member(node, "file"), conf__path(reader, node, "file", NULL),
                                                   &secret));
    mem_wipe(secret.block, secret.size);
    buf_fini(&secret);
    return text;
}

/* The whole environment of the program: what is written, and PATH, without which few programs find what they need. */
static const char *const *read_environment(struct conf_reader *reader, const struct yaml_node *map)
{
    const struct yaml_node *node = yaml_member(map, "env");
    const char **all, *path = getenv("PATH");
    size_t count = 0;

    if (node != NULL && (node->type != YAML_MAP || node->count > WORDS_MOST)) {
        CONF_FAULT(reader, node, "`env` is a map of at most %d; write {LANG: C.UTF-8, TOKEN: {file: shop.token}}", WORDS_MOST);
        node = NULL;
    }
    all = arena_zalloc(&reader->commands->arena, ((node != NULL ? node->count : 0) + 2) * sizeof *all);
    if (!keeps(reader, all))
        return NULL;
    for (const struct yaml_node *one = node != NULL ? node->child : NULL; one != NULL; one = one->next)
        all[count++] = read_variable(reader, one);
    if ((node == NULL || yaml_member(node, "PATH") == NULL) && path != NULL)
        all[count] = pair_of(reader, SPAN_LIT("PATH"), span_text(path));
    return all;
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
    command->environment = read_environment(reader, map);
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
    command->environment = read_environment(reader, map);
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
