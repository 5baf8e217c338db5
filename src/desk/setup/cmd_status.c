/* SPDX-License-Identifier: Apache-2.0 */
/* callgate status: why is everything denied? The answer in words, from the files and the network, whether a gate runs or
 * not: configuration, policy, audit, disk, upstreams. */
#include "setup/cmd_status_priv.h"
#include "cli/commands.h"
#include "expiry/expiry.h"
#include "base/mem.h"
#include "cli/told.h"
#include "people/control.h"
#include "people/known_keys.h"
#include "lane/route_names.h"
#include "store/store.h"
#include "store/store_approvals.h"
#include "store/store_definitions.h"
#include "store/store_stops.h"
#include "store/store_tools.h"
#include "args/print.h"
#include "author/warn.h"

#include "json/doc.h"
#include "os/clock.h"
#include "os/local.h"
#include "os/resolve.h"
#include "os/sock.h"
#include "web/web.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_WAIT_MS 2000
#define NAMES_WAIT_MS 3000
#define EXPIRY_WARN_US (INT64_C(14) * 86400 * 1000000)

void find(struct report *report, const char *about, bool is_good, const char *format, ...)
{
    struct doc *finding;
    char text[768];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report->bad += !is_good;
    finding = report->findings != NULL ? doc_add_object(report->findings, NULL) : doc_object();
    doc_text(finding, "about", span_text(about));
    doc_bool(finding, "good", is_good);
    doc_text(finding, "text", span_text(text));
    if (report->findings == NULL) /* as it is found: servers that are away take their time */
        (void)told_answer(&finding, false, "[{?good}ok  ][{!good}BAD ] {about:left 10} {text}\n");
}

static void tell_stray(void *context, const struct policy_stray *stray)
{
    cmd_status__find(context, "policy", true, "warning: %.*s:%d: %s", SPAN_ARG(stray->path), stray->line, stray->text);
}

/* What the version names and no route has, since either of them changed. */
static void look_at_names(struct report *report, const struct conf *conf, const struct policy *policy, struct db *store)
{
    struct route_names names;
    struct why why = {0};

    route_names_init(&names);
    if (route_names_of(conf->proxy, &names) == CODE_OK && store_tools_take(store, &names, &why) == CODE_OK)
        policy_strays(policy, names.routes, names.count, tell_stray, report);
    route_names_fini(&names);
}

/* A version that was good when it was loaded comes to hold rules that stop nothing any more. */
static void look_at_ends(struct report *report, const struct policy *policy)
{
    static struct faults ended;

    faults_init(&ended);
    warn_ended(policy, &ended);
    for (size_t i = 0; i < ended.count && i < FAULTS_MAX; i++)
        find(report, "policy", true, "warning: %s:%d: %s", ended.fault[i].file, ended.fault[i].line, ended.fault[i].text);
}

/* Takes: code, why: of opening the store. */
static void look_at_policy(struct report *report, const struct conf *conf, struct db *store, enum code code, struct why *why)
{
    struct policy *policy = NULL;
    uint64_t version = 0;

    if (code == CODE_NOT_FOUND) {
        find(report, "policy", false, "there is no store at %s: everything is denied; `callgate policy load FILES` makes it",
             conf->store);
        return;
    }
    if (code == CODE_OK)
        code = policy_store_active(store, &version, why);
    if (code == CODE_OK && version != 0)
        code = store_compile_policy(store, version, &policy_authoring, &policy, why);
    if (code != CODE_OK)
        find(report, "policy", false, "%s", why->text);
    else if (version == 0)
        find(report, "policy", false,
             "no version is active: everything is denied, reason no_policy; `callgate policy load FILES`");
    else
        find(report, "policy", true, "version %" PRIu64 " is active, with %zu rule%s", version, policy_rule_count(policy),
             policy_rule_count(policy) == 1 ? "" : "s");
    if (policy != NULL)
        look_at_ends(report, policy);
    if (policy != NULL && conf->proxy != NULL)
        look_at_names(report, conf, policy, store);
    policy_unref(&policy);
}

/* A stop that somebody forgot looks like a fault. */
static void look_at_stops(struct report *report, struct db *store)
{
    const int64_t now_us = clock_wall_us();
    struct stops *stops = NULL;
    struct why why = {0};

    if (store == NULL)
        return;
    if (store_stops_load(store, now_us, &stops, &why) != CODE_OK)
        find(report, "stops", false, "%s: every call is denied", why.text);
    else if (stops_all(stops, now_us))
        find(report, "stops", false, "every call is stopped; `callgate stops` shows by whom, `callgate resume` lifts it");
    else if (!stops_are_none(stops))
        find(report, "stops", true, "%zu stop%s: `callgate stops` shows %s", stops_count(stops, now_us),
             stops_count(stops, now_us) == 1 ? " stands" : "s stand", stops_count(stops, now_us) == 1 ? "it" : "them");
    stops_unref(&stops);
}

/* Whoever decides is easily forgotten by those who wait. Without a store, what is said of the policy says it. */
static void look_at_approvals(struct report *report, struct db *store)
{
    struct why why = {0};
    int64_t waiting = 0, definitions = 0;
    enum code code;

    if (store == NULL)
        return;
    code = store_approvals_count(store, clock_wall_us(), &waiting, &why);
    if (code == CODE_OK)
        code = store_definitions_count(store, &definitions, &why);
    if (definitions > 0)
        find(report, "tools", true, "%" PRId64 " definition%s of tools %s accepted by nobody: `callgate tools list`",
             definitions, definitions == 1 ? "" : "s", definitions == 1 ? "is" : "are");
    if (code == CODE_OK && waiting > 0)
        find(report, "approvals", true, "%" PRId64 " call%s for a person: `callgate approvals list` shows %s", waiting,
             waiting == 1 ? " waits" : "s wait", waiting == 1 ? "it" : "them");
    else if (code != CODE_OK)
        find(report, "approvals", false, "%s", why.text);
}

static void look_at_store(struct report *report, const struct conf *conf)
{
    struct why why = {""};
    struct db *store = NULL;
    enum code code = store_open(conf->store, DB_READ, &store, &why);

    look_at_policy(report, conf, store, code, &why);
    look_at_stops(report, code == CODE_OK ? store : NULL);
    look_at_approvals(report, code == CODE_OK ? store : NULL);
    cmd_status__fleet(report, conf, code == CODE_OK ? store : NULL);
    db_close(&store);
}

static void look_at_files(struct report *report, const struct proxy_route *route)
{
    const struct outgoing *outgoing = &route->upstream.outgoing;
    int64_t oldest_us = INT64_MAX;

    for (size_t i = 0; i < outgoing->count; i++)
        oldest_us = outgoing->entries[i].since_us < oldest_us ? outgoing->entries[i].since_us : oldest_us;
    if (outgoing->kind == OUTGOING_NONE || outgoing->kind == OUTGOING_PROGRAM)
        return; /* what the gate last said of a program says more (cmd_status_audit.c) */
    if (outgoing->count == 0)
        find(report, "credential", false, "%.*s: nobody has a file %s: every call is denied", SPAN_ARG(route->name),
             outgoing->file);
    else
        find(report, "credential", true, "%.*s: %zu file%s %s, the oldest %" PRId64 " days old", SPAN_ARG(route->name),
             outgoing->count, outgoing->count == 1 ? "" : "s", outgoing->file,
             (clock_wall_us() - oldest_us) / (INT64_C(86400) * 1000000));
}

/* One line for certificates that will do for a while would say nothing to anybody. */
static void look_at_end(void *context, const char *side, struct span name, int64_t until_us)
{
    bool is_trust = strcmp(side, "ca") == 0 || strcmp(side, "client_ca") == 0;
    int64_t left_us = until_us - clock_wall_us();
    char day[CLOCK_TEXT_BYTES];

    if (left_us > EXPIRY_WARN_US)
        return;
    clock_text(until_us, day);
    cmd_status__find(context, "tls", left_us > 0, "%s%s %.*s%s %s %.10s%s", left_us > 0 ? "warning: " : "",
                     is_trust ? "the last authority that is believed at" : strcmp(side, "client") == 0 ?
                     "the certificate that the gate shows to" : "the certificate of", SPAN_ARG(name),
                     is_trust ? "" : ", or one that it rests on,", left_us > 0 ? "ends on" : "ended on", day,
                     left_us > 0 ? "; have it renewed" : ": connections fail; have it renewed");
}

static void look_at_beginning(struct report *report, struct span whose, const struct tls_context *tls)
{
    int64_t from_us, until_us;
    char at[CLOCK_TEXT_BYTES];

    if (!tls_shown_times(tls, &from_us, &until_us) || from_us <= clock_wall_us())
        return;
    clock_text(from_us, at);
    find(report, "tls", false, "the certificate of %.*s is not valid before %.19sZ: connections fail; put one that is in its "
         "place", SPAN_ARG(whose), at);
}

/* Shakes hands as the gate would. Returns: whether a call could go; otherwise, what the matter is, empty: nobody is there. */
static bool accepts_connections(const struct proxy_upstream *upstream, const struct sock_address *address, struct why *fault)
{
    int64_t until_us = clock_monotonic_us() + CONNECT_WAIT_MS * INT64_C(1000), left_us;
    struct pollfd ready = {.events = POLLOUT};
    struct stream *stream = NULL;
    enum io io;

    if (sock_connect(address, &ready.fd) != CODE_OK)
        return false;
    if (poll(&ready, 1, CONNECT_WAIT_MS) != 1 || sock_connect_state(ready.fd) != CODE_OK || upstream->tls == NULL ||
        tls_connect(upstream->tls, ready.fd, upstream->host, &stream) != CODE_OK) {
        bool accepts = upstream->tls == NULL && sock_connect_state(ready.fd) == CODE_OK;

        sock_close(&ready.fd);
        return accepts;
    }
    while ((io = stream_handshake(stream)) == IO_WANT_READ || io == IO_WANT_WRITE) {
        ready.events = io == IO_WANT_READ ? POLLIN : POLLOUT;
        left_us = until_us - clock_monotonic_us();
        if (left_us <= 0 || poll(&ready, 1, (int)(left_us / 1000) + 1) == 0)
            break;
    }
    if (io != IO_OK)
        (void)why_set(fault, CODE_IO, "%s", io == IO_FAIL ? stream_fault(stream) : "TLS handshake: no answer");
    stream_close(&stream);
    return io == IO_OK;
}

static void look_at_route(struct report *report, const struct proxy_route *route, const struct resolve_table *names)
{
    size_t count;
    const struct sock_address *addresses;
    struct why fault = {0};
    bool accepts = false;

    if (!span_is_empty(route->upstream.command)) {
        find(report, "upstream", true, "%.*s is the command %s, which the gate starts when it is wanted",
             SPAN_ARG(route->name), route->upstream.host);
        return;
    }
    if (route->server_count > 0) {
        find(report, "upstream", true, "%.*s is an endpoint of %zu servers, which have routes of their own",
             SPAN_ARG(route->name), route->server_count);
        return;
    }
    if (route->upstream.host == NULL) {
        find(report, "upstream", true, "%.*s is for pipes: each brings its server", SPAN_ARG(route->name));
        return;
    }
    addresses = resolve_find(names, span_text(route->upstream.host), route->upstream.port, &count);
    for (size_t i = 0; i < count && !accepts; i++)
        accepts = accepts_connections(&route->upstream, &addresses[i], &fault);
    find(report, "upstream", accepts, "%.*s at %s:%u %s", SPAN_ARG(route->name), route->upstream.host, route->upstream.port,
         accepts ? "accepts connections"
                 : count == 0 ? "has no address: its name cannot be resolved"
                              : fault.text[0] != '\0' ? fault.text : "does not accept connections");
    if (route->upstream.tls != NULL)
        look_at_beginning(report, span_text("the gate, as this route shows it"), route->upstream.tls);
}

static void look_at_listeners(struct report *report, const struct proxy_conf *conf)
{
    for (size_t i = 0; i < conf->listen_count; i++) {
        char address[SOCK_TEXT_BYTES];

        sock_text(&conf->listens[i].address, address);
        if (conf->listens[i].tls == NULL)
            continue;
        look_at_beginning(report, span_text(address), conf->listens[i].tls);
    }
}

static enum code look_at_upstreams(struct report *report, const struct conf *conf, struct why *why)
{
    const struct resolver_conf how = {0};
    struct resolver *resolver = NULL;
    struct resolve_table *names;
    enum code code = resolver_new(&resolver, &how, conf->names, conf->name_count, why);

    if (code != CODE_OK)
        return code;
    (void)resolver_wait(resolver, NAMES_WAIT_MS);
    names = resolver_table(resolver);
    for (size_t i = 0; i < conf->proxy->route_count; i++) {
        look_at_route(report, &conf->proxy->routes[i], names);
        look_at_files(report, &conf->proxy->routes[i]);
    }
    resolve_table_unref(&names);
    resolver_free(&resolver);
    return CODE_OK;
}

#define PROVIDER_WAIT_US INT64_C(4000000)

/* The set that the gate had last, and whether another would come. */
static void look_at_provider(struct report *report, const struct conf *conf, const struct identity_provider *provider,
                             struct web *web)
{
    struct web_request request = {.tls = provider->tls, .wait_us = PROVIDER_WAIT_US};
    struct identity_key_set *set = NULL;
    struct web_answer answer = {.code = CODE_OK};
    struct why why = {""}, fault = {""};
    char url[IDENTITY_URL_BYTES];
    int64_t now_us = clock_wall_us(), fetched_us;

    if (known_keys_read(conf->store, provider, NULL, now_us, &set, &fetched_us, &why) == CODE_OK)
        find(report, "provider", true, "%s: %zu key%s, as they were %" PRId64 " s ago", provider->rules.name,
             identity_key_set_count(set), identity_key_set_count(set) == 1 ? "" : "s", (now_us - fetched_us) / 1000000);
    else
        find(report, "provider", false, "%s: no key set is known (%s): its tokens let nobody in", provider->rules.name,
             why.text);
    identity_key_set_unref(&set);
    if (provider->keys_file != NULL)
        return;
    if (provider->keys_url == NULL)
        identity_metadata_url(provider, false, url);
    request.url = span_text(provider->keys_url != NULL ? provider->keys_url : url);
    if (web_fetch(web, &request, &answer, &fault) == CODE_OK)
        find(report, "provider", answer.status == 200 || answer.status == 404, "%s answers, with status %d",
             provider->rules.name, answer.status);
    else
        find(report, "provider", false, "%s is away: %s", provider->rules.name,
             fault.text);
    web_answer_fini(&answer);
}

static enum code look_at_providers(struct report *report, const struct conf *conf, struct why *why)
{
    struct web *web = NULL;
    enum code code = CODE_OK;

    if (conf->proxy->provider_count == 0)
        return CODE_OK;
    code = web_new(&web, why);
    if (code == CODE_OK)
        code = web_start(web, why);
    for (size_t i = 0; i < conf->proxy->provider_count && code == CODE_OK; i++)
        look_at_provider(report, conf, &conf->proxy->providers[i], web);
    web_free(&web);
    return code;
}

static void look_at_people(struct report *report, const struct conf_people *people)
{
    struct control_people groups;
    struct why why = {""};
    int fd = -1;
    enum code code = control_people_find(people, &groups, &why);

    if (!people->is_on)
        return;
    if (code != CODE_OK)
        find(report, "people", false, "%s", why.text);
    else if ((code = local_connect(people->socket, &fd)) == CODE_OK)
        find(report, "people", true, "commands of %zu groups are taken on %s", groups.count, people->socket);
    else
        find(report, "people", false, "nobody takes people's commands on %s: %s", people->socket,
             code == CODE_NOT_FOUND ? "no gate runs, or its process for them has ended; restart it" : strerror(errno));
    sock_close(&fd);
}

/* What a guest is told: nothing for which somebody connects, or another file is opened than the configuration, the store and
 * the audit. */
static int look_as_guest(struct report *report, struct conf_file *file)
{
    struct faults faults;
    struct conf conf = {.path = conf_file_path(file)};
    char *store = NULL, *audit = NULL;
    bool is_read;

    faults_init(&faults);
    is_read = conf_store_path(file, &store, &faults) == CODE_OK && conf_audit_path(file, &audit, &faults) == CODE_OK;
    conf.store = store;
    conf.audit.database = audit;
    if (is_read) {
        look_at_store(report, &conf);
        cmd_status__ask_gate(report, &conf);
        cmd_status__audit(report, &conf);
        cmd_status__disk(report, &conf);
    }
    mem_free(store);
    mem_free(audit);
    return is_read ? STATUS_DONE : complain_faults(&faults);
}

/* What the files and the network say. */
static int look(struct report *report, const struct conf *conf)
{
    struct why why = {0};
    enum code code;

    find(report, "conf", true, "%s is good, %zu route%s", conf->path, conf->proxy->route_count,
         conf->proxy->route_count == 1 ? "" : "s");
    look_at_store(report, conf);
    look_at_people(report, &conf->people);
    cmd_status__ask_gate(report, conf);
    cmd_status__audit(report, conf);
    cmd_status__disk(report, conf);
    look_at_listeners(report, conf->proxy);
    code = look_at_upstreams(report, conf, &why);
    expiry_each(conf, look_at_end, report); /* upstreams' as they were met just now */
    if (code == CODE_OK)
        code = look_at_providers(report, conf, &why);
    return code == CODE_OK ? STATUS_DONE : complain_why(code, &why);
}

int cmd_status(const struct asked *asked)
{
    struct doc *root = asked->json ? doc_object() : NULL;
    struct report report = {.findings = asked->json ? doc_add_array(root, "findings") : NULL};
    struct conf *conf = NULL;
    int status = command_is_guests() ? look_as_guest(&report, asked->file) : asked_conf(asked, &conf);

    if (conf != NULL)
        status = look(&report, conf);
    if (status == STATUS_DONE && asked->json) {
        doc_bool(root, "good", report.bad == 0);
        status = print_doc(&root);
    }
    doc_free(&root);
    conf_free(&conf);
    return status == STATUS_DONE && report.bad > 0 ? STATUS_NEGATIVE : status;
}
