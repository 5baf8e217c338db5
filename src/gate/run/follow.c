/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_priv.h"

#include "lane/route_names.h"
#include "store/store.h"
#include "store/store_stops.h"
#include "store/store_tools.h"
#include "base/log.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LISTED_PAUSE_US 10000000
#define DROPPED_PAUSE_US (INT64_C(3600) * 1000000)

/* Logs a fault once, although the store is asked four times a second. */
static void log_fault(struct serve *serve, enum code code, const struct why *why)
{
    if (code == CODE_BUSY && ++serve->store_busy < BUSY_LOOKS)
        return;
    if (strcmp(serve->store_fault.text, why->text) == 0)
        return;
    serve->store_fault = *why;
    log_error("app", "%s; what was read before stays in force", why->text);
}

static enum code take_keys(struct serve *serve, struct why *why)
{
    struct identity_keys *keys;
    enum code code = store_keys_load(serve->store, clock_wall_us(), &keys, why);

    if (code == CODE_OK)
        gate_publish_keys(serve->shared, keys);
    return code;
}

/* Published only where they changed, since each call that is under way is looked at then. */
static enum code take_stops(struct serve *serve, struct why *why)
{
    struct stops *stops = NULL;
    int64_t mark;
    enum code code = store_stops_mark(serve->store, &mark, why);

    if (code == CODE_OK && mark != serve->stops_mark) {
        code = store_stops_load(serve->store, clock_wall_us(), &stops, why);
        if (code != CODE_OK)
            return code;
        gate_publish_stops(serve->shared, stops);
        serve->stops_mark = mark;
    }
    return code;
}

/* Where nobody can say who is stopped, all are. */
static void lose_stops(struct serve *serve, enum code code)
{
    if (code == CODE_BUSY && serve->store_busy < BUSY_LOOKS)
        return;
    gate_publish_stops(serve->shared, NULL);
    serve->stops_mark = serve->store_seen = -1;
}

/* A version that does not compile here (another build made it) is refused once; the one before stays. */
static void refuse_policy(struct serve *serve, uint64_t version, const struct why *why)
{
    serve->policy_refused = version;
    log_error("app", "policy version %" PRIu64 " is not taken, version %" PRIu64 " stays: %s", version, serve->policy_active,
              why->text);
}

/* Writes the tools that servers have listed into the store. Where somebody else writes it, that is tried again at the next
 * look. It is not done often, since a server may list other tools each time, and all of its tools are written anew. */
void serve__keep_listed(struct serve *serve)
{
    int64_t now_us = clock_monotonic_us();
    struct why why = {0};

    if (buf_len(&serve->listed) == 0 && now_us >= serve->listed_next_us) {
        gate_state_listed(gate_state_of(serve->shared), &serve->listed);
        if (buf_len(&serve->listed) > 0)
            serve->listed_next_us = now_us + LISTED_PAUSE_US;
    }
    if (buf_code(&serve->listed) != CODE_OK || (buf_len(&serve->listed) > 0 &&
        store_tools_put(serve->store, buf_peek(&serve->listed), &why) == CODE_OK))
        buf_clear(&serve->listed);
}

/* Puts an event of definitions for which there was no room: a day has room for so many. */
static void record_dropped(struct serve *serve)
{
    struct serve_definitions *definitions = &serve->definitions;
    int64_t now_us = clock_monotonic_us();
    char detail[96];

    if (definitions->dropped == definitions->dropped_told ||
        (definitions->dropped_told > 0 && now_us - definitions->dropped_us < DROPPED_PAUSE_US))
        return;
    (void)snprintf(detail, sizeof detail, "{\"definitions\":%" PRIu64 "}", definitions->dropped - definitions->dropped_told);
    serve__event(serve, "definitions_dropped", span_text(detail));
    log_warn("app", "%" PRIu64 " definitions of tools are not kept: a route has room for 4096 new ones a day; some server "
             "changes them all the time", definitions->dropped - definitions->dropped_told);
    definitions->dropped_told = definitions->dropped;
    definitions->dropped_us = now_us;
}

static enum code take_definitions(struct serve *serve, struct why *why)
{
    struct definition_set *set = NULL;
    int64_t mark;
    enum code code = store_definitions_mark(serve->store, &mark, why);

    if (code != CODE_OK || mark == serve->definitions.mark)
        return code;
    code = store_definitions_load(serve->store, serve->definitions.accepted, &set, why);
    if (code != CODE_OK)
        return code;
    gate_publish_definitions(serve->shared, definition_set_ref(set));
    definition_set_unref(&serve->definitions.accepted);
    serve->definitions.accepted = set;
    serve->definitions.mark = mark;
    return CODE_OK;
}

void serve__keep_definitions(struct serve *serve)
{
    struct serve_definitions *definitions = &serve->definitions;
    struct store_definitions_put put;
    struct why why = {0};
    struct span rest;

    if (buf_is_empty(&definitions->notes))
        definitions_take(gate_definitions(serve->shared), &definitions->notes);
    rest = buf_peek(&definitions->notes);
    if (rest.len == 0 || store_definitions_put(serve->store, &rest, clock_wall_us(), &put, &why) != CODE_OK)
        return; /* somebody else writes the store: at the next look */
    if (rest.len == 0)
        buf_fini(&definitions->notes);
    else
        buf_drop(&definitions->notes, buf_len(&definitions->notes) - rest.len);
    definitions->fresh += put.fresh;
    definitions->changed += put.changed;
    definitions->dropped += put.dropped;
    serve->owes_events |= put.fresh > 0;
    if (put.is_other) {
        definitions->mark = -1;
        if (take_definitions(serve, &why) != CODE_OK)
            serve->store_seen = -1;
    }
    record_dropped(serve);
}

static void log_stray(void *context, const struct policy_stray *stray)
{
    unsigned *told = context;

    if ((*told)++ < FAULTS_MAX)
        log_warn("app", "%.*s:%d: %s", SPAN_ARG(stray->path), stray->line, stray->text);
}

/* Warns of names in the policy that no route has. The policy may have come before its routes, or they may
 * have gone; calls go on. */
void serve__log_strays(const struct serve *serve)
{
    struct policy *policy = gate_policy(serve->shared);
    struct route_names names;
    unsigned told = 0;

    route_names_init(&names);
    if (policy != NULL && route_names_of(serve->conf->proxy, &names) == CODE_OK)
        policy_stray_upstreams(policy, names.routes, names.count, log_stray, &told);
    if (told > FAULTS_MAX)
        log_warn("app", "and %u names more that no route has; `callgate status` tells of them", told - FAULTS_MAX);
    route_names_fini(&names);
    policy_unref(&policy);
}

void serve__put_in_force(struct serve *serve, uint64_t version, struct policy *policy)
{
    gate_publish_policy(serve->shared, policy);
    serve->policy_active = version;
    if (version != 0)
        log_info("app", "policy version %" PRIu64 " is in force", version);
    else
        log_warn("app", "no policy is active; everything is denied");
    serve__log_strays(serve);
}

static enum code take_policy(struct serve *serve, struct why *why)
{
    struct policy *policy = NULL;
    uint64_t version = 0;
    enum code code = policy_store_active(serve->store, &version, why);

    if (code == CODE_OK && version != serve->policy_refused)
        serve->policy_refused = 0;
    if (code != CODE_OK || serve->policy_refused != 0 || serve__has_version(serve, version))
        return code;
    if (version != 0)
        code = store_compile_policy(serve->store, version, NULL, &policy, why);
    if (code == CODE_INVALID) {
        refuse_policy(serve, version, why);
        return CODE_OK;
    }
    if (code != CODE_OK)
        return code;
    serve__take_version(serve, version, policy);
    return CODE_OK;
}

/* What cannot be stored is tried again at the next look; what the rule denies is denied meanwhile. */
void serve__keep_stops(struct serve *serve)
{
    struct why why = {0};
    bool any;
    enum code code = store_stops_take(serve->store, gate_rule_stops(serve->shared), &any, &why);

    if (code != CODE_OK)
        log_fault(serve, code, &why);
    if (any)
        serve->store_seen = -1; /* our own writes change no number that we see */
}

/* What the store says counts from here on, and the fleet's changes up to the one that was there before any of it was read. */
static enum code take_all(struct serve *serve, struct why *why)
{
    int64_t version, change = 0;
    enum code code = store_data_version(serve->store, &version, why);

    if (code == CODE_OK && version == serve->store_seen)
        return CODE_OK;
    if (code == CODE_OK && serve->fleet.is_on)
        code = fleet_state_change(serve->store, &change, why);
    if (code == CODE_OK)
        code = take_stops(serve, why);
    if (code != CODE_OK)
        lose_stops(serve, code);
    if (code == CODE_OK)
        code = take_keys(serve, why);
    if (code == CODE_OK)
        code = take_policy(serve, why);
    if (code == CODE_OK)
        code = take_definitions(serve, why);
    if (code != CODE_OK)
        return code;
    serve->store_seen = version;
    serve->fleet.taken = change;
    providers_store_changed(serve->providers);
    serve->store_fault.text[0] = '\0';
    serve->owes_events = true;
    return CODE_OK;
}

/* Who waits for this node is told that it has a change once no call is judged by what was before: a version that waits for what
 * its rules ask of the past does not count yet, and one that was refused does while calls are denied for it. */
static void follow_fleet(struct serve *serve, bool is_followed)
{
    bool waits = serve->past.coming != NULL;
    enum reason withheld = fleet_watch_look(&serve->fleet, serve->store, is_followed && !waits);
    bool denies_rightly = serve->policy_refused != 0 ? withheld != REASON_UNSET : withheld != REASON_FLEET_BEHIND;

    gate_withhold(serve->shared, withheld);
    if (!waits && !serve->past.is_starting && denies_rightly)
        fleet_watch_send(&serve->fleet, serve->policy_active);
}

void serve__follow_store(struct serve *serve)
{
    struct why why = {0};
    enum code code;

    serve__keep_stops(serve);
    code = take_all(serve, &why);
    if (code == CODE_OK)
        serve->store_busy = 0;
    else /* asked again at the next look */
        log_fault(serve, code, &why);
    follow_fleet(serve, code == CODE_OK);
}
