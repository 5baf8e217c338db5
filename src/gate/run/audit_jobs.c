/* SPDX-License-Identifier: Apache-2.0 */
/* Does what people ask of this gate's audit through the store: one request at a time, each answered there when it is
 * over. A request that a restart interrupted is asked again; the audit knows what it has done already. */
#include "run/serve_priv.h"

#include "store/store.h"
#include "store/store_approvals.h"
#include "store/store_holds.h"
#include "base/log.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

static void log_fault(struct serve *serve, enum code code, const struct why *why)
{
    struct serve_audit_jobs *mine = &serve->audit_jobs;

    if (code == CODE_BUSY && ++mine->busy < BUSY_LOOKS)
        return;
    if (strcmp(mine->fault.text, why->text) != 0)
        log_error("app", "%s; what is asked of the audit waits until it goes on", why->text);
    mine->fault = *why;
}

/* Puts the answer into the store. Erased values that the store itself held are erased before that: where a kill comes in
 * between, the next start answers. */
static void answer(struct serve *serve)
{
    struct serve_audit_jobs *mine = &serve->audit_jobs;
    struct why why = {0};
    bool done = mine->done.code == CODE_OK;
    enum code code = CODE_OK;

    if (done && mine->request.kind == STORE_AUDIT_ERASE)
        code = store_approvals_erase(serve->store, &(struct store_erasure){span_text(mine->request.tenant),
                                     mine->request.before_us, clock_wall_us()}, &why);
    if (code == CODE_OK)
        code = store_audit_answer(serve->store, mine->request.id, done, mine->done.text, clock_wall_us(), &why);
    if (code != CODE_OK) { /* tried again at the next look */
        log_fault(serve, code, &why);
        return;
    }
    mine->busy = 0;
    mine->request.id = 0;
    mine->is_over = false;
}

static void take_up(struct serve *serve)
{
    struct serve_audit_jobs *mine = &serve->audit_jobs;
    struct store_audit_request request;
    struct why why = {0};
    enum code code = store_audit_next(serve->store, serve->told_mark, &request, &why);

    if (code == CODE_NOT_FOUND) {
        mine->store_seen = serve->store_seen;
        return;
    }
    /* A hold may have been placed since the erasure was asked for. One that is placed later comes too late, and its
     * author hears that. */
    if (code == CODE_OK && request.kind == STORE_AUDIT_ERASE && request.id != audit_goes_on_erasing(serve->audit))
        code = store_holds_allow(serve->store, request.tenant, request.before_us, &why);
    if (code == CODE_DENIED) {
        mine->request = request;
        mine->done = (struct audit_done){.code = code};
        (void)snprintf(mine->done.text, sizeof mine->done.text, "%s", why.text);
        mine->is_over = true;
        return;
    }
    if (code == CODE_OK && request.kind == STORE_AUDIT_ARCHIVE)
        code = audit_archive(serve->audit, span_text(request.actor));
    else if (code == CODE_OK)
        code = audit_erase(serve->audit, &(struct audit_erasure){span_text(request.tenant), span_text(request.actor),
                                                                 span_text(request.why), request.before_us, request.id});
    if (code == CODE_OK) {
        mine->request = request;
        log_info("app", "%s asks to %s", request.actor, request.kind == STORE_AUDIT_ERASE ? "erase values in the audit"
                                                                                         : "archive the audit");
    } else if (code != CODE_BUSY) {
        log_fault(serve, code, &why);
    }
}

void serve__run_audit_jobs(struct serve *serve)
{
    struct serve_audit_jobs *mine = &serve->audit_jobs;

    if (mine->request.id != 0 && !mine->is_over)
        mine->is_over = audit_job_over(serve->audit, &mine->done);
    if (mine->is_over)
        answer(serve);
    if (mine->request.id == 0 && mine->store_seen != serve->store_seen)
        take_up(serve);
}
