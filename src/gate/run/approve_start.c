/* SPDX-License-Identifier: Apache-2.0 */
/* After a crash the audit knows of uses that the store does not: the decision was on disk before its call went on. Whatever a
 * claim of this gate was used for is looked for there before any approval is handed to a worker. */
#include "run/serve_priv.h"

#include "store/store.h"
#include "store/store_approvals.h"
#include "files/trail.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/clock.h"

#include <inttypes.h>

struct claim {
    struct approval_use use; /* used_us 0: not used */
    uint64_t audit_seq;
};

struct claims {
    struct claim *claim;
    size_t count, room;
};

static enum code add_claim(void *context, int64_t ask, uint64_t audit_seq)
{
    struct claims *claims = context;
    struct claim *all = mem_room(claims->claim, &claims->room, claims->count + 1, sizeof *all);

    if (all == NULL)
        return CODE_NOMEM;
    claims->claim = all;
    claims->claim[claims->count++] = (struct claim){.use = {.number = ask}, .audit_seq = audit_seq};
    return CODE_OK;
}

static void note_use(struct claims *claims, int64_t number, uint64_t decision, int64_t time_us)
{
    for (size_t i = 0; i < claims->count; i++) {
        struct claim *claim = &claims->claim[i];

        if (claim->use.number != number || decision <= claim->audit_seq)
            continue;
        claim->use.decision = decision;
        claim->use.used_us = time_us;
    }
}

static enum code look_through(struct db *audit, struct claims *claims, uint64_t after)
{
    struct db_stmt *rows = NULL;
    enum code code = db_select(audit, "SELECT d.seq, d.time_us, json_extract(j.value, '$.approval') FROM decision d "
                               "CROSS JOIN json_each(d.rules) j WHERE d.seq > ?1 AND d.verdict = 'permit' "
                               "AND instr(d.rules, '\"approval\":') > 0 AND j.type = 'object' "
                               "AND json_extract(j.value, '$.approval') IS NOT NULL", DB_VALUES(db_of_int((int64_t)after)),
                               &rows);

    while (db_next(&rows, &code))
        note_use(claims, db_int(rows, 2), (uint64_t)db_int(rows, 0), db_int(rows, 1));
    return code;
}

/* Marks claims as used for which the audit cannot answer, because a file is missing, or it is another audit. */
static uint64_t mark_unknown(struct claims *claims, uint64_t first, uint64_t last, int64_t now_us)
{
    uint64_t after = last;

    for (size_t i = 0; i < claims->count; i++) {
        struct claim *claim = &claims->claim[i];

        if (claim->audit_seq < first || claim->audit_seq > last) {
            claim->use.used_us = now_us;
            log_warn("app", "nobody can know whether approval %" PRId64 " was used: it counts as used", claim->use.number);
        } else if (claim->audit_seq < after) {
            after = claim->audit_seq;
        }
    }
    return after;
}

static enum code look_in_audit(struct serve *serve, struct claims *claims, uint64_t last, struct why *why)
{
    struct trail trail;
    uint64_t after = 0;
    enum code code = trail_find(serve->conf->audit.database, true, &trail, why);

    if (code == CODE_OK)
        after = mark_unknown(claims, (uint64_t)trail.missing_to, last, clock_wall_us());
    for (size_t i = 0; code == CODE_OK && i < trail.count; i++) {
        struct db *audit = NULL;

        if ((uint64_t)trail.files[i].last_seq <= after)
            continue;
        code = db_open(trail.files[i].path, DB_PAST, &audit, why);
        if (code != CODE_OK)
            break;
        code = look_through(audit, claims, after);
        if (code != CODE_OK)
            why_set(why, code, "%s: looking for used approvals failed: %s", trail.files[i].path, db_error(audit));
        db_close(&audit);
    }
    trail_fini(&trail);
    return code;
}

static enum code store_found(struct serve *serve, const struct claims *claims, uint64_t last, struct why *why)
{
    struct span mark = span_text(serve->gate_mark);
    enum code code = store_begin(serve->store, why);

    if (code != CODE_OK)
        return code;
    for (size_t i = 0; i < claims->count && code == CODE_OK; i++)
        if (claims->claim[i].use.used_us != 0)
            code = store_approval_use(serve->store, mark, &claims->claim[i].use, why);
    if (code == CODE_OK)
        code = store_approvals_confirm(serve->store, mark, last, clock_wall_us(), why);
    return store_end(serve->store, code, NULL, why);
}

enum code serve__settle_claims(struct serve *serve, struct why *why)
{
    struct claims claims = {0};
    struct audit_gauges gauges;
    enum code code = store_claims_each(serve->store, span_text(serve->gate_mark), add_claim, &claims, why);

    audit_gauges(serve->audit, &gauges);
    if (code == CODE_OK && claims.count > 0) {
        code = look_in_audit(serve, &claims, gauges.last_seq, why);
        if (code == CODE_OK)
            code = store_found(serve, &claims, gauges.last_seq, why);
    }
    mem_free(claims.claim);
    return code;
}
