/* SPDX-License-Identifier: Apache-2.0 */
/* callgate approvals approve and refuse: what a person says of a held call. */
#include "people/cmd_approvals_priv.h"
#include "people/control.h"
#include "args/print.h"
#include "cli/told.h"
#include "store/store.h"

#include "os/clock.h"

#include <stdio.h>

#define HOUR_US INT64_C(3600000000)

static int tell(const struct store_answer *answer, bool as_json)
{
    const bool is_partial = answer->holds_us == 0;
    struct doc *doc = doc_object();

    doc_int(doc, "approval", answer->ask);
    doc_text(doc, "state", is_partial           ? SPAN_LIT("waiting")
                           : answer->is_granted ? SPAN_LIT("approved")
                                                : SPAN_LIT("refused"));
    doc_text(doc, "given_by", answer->by);
    doc_bool(doc, "repeated", answer->is_repeated);
    doc_int(doc, "approved", answer->counted);
    doc_int(doc, "needed", answer->needed);
    print_time(doc, "given", answer->given_us);
    print_time(doc, "until", is_partial ? answer->until_us : answer->holds_us);
    return told_answer(
        &doc, as_json,
        "[{?repeated}approval {approval} was given by you already: only the end of your word has moved\n]"
        "[{?state=waiting}approval {approval} has the word of {approved} of {needed} people; it waits for somebody else, while "
        "yours holds (until {until})\n]"
        "[{?state=approved}approval {approval} is given for one call until {until}; within a second (in a fleet: two) the "
        "agent's identical call passes\n]"
        "[{?state=refused}approval {approval} is refused until {until}; within a second (in a fleet: two) the identical call "
        "is denied\n]");
}

/* Each for itself: one that cannot be answered any more keeps nobody from the others. Told is what is stored. */
static int answer_all(struct db *db, const struct approvals_meant *meant, struct store_answer *answer, bool as_json)
{
    struct store_answer taken[APPROVALS_MEANT_MAX];
    size_t taken_count = 0;
    int status = STATUS_DONE;
    struct why why = {0};
    enum code code = store_begin(db, &why);

    if (code != CODE_OK)
        return complain_why(code, &why);
    for (size_t i = 0; i < meant->count; i++) {
        answer->ask = meant->id[i];
        code = store_approval_answer(db, answer, &why);
        if (code == CODE_OK)
            taken[taken_count++] = *answer;
        if (code == CODE_NOT_FOUND || code == CODE_DENIED) {
            status = complain(STATUS_NEGATIVE, "%s", why.text);
        } else if (code != CODE_OK) {
            return complain_why(store_end(db, code, NULL, &why), &why);
        }
    }
    code = store_end(db, store_approvals_forget(db, answer->given_us, &why), NULL, &why);
    if (code != CODE_OK)
        return complain_why(code, &why);
    for (size_t i = 0; i < taken_count; i++)
        if (tell(&taken[i], as_json) != STATUS_DONE)
            return STATUS_CANNOT;
    return status;
}

/* Who gives the command, and by which names he is known. Who opens the store himself has every role, and is in no group.
 * Takes: aliases: of ACTOR_ALIASES places. */
static enum code find_speaker(struct store_answer *answer, struct actor *actor, struct span *aliases, struct buf *known,
                              struct buf *roles)
{
    enum code code = CODE_OK;

    actor_find(actor);
    if (actor->opens_store)
        control_name_roles(~0u, roles);
    for (size_t i = 0; i < actor->alias_count && code == CODE_OK; i++) {
        aliases[i] = span_text(actor->alias[i]);
        if (actor->is_own[i])
            code = buf_addf(known, "%s\n", actor->alias[i]);
    }
    answer->login = span_text(actor->name);
    answer->person = (struct store_person){
        .name = actor->shown[0] != '\0' ? span_text(actor->shown) : SPAN_NONE, .account = actor->account, .aliases = aliases,
        .alias_count = actor->alias_count, .known = buf_peek(known),
        .names = actor->opens_store ? buf_peek(roles) : actor->names, .tenant = actor->tenant, .principal = actor->principal,
        .issuer = actor->issuer,
    };
    return code;
}

static int say(const struct asked *asked, bool is_granted, int64_t usual_us)
{
    const int64_t now_us = clock_wall_us(), lasts_us = asked->lasts_ms > 0 ? (int64_t)asked->lasts_ms * 1000 : usual_us;
    struct store_answer answer = {.is_granted = is_granted, .given_us = now_us, .until_us = now_us + lasts_us,
                                  .is_unseen = asked->unseen, .is_again = asked->again, .why = span_text(asked->why)};
    struct span aliases[ACTOR_ALIASES];
    struct actor actor;
    struct approvals_meant meant;
    struct buf known, roles;
    struct why why = {0};
    struct db *db = NULL;
    enum code code = asked_store(asked, DB_WRITE, &db, &why);
    int status;

    if (code != CODE_OK)
        return complain_why(code, &why);
    buf_init(&known, sizeof actor.alias + ACTOR_ALIASES);
    buf_init(&roles, 1024);
    code = find_speaker(&answer, &actor, aliases, &known, &roles);
    answer.by = asked->by != NULL ? span_text(asked->by) : answer.login;
    status = code == CODE_OK ? cmd_approvals__find(db, asked, &meant) : complain_why(code, &why);
    if (status == OPTIONS_GO)
        status = answer_all(db, &meant, &answer, asked->json);
    buf_fini(&roles);
    buf_fini(&known);
    db_close(&db);
    return status;
}

int cmd_approvals_approve(const struct asked *asked)
{
    return say(asked, true, HOUR_US);
}

int cmd_approvals_refuse(const struct asked *asked)
{
    return say(asked, false, 24 * HOUR_US);
}
