/* SPDX-License-Identifier: Apache-2.0 */
#include "enrol/nodes_copy.h"

#include "args/command.h"
#include "fleet/fleet_state.h"
#include "json/json.h"
#include "os/clock.h"
#include "os/file.h"
#include "query/fleet_nodes.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_US INT64_C(2000000)
#define PAUSE_NS 20000000L

/* Which of the copies it is: each is a new file. */
struct copy_id {
    ino_t inode;
    struct timespec made;
};

static struct copy_id look(const char *path)
{
    struct stat stat_of;

    return stat(path, &stat_of) == 0 ? (struct copy_id){stat_of.st_ino, stat_of.st_mtim} : (struct copy_id){.inode = 0};
}

static bool is_same(struct copy_id a, struct copy_id b)
{
    return a.inode == b.inode && a.made.tv_sec == b.made.tv_sec && a.made.tv_nsec == b.made.tv_nsec;
}

static enum code leave_mark(const char *path, struct why *why)
{
    int fd = file_make(path, O_WRONLY | O_TRUNC, 0600);
    bool is_left = fd >= 0 && write(fd, "\n", 1) == 1;

    if (!is_left)
        why_set(why, CODE_IO, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return is_left ? CODE_OK : CODE_IO;
}

/* Returns: whether there is another copy than before. */
static bool wait_for_copy(const char *path, struct copy_id before)
{
    const struct timespec pause = {0, PAUSE_NS};
    int64_t until_us = clock_monotonic_us() + WAIT_US;

    while (is_same(look(path), before)) {
        if (clock_monotonic_us() >= until_us)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Why nobody answers, as far as the courier has told the store. */
static void ask_store(const char *path, struct fleet_state *state)
{
    struct db *store = NULL;
    struct why why = {""};

    *state = (struct fleet_state){.problem = ""};
    if (store_open(path, DB_READ, &store, &why) == CODE_OK && fleet_state_load(store, state, &why) != CODE_OK)
        *state = (struct fleet_state){.problem = ""};
    db_close(&store);
}

/* The copy's members as they are but two, which are this moment's. */
static enum code read_copy(const char *path, const char *problem, struct doc **out, struct why *why)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf text;
    enum code code;

    buf_init(&text, FLEET_NODES_BYTES);
    arena_init(&arena, 4 * FLEET_NODES_BYTES);
    code = file_read(path, FILE_TRUSTED, FLEET_NODES_BYTES, &text, why);
    if (code == CODE_OK && (json_read(buf_peek(&text), &json_reply_rules, &text, &arena, &root, &fault) != CODE_OK ||
                            root->type != JSON_OBJECT))
        code = why_set(why, CODE_INVALID, "%s is not what a courier writes; remove it", path);
    *out = code == CODE_OK ? doc_object() : NULL;
    for (const struct json_node *member = code == CODE_OK ? root->child : NULL; member != NULL; member = member->next) {
        const char *key = arena_dup(&arena, member->key.at, member->key.len);

        if (key != NULL && problem != NULL && strcmp(key, "good") == 0)
            doc_bool(*out, key, false);
        else if (key != NULL && problem != NULL && strcmp(key, "problem") == 0)
            doc_text(*out, key, span_text(problem));
        else if (key != NULL)
            doc_json(*out, key, member->raw);
    }
    arena_fini(&arena);
    buf_fini(&text);
    return code;
}

enum code nodes_copy_ask(const char *store, struct doc **out, struct why *why)
{
    char copy[PATH_MAX], mark[PATH_MAX], problem[2 * FLEET_PROBLEM_BYTES];
    struct fleet_state state = {.problem = ""};
    struct copy_id before;
    bool is_new;
    enum code code;

    (void)snprintf(copy, sizeof copy, "%s" FLEET_NODES_COPY, store);
    (void)snprintf(mark, sizeof mark, "%s" FLEET_NODES_MARK, store);
    before = look(copy);
    code = leave_mark(mark, why);
    if (code != CODE_OK)
        return code;
    is_new = wait_for_copy(copy, before);
    if (!is_new)
        ask_store(store, &state);
    if (!is_new && before.inode == 0)
        return why_set(why, CODE_NOT_FOUND, "the centre was not asked how the nodes are: %s",
                       state.problem[0] != '\0' ? state.problem : "the gate's courier does not answer");
    (void)snprintf(problem, sizeof problem, "the centre cannot be asked at the moment, and what stands here is of then: %s",
                   state.problem[0] != '\0' ? state.problem : "the gate's courier does not answer");
    return read_copy(copy, is_new ? NULL : problem, out, why);
}
