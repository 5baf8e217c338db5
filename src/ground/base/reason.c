/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reason.h"

#include "base/bug.h"

#include <stdatomic.h>
#include <stddef.h>

struct row {
    const char *name;
    const char *text;
    enum blame blame;
    enum denial denial;
    int status;
    int rpc;
};

static const struct row rows[REASON_COUNT] = {
#define X(name_, audit_, blame_, status_, rpc_, denial_, text_) \
    [REASON_##name_] = {audit_, text_, BLAME_##blame_, DENIAL_##denial_, status_, rpc_},
    REASON_TABLE(X)
#undef X
};

static _Atomic uint64_t counters[REASON_COUNT];

static const struct row *row(enum reason reason)
{
    BUG_ON((unsigned)reason >= REASON_COUNT);
    return &rows[reason];
}

const char *reason_name(enum reason reason)
{
    return row(reason)->name;
}

enum reason reason_named(struct span name)
{
    for (int reason = 0; reason < REASON_COUNT; reason++)
        if (span_is(name, rows[reason].name))
            return (enum reason)reason;
    return REASON_UNSET;
}

const char *reason_text(enum reason reason)
{
    return row(reason)->text;
}

enum blame reason_blame(enum reason reason)
{
    return row(reason)->blame;
}

int reason_status(enum reason reason)
{
    return row(reason)->status;
}

int reason_rpc_code(enum reason reason)
{
    return row(reason)->rpc;
}

enum denial reason_denial(enum reason reason)
{
    return row(reason)->denial;
}

const char *denial_code(enum denial denial)
{
    switch (denial) {
    case DENIAL_UNAVAILABLE: return "unavailable";
    case DENIAL_NONE: return NULL;
    case DENIAL_POLICY: return "policy_denied";
    case DENIAL_APPROVAL: return "approval_required";
    case DENIAL_RATE: return "rate_limited";
    case DENIAL_MALFORMED: return "malformed";
    }
    return NULL;
}

void reason_count(enum reason reason)
{
    BUG_ON((unsigned)reason >= REASON_COUNT);
    (void)atomic_fetch_add_explicit(&counters[reason], 1, memory_order_relaxed);
}

uint64_t reason_counted(enum reason reason)
{
    BUG_ON((unsigned)reason >= REASON_COUNT);
    return atomic_load_explicit(&counters[reason], memory_order_relaxed);
}
