/* SPDX-License-Identifier: Apache-2.0 */
/* callgate audit archive and erase: asked of the running gate through the store; where none runs, done here under its lock. */
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/fleet_words.h"
#include "cli/told.h"
#include "run/serve.h"
#include "run/serve_audit.h"
#include "store/store.h"
#include "store/store_approvals.h"
#include "store/store_audit.h"
#include "store/store_behind.h"
#include "store/store_erasures.h"

#include "base/mem.h"
#include "os/clock.h"
#include "unicode/unicode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 50
#define WAIT_MS_DEFAULT 60000
#define COPIES_REMAIN \
    "the database's own log, pages that it has not cleaned up, and its backups keep copies until they are over"

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
}

static enum code ask_writer(struct audit *audit, const struct store_audit_request *request)
{
    if (request->kind == STORE_AUDIT_ARCHIVE)
        return audit_archive(audit, span_text(request->actor));
    return audit_erase(audit, &(struct audit_erasure){span_text(request->tenant), span_text(request->actor),
                                                      span_text(request->why), request->before_us, request->id});
}

static int tell(const struct store_audit_request *request, bool as_json, bool done, const char *text)
{
    bool erases = request->kind == STORE_AUDIT_ERASE;
    struct doc *doc;

    if (!done)
        return complain(STATUS_CANNOT, "%s", text);
    doc = doc_object();
    doc_text(doc, "state", erases ? SPAN_LIT("erased") : SPAN_LIT("sealed"));
    print_time(doc, "asked", request->asked_us);
    doc_text(doc, "asked_by", span_text(request->actor));
    doc_text_or_null(doc, "tenant", erases ? span_text(request->tenant) : SPAN_NONE);
    print_time(doc, "before", request->before_us);
    doc_text_or_null(doc, "why", erases ? span_text(request->why) : SPAN_NONE);
    doc_text(doc, "text", span_text(text));
    return told_answer(&doc, as_json, "[{?state=sealed}sealed: ]{text}\n");
}

/* Without the store nobody knows what is held. It is asked there as of a gate, so that whoever places a hold sees it, and that
 * the next start takes it up where we are killed. */
static enum code ask_store(const struct conf *conf, struct db *store, struct store_audit_request *request, struct why *why)
{
    struct store_places places;
    char mark[STORE_MARK_BYTES];
    enum code code = store_is_behind(store, conf->store, conf->audit.database, &places, why); /* an older one may lack a hold */

    if (code == CODE_OK)
        code = store_audit_mark(conf->audit.database, mark, why);
    return code == CODE_OK ? store_audit_ask(store, mark, request, why) : code;
}

/* What of the values the store holds, for people who have to decide, goes with them. */
static enum code tell_store(struct db *store, const struct store_audit_request *request, const struct audit_done *done,
                            struct why *why)
{
    bool is_done = done->code == CODE_OK;
    enum code code = CODE_OK;

    if (is_done)
        code = store_approvals_erase(store, &(struct store_erasure){span_text(request->tenant), request->before_us,
                                     clock_wall_us()}, why);
    return code == CODE_OK ? store_audit_answer(store, request->id, is_done, done->text, clock_wall_us(), why) : code;
}

/* Nobody else writes the audit: until it is done, or we are interrupted and the next start goes on. */
static int do_here(struct serve *serve, struct store_audit_request *request, bool as_json)
{
    bool erases = request->kind == STORE_AUDIT_ERASE;
    struct audit_done done = {.code = CODE_OK};
    struct db *store = NULL;
    struct why why = {0};
    enum code code = erases ? store_open(serve->conf->store, DB_WRITE, &store, &why) : CODE_OK;

    if (code == CODE_OK && erases)
        code = ask_store(serve->conf, store, request, &why);
    if (code == CODE_OK)
        code = audit_start(serve->audit, &why);
    if (code == CODE_OK)
        code = ask_writer(serve->audit, request);
    while (code == CODE_OK && !audit_job_over(serve->audit, &done))
        nap();
    if (code == CODE_OK && erases)
        code = tell_store(store, request, &done, &why);
    db_close(&store);
    return code == CODE_OK ? tell(request, as_json, done.code == CODE_OK, done.text) : complain_why(code, &why);
}

static int await_answer(struct db *store, const struct store_audit_request *request, bool as_json)
{
    for (int waited_ms = 0; waited_ms < WAIT_MS_DEFAULT; waited_ms += LOOK_MS) {
        struct why why = {0};
        char *text = NULL;
        bool done = false;
        enum code code = store_audit_answered(store, request->id, &done, &text, &why);
        int status;

        if (code == CODE_OK) {
            status = tell(request, as_json, done, text);
            mem_free(text);
            return status;
        }
        if (code != CODE_NOT_FOUND && code != CODE_BUSY)
            return complain_why(code, &why);
        nap();
    }
    return complain(STATUS_NEGATIVE, "the gate is at it since a minute and goes on by itself; its log says what it waits for, "
                    "mostly for somebody's read of the file to end");
}

static int ask_gate(const struct conf *conf, struct store_audit_request *request, bool as_json)
{
    char mark[STORE_MARK_BYTES];
    struct db *store = NULL;
    struct why why = {0};
    enum code code = store_open(conf->store, DB_WRITE, &store, &why);
    int status;

    if (code == CODE_OK)
        code = store_audit_mark(conf->audit.database, mark, &why);
    if (code == CODE_OK)
        code = store_audit_ask(store, mark, request, &why);
    status = code == CODE_OK ? await_answer(store, request, as_json) : complain_why(code, &why);
    db_close(&store);
    return status;
}

static int change(const struct asked *asked, struct store_audit_request *request)
{
    struct serve serve = {.conf = NULL};
    struct why why = {0};
    enum code code;
    int status = asked_conf(asked, &serve.conf);

    if (status != OPTIONS_GO)
        return status;
    if (access(serve.conf->audit.database, F_OK) != 0) {
        status = complain(STATUS_CANNOT, "there is no %s", serve.conf->audit.database);
    } else {
        code = serve_open_audit(&serve, &why);
        if (code == CODE_BUSY)
            status = ask_gate(serve.conf, request, asked->json);
        else
            status = code == CODE_OK ? do_here(&serve, request, asked->json) : complain_why(code, &why);
    }
    if (status == STATUS_DONE && request->kind == STORE_AUDIT_ERASE && serve.conf->fleet.membership != NULL)
        print_safely(stderr, "callgate: the fleet's centre empties its rows of this node once it has the event `erased`; "
                     COPIES_REMAIN "\n");
    serve_close_audit(&serve);
    conf_free(&serve.conf);
    return status;
}

static void from_us(struct store_audit_request *request)
{
    actor_name(request->actor);
    request->asked_us = clock_wall_us();
}

int cmd_audit_archive(const struct asked *asked)
{
    struct store_audit_request request = {.kind = STORE_AUDIT_ARCHIVE};

    from_us(&request);
    return change(asked, &request);
}

static int read_erasure(const struct asked *asked, struct store_audit_request *request)
{
    const char *tenant = asked->tenant;

    if (*tenant == '\0' || strlen(tenant) >= sizeof request->tenant || !unicode_is_utf8(span_text(tenant)))
        return complain(STATUS_USAGE, "--tenant \"%s\" is no tenant", tenant);
    if (asked->before_us > clock_wall_us())
        return complain(STATUS_USAGE, "--before is not past yet");
    (void)snprintf(request->tenant, sizeof request->tenant, "%s", tenant);
    request->before_us = asked->before_us;
    (void)snprintf(request->why, sizeof request->why, "%s", asked->why);
    return OPTIONS_GO;
}

static int confirm(const struct store_audit_request *request, const struct asked *asked)
{
    char until[CLOCK_TEXT_BYTES], line[16] = "";

    if (asked->json || isatty(STDIN_FILENO) == 0)
        return complain(STATUS_USAGE, "nobody can be asked here; say --yes");
    clock_text(request->before_us, until);
    print_safely(stdout,
                 "Erase the arguments of all calls of tenant \"%s\" before %s, %s?\n"
                 "They cannot be brought back. [y/N] ", request->tenant, until,
                 asked->fleet ? "at all nodes of the fleet and at its centre" : "in the audit and the sealed files beside it");
    (void)fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL || (line[0] != 'y' && line[0] != 'Y'))
        return complain(STATUS_NEGATIVE, "nothing was erased");
    return OPTIONS_GO;
}

/* Every node of the fleet asks its own audit for it, once it has the change. */
static int erase_everywhere(const struct asked *asked, const struct store_audit_request *request)
{
    struct fleet_words words;
    struct why why = {0};
    enum code code = fleet_words_open(&words, asked, DB_WRITE, FLEET_WORDS_LOCKED, &why);

    if (code == CODE_OK)
        code = store_erasure_add(words.db, request, &why);
    code = fleet_words_end(&words, code, "erasure", NULL, &why);
    fleet_words_close(&words);
    if (code != CODE_OK)
        return complain_why(code, &why);
    print_safely(stderr, "callgate: " COPIES_REMAIN "\n");
    if (words.some_lack)
        return complain(STATUS_NEGATIVE, "the nodes that are named last erase once they have the change, by themselves; the "
                        "same command says later which have");
    return tell(request, asked->json, true, "every node has erased it, and the centre its rows of each");
}

int cmd_audit_erase(const struct asked *asked)
{
    struct store_audit_request request = {.kind = STORE_AUDIT_ERASE};
    int status;

    from_us(&request);
    status = read_erasure(asked, &request);
    if (status == OPTIONS_GO && !asked->yes)
        status = confirm(&request, asked);
    if (status != OPTIONS_GO)
        return status;
    return asked->fleet ? erase_everywhere(asked, &request) : change(asked, &request);
}
