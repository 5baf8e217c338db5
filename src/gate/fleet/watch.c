/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/watch.h"

#include "admin/metrics.h"
#include "conf/conf.h"
#include "fleet/asker.h"
#include "base/log.h"
#include "os/process.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MS 30000 /* the system's name service may be slow */
#define LAST_US INT64_C(3000000) /* so long a gate that ends waits until what it recorded last is at the centre */
#define LATE_US INT64_C(10000000) /* rows that wait longer are told to who asks whether the gate is ready */
#define SPEND_US INT64_C(10000000) /* the store is told no more often how old the last beat is */

void fleet_watch_init(struct fleet_watch *watch, const struct conf *conf)
{
    *watch = (struct fleet_watch){.is_on = conf->fleet.membership != NULL, .stale_us = (int64_t)conf->fleet.stale_ms * 1000,
                                  .age_us = FLEET_NEVER, .courier = -1};
    if (watch->is_on)
        clock_start_name(watch->start);
}

struct starting {
    const struct conf *conf;
    bool is_trial;
};

/* Runs in the new process. */
static void keep_courier(void *context, int end)
{
    static const char *const places[] = {"callgate-courier", NULL}; /* as built, and as installed */
    const struct starting *starting = context;
    char word[] = FLEET_WORD;
    const char *last = starting->is_trial ? FLEET_TRIAL : log_wants(LOG_DEBUG) ? "debug" : "info";
    char *const argv[] = {(char[]){"callgate"}, word, (char *)(uintptr_t)starting->conf->path, (char *)(uintptr_t)last, NULL};

    process_keep(places, argv, end);
}

static enum code start(const struct starting *starting, int *end, struct why *why)
{
    const struct process_beside beside = {.name = FLEET_WORD, .run = keep_courier, .context = (void *)(uintptr_t)starting};
    struct pollfd answer = {.events = POLLIN};
    struct fleet_message message = {.text = ""};
    struct why fault = {""};
    ssize_t got;
    enum code code = process_beside(&beside, end, why);

    if (code != CODE_OK)
        return code;
    answer.fd = *end;
    got = poll(&answer, 1, START_MS) == 1 ? recv(*end, &message, sizeof message, 0) : 0;
    asker_hear(&message, got, &fault);
    return fault.text[0] == '\0' ? CODE_OK : why_set(why, CODE_INVALID, "%s", fault.text);
}

enum code fleet_watch_start(struct fleet_watch *watch, const struct conf *conf, struct why *why)
{
    return watch->is_on ? start(&(struct starting){.conf = conf}, &watch->courier, why) : CODE_OK;
}

enum code fleet_watch_check(const struct conf *conf, struct why *why)
{
    int end = -1;
    enum code code = conf->fleet.membership != NULL ? start(&(struct starting){conf, .is_trial = true}, &end, why) : CODE_OK;

    if (end >= 0)
        (void)close(end);
    return code;
}

void fleet_watch_end(struct fleet_watch *watch)
{
    struct fleet_message message = {.kind = FLEET_LAST};
    struct pollfd answer = {.fd = watch->courier, .events = POLLIN};
    int64_t now_us = clock_monotonic_us(), until_us = now_us + LAST_US;

    if (!watch->is_on || watch->courier < 0 || send(watch->courier, &message, sizeof message, MSG_NOSIGNAL) < 0)
        return;
    do {
        message.kind = FLEET_BEGUN; /* of one that was started again */
        if (poll(&answer, 1, (int)((until_us - now_us) / 1000)) != 1 || recv(watch->courier, &message, sizeof message, 0) <= 0)
            break;
        now_us = clock_monotonic_us();
    } while (message.kind != FLEET_LAST && now_us < until_us);
}

enum code fleet_watch_ask(struct fleet_watch *watch, struct gate_shared *shared, struct why *why)
{
    return watch->is_on ? asker_new(shared, watch->courier, &watch->asker, why) : CODE_OK;
}

enum code fleet_watch_run(const struct fleet_watch *watch, struct why *why)
{
    return watch->is_on ? asker_run(watch->asker, why) : CODE_OK;
}

void fleet_watch_hush(struct fleet_watch *watch)
{
    asker_free(&watch->asker);
}

void fleet_watch_fini(struct fleet_watch *watch)
{
    if (watch->is_on && watch->courier >= 0)
        (void)close(watch->courier);
    watch->courier = -1;
}

static void log_change(const struct fleet_watch *watch, enum reason before)
{
    struct buf text;

    if (watch->reason == before)
        return;
    buf_init(&text, 2048);
    fleet_watch_say(watch, &text);
    if (watch->reason != REASON_UNSET)
        log_error("fleet", "calls are denied: %.*s", SPAN_ARG(span_part(buf_peek(&text), 0, buf_len(&text) - 1)));
    else
        log_info("fleet", "calls are judged again: change %lld is in force", (long long)watch->taken);
    buf_fini(&text);
}

enum reason fleet_watch_look(struct fleet_watch *watch, struct db *store, bool is_followed)
{
    enum reason before = watch->reason;
    struct fleet_state now;
    struct why why = {""};

    if (!watch->is_on)
        return REASON_UNSET;
    if (fleet_state_load(store, &now, &why) == CODE_OK) {
        if (now.beat_us != watch->state.beat_us || !watch->is_read)
            watch->spent_us = now.spent_us;
        watch->state = now;
        watch->is_read = true;
    }
    watch->age_us = fleet_state_age(&watch->state, clock_wall_us(), clock_up_us(), watch->start);
    if (watch->age_us != FLEET_NEVER && watch->age_us - watch->spent_us >= SPEND_US &&
        fleet_state_spend(store, &watch->state, watch->age_us, &why) == CODE_OK)
        watch->spent_us = watch->age_us;
    watch->reason = watch->state.forked != 0           ? REASON_FLEET_FORKED
                    : watch->age_us > watch->stale_us  ? REASON_FLEET_STALE
                    : watch->state.behind != 0         ? REASON_FLEET_BEHIND
                    : is_followed && watch->taken >= watch->state.change ? REASON_UNSET : before;
    log_change(watch, before);
    return watch->reason;
}

void fleet_watch_send(struct fleet_watch *watch, uint64_t version)
{
    struct fleet_in_force *now = &watch->in_force;

    if (!watch->is_on)
        return;
    if (asker_begins_anew(watch->asker) || now->change != watch->taken || now->version != (int64_t)version)
        watch->is_sent = false;
    if (watch->is_sent)
        return;
    *now = (struct fleet_in_force){.kind = FLEET_IN_FORCE, .change = watch->taken, .version = (int64_t)version};
    /* a courier that is stuck has a full socket: at the next look */
    watch->is_sent = send(watch->courier, now, sizeof *now, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

void fleet_watch_say(const struct fleet_watch *watch, struct buf *out)
{
    if (watch->reason == REASON_FLEET_FORKED)
        buf_add_text(out, "the fleet has another record of this node: find out who has copied it, then `callgate fleet "
                     "rejoin`");
    else if (watch->reason == REASON_FLEET_BEHIND)
        buf_addf(out, "this node could not take the fleet's policy version %lld: upgrade it, or load one that it knows",
                 (long long)watch->state.behind);
    else if (watch->reason == REASON_FLEET_STALE && watch->age_us == FLEET_NEVER)
        buf_add_text(out, "the fleet was not heard of yet");
    else if (watch->reason == REASON_FLEET_STALE)
        buf_addf(out, "the fleet was last heard of %lld s ago", (long long)(watch->age_us / 1000000));
    else
        return;
    buf_addf(out, "%s%s\n", watch->state.problem[0] != '\0' ? ": " : "", watch->state.problem);
}

void fleet_watch_note(const struct fleet_watch *watch, struct buf *out)
{
    if (watch->is_on && watch->state.lag_us > LATE_US)
        buf_addf(out, "%lld rows wait for the fleet's centre, the oldest since %lld s\n", (long long)watch->state.lag_rows,
                 (long long)(watch->state.lag_us / 1000000));
}

void fleet_watch_measure(const struct fleet_watch *watch, struct buf *out)
{
    const struct fleet_state *state = &watch->state;
    const struct metrics_gauge gauges[] = {
        {"callgate_fleet_up", "1 while calls are judged; 0: they are denied, since the fleet was not heard of for too long, or "
         "this node is behind or forked.", "gauge", watch->reason == REASON_UNSET},
        {"callgate_fleet_beat_timestamp_seconds", "When the centre took this node's last beat, in seconds since 1970; 0: "
         "never.", "gauge", (uint64_t)(state->beat_us / 1000000)},
        {"callgate_fleet_change", "Number of the last change of the fleet that is in force here.", "gauge",
         (uint64_t)watch->in_force.change},
        {"callgate_fleet_behind", "The fleet's active version of the policy that could not be taken here; 0: none.", "gauge",
         (uint64_t)state->behind},
        {"callgate_fleet_refusals_total", "So often the centre showed a change, a roster or a word that is not signed, or not "
         "in its place: nothing of it was taken.", "counter", (uint64_t)state->refused},
        {"callgate_fleet_forked", "1 where the fleet has another record of this node.", "gauge", (uint64_t)state->forked},
        {"callgate_fleet_lag_rows", "Rows of the trail that are not at the centre yet.", "gauge", (uint64_t)state->lag_rows},
        {"callgate_fleet_lag_seconds", "How old the oldest of them is.", "gauge", (uint64_t)(state->lag_us / 1000000)},
        {"callgate_fleet_shipped_seq", "Up to this row the trail is at the centre.", "gauge", (uint64_t)state->shipped_seq},
    };

    for (size_t i = 0; watch->is_on && i < sizeof gauges / sizeof gauges[0]; i++)
        buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", gauges[i].name, gauges[i].help, gauges[i].name,
                 gauges[i].type, gauges[i].name, (unsigned long long)gauges[i].value);
}
