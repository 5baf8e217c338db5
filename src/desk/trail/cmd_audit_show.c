/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit show: one call as a story. What is found is gathered first, so that text and JSON tell the same. */
#include "trail/cmd_audit_show_priv.h"

#include "trail/cmd_audit_priv.h"
#include "args/command.h"

#include "base/mem.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FOUND CODE_EXISTS /* what the callbacks end a search with */

/* ---- which call ---- */

static enum code take_entry(void *context, enum entry_kind kind, int64_t seq, const struct query_row *row)
{
    struct show *show = context;

    if (seq != show->number)
        return CODE_NOT_FOUND;
    show->kind = kind;
    if (kind == ENTRY_OUTCOME && num_i64(query_value(row, "decision"), &show->seq) != CODE_OK)
        return CODE_INVALID;
    if (kind == ENTRY_DECISION)
        show->seq = seq;
    if (kind == ENTRY_EVENT && show__keep(show, &show->event, row) != CODE_OK)
        return CODE_NOMEM;
    return FOUND;
}

static enum code take_call(void *context, const struct query_row *row)
{
    struct show *show = context;

    return span_is(query_value(row, "seq"), show->seq_text) ? show__keep(show, &show->call, row) : CODE_OK;
}

/* A number may be a decision's, an outcome's or an event's. */
static enum code find_row(struct show *show, struct why *why)
{
    struct entry_place place = {.seq = show->number - 1};
    struct query query = {.limit = 1, .order = QUERY_OLDEST_FIRST};
    struct why passed = {""};
    int64_t first, last;
    bool more;
    enum code code;

    for (size_t i = 0; i < show->trail.count; i++)
        if (trail_gap(&show->trail, i, &first, &last) && first <= show->number && show->number <= last)
            return why_set(why, CODE_NOT_FOUND, "row %" PRId64 " is in a file that is not beside %s", show->number,
                           show->trail.files[show->trail.count - 1].path);
    code = audit_entries(&show->trail, &query, ENTRIES_EVENTS, &place, take_entry, show, &passed);
    if (code == CODE_OK || code == CODE_NOT_FOUND)
        return why_set(why, CODE_NOT_FOUND, "there is no row %" PRId64 "; the last one is %" PRId64, show->number,
                       show->trail.files[show->trail.count - 1].last_seq);
    if (code != FOUND)
        return why_set(why, code, "%s", passed.text);
    if (show->kind == ENTRY_EVENT)
        return CODE_OK;
    (void)snprintf(show->seq_text, sizeof show->seq_text, "%" PRId64, show->seq);
    query.after_seq = show->seq - 1;
    code = audit_query(&show->trail, &query, take_call, show, &more, why);
    if (code == CODE_OK && show->call.count == 0)
        return why_set(why, CODE_NOT_FOUND, "row %" PRId64 " is the outcome of decision %" PRId64 ", which is in a file that "
                       "is not here", show->number, show->seq);
    return code;
}

/* ---- what belongs to it ---- */

static enum code count_neighbour(void *context, const struct query_row *row)
{
    struct show *show = context;

    show->related++;
    if (span_is(query_value(row, "seq"), show->seq_text))
        show->related_at = show->related;
    return CODE_OK;
}

static enum code keep_neighbour(void *context, const struct query_row *row)
{
    struct show *show = context;
    uint64_t at = ++show->related_seen;
    struct show_row *to = &show->neighbour[show->neighbours];

    if (at + SHOW_AROUND < show->related_at || at > show->related_at + SHOW_AROUND)
        return CODE_OK;
    show->neighbours++;
    return show__keep(show, to, row);
}

static enum code find_neighbours(struct show *show, struct why *why)
{
    struct query query = {.correlation = show__value(&show->call, "correlation"), .order = QUERY_OLDEST_FIRST};
    enum code code;
    bool more;

    if (query.correlation.at == NULL)
        return CODE_OK;
    code = audit_query(&show->trail, &query, count_neighbour, show, &more, why);
    return code == CODE_OK ? audit_query(&show->trail, &query, keep_neighbour, show, &more, why) : code;
}

static enum code keep_approval(void *context, const struct query_row *row)
{
    struct show *show = context;

    return show->approvals < SHOW_APPROVALS_MAX ? show__keep(show, &show->approval[show->approvals++], row) : CODE_OK;
}

/* ---- the command ---- */

static int gather(struct show *show, struct why *why)
{
    enum code code = trail_find(show->path, true, &show->trail, why);

    if (code == CODE_OK) /* the call may be here, and others of its correlation not */
        (void)trail_place_tell_missing(&show->trail, 0);
    if (code == CODE_OK)
        code = find_row(show, why);
    if (code == CODE_OK && show->kind != ENTRY_EVENT) {
        code = find_neighbours(show, why);
        if (code == CODE_OK)
            code = audit_approvals_of(&show->trail, show->seq, keep_approval, show, why);
        if (code == CODE_OK)
            code = show__walk(show, why);
    }
    if (code == CODE_NOT_FOUND && show->trail.count > 0)
        return complain(STATUS_NEGATIVE, "%s", why->text);
    return code == CODE_OK ? OPTIONS_GO : trail_place_complain(code, why);
}

int cmd_audit_show(const struct asked *asked)
{
    static struct show show;
    struct why why = {""};
    uint64_t number = 0;
    int status = command_number("N", asked_operand(asked, 0), 1, &number);

    show = (struct show){.kind = ENTRY_DECISION, .asked = asked, .number = (int64_t)number};
    arena_init(&show.arena, SHOW_MEMORY_BYTES);
    buf_init(&show.words, SHOW_MEMORY_BYTES);
    if (status == OPTIONS_GO)
        status = asked_trail(asked, asked_operand(asked, 1), &show.path);
    if (status == OPTIONS_GO)
        status = gather(&show, &why);
    if (status == OPTIONS_GO)
        status = asked->json ? show__json(&show) : show__text(&show);
    trail_fini(&show.trail);
    buf_fini(&show.words);
    arena_fini(&show.arena);
    mem_free(show.path);
    return status;
}
