/* SPDX-License-Identifier: Apache-2.0 */
#include "link/worker.h"

#include "base/bug.h"
#include "base/mem.h"

#include <string.h>

enum code worker_init(struct worker *worker, unsigned index, struct loop *loop, struct budget *budget)
{
    memset(worker, 0, sizeof *worker);
    worker->index = index;
    worker->budget = budget;
    list_init(&worker->all);
    list_init(&worker->dirty);
    for (size_t i = 0; i < WORKER_STAGES; i++)
        list_init(&worker->rounds[i]);
    list_init(&worker->dead);
    worker->loop = loop;
    if (loop != NULL)
        return CODE_OK;
    worker->owns_loop = true;
    return loop_new(&worker->loop);
}

void worker_fini(struct worker *worker)
{
    BUG_ON(worker->connections != 0);
    worker_reap(worker);
    if (worker->owns_loop)
        loop_free(&worker->loop);
}

void worker_add(struct worker *worker, struct connection *connection)
{
    memset(&connection->dirty, 0, sizeof connection->dirty);
    memset(&connection->dead, 0, sizeof connection->dead);
    list_append(&worker->all, &connection->all);
    worker->connections++;
}

void worker_stir(struct worker *worker, struct connection *connection)
{
    if (!list_is_linked(&connection->dirty) && !list_is_linked(&connection->dead))
        list_append(&worker->dirty, &connection->dirty);
}

void worker_bury(struct worker *worker, struct connection *connection)
{
    list_remove(&connection->dirty);
    if (!list_is_linked(&connection->dead))
        list_append(&worker->dead, &connection->dead);
}

static void close_retired(struct worker *worker)
{
    while (worker->retired_count > 0)
        stream_close(&worker->retired[--worker->retired_count]);
}

void worker_retire(struct worker *worker, struct stream *stream)
{
    /* Nobody holds what is in this list any more, so where it is full it may be emptied early. */
    if (worker->retired_count == WORKER_RETIRED_MAX)
        close_retired(worker);
    worker->retired[worker->retired_count++] = stream;
}

void worker_reap(struct worker *worker)
{
    while (!list_is_empty(&worker->dead)) {
        struct connection *connection = LIST_ENTRY(worker->dead.next, struct connection, dead);

        list_remove(&connection->dead);
        list_remove(&connection->dirty);
        list_remove(&connection->all);
        worker->connections--;
        connection->free(connection);
    }
    close_retired(worker);
}

static void drive_all(struct list *round)
{
    while (!list_is_empty(round)) {
        struct connection *connection = LIST_ENTRY(round->next, struct connection, dirty);

        list_remove(&connection->dirty);
        if (!list_is_empty(round))
            mem_fetch_ahead(LIST_ENTRY(round->next, struct connection, dirty), WORKER_AHEAD_BYTES);
        connection->drive(connection);
    }
}

void worker_settle(struct worker *worker)
{
    unsigned stages = 0; /* bits: those that somebody is at, since a turn has few */

    /* One round, stage by stage: what is stirred by what is driven now comes next turn, so that no two connections can keep
     * the loop from its descriptors by stirring each other. */
    while (!list_is_empty(&worker->dirty)) {
        struct connection *connection = LIST_ENTRY(worker->dirty.next, struct connection, dirty);

        list_remove(&connection->dirty);
        list_append(&worker->rounds[connection->stage], &connection->dirty);
        stages |= 1U << connection->stage;
    }
    for (; stages != 0; stages &= stages - 1)
        drive_all(&worker->rounds[__builtin_ctz(stages)]);
    worker_reap(worker);
    if (!list_is_empty(&worker->dirty))
        loop_again(worker->loop);
}

enum code worker_turn(struct worker *worker, int64_t max_wait_us)
{
    enum code code = loop_turn(worker->loop, max_wait_us);

    worker_settle(worker);
    return code;
}
