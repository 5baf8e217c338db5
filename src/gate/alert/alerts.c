/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/alerts.h"

#include "base/hash.h"
#include "base/lock.h"
#include "base/shares.h"
#include "base/utf8.h"

#include <string.h>

#define SLOTS (ALERT_CONDITIONS + ALERT_DENIALS + 1)
#define REST (SLOTS - 1)               /* denials for which there was no place */
#define CERTIFICATES (ALERT_CONDITIONS - 16) /* places for them, so that an audit that is down finds one whatever ends */
#define GATHER_US INT64_C(10000000)
#define REMIND_US INT64_C(86400000000) /* what still holds is told again once a day: whoever was told may have lost it */
#define GRACE_US INT64_C(120000000)    /* after a restart it takes so long to see again what holds */
#define NEVER INT64_MIN

/* What one target knows of it. */
struct told {
    bool is_on, is_saved;
    int64_t at_us; /* monotonic; NEVER */
    uint64_t count;
};

struct slot {
    bool is_used, was_seen;
    int64_t began_us, moved_us; /* monotonic: moved: when it was seen last, or is not over before */
    struct share share;
    struct told told[ALERT_TARGETS];
    struct alert alert;
};

struct alerts {
    pthread_mutex_t lock;
    struct shares shares;
    unsigned targets;
    uint64_t denials;
    int64_t denials_told_us[ALERT_TARGETS];
    uint64_t keys[SLOTS];
    struct slot slots[SLOTS];
};

static const struct {
    const char *text;
    bool is_critical;
} kinds[ALERT_KINDS] = {
    [ALERT_DENIED] = {"denied", false}, [ALERT_AUDIT_DOWN] = {"audit_down", true}, [ALERT_FORKED] = {"forked", true},
    [ALERT_CHECKPOINT_LATE] = {"checkpoint_late", true}, [ALERT_DISK_LOW] = {"disk_low", false},
    [ALERT_CERTIFICATE_ENDS] = {"certificate_ends", false},
    [ALERT_CONFIGURATION_REFUSED] = {"configuration_refused", false},
};

const char *alert_kind_text(enum alert_kind kind)
{
    return kinds[kind].text;
}

bool alert_is_critical(enum alert_kind kind)
{
    return kinds[kind].is_critical;
}

enum code alerts_new(struct alerts **alerts)
{
    *alerts = mem_zalloc(sizeof **alerts);
    if (*alerts == NULL)
        return CODE_NOMEM;
    lock_init(&(*alerts)->lock);
    shares_init(&(*alerts)->shares, ALERT_DENIALS);
    for (unsigned i = 0; i < ALERT_TARGETS; i++)
        (*alerts)->denials_told_us[i] = NEVER;
    return CODE_OK;
}

void alerts_free(struct alerts **alerts)
{
    if (*alerts == NULL)
        return;
    (void)pthread_mutex_destroy(&(*alerts)->lock);
    shares_fini(&(*alerts)->shares);
    mem_free(*alerts);
    *alerts = NULL;
}

/* ---- the table, under its lock ---- */

static void copy(char *out, size_t size, struct span text)
{
    text = utf8_cut(text, size - 1);
    if (text.len > 0)
        memcpy(out, text.at, text.len);
    out[text.len] = '\0';
}

/* Returns: the place of this one, perhaps a free one; NULL: there is none for it. */
static struct slot *find(struct alerts *alerts, enum alert_kind kind, struct span about, struct span tenant)
{
    int first = kind == ALERT_DENIED ? ALERT_CONDITIONS : 0;
    bool is_certificate = kind == ALERT_CERTIFICATE_ENDS && about.len > 0;
    int end = kind == ALERT_DENIED ? REST : is_certificate ? CERTIFICATES : ALERT_CONDITIONS;
    uint64_t key = hash_mix(hash_mix(hash_span(about), hash_span(tenant)), (uint64_t)kind);
    struct share share = share_of(tenant, SPAN_NONE);
    int free = -1;

    for (int i = first; i < end; i++) {
        struct slot *slot = &alerts->slots[i];

        if (slot->is_used && alerts->keys[i] == key && span_is(about, slot->alert.about) && span_is(tenant, slot->alert.tenant))
            return slot;
        free = free < 0 && !slot->is_used ? i : free;
    }
    if (free < 0 || (kind == ALERT_DENIED && shares_take(&alerts->shares, share, 1) != CODE_OK))
        return NULL;
    alerts->keys[free] = key;
    alerts->slots[free] = (struct slot){.share = share, .alert = {.kind = kind, .slot = free}};
    copy(alerts->slots[free].alert.about, ALERT_ABOUT_BYTES, about);
    copy(alerts->slots[free].alert.tenant, ALERT_NAME_BYTES, tenant);
    return &alerts->slots[free];
}

/* Has it hold from now on, where it did not. */
static void begin(struct slot *slot, int64_t now_us, int64_t wall_us)
{
    slot->moved_us = slot->moved_us > now_us ? slot->moved_us : now_us;
    slot->alert.last_us = wall_us;
    slot->was_seen = true;
    if (slot->alert.is_on)
        return;
    if (!slot->is_used)
        for (unsigned i = 0; i < ALERT_TARGETS; i++)
            slot->told[i].at_us = NEVER;
    slot->is_used = slot->alert.is_on = true;
    slot->began_us = now_us;
    slot->alert.since_us = wall_us;
    if (slot->alert.kind != ALERT_DENIED)
        slot->alert.count++; /* of a condition it counts how often it began */
}

static bool is_past(int64_t at_us, int64_t by_us, int64_t now_us)
{
    return at_us == NEVER || now_us - at_us >= by_us;
}

/* Whether this target is to be told. What comes and goes is told once an interval. */
static bool is_due(const struct slot *slot, const struct told *told, int64_t every_us, int64_t now_us)
{
    if (!slot->is_used)
        return false;
    if (!slot->alert.is_on && told->is_on)
        return true;
    if (slot->alert.count > told->count || (slot->alert.is_on && !told->is_on && slot->alert.text[0] != '\0'))
        return is_past(told->at_us, every_us, now_us);
    return told->is_on && is_past(told->at_us, REMIND_US, now_us);
}

/* Frees the place where all were told that it is over, an interval ago: until then who sees it again knows when that was. */
static void drop(struct alerts *alerts, struct slot *slot, int64_t every_us, int64_t now_us)
{
    bool is_over = slot->is_used && !slot->alert.is_on;

    for (unsigned i = 0; i < ALERT_TARGETS && is_over; i++)
        if ((alerts->targets & 1u << i) != 0)
            is_over = !slot->told[i].is_saved && !is_due(slot, &slot->told[i], every_us, now_us) &&
                      is_past(slot->told[i].at_us, every_us, now_us);
    if (!is_over)
        return;
    if (slot->alert.kind == ALERT_DENIED && slot->alert.slot != REST)
        shares_give(&alerts->shares, slot->share, 1);
    slot->is_used = false;
}

/* ---- what is seen ---- */

void alerts_deny(struct alerts *alerts, const struct alert_denial *denial, int64_t now_us, int64_t wall_us)
{
    struct slot *slot;

    lock_take(&alerts->lock);
    slot = find(alerts, ALERT_DENIED, denial->rule, denial->tenant);
    if (slot == NULL) {
        slot = &alerts->slots[REST];
        slot->alert.slot = REST;
    }
    begin(slot, now_us, wall_us);
    slot->alert.count++;
    alerts->denials++;
    if (denial->seq != 0 && slot->alert.slot != REST) {
        copy(slot->alert.text, ALERT_TEXT_BYTES, denial->reason);
        copy(slot->alert.correlation, ALERT_NAME_BYTES, denial->correlation);
        slot->alert.seq = denial->seq;
        slot->alert.policy_version = denial->policy_version;
    }
    lock_give(&alerts->lock);
}

void alerts_aim(struct alerts *alerts, unsigned targets)
{
    alerts->targets = targets;
}

void alerts_look(struct alerts *alerts)
{
    for (int i = 0; i < ALERT_CONDITIONS; i++)
        alerts->slots[i].was_seen = false;
}

bool alerts_hold(struct alerts *alerts, enum alert_kind kind, struct span about, struct span text, int64_t now_us,
                 int64_t wall_us)
{
    struct slot *slot;

    lock_take(&alerts->lock);
    slot = find(alerts, kind, about, SPAN_NONE);
    if (slot != NULL) {
        begin(slot, now_us, wall_us);
        slot->moved_us = now_us; /* what is seen again after a restart needs no grace */
        copy(slot->alert.text, ALERT_TEXT_BYTES, text);
    }
    lock_give(&alerts->lock);
    return slot != NULL;
}

/* A denial is over once none came for half an interval, so that a short storm is told twice: when it begins, and its count. */
static bool is_over(const struct slot *slot, int64_t every_us, int64_t now_us)
{
    if (slot->alert.kind != ALERT_DENIED)
        return !slot->was_seen && now_us > slot->moved_us;
    return now_us - slot->moved_us >= every_us / 2 && now_us - slot->began_us >= every_us;
}

void alerts_looked(struct alerts *alerts, int64_t every_us, int64_t now_us, int64_t wall_us)
{
    lock_take(&alerts->lock);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &alerts->slots[i];

        if (slot->is_used && slot->alert.is_on && is_over(slot, every_us, now_us)) {
            slot->alert.is_on = false;
            slot->alert.ended_us = slot->alert.kind == ALERT_DENIED ? slot->alert.last_us : wall_us;
            if (slot->alert.ended_us < slot->alert.since_us)
                slot->alert.ended_us = slot->alert.since_us; /* the clock was put back, and Alertmanager takes no such end */
        }
        drop(alerts, slot, every_us, now_us);
    }
    lock_give(&alerts->lock);
}

/* ---- what is told ---- */

size_t alerts_due(struct alerts *alerts, unsigned target, int64_t every_us, int64_t now_us, struct alert *out, size_t max)
{
    size_t count = 0;
    bool has_denials;

    lock_take(&alerts->lock);
    has_denials = is_past(alerts->denials_told_us[target], GATHER_US < every_us ? GATHER_US : every_us, now_us);
    for (int i = 0; i < SLOTS && count < max; i++) {
        const struct slot *slot = &alerts->slots[i];

        if (!is_due(slot, &slot->told[target], every_us, now_us) || (slot->alert.kind == ALERT_DENIED && !has_denials))
            continue;
        out[count] = slot->alert;
        out[count++].fresh = slot->alert.count - slot->told[target].count;
    }
    lock_give(&alerts->lock);
    return count;
}

void alerts_told(struct alerts *alerts, unsigned target, const struct alert *told, size_t count, int64_t now_us)
{
    lock_take(&alerts->lock);
    for (size_t i = 0; i < count; i++) {
        struct told *known = &alerts->slots[told[i].slot].told[target];

        *known = (struct told){told[i].is_on, known->is_saved, now_us, told[i].count};
        if (told[i].kind == ALERT_DENIED)
            alerts->denials_told_us[target] = now_us;
    }
    lock_give(&alerts->lock);
}

/* ---- over a restart ---- */

bool alerts_unsaved(struct alerts *alerts, unsigned target, struct alert *out, bool *is_told)
{
    bool found = false;

    lock_take(&alerts->lock);
    for (int i = 0; i < REST && !found; i++) {
        const struct slot *slot = &alerts->slots[i];

        *is_told = slot->told[target].is_on;
        found = slot->is_used && slot->told[target].is_saved != *is_told;
        if (found)
            *out = slot->alert;
    }
    lock_give(&alerts->lock);
    return found;
}

void alerts_saved(struct alerts *alerts, unsigned target, const struct alert *saved, bool is_told)
{
    lock_take(&alerts->lock);
    alerts->slots[saved->slot].told[target].is_saved = is_told;
    lock_give(&alerts->lock);
}

void alerts_know(struct alerts *alerts, unsigned target, enum alert_kind kind, struct span about, struct span tenant,
                 int64_t since_us, int64_t now_us)
{
    struct slot *slot;

    lock_take(&alerts->lock);
    slot = find(alerts, kind, about, tenant);
    if (slot != NULL) {
        begin(slot, now_us, since_us);
        slot->moved_us = kind == ALERT_DENIED ? now_us : now_us + GRACE_US;
        slot->told[target] = (struct told){true, true, now_us, slot->alert.count};
        for (unsigned i = 0; i < ALERT_TARGETS; i++)
            slot->told[i].count = slot->alert.count; /* another is told once it is seen again: until then it has no text */
    }
    lock_give(&alerts->lock);
}

void alerts_gauges(struct alerts *alerts, struct alerts_gauges *gauges)
{
    lock_take(&alerts->lock);
    *gauges = (struct alerts_gauges){.denials = alerts->denials};
    for (int i = 0; i < SLOTS; i++)
        gauges->firing[alerts->slots[i].alert.kind] += alerts->slots[i].is_used && alerts->slots[i].alert.is_on;
    lock_give(&alerts->lock);
}
