/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/courier.h"

#include "base/log.h"
#include "crypto/digest.h"
#include "store/store.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_US INT64_C(1000000)
#define WAITED_US INT64_C(250000) /* where a command waits for the others, who look at their stores as often */
#define FIRST_PAUSE_US INT64_C(200000)
#define MOST_PAUSE_US INT64_C(5000000)
/* A beat is written when so small a part of `stale` has passed: each write has all who read the store look. */
#define SAVE_PART 16
#define SAVE_MOST_US INT64_C(10000000)

/* What all nodes of a fleet know, so that each knows the others' sessions, held calls and redacted values. The gate waits for
 * this before it opens the store. */
static enum code take_secrets(struct courier *courier, struct why *why)
{
    const struct fleet_secrets *secrets = courier->member->secrets;
    unsigned char past[DIGEST_BYTES];
    enum code code = store_secret_take(courier->store, "session", secrets->session, why);

    if (code == CODE_OK)
        code = store_secret_take(courier->store, "approval", secrets->approval, why);
    if (code == CODE_OK)
        code = store_secret_take(courier->store, "redact", secrets->redact, why);
    hmac_of(span_of(secrets->seal, sizeof secrets->seal), SPAN_LIT("past"), past);
    if (code == CODE_OK) /* values that limits count have the same digests at all nodes */
        code = store_secret_take(courier->store, "past", past, why);
    mem_wipe(past, sizeof past);
    return code;
}

static enum code read_member(struct courier *courier, struct why *why)
{
    const char *path = courier->conf->fleet.membership;
    enum code code = member_read(path, &courier->member, why);

    if (code == CODE_OK && courier->member->is_reader)
        code = why_set(why, CODE_INVALID, "%s is a reader's membership; a gate needs one of its own (`callgate fleet join "
                       "NAME`)", path);
    return code;
}

enum code courier_check(const struct conf *conf, struct why *why)
{
    struct courier courier = {.conf = conf};
    struct pg_place place;
    enum code code = read_member(&courier, why);

    if (code == CODE_OK) {
        place = courier_place(&courier);
        code = pg_check(&place, why);
    }
    courier_close(&courier);
    return code;
}

static enum code open_down(struct courier *courier, struct why *why)
{
    const struct member *member = courier->member;
    const struct down_self self = {.store = courier->store, .fleet = span_text(member->fleet), .node = span_text(member->name),
                                   .key = member->key, .roster = &courier->roster};
    enum code code = down_roster_open(&courier->roster, courier->store, member->root, member->fleet,
                                      buf_peek(&member->roster_text),
                                      span_of(member->roster_signature, sizeof member->roster_signature), why);

    return code == CODE_OK ? down_new(&self, &courier->down, why) : code;
}

static enum code open_evidence(struct courier *courier, struct why *why)
{
    const struct member *member = courier->member;
    const struct evidence_self self = {.store = courier->store, .audit = courier->conf->audit.database,
                                       .fleet = span_text(member->fleet), .node = span_text(member->name), .key = member->key,
                                       .roster = &courier->roster};

    return evidence_new(&self, &courier->evidence, why);
}

enum code courier_open(struct courier *courier, const struct conf *conf, int gate, struct why *why)
{
    enum code code;

    *courier = (struct courier){.conf = conf, .pause_us = FIRST_PAUSE_US, .gate = gate, .erasures_at = -1};
    clock_start_name(courier->start);
    random_bytes(courier->instance, sizeof courier->instance);
    code = read_member(courier, why);
    if (code == CODE_OK)
        code = store_open(conf->store, DB_CREATE, &courier->store, why);
    if (code == CODE_OK)
        code = take_secrets(courier, why);
    if (code == CODE_OK)
        code = open_down(courier, why);
    if (code == CODE_OK)
        code = fleet_state_load(courier->store, &courier->state, why);
    if (code == CODE_OK)
        code = open_evidence(courier, why);
    courier->saved = courier->state;
    courier->approvals = (struct approvals_way){.store = courier->store, .self = courier->member, .roster = &courier->roster};
    return code;
}

void courier_close(struct courier *courier)
{
    /* who waits for the database loses nothing by the end */
    if (!uses_stop(&courier->uses) || !shipper_stop(&courier->shipper))
        _exit(0);
    pg_close(&courier->pg);
    evidence_free(&courier->evidence);
    down_free(&courier->down);
    down_roster_close(&courier->roster);
    db_close(&courier->store);
    member_free(&courier->member);
}

/* ---- the connection ---- */

static void note(struct courier *courier, const struct why *why)
{
    if (strcmp(courier->state.problem, why->text) != 0 && why->text[0] != '\0')
        log_warn("fleet", "%s", why->text);
    (void)snprintf(courier->state.problem, sizeof courier->state.problem, "%s", why->text);
}

/* The pauses grow, and differ by up to a quarter from node to node, so that a database that comes back is not met by all of
 * them at once. */
static void lose(struct courier *courier, const struct why *why)
{
    uint16_t chance;

    note(courier, why);
    pg_close(&courier->pg);
    random_bytes(&chance, sizeof chance);
    courier->retry_us = clock_monotonic_us() + courier->pause_us - courier->pause_us / 4 * chance / UINT16_MAX;
    courier->pause_us = 2 * courier->pause_us < MOST_PAUSE_US ? 2 * courier->pause_us : MOST_PAUSE_US;
}

struct pg_place courier_place(const struct courier *courier)
{
    const struct member *member = courier->member;
    const char *database = courier->conf->fleet.database;

    return (struct pg_place){.database = database != NULL ? database : member->database, .folder = member->folder,
                             .user = span_text(member->role), .password = span_text(member->password)};
}

static void connect_again(struct courier *courier)
{
    const struct member *member = courier->member;
    const struct pg_place place = courier_place(courier);
    char name[FLEET_NAME_BYTES + 16];
    struct why why = {""};

    (void)snprintf(name, sizeof name, "callgate %s", member->name);
    if (pg_open(&place, name, &courier->pg, &why) != CODE_OK ||
        seat_take(courier->pg, courier->instance, member->name, &why) != CODE_OK ||
        pg_listen(courier->pg, DOWN_CHANNEL, &why) != CODE_OK)
        lose(courier, &why);
    else
        log_info("fleet", "the centre is there");
    courier->is_seated = courier->is_seated || courier->pg != NULL;
    down_roster_anew(&courier->roster);
    approvals_anew(&courier->approvals);
    evidence_anew(courier->evidence);
}

/* ---- a turn ---- */

/* A beat that counts is one of a node that has all that the centre has, so that comes first. What the beat says is so told
 * before somebody waits for it. */
static enum code take_turn(struct courier *courier, struct why *why)
{
    struct down_state down = {.change = 0};
    bool is_notified;
    enum code code = pg_notified(courier->pg, &is_notified, why), told;

    if (code == CODE_OK)
        code = down_roster_turn(&courier->roster, courier->pg, why);
    if (code == CODE_OK && courier->roster.refused.text[0] != '\0')
        courier_note_refused(courier, CODE_DENIED, &courier->roster.refused);
    if (code == CODE_OK)
        code = down_turn(courier->down, courier->pg, clock_monotonic_us(), why);
    if (code == CODE_NOMEM || pg_is_lost(courier->pg))
        return code;
    if (down_state(courier->down, &down, NULL) == CODE_OK) {
        courier->state.change = down.change;
        courier->state.behind = down.behind;
        (void)memccpy(courier->state.hash, down.hash, '\0', sizeof courier->state.hash);
    }
    courier_note_refused(courier, code, why);
    if (code == CODE_OK)
        code = courier_ask_erasures(courier, why);
    if (code == CODE_OK)
        code = approvals_turn(&courier->approvals, courier->pg, clock_monotonic_us(), courier->state.forked == 0, why);
    if (code == CODE_OK && courier->approvals.is_fault)
        courier_note_refused(courier, CODE_DENIED, &courier->approvals.fault);
    if (code == CODE_NOMEM || pg_is_lost(courier->pg))
        return code;
    told = courier_beat(courier, code == CODE_OK ? why : NULL);
    return code == CODE_OK ? told : code;
}

/* The trail goes up on threads of its own, and limits are asked on one. They begin behind the first turn, when the process is
 * confined, and once it is known that nobody else is this node: rows of two would be a fork. */
static enum code begin_shipping(struct courier *courier, struct why *why)
{
    const struct conf *conf = courier->conf;
    const struct shipper_conf shipped = {.place = courier_place(courier), .name = courier->member->name,
                                         .audit = conf->audit.database, .digests = conf->fleet.keeps_arguments,
                                         .shipped_seq = courier->state.shipped_seq};

    const struct uses_conf used = {.place = courier_place(courier), .name = courier->member->name,
                                   .secret = courier->member->secrets->seal, .gate = courier->gate,
                                   .in_force = &courier->in_force};
    enum code code = CODE_OK;

    if (courier->shipper == NULL && courier->is_seated)
        code = shipper_start(&shipped, &courier->shipper, why);
    if (courier->uses == NULL && courier->is_seated && code == CODE_OK)
        code = uses_start(&used, &courier->uses, why);
    return code;
}

/* Tells by the state how far the trail's way up is, also while the centre is away. What that does not get on with leaves calls
 * as they are: rows wait, and lag is told. */
static void note_figures(struct courier *courier)
{
    struct shipper_report report;

    courier->state.forked = evidence_is_forked(courier->evidence);
    if (courier->shipper == NULL)
        return;
    shipper_report(courier->shipper, &report);
    courier->state.shipped_seq = report.figures.shipped_seq;
    courier->state.lag_rows = report.figures.lag_rows;
    courier->state.lag_us = report.figures.lag_us;
    courier->state.forked = courier->state.forked || report.figures.is_forked;
    courier->up_fault = report.problem;
}

/* What proves the trail, once it is up as far as it goes. */
static void prove(struct courier *courier)
{
    struct why why = {""};
    enum code code;

    if (courier->pg == NULL)
        return;
    code = evidence_turn(courier->evidence, courier->pg, clock_monotonic_us(), courier->state.shipped_seq, &why);
    if (code != CODE_OK && strcmp(why.text, courier->evidence_fault.text) != 0)
        log_warn("fleet", "%s", why.text);
    courier_note_refused(courier, code, &why);
    courier->evidence_fault = why;
    if (pg_is_lost(courier->pg))
        lose(courier, &why);
    note_figures(courier);
}

/* The first that there is. */
static const char *problem_of(const struct courier *courier)
{
    return courier->roster.refused.text[0] != '\0'   ? courier->roster.refused.text
           : courier->up_fault.text[0] != '\0'       ? courier->up_fault.text
           : courier->evidence_fault.text[0] != '\0' ? courier->evidence_fault.text
                                                     : evidence_problem(courier->evidence);
}

static int64_t save_after_us(const struct courier *courier)
{
    int64_t part_us = (int64_t)courier->conf->fleet.stale_ms * 1000 / SAVE_PART;

    return part_us < SAVE_MOST_US ? part_us : SAVE_MOST_US;
}

/* What the gate decides by is written at once, the rest when it is due. A beat that is written is so old only where the centre
 * was away meanwhile: the gate may deny for that. */
static enum code save(struct courier *courier, struct why *why)
{
    const struct fleet_state *is = &courier->state, *was = &courier->saved;
    int64_t now_us = clock_monotonic_us(), newer_us = is->beat_us - was->beat_us;
    bool is_urgent = newer_us < 0 || newer_us >= 2 * save_after_us(courier) || is->change != was->change ||
                     is->behind != was->behind || is->forked != was->forked ||
                     (is->problem[0] == '\0') != (was->problem[0] == '\0');
    enum code code;

    if (!is_urgent && now_us - courier->saved_us < save_after_us(courier))
        return CODE_OK;
    if (is->beat_us == was->beat_us) { /* the gate may have written what was spent of it */
        struct fleet_state now;

        code = fleet_state_load(courier->store, &now, why);
        if (code != CODE_OK)
            return code == CODE_BUSY ? CODE_OK : code;
        courier->state.spent_us = now.spent_us;
    }
    code = fleet_state_save(courier->store, is, why);
    if (code == CODE_BUSY)
        return CODE_OK; /* at the next turn */
    courier->saved = *is;
    courier->saved_us = now_us;
    return code;
}

/* A beat counts from before it was sent, and where all of the turn went well. */
static enum code turn(struct courier *courier, struct why *why)
{
    int64_t wall_us = clock_wall_us(), up_us = clock_up_us();
    struct why fault = {""};
    enum code code = CODE_OK;

    if (courier->pg == NULL && clock_monotonic_us() >= courier->retry_us)
        connect_again(courier);
    if (courier->pg == NULL)
        return save(courier, why);
    code = take_turn(courier, &fault);
    if (code == CODE_OK) {
        courier->state.beat_us = wall_us;
        courier->state.beat_up_us = up_us;
        memcpy(courier->state.start, courier->start, sizeof courier->start);
        courier->state.spent_us = 0;
        (void)memccpy(courier->state.problem, problem_of(courier), '\0', sizeof courier->state.problem);
        courier->pause_us = FIRST_PAUSE_US;
    } else if (code == CODE_NOMEM) {
        return why_set(why, code, "%s", fault.text);
    } else if (code == CODE_IO || pg_is_lost(courier->pg)) {
        lose(courier, &fault);
    } else {
        note(courier, &fault);
    }
    return save(courier, why);
}

/* What is told makes a turn at once, and no more of them than this: whoever may write there can tell something all the time. */
#define TOLD_US INT64_C(100000)
#define LOOK_US INT64_C(50000) /* so often it looks whether somebody here asks something of the fleet */

/* Whether the gate goes on: it says that it has recorded its last row, or is gone. */
static bool hear_gate(struct courier *courier)
{
    struct fleet_message message;
    ssize_t got = recv(courier->gate, &message, sizeof message, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    return got > 0 && (uses_hear_in_force(&courier->in_force, &message, (size_t)got) || message.kind != FLEET_LAST);
}

/* Waits until the next turn is due, or the gate says something. Returns: whether it goes on. */
static bool wait_for_more(struct courier *courier)
{
    bool is_read = courier->uses != NULL; /* what the gate says, by another thread */
    struct pollfd ends[] = {{.fd = courier->gate, .events = is_read ? 0 : POLLIN}, {.fd = -1, .events = POLLIN}};
    int64_t left_us = courier->turn_us - clock_monotonic_us();

    if (courier->pg != NULL && !courier->is_told)
        ends[1].fd = pg_socket(courier->pg); /* something is told, or the centre is gone */
    if ((courier->pg != NULL || is_read) && left_us > LOOK_US)
        left_us = LOOK_US;
    if (poll(ends, 2, left_us <= 0 ? 0 : (int)((left_us + 999) / 1000)) < 0 && errno != EINTR)
        return false;
    if (courier->pg != NULL)
        courier_tell_nodes(courier);
    courier->is_told = courier->is_told || ends[1].revents != 0;
    if (courier->is_told && courier->turn_us > courier->begun_us + TOLD_US)
        courier->turn_us = courier->begun_us + TOLD_US;
    if (courier->pg != NULL && (courier_is_asked(courier) || courier_judges_anew(courier)))
        courier->turn_us = 0;
    if (is_read)
        return ends[0].revents == 0 && !uses_are_over(courier->uses);
    return ends[0].revents == 0 || hear_gate(courier);
}

enum code courier_run(struct courier *courier, struct why *why)
{
    enum code code = CODE_OK;

    while (code == CODE_OK) {
        int64_t now_us = clock_monotonic_us();

        if (now_us >= courier->turn_us) {
            courier->begun_us = now_us;
            courier->turn_us = now_us + TURN_US;
            courier->is_told = false;
            code = turn(courier, why);
            if (down_waits(courier->down))
                courier->turn_us = now_us + WAITED_US;
            note_figures(courier);
            prove(courier);
            if (code == CODE_OK)
                code = begin_shipping(courier, why);
        }
        if (code == CODE_OK && !wait_for_more(courier))
            break;
    }
    return code;
}

void courier_finish(struct courier *courier)
{
    struct fleet_message message = {.kind = FLEET_LAST};
    struct why why = {""};
    int64_t seq = courier->pg != NULL && courier->shipper != NULL ? shipper_finish(courier->shipper) : -1;

    if (seq >= 0 && evidence_turn(courier->evidence, courier->pg, clock_monotonic_us(), seq, &why) != CODE_OK)
        log_warn("fleet", "the last checkpoints wait for the next start: %s", why.text);
    (void)!send(courier->gate, &message, sizeof message, MSG_NOSIGNAL);
}
