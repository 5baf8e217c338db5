/* SPDX-License-Identifier: Apache-2.0 */
#include "ship/up.h"

#include "ship/up_centre.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/clock.h"

#include <inttypes.h>

#define ROWS_MIN 1
#define ROWS_FIRST 512
#define ROWS_MAX 16384
#define QUICK_US INT64_C(500000) /* a turn that took less may be larger next time */
#define SLOW_US INT64_C(3000000)
/* So often it is asked anew where the centre stands: a node that has nothing to ship hears nothing of a lost connection, and so
 * not of a backup that took the centre's place. */
#define PLACE_US INT64_C(5000000)
#define TOO_LONG "54000" /* program_limit_exceeded */

struct up {
    struct up_trail trail;
    struct up_batch batch;
    struct up_place place;            /* where the centre stands */
    bool is_placed;                   /* it was asked since the connection was made */
    int64_t placed_us;                /* when: monotonic */
    bool is_suspect;                  /* a fork was seen: the files are looked for anew before that is said */
    bool digests, erases;             /* erases: the centre may have an erasure of ours to go on with */
    size_t rows;                      /* of a turn */
    size_t alone;                     /* so many rows go one by one, since the centre refused them together */
    bool hollow;                      /* the next one was refused alone */
    int64_t unindexed;                /* the row for which indices gave way last */
    int32_t days[UP_DAYS_MAX];        /* opened since the connection was made */
    size_t day_count;
    struct up_figures figures;
};

enum code up_new(const char *audit, bool digests, int64_t shipped_seq, struct up **up, struct why *why)
{
    enum code code;

    *up = mem_zalloc(sizeof **up);
    if (*up == NULL)
        return why_set(why, CODE_NOMEM, "out of memory");
    (*up)->digests = digests;
    (*up)->figures.shipped_seq = shipped_seq;
    (*up)->rows = ROWS_FIRST;
    up_batch_init(&(*up)->batch);
    code = up_trail_init(&(*up)->trail, audit, why);
    up_anew(*up);
    if (code != CODE_OK)
        up_free(up);
    return code;
}

void up_free(struct up **up)
{
    if (*up == NULL)
        return;
    up_trail_fini(&(*up)->trail);
    up_batch_fini(&(*up)->batch);
    mem_free(*up);
    *up = NULL;
}

void up_anew(struct up *up)
{
    up->is_placed = false;
    up->erases = true;
    up->day_count = 0;
}

const struct up_figures *up_figures(const struct up *up)
{
    return &up->figures;
}

/* ---- where the centre stands -------------------------------------------------------------------------------------- */

static enum code find_place(struct up *up, struct pg *pg, struct why *why)
{
    int64_t before = up->figures.shipped_seq, now_us = clock_monotonic_us();
    enum code code;

    if (up->is_placed && now_us - up->placed_us < PLACE_US)
        return CODE_OK;
    up->is_placed = false;
    code = up_centre_cursor(pg, &up->place, why);
    if (code != CODE_OK)
        return code;
    up->is_placed = true;
    up->placed_us = now_us;
    up->figures.shipped_seq = up->place.seq;
    if (up->place.seq < before)
        log_warn("fleet", "the centre has the trail's rows up to %" PRId64 ", and had them up to %" PRId64
                 ": they are shipped again", up->place.seq, before);
    return CODE_OK;
}

/* The row that the centre has last is another one here, or none. Files may have come since they were looked for, so that is
 * done once more before it is said. */
static enum code meet_fork(struct up *up, struct pg *pg, const struct up_place *here, struct why *why)
{
    if (!up->is_suspect) {
        up->is_suspect = true;
        up->is_placed = false;
        up_trail_forget(&up->trail);
        return CODE_OK;
    }
    if (!up->figures.is_forked)
        log_error("fleet", "the centre has another row %" PRId64 " of this node than stands here: two nodes have this name, or "
                  "this trail was changed, cut or restored from an older copy. Nothing of it is shipped; see `callgate fleet "
                  "rejoin`", up->place.seq);
    up->is_placed = false; /* `fleet rejoin` ends it there */
    if (up->figures.is_forked)
        return CODE_OK;
    up->figures.is_forked = true;
    return up_centre_fork(pg, &up->place, here, why);
}

/* Rows behind the place are in no file here. Who gave them away on purpose said so in the trail. */
static enum code meet_gap(struct up *up, struct pg *pg, const struct up_place *next, struct why *why)
{
    bool is_retired = false, moved = false;
    enum code code = up_trail_is_retired(&up->trail, next->seq, &is_retired, why);

    if (code != CODE_OK)
        return code;
    if (!is_retired) {
        up_trail_forget(&up->trail);
        return why_set(why, CODE_NOT_FOUND, "rows %" PRId64 " to %" PRId64 " of the trail were not shipped, and their files "
                       "are not beside %s: put them there, or say with `callgate audit retire` that they were given away",
                       up->place.seq + 1, next->seq, up->trail.audit);
    }
    code = up_centre_pass(pg, &up->place, next, &moved, why);
    if (code != CODE_OK || !moved) {
        up->is_placed = false;
        return code;
    }
    log_warn("fleet", "rows %" PRId64 " to %" PRId64 " were given away before they were shipped", up->place.seq + 1,
             next->seq);
    up->figures.missed += (uint64_t)(next->seq - up->place.seq);
    up->place = *next;
    up->figures.shipped_seq = next->seq;
    return CODE_OK;
}

/* ---- a batch ------------------------------------------------------------------------------------------------------ */

static enum code open_days(struct up *up, struct pg *pg, struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < up->batch.day_count && code == CODE_OK; i++) {
        size_t known = 0;

        while (known < up->day_count && up->days[known] != up->batch.days[i])
            known++;
        if (known < up->day_count)
            continue;
        code = up_centre_open(pg, up->batch.days[i], why);
        if (up->day_count == UP_DAYS_MAX)
            up->day_count = 0;
        up->days[up->day_count++] = up->batch.days[i];
    }
    return code;
}

/* Rows that no database takes as they are come one by one, and who is refused alone comes as number and hash: nothing of it may
 * stop those behind it, and its proof stays whole. */
static enum code meet_refusal(struct up *up, struct pg *pg, enum code code, const char *state, struct why *why)
{
    bool is_long = strcmp(state, TOO_LONG) == 0;

    if (up->batch.last > up->batch.first) {
        up->alone = (size_t)(up->batch.last - up->batch.first + 1);
        return CODE_OK;
    }
    if (up->hollow)
        return code;
    if (is_long && up->unindexed != up->batch.first) { /* an index of a day that is over does not take it: that one gives way */
        up->unindexed = up->batch.first;
        return up_centre_unindex(pg, up->batch.days[0], why);
    }
    log_error("fleet", "the centre refuses row %" PRId64 " of the trail (%s): its number and hash go alone", up->batch.first,
              why->text);
    up->hollow = true;
    up->alone = up->alone == 0 ? 1 : up->alone;
    up->figures.hollow++;
    return CODE_OK;
}

/* A row of that number is there, behind the cursor: somebody else ships in this node's name. */
static enum code meet_conflict(struct up *up, enum code code)
{
    if (!up->figures.is_forked)
        log_error("fleet", "the centre has other rows of this node's from %" PRId64 " on: two nodes have this name. Nothing is "
                  "shipped; see `callgate fleet rejoin`", up->batch.first);
    up->figures.is_forked = true;
    return code;
}

/* What concerns the connection, the rights or the server's room passes, and is nobody's row. */
static bool is_refusal(const struct pg *pg, const char *state)
{
    static const char *const classes[] = {"22", "23", "54"}; /* data, constraints, the program's limits */

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (strncmp(state, classes[i], 2) == 0)
            return !pg_is_lost(pg);
    return false;
}

static void note_shipped(struct up *up, int64_t took_us)
{
    const struct up_batch *batch = &up->batch;
    uint64_t count = 0;

    for (int table = ROW_DECISION; table < ROW_TABLES; table++)
        count += batch->counts[table];
    if ((int64_t)count != batch->last - batch->first + 1)
        log_error("fleet", "rows %" PRId64 " to %" PRId64 " of the trail lack %" PRId64 ": `callgate audit verify` tells",
                  batch->first, batch->last, batch->last - batch->first + 1 - (int64_t)count);
    up->figures.rows += count;
    up->figures.shipped_seq = batch->last;
    up->place = (struct up_place){.seq = batch->last, .is_known = true, .has_hash = batch->has_hash};
    memcpy(up->place.hash, batch->hash, DIGEST_BYTES);
    up->erases = up->erases || batch->erased_count > 0;
    up->alone -= up->alone > 0;
    up->hollow = up->figures.is_forked = false;
    if (took_us < QUICK_US && up->rows < ROWS_MAX)
        up->rows *= 2;
    else if (took_us > SLOW_US && up->rows > ROWS_MIN)
        up->rows /= 2;
}

static enum code ship(struct up *up, struct pg *pg, struct why *why)
{
    int64_t began_us = clock_monotonic_us();
    bool moved = false;
    char state[6] = "";
    enum code code = open_days(up, pg, why);

    if (code == CODE_OK)
        code = up_centre_put(pg, &up->place, &up->batch, up->trail.tables, &moved, state, why);
    if (code == CODE_OK && moved) {
        note_shipped(up, clock_monotonic_us() - began_us);
        return CODE_OK;
    }
    up->is_placed = false; /* another courier of this node, another server, or nobody knows: it is asked */
    if (code == CODE_IO && up->rows > ROWS_MIN)
        up->rows /= 2;
    if (code == CODE_EXISTS)
        return meet_conflict(up, code);
    return code != CODE_OK && is_refusal(pg, state) ? meet_refusal(up, pg, code, state, why) : code;
}

/* ---- a turn ------------------------------------------------------------------------------------------------------- */

static enum code go_on_erasing(struct up *up, struct pg *pg, bool *more, struct why *why)
{
    int64_t seq = 0;
    enum code code = CODE_OK;

    if (!up->erases)
        return CODE_OK;
    code = up_centre_erase(pg, &seq, &up->erases, why);
    *more = *more || up->erases;
    if (seq != 0)
        log_info("fleet", "the centre has emptied what row %" PRId64 " erased", seq);
    return code;
}

static enum code act(struct up *up, struct pg *pg, enum up_found found, const struct up_place *next, struct why *why)
{
    switch (found) {
    case UP_READ:
        return ship(up, pg, why);
    case UP_GAP:
        return meet_gap(up, pg, next, why);
    case UP_OTHER:
        return meet_fork(up, pg, next, why);
    case UP_DONE:
        break;
    }
    return CODE_OK;
}

enum code up_turn(struct up *up, struct pg *pg, bool *more, struct why *why)
{
    enum up_form form = up->hollow ? UP_HOLLOW : up->digests ? UP_DIGESTS : UP_WHOLE;
    struct up_place next = {.seq = 0};
    enum up_found found = UP_DONE;
    enum code code = find_place(up, pg, why);

    *more = false;
    if (code == CODE_OK)
        code = up_trail_read(&up->trail, &up->place, up->alone > 0 ? 1 : up->rows, form, &up->batch, &found, &next, why);
    if (code != CODE_OK)
        return code;
    if (found == UP_READ || found == UP_DONE)
        up->is_suspect = false;
    if (found == UP_DONE)
        up->figures.is_forked = false;
    *more = found == UP_READ || found == UP_GAP || (found == UP_OTHER && !up->is_suspect);
    code = act(up, pg, found, &next, why);
    return code == CODE_OK && !up->figures.is_forked ? go_on_erasing(up, pg, more, why) : code;
}

enum code up_look(struct up *up, struct why *why)
{
    int64_t tip = 0, waits_us = 0, now_us = clock_wall_us();
    enum code code = up_trail_look(&up->trail, up->figures.shipped_seq, &tip, &waits_us, why);

    if (code != CODE_OK)
        return code;
    up->figures.lag_rows = tip > up->figures.shipped_seq ? tip - up->figures.shipped_seq : 0;
    up->figures.lag_us = waits_us > 0 && waits_us < now_us ? now_us - waits_us : 0;
    return CODE_OK;
}
