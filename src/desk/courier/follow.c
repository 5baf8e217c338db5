/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the way downwards in the courier's turn: what was refused is told to the audit, and what somebody asks
 * here is seen soon: of the fleet, by the store's outbox, and how its nodes are, by a mark beside the store. */
#include "courier/courier.h"

#include "base/log.h"
#include "os/file.h"
#include "query/fleet_nodes.h"
#include "store/store.h"
#include "store/store_fleet.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define REFUSED_US INT64_C(60000000) /* a centre may show another thing each second; the trail is told once a minute */

void courier_note_refused(struct courier *courier, enum code code, const struct why *why)
{
    const int64_t now_us = clock_monotonic_us();
    struct why unkept;

    if (code != CODE_INVALID && code != CODE_DENIED && code != CODE_EXISTS)
        return;
    courier->state.refused++;
    if (courier->refused_us != 0 &&
        (now_us - courier->refused_us < REFUSED_US || strcmp(courier->refused.text, why->text) == 0))
        return;
    courier->refused = *why;
    courier->refused_us = now_us;
    if (store_fleet_refuse(courier->store, courier->state.change, span_text(why->text), clock_wall_us(), &unkept) != CODE_OK)
        log_warn("fleet", "%s", unkept.text);
}

bool courier_is_asked(struct courier *courier)
{
    struct why why;
    int64_t version, last = 0, wishes = 0;

    if (store_data_version(courier->store, &version, &why) != CODE_OK || version == courier->store_seen)
        return false;
    courier->store_seen = version;
    /* a call waits for what the gate wishes */
    if (db_number(courier->store, "SELECT count(*) FROM fleet_wish", NULL, 0, &wishes) != CODE_OK ||
        db_number(courier->store, "SELECT coalesce(max(id), 0) FROM fleet_outbox", NULL, 0, &last) != CODE_OK ||
        (wishes == 0 && last <= courier->asked_last))
        return false;
    courier->asked_last = last;
    return true;
}

static bool is_mark_new(struct courier *courier)
{
    char path[PATH_MAX];
    struct stat mark;
    bool is_new;

    (void)snprintf(path, sizeof path, "%s" FLEET_NODES_MARK, courier->conf->store);
    is_new = stat(path, &mark) == 0 && (mark.st_mtim.tv_sec != courier->nodes_asked.tv_sec ||
                                        mark.st_mtim.tv_nsec != courier->nodes_asked.tv_nsec);
    if (is_new)
        courier->nodes_asked = mark.st_mtim;
    return is_new;
}

void courier_tell_nodes(struct courier *courier)
{
    char path[PATH_MAX];
    struct doc *doc = NULL;
    struct why why = {""};
    struct buf text;
    enum code code;

    if (!is_mark_new(courier))
        return;
    (void)snprintf(path, sizeof path, "%s" FLEET_NODES_COPY, courier->conf->store);
    buf_init(&text, FLEET_NODES_BYTES);
    code = fleet_nodes_ask(courier->pg, courier->roster.now, &doc, &why);
    if (code == CODE_OK)
        code = doc_print(doc, &text);
    if (code == CODE_OK)
        code = file_replace(path, 0600, buf_peek(&text), &why);
    if (code != CODE_OK)
        log_warn("fleet", "how the nodes are cannot be told: %s", why.text[0] != '\0' ? why.text : code_text(code));
    buf_fini(&text);
    doc_free(&doc);
}
