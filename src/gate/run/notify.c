/* SPDX-License-Identifier: Apache-2.0 */
/* Tells somebody, by a POST or a program, of calls that wait for a person. The store has what is to be told, so that
 * nothing grows here and a restart goes on where it was. Arguments are never told, since nobody would erase them there. */
#include "run/serve_priv.h"

#include "store/store.h"
#include "store/store_approvals.h"
#include "base/log.h"
#include "base/utf8.h"
#include "json/doc.h"
#include "os/clock.h"
#include "unicode/terminal.h"

#include <inttypes.h>
#include <stdio.h>

#define TRIES 6              /* tries within about a minute */
#define POST_WAIT_US 5000000
#define RUN_WAIT_US 10000000
#define TEXT_BYTES 1024      /* the most of a text of an agent or a policy */
#define TOLD_BYTES 32768     /* the most of a whole notification */
#define TOLD_NAME_BYTES 32

static struct poster **posters(struct serve *serve)
{
    return serve->notify.posters;
}

static enum code open_one(const struct poster_conf *how, struct poster **poster, struct why *why)
{
    return how->server->host != NULL ? poster_new(how, poster, why) : CODE_OK;
}

enum code serve__open_posters(struct serve *serve, const struct conf_notify *conf, const char *what, unsigned tries,
                              struct poster *posters[SERVE_POSTERS], struct why *why)
{
    const struct poster_conf url = {
        .what = what, .server = &conf->server, .media = "application/json", .key = conf->secret, .tries = tries,
        .wait_us = POST_WAIT_US, .web = serve->web,
    }, program = {
        .what = what, .server = &conf->program, .media = "application/json", .tries = tries,
        .wait_us = RUN_WAIT_US, .dial = serve__dial_command, .context = serve,
    };
    enum code code = open_one(&url, &posters[0], why);

    return code == CODE_OK ? open_one(&program, &posters[1], why) : code;
}

enum code serve__open_notify(struct serve *serve, struct why *why)
{
    serve->notify.is_due = true;
    return serve__open_posters(serve, &serve->conf->notify, "notification", TRIES, posters(serve), why);
}

enum code serve__start_notify(struct serve *serve, struct why *why)
{
    char name[TOLD_NAME_BYTES];
    enum code code = CODE_OK;

    (void)snprintf(name, sizeof name, "notify@%s", serve->gate_mark);
    if (posters(serve)[0] != NULL || posters(serve)[1] != NULL)
        code = store_told(serve->store, name, &serve->notify.told, why);
    for (size_t i = 0; i < SERVE_POSTERS; i++) {
        serve->notify.offered[i] = serve->notify.told;
        if (code == CODE_OK && posters(serve)[i] != NULL)
            code = poster_start(posters(serve)[i], why);
    }
    return code;
}

void serve__close_notify(struct serve *serve)
{
    for (size_t i = 0; i < SERVE_POSTERS; i++)
        poster_free(&posters(serve)[i]);
}

/* ---- what is told ---- */

/* "ada of tenant acme, by the agent copilot, wants send_mail of shop (rule mail.outside: Somebody looks.)", for who shows no
 * more than that. */
static enum code add_sentence(struct doc *doc, const struct store_approval *row)
{
    const struct span parts[] = {
        row->principal, SPAN_LIT(" of tenant "), row->tenant, row->agent.len > 0 ? SPAN_LIT(", by the agent ") : SPAN_NONE,
        row->agent, row->agent.len > 0 ? SPAN_LIT(", wants ") : SPAN_LIT(" wants "),
        row->tool.len > 0 ? row->tool : row->method, SPAN_LIT(" of "), row->upstream, SPAN_LIT(" (rule "), row->rule,
        row->rule_reason.len > 0 ? SPAN_LIT(": ") : SPAN_NONE, row->rule_reason, SPAN_LIT(")"),
    };
    enum code code = CODE_OK;
    struct buf text;

    buf_init(&text, TOLD_BYTES);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && code == CODE_OK; i++)
        code = terminal_add(&text, utf8_cut(parts[i], TEXT_BYTES));
    if (code == CODE_OK)
        doc_text(doc, "text", buf_peek(&text));
    buf_fini(&text);
    return code;
}

void serve__add_time(struct doc *doc, const char *key, int64_t time_us)
{
    char text[CLOCK_TEXT_BYTES];

    clock_text(time_us, text);
    doc_text(doc, key, span_text(text));
}

static void add_command(struct doc *doc, const char *word, int64_t number, const char *more)
{
    char text[96];

    (void)snprintf(text, sizeof text, "callgate approvals %s %" PRId64 "%s", word, number, more);
    doc_text(doc, word, span_text(text));
}

/* The link names the call, and gives no right: who opens it logs in. Takes: url: NULL: there is no console. */
static void add_link(struct doc *doc, const char *url, int64_t number)
{
    char text[400];

    (void)snprintf(text, sizeof text, "%s/approvals/%" PRId64, url != NULL ? url : "", number);
    doc_text_or_null(doc, "url", url != NULL ? span_text(text) : SPAN_NONE);
}

/* Takes: url: the console's, or NULL. */
static enum code write_told(const struct store_approval *row, const char *url, struct buf *out)
{
    const struct {
        const char *key;
        struct span text;
    } texts[] = {
        {"gate", row->gate}, {"tenant", row->tenant}, {"principal", row->principal}, {"agent", row->agent},
        {"upstream", row->upstream}, {"method", row->method}, {"tool", row->tool}, {"via", row->via},
        {"rule", row->rule}, {"reason", row->rule_reason}, {"correlation", row->correlation},
    };
    struct doc *doc = doc_object();
    enum code code = add_sentence(doc, row);

    doc_text(doc, "event", SPAN_LIT("call_held"));
    doc_int(doc, "approval", row->id);
    doc_int(doc, "decision", row->decision);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        doc_text_or_null(doc, texts[i].key, utf8_cut(texts[i].text, TEXT_BYTES));
    doc_int(doc, "needed", row->needed);
    doc_lines(doc, "approvers", row->approvers);
    doc_int(doc, "policy_version", row->policy_version);
    doc_int(doc, "arguments_bytes", (int64_t)row->arguments_bytes);
    serve__add_time(doc, "asked", row->asked_us);
    serve__add_time(doc, "expires", row->seen_us + APPROVAL_FORGET_US);
    add_link(doc, url, row->id);
    add_command(doc, "show", row->id, "");
    add_command(doc, "approve", row->id, " --why TEXT --for 1h");
    add_command(doc, "refuse", row->id, " --why TEXT --for 24h");
    if (code == CODE_OK)
        code = doc_print(doc, out);
    doc_free(&doc);
    return code;
}

/* ---- a look ---- */

struct offering {
    const struct serve *serve;
    struct poster *poster;
    int64_t *offered;
    int64_t now_us;
};

/* Offers an ask to the posters; one that is decided meanwhile is passed over. Returns: CODE_BUSY: there is no room for more. */
static enum code offer(void *context, const struct store_approval *row)
{
    const struct offering *offering = context;
    bool is_ours = span_is(row->gate, offering->serve->gate_mark) &&
                   store_approval_state(row, offering->now_us) == APPROVAL_IS_WAITING;
    enum code code = CODE_OK;
    struct buf text;

    buf_init(&text, TOLD_BYTES);
    if (is_ours && write_told(row, offering->serve->conf->console.url, &text) != CODE_OK)
        log_error("app", "approval %" PRId64 " cannot be told of: out of memory", row->id);
    else if (is_ours && !poster_offer(offering->poster, buf_peek(&text), row->id))
        code = CODE_BUSY;
    buf_fini(&text);
    if (code == CODE_OK)
        *offering->offered = row->id;
    return code;
}

/* Remembers up to where each poster has told, or has given up: a restart begins behind that. */
static void remember(struct serve *serve)
{
    char name[TOLD_NAME_BYTES];
    int64_t all = INT64_MAX;
    struct why why = {0};

    for (size_t i = 0; i < SERVE_POSTERS; i++)
        if (posters(serve)[i] != NULL && poster_settled(posters(serve)[i]) < all)
            all = poster_settled(posters(serve)[i]);
    if (all == INT64_MAX || all <= serve->notify.told)
        return;
    (void)snprintf(name, sizeof name, "notify@%s", serve->gate_mark);
    if (store_set_told(serve->store, name, all, &why) == CODE_OK) /* else it is tried at the next look */
        serve->notify.told = all;
}

void serve__notify(struct serve *serve)
{
    bool is_due = serve->notify.is_due;

    serve->notify.is_due = false;
    for (size_t i = 0; i < SERVE_POSTERS; i++) {
        struct offering offering = {serve, posters(serve)[i], &serve->notify.offered[i], clock_wall_us()};
        struct why why = {0};

        if (offering.poster != NULL && is_due &&
            store_approvals_each(serve->store, APPROVALS_AFTER, *offering.offered, offering.now_us, offer, &offering, &why) !=
                CODE_OK)
            serve->notify.is_due = true;
    }
    remember(serve);
}
