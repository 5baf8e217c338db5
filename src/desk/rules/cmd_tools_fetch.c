/* SPDX-License-Identifier: Apache-2.0 */
/* callgate tools fetch: asks the servers of a configuration what their tools are, so that people can accept them before
 * an agent lists them. */
#include "rules/cmd_tools_priv.h"

#include "conf/conf.h"
#include "setup/lister.h"
#include "args/print.h"
#include "cli/told.h"
#include "store/store.h"
#include "os/clock.h"

#include <stdio.h>

struct fetching {
    const struct asked *asked;
    struct web *web;
    struct db *store;
    struct definitions *told;
    const struct proxy_route *route; /* that is asked */
    uint32_t tools;
};

static enum code note_tool(void *context, const struct json_node *tool)
{
    struct fetching *fetching = context;
    const struct definition_asker asker = {.upstream = fetching->route->name};
    const struct definition_told told = {.share = fetching->route->name, .tool = json_member_text(tool, "name"),
                                         .text = tool->raw, .now_us = clock_wall_us()};

    if (told.tool.len > 0) {
        (void)definitions_learn(fetching->told, NULL, &asker, &told);
        fetching->tools++;
    }
    return CODE_OK;
}

static enum code store_all(struct fetching *fetching, struct store_definitions_put *sum, struct why *why)
{
    struct store_definitions_put put;
    enum code code = CODE_OK;
    struct span rest;
    struct buf notes;

    buf_init(&notes, SIZE_MAX / 2);
    definitions_take(fetching->told, &notes);
    rest = buf_peek(&notes);
    while (code == CODE_OK && rest.len > 0) {
        code = store_definitions_put(fetching->store, &rest, clock_wall_us(), &put, why);
        sum->fresh += put.fresh;
        sum->changed += put.changed;
    }
    buf_fini(&notes);
    return code;
}

static bool has_program(const struct proxy_upstream *upstream)
{
    for (size_t i = 0; i < upstream->header_count; i++)
        if (upstream->headers[i].program != NULL)
            return true;
    return false;
}

/* What of the route nobody can ask from here. NULL: it can be. Sets the credential that goes up. */
static const char *find_credential(const struct fetching *fetching, const struct proxy_route *route,
                                   struct proxy_header *authorization)
{
    const struct outgoing *outgoing = &route->upstream.outgoing;

    if (route->is_pipe || route->upstream.command.len > 0 || route->upstream.host == NULL)
        return "a command's tools are noted when an agent lists them";
    if (route->slugs.count > 0 || route->subtree || route->dialect->is_plain)
        return "the tools behind its path are noted when an agent lists them";
    if (outgoing->kind == OUTGOING_CLIENT || outgoing->kind == OUTGOING_EXCHANGE)
        return "its tokens are a provider's: its tools are noted when an agent lists them";
    if (outgoing->kind == OUTGOING_PROGRAM || has_program(&route->upstream))
        return "a program says its credential to the gate: its tools are noted when an agent lists them";
    if (outgoing->kind == OUTGOING_FILE)
        *authorization = (struct proxy_header){.name = SPAN_LIT("Authorization"), .value = outgoing_find(
            outgoing, fetching->asked->tenant != NULL ? span_text(fetching->asked->tenant) : SPAN_LIT(""),
            fetching->asked->principal != NULL ? span_text(fetching->asked->principal) : SPAN_LIT(""))};
    return outgoing->kind == OUTGOING_FILE && authorization->value.at == NULL
               ? "its credentials are each caller's own: say --tenant, and --principal where it is that" : NULL;
}

static enum code ask(struct fetching *fetching, const struct proxy_header *authorization, struct why *why)
{
    struct proxy_upstream upstream = fetching->route->upstream;
    struct dialogue dialogue;
    struct lister lister = {.dialogue = &dialogue, .each = note_tool, .context = fetching};
    enum code code;
    bool is_old;

    if (authorization->value.at != NULL) {
        upstream.headers = authorization;
        upstream.header_count = 1;
    }
    dialogue_init(&dialogue, &upstream, fetching->web);
    code = lister_ask_any(&lister, &is_old, why);
    dialogue_fini(&dialogue);
    return code;
}

static int fetch_one(struct fetching *fetching, const struct proxy_route *route)
{
    struct proxy_header authorization = {.value = SPAN_NONE};
    struct store_definitions_put put = {.notes = 0};
    const char *unasked = find_credential(fetching, route, &authorization);
    struct why why = {0};
    enum code code = CODE_OK;
    struct doc *doc;

    fetching->route = route;
    fetching->tools = 0;
    if (unasked == NULL)
        code = ask(fetching, &authorization, &why);
    if (unasked == NULL && code == CODE_OK)
        code = store_all(fetching, &put, &why);
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%.*s: %s", SPAN_ARG(route->name), why.text[0] != '\0' ? why.text : code_text(code));
    doc = doc_object();
    doc_text(doc, "upstream", route->name);
    doc_int(doc, "tools", fetching->tools);
    doc_int(doc, "new", put.fresh);
    doc_int(doc, "changed", put.changed);
    doc_text_or_null(doc, "unasked", span_text(unasked));
    return told_answer(&doc, fetching->asked->json, "{upstream}: [not asked: {unasked}][{!unasked}{tools} tool[{!tools=1}s], "
                       "{new} new to the store, {changed} of them changed]\n");
}

/* Returns: the first of the names that no route has, or NULL. */
static const char *find_stranger(const struct given *given, const struct conf *conf)
{
    for (int i = 0; i < given->count; i++) {
        size_t at = 0;

        while (at < conf->proxy->route_count && !span_is(conf->proxy->routes[at].name, given->operands[i]))
            at++;
        if (at == conf->proxy->route_count)
            return given->operands[i];
    }
    return NULL;
}

static int fetch_all(struct fetching *fetching, const struct conf *conf)
{
    const struct given *given = &fetching->asked->given;
    const char *stranger = find_stranger(given, conf);
    int status = STATUS_DONE;

    if (stranger != NULL)
        return complain(STATUS_USAGE, "no route of the configuration is named \"%s\"; nobody was asked", stranger);
    for (size_t i = 0; i < conf->proxy->route_count; i++) {
        const struct proxy_route *route = &conf->proxy->routes[i];
        bool is_meant = given->count == 0 && span_is_empty(route->front.client); /* nobody has tools where people log in */

        for (int j = 0; j < given->count; j++)
            is_meant |= span_is(route->name, given->operands[j]);
        if (is_meant && fetch_one(fetching, route) != STATUS_DONE)
            status = STATUS_CANNOT;
    }
    return status;
}

static int fetch(struct fetching *fetching)
{
    struct conf *conf = NULL;
    struct why why = {0};
    int status = asked_conf(fetching->asked, &conf);
    enum code code;

    if (status != OPTIONS_GO)
        return status;
    code = store_open(conf->store, DB_CREATE, &fetching->store, &why);
    if (code == CODE_OK)
        code = definitions_new(&fetching->told);
    if (code == CODE_OK)
        code = web_new(&fetching->web, &why);
    if (code == CODE_OK)
        code = web_start(fetching->web, &why);
    status = code == CODE_OK ? fetch_all(fetching, conf) : complain_why(code, &why);
    web_free(&fetching->web);
    definitions_free(&fetching->told);
    db_close(&fetching->store);
    conf_free(&conf);
    return status;
}

int cmd_tools_fetch(const struct asked *asked)
{
    struct fetching fetching = {.asked = asked};

    return fetch(&fetching);
}
