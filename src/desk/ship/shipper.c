/* SPDX-License-Identifier: Apache-2.0 */
#include "ship/shipper.h"

#include "ship/up_centre.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/pause.h"
#include "os/thread.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 250            /* how often it is looked whether the trail has more */
#define FORKED_MS 5000
#define STOP_MS 500
#define FIRST_PAUSE_US INT64_C(200000)
#define MOST_PAUSE_US INT64_C(5000000)
#define SHIP_WAIT_MS 30000     /* for one statement: eight megabytes over a slow line */
#define TEND_WAIT_MS 3600000   /* an index of a day with very many rows */
#define TEND_US INT64_C(600000000)
#define TEND_FIRST_US INT64_C(2000000)

struct shipper {
    struct shipper_conf conf;
    char name[96];
    struct thread ships, tends;
    struct up *up;               /* the first one's */
    struct pg *pg;               /* likewise; NULL: there is no connection */
    int64_t pause_us, retry_us;
    struct why why;              /* what it failed at last */
    pthread_mutex_t lock;
    struct shipper_report report; /* under the lock */
};

void shipper_report(struct shipper *shipper, struct shipper_report *out)
{
    lock_take(&shipper->lock);
    *out = shipper->report;
    lock_give(&shipper->lock);
}

static void tell(struct shipper *shipper)
{
    if (shipper->why.text[0] != '\0' && strcmp(shipper->report.problem.text, shipper->why.text) != 0)
        log_warn("fleet", "the trail is not shipped: %s", shipper->why.text);
    lock_take(&shipper->lock);
    shipper->report.figures = *up_figures(shipper->up);
    shipper->report.problem = shipper->why;
    lock_give(&shipper->lock);
}

/* ---- shipping ----------------------------------------------------------------------------------------------------- */

/* The pauses grow, and differ from node to node, so that a database that comes back is not met by all at once. */
static void wait_longer(struct shipper *shipper)
{
    int64_t now_us = clock_monotonic_us();

    shipper->retry_us = now_us + shipper->pause_us - now_us % (shipper->pause_us / 4);
    pg_close(&shipper->pg);
    shipper->pause_us = 2 * shipper->pause_us < MOST_PAUSE_US ? 2 * shipper->pause_us : MOST_PAUSE_US;
}

static enum code connect_again(struct shipper *shipper)
{
    struct pg_place place = shipper->conf.place;
    enum code code;

    if (shipper->pg != NULL)
        return CODE_OK;
    if (clock_monotonic_us() < shipper->retry_us)
        return CODE_BUSY;
    place.wait_ms = SHIP_WAIT_MS;
    shipper->why.text[0] = '\0';
    code = pg_open(&place, shipper->name, &shipper->pg, &shipper->why);
    up_anew(shipper->up);
    if (code != CODE_OK)
        wait_longer(shipper);
    return code;
}

static void ship_once(struct shipper *shipper, bool *more)
{
    struct why unseen = {""};

    *more = false;
    if (connect_again(shipper) == CODE_OK) {
        shipper->why.text[0] = '\0';
        if (up_turn(shipper->up, shipper->pg, more, &shipper->why) == CODE_OK)
            shipper->pause_us = FIRST_PAUSE_US;
        else
            wait_longer(shipper);
    }
    if (!*more)
        (void)!up_look(shipper->up, &unseen); /* a trail that cannot be read at the moment is told by the turn */
    tell(shipper);
}

static void ship(void *argument)
{
    struct shipper *shipper = argument;
    bool more = false;

    do
        ship_once(shipper, &more);
    while (thread_rest(&shipper->ships, more ? 0 : up_figures(shipper->up)->is_forked ? FORKED_MS : LOOK_MS));
}

/* ---- days --------------------------------------------------------------------------------------------------------- */

static void tend_once(const struct shipper *shipper)
{
    struct pg_place place = shipper->conf.place;
    struct why why = {""};
    struct pg *pg = NULL;
    bool more = true;
    enum code code;

    place.wait_ms = TEND_WAIT_MS;
    code = pg_open(&place, shipper->name, &pg, &why);
    while (code == CODE_OK && more)
        code = up_centre_tend(pg, &more, &why);
    if (code != CODE_OK && code != CODE_IO) /* the centre away is told by others */
        log_warn("fleet", "the centre's days are not looked after: %s", why.text);
    pg_close(&pg);
}

static void tend(void *argument)
{
    struct shipper *shipper = argument;
    int64_t wait_us = TEND_FIRST_US;

    while (thread_rest(&shipper->tends, (int)(pause_us(wait_us) / 1000))) {
        tend_once(shipper);
        wait_us = TEND_US + clock_monotonic_us() % (TEND_US / 4);
    }
}

enum code shipper_start(const struct shipper_conf *conf, struct shipper **out, struct why *why)
{
    struct shipper *shipper = mem_zalloc(sizeof *shipper);
    enum code code;

    *out = shipper;
    if (shipper == NULL)
        return why_set(why, CODE_NOMEM, "out of memory");
    shipper->conf = *conf;
    shipper->pause_us = FIRST_PAUSE_US;
    shipper->report.figures.shipped_seq = conf->shipped_seq;
    (void)snprintf(shipper->name, sizeof shipper->name, "callgate %s, trail", conf->name);
    lock_init(&shipper->lock);
    code = up_new(conf->audit, conf->digests, conf->shipped_seq, &shipper->up, why);
    if (code == CODE_OK)
        code = thread_start(&shipper->ships, "ship", ship, shipper, why);
    return code == CODE_OK ? thread_start(&shipper->tends, "tend", tend, shipper, why) : code;
}

int64_t shipper_finish(struct shipper *shipper)
{
    bool more = true;

    atomic_store(&shipper->ships.is_stopping, true);
    thread_poke(&shipper->ships);
    if (!thread_join_within(&shipper->ships, STOP_MS))
        return -1;
    while (more)
        ship_once(shipper, &more);
    return up_figures(shipper->up)->shipped_seq;
}

bool shipper_stop(struct shipper **shipper)
{
    struct shipper *it = *shipper;

    if (it == NULL)
        return true;
    atomic_store(&it->ships.is_stopping, true);
    atomic_store(&it->tends.is_stopping, true);
    thread_poke(&it->ships);
    thread_poke(&it->tends);
    if (!thread_join_within(&it->ships, STOP_MS) || !thread_join_within(&it->tends, STOP_MS))
        return false;
    pg_close(&it->pg);
    up_free(&it->up);
    (void)pthread_mutex_destroy(&it->lock);
    mem_free(it);
    *shipper = NULL;
    return true;
}
