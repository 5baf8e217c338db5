/* SPDX-License-Identifier: Apache-2.0 */
/* callgate approvals approve and refuse: what a person says of a held call. */
#include "people/cmd_approvals_priv.h"
#include "cli/commands.h"
#include "args/print.h"
#include "store/store.h"

#include "base/num.h"
#include "os/clock.h"

#include <stdio.h>

#define FOR_MAX_MS (UINT64_C(366) * 86400 * 1000)

static int read_duration(const char *text, const char *usual, struct store_answer *answer)
{
    uint64_t ms;

    if (num_duration(span_text(text != NULL ? text : usual), &ms) != CODE_OK || ms == 0 || ms > FOR_MAX_MS)
        return complain(STATUS_USAGE, "--for \"%s\" is no time up to 366d; write for example 30min, 1h or 2d",
                        text != NULL ? text : usual);
    answer->until_us = answer->given_us + (int64_t)ms * 1000;
    return OPTIONS_GO;
}

static int tell(const struct store_answer *answer, bool as_json)
{
    const bool is_partial = answer->holds_us == 0;
    char until[CLOCK_TEXT_BYTES];
    struct doc *doc;

    if (as_json) {
        doc = doc_object();
        doc_int(doc, "approval", answer->ask);
        doc_text(doc, "state", is_partial           ? SPAN_LIT("waiting")
                               : answer->is_granted ? SPAN_LIT("approved")
                                                    : SPAN_LIT("refused"));
        doc_text(doc, "by", answer->by);
        doc_bool(doc, "repeated", answer->is_repeated);
        doc_int(doc, "approved", answer->counted);
        doc_int(doc, "needed", answer->needed);
        print_time(doc, "until", is_partial ? answer->until_us : answer->holds_us);
        return print_doc(&doc);
    }
    clock_text(is_partial ? answer->until_us : answer->holds_us, until);
    if (answer->is_repeated)
        printf("approval %lld was given by you already: only the end of your word has moved\n", (long long)answer->ask);
    if (is_partial)
        print_safely(stdout,
                     "approval %lld has the word of %u of %u people; it waits for somebody else, while yours holds (until "
                     "%s)\n",
                     (long long)answer->ask, answer->counted, answer->needed, until);
    else if (answer->is_granted)
        print_safely(stdout,
                     "approval %lld is given for one call until %s; within a second the agent's identical call passes\n",
                     (long long)answer->ask, until);
    else
        print_safely(stdout, "approval %lld is refused until %s; within a second the identical call is denied\n",
                     (long long)answer->ask, until);
    return STATUS_DONE;
}

/* Each for itself: one that cannot be answered any more keeps nobody from the others. Told is what is stored. */
static int answer_all(struct db *db, const struct approvals_meant *meant, struct store_answer *answer, bool as_json)
{
    struct store_answer taken[APPROVALS_MEANT_MAX];
    size_t taken_count = 0;
    int status = STATUS_DONE;
    struct why why = {0};
    enum code code = store_approvals_begin(db, &why);

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
            store_approvals_undo(db);
            return complain_why(code, &why);
        }
    }
    code = store_approvals_forget(db, answer->given_us, &why);
    if (code == CODE_OK) {
        code = store_approvals_commit(db, &why);
    } else {
        store_approvals_undo(db);
    }
    if (code != CODE_OK)
        return complain_why(code, &why);
    for (size_t i = 0; i < taken_count; i++)
        if (tell(&taken[i], as_json) != STATUS_DONE)
            return STATUS_CANNOT;
    return status;
}

struct saying {
    struct store_place place;
    const char *by, *why, *lasts, *decision;
    bool as_json;
    struct store_answer answer;
};

static int check_saying(struct saying *saying)
{
    int status = option_says(saying->by, saying->why, "Ada expects the invoice");

    if (status == OPTIONS_GO)
        status = read_duration(saying->lasts, saying->answer.is_granted ? "1h" : "24h", &saying->answer);
    return status;
}

/* Who gives the command, and by which names he is known. Takes: aliases: of ACTOR_ALIASES places. */
static enum code find_speaker(struct saying *saying, struct actor *actor, struct span *aliases, struct buf *known)
{
    enum code code = CODE_OK;

    actor_find(actor);
    for (size_t i = 0; i < actor->alias_count && code == CODE_OK; i++) {
        aliases[i] = span_text(actor->alias[i]);
        if (actor->is_own[i])
            code = buf_addf(known, "%s\n", actor->alias[i]);
    }
    saying->answer.login = span_text(actor->name);
    saying->answer.person = (struct store_person){
        .name = actor->shown[0] != '\0' ? span_text(actor->shown) : SPAN_NONE, .account = actor->account, .aliases = aliases,
        .alias_count = actor->alias_count, .known = buf_peek(known),
    };
    saying->answer.by = saying->by != NULL ? span_text(saying->by) : saying->answer.login;
    saying->answer.why = span_text(saying->why);
    return code;
}

static int store_saying(struct saying *saying, char **operands, int count)
{
    struct span aliases[ACTOR_ALIASES];
    struct actor actor;
    struct approvals_meant meant;
    struct buf known;
    struct why why = {0};
    struct db *db = NULL;
    enum code code = store_find(&saying->place, DB_WRITE, &db, &why);
    int status;

    if (code != CODE_OK)
        return complain_why(code, &why);
    buf_init(&known, sizeof actor.alias + ACTOR_ALIASES);
    code = find_speaker(saying, &actor, aliases, &known);
    status = code == CODE_OK ? cmd_approvals__find(db, saying->decision, operands, count, &meant) : complain_why(code, &why);
    if (status == OPTIONS_GO)
        status = answer_all(db, &meant, &saying->answer, saying->as_json);
    buf_fini(&known);
    db_close(&db);
    return status;
}

static int run(bool is_granted, const char *synopsis, const char *about, const char *lasts, int argc, char **argv)
{
    struct saying saying = {.answer = {.is_granted = is_granted, .given_us = clock_wall_us()}};
    const struct option unseen = {.name = "unseen", .flag = &saying.answer.is_unseen,
                                  .help = "although only the beginning of its arguments is kept, or nothing of them"};
    const struct option again = {.name = "again", .flag = &saying.answer.is_again, .help = "although it was refused before"};
    const struct option options[] = {
        {.name = "why", .takes = "TEXT", .help = "for those who read the audit; must be said", .value = &saying.why},
        {.name = "for", .takes = "TIME", .help = lasts, .value = &saying.lasts},
        {.name = "by", .takes = "NAME", .help = "who says so; else the login, which is recorded anyway", .value = &saying.by},
        {.name = "decision", .takes = "N", .help = "by the number that the agent was told", .value = &saying.decision},
        {.name = "json", .help = "the answer as JSON, one object a line", .flag = &saying.as_json},
        STORE_OPTIONS(&saying.place),
        is_granted ? unseen : (struct option){0},
        is_granted ? again : (struct option){0},
        {0},
    };
    const struct usage usage = {synopsis, about, options, 0, -1};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status == OPTIONS_GO)
        status = check_saying(&saying);
    return status == OPTIONS_GO ? store_saying(&saying, argv, operands) : status;
}

int cmd_approvals__approve(int argc, char **argv)
{
    return run(true, "callgate approvals approve (NUMBER... | --decision N) --why TEXT [OPTIONS]",
               "Permits exactly that call, once: same tenant, principal, upstream, path, query, tool, arguments and other\n"
               "params, while the rule that held it is unchanged. The agent's identical retry passes; a forbid still\n"
               "denies it. Where the rule asks several people it waits for as many different ones, and nobody approves what\n"
               "is asked for in his own name. The store then forgets its arguments. Exit status 1: one could not be approved.",
               "how long it may be used: 30min, 2h, 1d; 1h by default", argc, argv);
}

int cmd_approvals__refuse(int argc, char **argv)
{
    return run(false, "callgate approvals refuse (NUMBER... | --decision N) --why TEXT [OPTIONS]",
               "Denies exactly that call for a while, and takes back an approval that was not used. Afterwards the same call\n"
               "is held and asked for anew.",
               "how long it stays denied: 30min, 2h, 7d; 24h by default", argc, argv);
}
