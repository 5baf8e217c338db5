/* SPDX-License-Identifier: Apache-2.0 */
/* callgate tools accept and withdraw: what a person says of definitions of tools. */
#include "rules/cmd_tools_priv.h"

#include "args/print.h"
#include "cli/fleet_words.h"
#include "cli/told.h"
#include "store/store.h"
#include "os/clock.h"

#include <stdio.h>

struct saying {
    const struct asked *asked;
    bool accepts;
    struct tools_meant meant;  /* what the word is about */
};

/* The name is a tool's own, and not one with a digest behind it. */
static bool names_all(const struct store_definition *row, const char *name)
{
    return span_is(row->tool, name);
}

static bool is_meant(const struct saying *saying, const struct store_definition *row, const char *name)
{
    if (!saying->accepts)
        return row->is_accepted;
    if (span_is(row->text, DEFINITION_UNKEPT))
        return false;
    return names_all(row, name) ? row->is_waiting : !row->is_accepted;
}

static int tell_several(const struct tools_meant *found, const struct saying *saying, const char *name)
{
    for (size_t i = 0; i < found->count; i++)
        if (is_meant(saying, &found->all[i], name))
            print_safely(stderr, "  --upstream %.*s %.*s@%.*s\n", SPAN_ARG(found->all[i].upstream),
                         SPAN_ARG(found->all[i].tool), TOOLS_DIGEST_SHOWN, found->all[i].digest.at);
    return complain(STATUS_NEGATIVE, "several definitions of %s are there; nothing was done: say which one, as above", name);
}

/* Adds to what is meant. A withdrawal takes all that are accepted of one tool; an acceptance is of one definition that somebody
 * has read, so it says which. */
static int add_named(struct saying *saying, struct db *db, const char *name)
{
    const struct store_definition *first = NULL;
    struct tools_meant found;
    bool is_one = true, is_done = false;
    int status;

    cmd_tools__init(&found);
    status = cmd_tools__find(db, saying->asked->upstream, name, &found);
    for (size_t i = 0; i < found.count && status == OPTIONS_GO; i++) {
        const struct store_definition *row = &found.all[i];

        is_done |= row->is_latest && row->is_accepted;
        if (!is_meant(saying, row, name))
            continue;
        is_one &= first == NULL || (!saying->accepts && span_equals(first->upstream, row->upstream) &&
                                    span_equals(first->tool, row->tool));
        first = first == NULL ? row : first;
    }
    if (status == OPTIONS_GO && !is_one)
        status = tell_several(&found, saying, name);
    else if (status == OPTIONS_GO && first == NULL && saying->accepts && is_done)
        print_safely(stdout, "%s is accepted already, as the server tells it\n", name);
    else if (status == OPTIONS_GO && first == NULL)
        status = complain(STATUS_NEGATIVE, "nothing of %s %s; `callgate tools show %s` shows what is known%s", name,
                          saying->accepts ? "waits" : "is accepted", name,
                          saying->accepts ? ", and NAME@DIGEST accepts one of it, withdrawn ones too" : "");
    for (size_t i = 0; i < found.count && status == OPTIONS_GO; i++)
        if (is_meant(saying, &found.all[i], name) && cmd_tools__keep(&saying->meant, &found.all[i]) != CODE_OK)
            status = complain(STATUS_CANNOT, "not enough memory");
    cmd_tools__drop(&found);
    return status;
}

static enum code keep_acceptable(void *context, const struct store_definition *row)
{
    return span_is(row->text, DEFINITION_UNKEPT) ? CODE_OK : cmd_tools__keep(context, row);
}

static int find_all(struct saying *saying, struct db *db)
{
    const struct given *given = &saying->asked->given;
    const struct store_definitions_asked waiting = {
        .upstream = saying->asked->upstream != NULL ? span_text(saying->asked->upstream) : SPAN_NONE, .waiting = true};
    struct why why = {0};
    int status = OPTIONS_GO;
    enum code code = CODE_OK;

    if (saying->asked->waiting)
        code = store_definitions_each(db, &waiting, keep_acceptable, &saying->meant, &why);
    for (int i = 0; i < given->count && status == OPTIONS_GO; i++)
        status = add_named(saying, db, given->operands[i]);
    return code == CODE_OK ? status : complain_why(code, &why);
}

static enum code say_all(const struct saying *saying, struct db *db, struct why *why)
{
    struct store_definition_word word = {.given_us = clock_wall_us(), .is_accepted = saying->accepts,
                                         .why = span_text(saying->asked->why)};
    char login[ACTOR_BYTES];
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    actor_name(login);
    word.login = span_text(login);
    word.by = saying->asked->by != NULL ? span_text(saying->asked->by) : word.login;
    for (size_t i = 0; i < saying->meant.count && code == CODE_OK; i++) {
        word.definition = saying->meant.all[i].id;
        code = store_definition_say(db, &word, why);
    }
    return store_end(db, code, NULL, why);
}

static int tell(const struct saying *saying)
{
    int status = STATUS_DONE;

    for (size_t i = 0; i < saying->meant.count && status == STATUS_DONE; i++) {
        const struct store_definition *row = &saying->meant.all[i];
        struct doc *doc = doc_object();

        doc_text(doc, "upstream", row->upstream);
        doc_text(doc, "tool", row->tool);
        doc_text(doc, "digest", row->digest);
        doc_text(doc, "state", saying->accepts ? SPAN_LIT("accepted") : SPAN_LIT("withdrawn"));
        status = told_answer(&doc, saying->asked->json, "{state} {tool} of {upstream}, {digest}\n");
    }
    if (!saying->asked->json)
        printf(saying->meant.count > 0 ? "a running gate follows within a second\n" : "nothing is to be done\n");
    return status;
}

static int say(struct saying *saying)
{
    struct why why = {0};
    struct fleet_words words;
    enum code code = fleet_words_open(&words, saying->asked, DB_WRITE,
                                      saying->accepts ? FLEET_WORDS_LOCKED : FLEET_WORDS_CLOSING,
                                      &why);
    int status;

    if (code != CODE_OK) {
        fleet_words_close(&words);
        return complain_why(code, &why);
    }
    cmd_tools__init(&saying->meant);
    status = find_all(saying, words.db);
    if (status == OPTIONS_GO) {
        code = fleet_words_end(&words, say_all(saying, words.db, &why), "definition", NULL, &why);
        status = code == CODE_OK ? tell(saying) : complain_why(code, &why);
    }
    cmd_tools__drop(&saying->meant);
    fleet_words_close(&words);
    return status;
}

int cmd_tools_accept(const struct asked *asked)
{
    struct saying saying = {.asked = asked, .accepts = true};

    if ((asked->given.count == 0) != asked->waiting)
        return complain(STATUS_USAGE, "name tools, or say --waiting");
    return say(&saying);
}

int cmd_tools_withdraw(const struct asked *asked)
{
    struct saying saying = {.asked = asked, .accepts = false};

    return say(&saying);
}
