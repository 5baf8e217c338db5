/* SPDX-License-Identifier: Apache-2.0 */
/* What people must know at once, folded: conditions of the gate that begin and end, and denials by rules that say
 * `alert: true`. Each is told when it begins, again once an interval while more of it comes, and when it is over. There are two
 * to whom it is told, each as fast as it takes it; for who is away nothing queues: what is not told yet is counted.
 *
 * Threads: alerts_deny and alerts_gauges from any, under one short lock; the rest from main. Times are handed in: now_us
 *   monotonic, wall_us UTC.
 * Owns: a table of fixed size. Its places for denials are divided among tenants as base/shares.h says, and no denial takes one
 *   of the gate's own.
 * Lifetime: alerts_new to alerts_free, after the workers have ended.
 * Errors: a denial that finds no place is counted with all such, under no rule's name. */
#ifndef ALERT_ALERTS_H
#define ALERT_ALERTS_H

#include "base/code.h"
#include "base/mem.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

#define ALERT_ABOUT_BYTES 288  /* a rule's id, or what a certificate is of */
#define ALERT_NAME_BYTES 132   /* a tenant, a correlation id */
#define ALERT_TEXT_BYTES 512
#define ALERT_TARGETS 2        /* a server, a program */
#define ALERT_CONDITIONS 64    /* at once; certificates are most of them */
#define ALERT_DENIALS 256      /* different rules of different tenants */

enum alert_kind {
    ALERT_DENIED = 0, ALERT_AUDIT_DOWN, ALERT_FORKED, ALERT_CHECKPOINT_LATE, ALERT_DISK_LOW, ALERT_CERTIFICATE_ENDS,
    ALERT_CONFIGURATION_REFUSED, ALERT_KINDS
};
const char *alert_kind_text(enum alert_kind kind); /* "denied" */
bool alert_is_critical(enum alert_kind kind);

/* One of them, as it stands. Texts end in NUL. */
struct alert {
    enum alert_kind kind;
    bool is_on;
    char about[ALERT_ABOUT_BYTES], tenant[ALERT_NAME_BYTES];
    char text[ALERT_TEXT_BYTES];       /* what is the matter; of a denial the rule's reason */
    char correlation[ALERT_NAME_BYTES]; /* of the denial that was recorded last, as the next two */
    uint64_t seq, policy_version;
    uint64_t count, fresh;             /* since it began; of these, not told yet */
    int64_t since_us, last_us, ended_us; /* UTC */
    int slot;                          /* for alerts_told */
};

struct alerts;

enum code alerts_new(struct alerts **alerts) MUST_USE;
void alerts_free(struct alerts **alerts);

struct alert_denial {
    struct span rule, tenant; /* the credential's own, never one that a caller claims */
    struct span reason, correlation;
    uint64_t seq;             /* 0: one of a flood, without a row */
    uint64_t policy_version;
};
void alerts_deny(struct alerts *alerts, const struct alert_denial *denial, int64_t now_us, int64_t wall_us);

/* To whom it is told from now on: a bit for each. */
void alerts_aim(struct alerts *alerts, unsigned targets);

/* Between alerts_look and alerts_looked main says each condition that holds; those of which it says nothing are over. Takes:
 * every_us: the interval; about: empty: of a certificate, that there are more of them, which has a place however many there
 * are. alerts_hold returns: false: there is no place for it. */
void alerts_look(struct alerts *alerts);
bool alerts_hold(struct alerts *alerts, enum alert_kind kind, struct span about, struct span text, int64_t now_us,
                 int64_t wall_us);
void alerts_looked(struct alerts *alerts, int64_t every_us, int64_t now_us, int64_t wall_us);

/* What this target is to be told now, at most `max`. Of denials nothing for ten seconds after the last were told, so that many
 * rules and tenants are one message. Returns: how many. */
size_t alerts_due(struct alerts *alerts, unsigned target, int64_t every_us, int64_t now_us, struct alert *out, size_t max);
/* They are on their way to the target, which is asked again until it takes them. */
void alerts_told(struct alerts *alerts, unsigned target, const struct alert *told, size_t count, int64_t now_us);

/* For a restart: what a target was told and is not over has its name in the store, for each target. alerts_unsaved: one of
 * which the store does not know yet whether that is so; false: of all it does. alerts_saved: now it does. alerts_know: before
 * the first look: what a run before has told this target; where it does not hold any more it is over. */
bool alerts_unsaved(struct alerts *alerts, unsigned target, struct alert *out, bool *is_told);
void alerts_saved(struct alerts *alerts, unsigned target, const struct alert *saved, bool is_told);
void alerts_know(struct alerts *alerts, unsigned target, enum alert_kind kind, struct span about, struct span tenant,
                 int64_t since_us, int64_t now_us);

struct alerts_gauges {
    uint64_t firing[ALERT_KINDS];
    uint64_t denials; /* since the start */
};
void alerts_gauges(struct alerts *alerts, struct alerts_gauges *gauges);

#endif
