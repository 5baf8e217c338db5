/* SPDX-License-Identifier: Apache-2.0 */
/* What another program would change, in the place of the one that runs: asked of that program, which changes nothing. */
#include "setup/upgrade.h"

#include "setup/cmd_status_priv.h"
#include "args/print.h"
#include "db/db.h"
#include "json/json.h"
#include "os/sock.h"

#include <inttypes.h>
#include <string.h>

#define WORDS_BYTES ((size_t)4 << 20)
#define SINCE "7d" /* of the recorded calls that the new program judges again */

/* What a program has said, the last line of it as JSON. */
struct said {
    int status;
    struct buf words, canonical;
    struct arena arena;
    const struct json_node *json; /* NULL: it is none */
};

static struct span last_line(const struct said *said)
{
    struct span words = buf_peek(&said->words);
    const char *before;

    while (words.len > 0 && words.at[words.len - 1] == '\n')
        words.len--;
    before = words.len > 0 ? memrchr(words.at, '\n', words.len) : NULL;
    return before == NULL ? words : span_part(words, (size_t)(before + 1 - words.at), SIZE_MAX);
}

static void ask(struct said *said, const char *const *words)
{
    struct json_fault fault;

    buf_init(&said->words, WORDS_BYTES);
    buf_init(&said->canonical, WORDS_BYTES);
    arena_init(&said->arena, WORDS_BYTES);
    said->json = NULL;
    said->status = upgrade_run(words, &said->words);
    if (json_read(last_line(said), &json_file_rules, &said->canonical, &said->arena, &said->json, &fault) != CODE_OK)
        said->json = NULL;
}

static void forget(struct said *said)
{
    buf_fini(&said->words);
    buf_fini(&said->canonical);
    arena_fini(&said->arena);
}

static struct span text_of(const struct said *said, const char *name)
{
    const struct json_node *value = json_member(said->json, span_text(name));

    return value == NULL ? SPAN_LIT("?") : value->type == JSON_STRING ? value->text : value->raw;
}

/* ---- what it is ---- */

static void look_at_format(struct report *report, const struct said *build, const char *about, const char *name,
                           const char *path)
{
    struct db *db = NULL;
    struct why why = {""};
    struct span text = text_of(build, name);
    int64_t at = 0, will = 0;
    enum code code = db_open(path, DB_READ, &db, &why);

    if (code == CODE_OK)
        code = db_number(db, "PRAGMA user_version", NULL, 0, &at);
    db_close(&db);
    for (size_t i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        will = 10 * will + (text.at[i] - '0');
    if (code == CODE_NOT_FOUND)
        find(report, about, true, "there is none yet at %s", path);
    else if (code != CODE_OK)
        find(report, about, false, "%s cannot be read: %s", path, why.text);
    else if (will == 0)
        find(report, about, true, "%s has format %" PRId64 "; the new program does not say which it knows", path, at);
    else if (will == at)
        find(report, about, true, "format %" PRId64 ", as it is", at);
    else if (will > at)
        find(report, about, true, "format %" PRId64 " becomes %" PRId64 ", which the program of now does not read: there is a "
             "way back only by what is kept beside %s", at, will, path);
    else
        find(report, about, false, "%s has format %" PRId64 "; the new program knows %" PRId64, path, at, will);
}

static void look_at_build(struct report *report, const struct conf *conf, const char *program,
                          const struct upgrade_offer *offer)
{
    const char *const words[] = {program, "version", "--json", NULL};
    struct said build;
    struct span version;

    ask(&build, words);
    version = text_of(&build, "callgate");
    if (build.status != 0 || build.json == NULL)
        find(report, "version", false, "%s does not say which it is: %.*s", program, SPAN_ARG(last_line(&build)));
    else if (offer->gate == -1)
        find(report, "version", false, "no gate runs that could be taken over from; %s is callgate %.*s", program,
             SPAN_ARG(version));
    else
        find(report, "version", true, "callgate %s runs, %s is callgate %.*s", offer->said.version, program, SPAN_ARG(version));
    look_at_format(report, &build, "store", "store", conf->store);
    look_at_format(report, &build, "audit", "audit", conf->audit.database);
    forget(&build);
}

/* ---- what it takes ---- */

static void look_at_conf(struct report *report, const struct conf *conf, const char *program, bool runs)
{
    const char *const words[] = {program, "serve", "--check", "--config", conf->path, NULL};
    struct said check;

    ask(&check, words);
    if (check.status == 0)
        find(report, "conf", true, "it takes %s, and compiles the active version", conf->path);
    if (check.status == 0 && runs && cmd_status__differs(conf))
        find(report, "conf", true, "warning: that file holds something else than what runs, which the upgrade brings along");
    if (check.status != 0)
        find(report, "conf", false, "it does not take %s: %.*s", conf->path, SPAN_ARG(last_line(&check)));
    forget(&check);
}

/* Of the calls that the active version judged: what others say to calls of another version is no work of the program. */
static void look_at_verdicts(struct report *report, const struct conf *conf, const char *program)
{
    const char *const words[] = {program, "policy", "replay", "--json", "--since", SINCE, "--config", conf->path, NULL};
    struct said replay;
    struct span flips;

    ask(&replay, words);
    flips = text_of(&replay, "flips_of_this_version");
    if (replay.json == NULL || span_is(flips, "?"))
        find(report, "verdicts", false, "it does not judge the recorded calls again: %.*s", SPAN_ARG(last_line(&replay)));
    else if (span_is(flips, "0"))
        find(report, "verdicts", true, "of %.*s recorded calls of the last seven days none that the active version judged gets "
             "another verdict", SPAN_ARG(text_of(&replay, "judged")));
    else
        find(report, "verdicts", false, "%.*s recorded calls that the active version judged get another verdict: `%s policy "
             "replay --all` shows them", SPAN_ARG(flips), program);
    forget(&replay);
}

/* ---- what becomes of what is open ---- */

static void look_at_addresses(struct report *report, const struct conf *conf, const struct upgrade_offer *offer)
{
    char text[SOCK_TEXT_BYTES];
    size_t named = 0;
    int fd;

    for (size_t i = 0; i < conf->proxy->listen_count; i++) {
        const struct proxy_listen *listen = &conf->proxy->listens[i];
        size_t there = service_at(&offer->sockets, &listen->address, listen->socket, SIZE_MAX, &fd);

        sock_text(&listen->address, text);
        named += there;
        if (there == 0)
            find(report, "listen", true, "%s is opened anew", listen->socket != NULL ? listen->socket : text);
    }
    if (conf->admin.is_on) {
        size_t there = service_at(&offer->sockets, &conf->admin.address, NULL, SIZE_MAX, &fd);

        sock_text(&conf->admin.address, text);
        named += there;
        if (there == 0)
            find(report, "listen", true, "%s is opened anew, for operators", text);
    }
    if (named < offer->sockets.count)
        find(report, "listen", false, "%zu listening sockets have addresses that the configuration does not name any more: "
             "they are closed, and who waits there is refused", offer->sockets.count - named);
    else
        find(report, "listen", true, "%zu listening sockets are taken over", named);
}

static void look_at_open(struct report *report, const struct conf *conf, const struct upgrade_offer *offer)
{
    const struct handover_offer *said = &offer->said;

    find(report, "calls", true, "%" PRIu64 " connections, %" PRIu64 " with a call: new calls wait until the last of these has "
         "ended, for at most %" PRIu64 " s", said->connections, said->in_flight, said->drain_ms / 1000);
    if (said->streams > 0)
        find(report, "streams", true, "%" PRIu64 " event streams end; their agents connect again", said->streams);
    for (size_t i = 0; i < conf->proxy->route_count; i++) {
        const struct proxy_route *route = &conf->proxy->routes[i];

        if (!span_is_empty(route->upstream.command))
            find(report, "commands", true, "%.*s: its processes end, and with them their sessions: agents begin anew",
                 SPAN_ARG(route->name));
        if (route->server_count > 0)
            find(report, "sessions", true, "%.*s: sessions of an endpoint of many servers end: agents begin anew",
                 SPAN_ARG(route->name));
    }
}

int upgrade_check(const struct conf *conf, const char *program, const struct upgrade_offer *offer, bool as_json)
{
    struct doc *root = as_json ? doc_object() : NULL;
    struct report report = {.findings = as_json ? doc_add_array(root, "findings") : NULL};
    int status = STATUS_DONE;

    look_at_build(&report, conf, program, offer);
    look_at_conf(&report, conf, program, offer->gate != -1);
    look_at_verdicts(&report, conf, program);
    if (offer->gate != -1) {
        look_at_addresses(&report, conf, offer);
        look_at_open(&report, conf, offer);
    }
    if (as_json) {
        doc_bool(root, "good", report.bad == 0);
        status = print_doc(&root);
    }
    doc_free(&root);
    return status == STATUS_DONE && report.bad > 0 ? STATUS_NEGATIVE : status;
}
