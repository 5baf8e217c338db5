/* SPDX-License-Identifier: Apache-2.0 */
/* callgate console: pages over the gate's socket. It reads its configuration and certificate, then gives up every file, and
 * serves with a fixed number of threads, each one visit at a time. */
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/told.h"
#include "console/by_code.h"
#include "console/pages.h"
#include "crypto/secret.h"
#include "http/authority.h"
#include "os/clock.h"
#include "os/sandbox.h"
#include "os/sock.h"
#include "os/thread.h"
#include "people/control.h"
#include "people/login.h"

#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define VISITS_MAX 48 /* at once */
#define PAUSE_MS 100
#define LARGE_BYTES (128 << 10) /* such blocks, and a free end of the heap, are the system's again at once */
#define USUAL_ADDRESS "127.0.0.1:8480"

static struct {
    struct visit_conf conf;
    struct conf_console read;
    struct buf login;
    struct thread threads[VISITS_MAX];
    int listener;
} console = {.listener = -1, .conf = {.answer = pages_answer, .places = VISITS_MAX}};

static void serve(void *nothing)
{
    struct pollfd waits = {.fd = console.listener, .events = POLLIN};
    struct sock_address peer;
    int fd;

    (void)nothing;
    sandbox_narrow(SANDBOX_VISIT);
    for (;;) {
        enum code code = poll(&waits, 1, -1) == 1 ? sock_accept(console.listener, &fd, &peer) : CODE_BUSY;

        if (code == CODE_OK)
            visit_serve(&console.conf, fd, &peer);
        else if (code != CODE_BUSY)
            (void)poll(NULL, 0, PAUSE_MS); /* the machine is short of something: not as fast as it can */
        mem_spare_drop(); /* each page gives back more than it takes, and there are many threads */
    }
}

/* ---- where, and how it is called ---- */

static void add_host(const char *name, uint16_t port)
{
    (void)snprintf(console.conf.hosts[console.conf.host_count++], sizeof console.conf.hosts[0], "%s:%u", name, port);
}

/* Names by which browsers may come. Of an URL's port that its scheme has anyway, Host says nothing. */
static int find_hosts(const struct sock_address *address)
{
    struct http_origin origin;
    char ip[SOCK_TEXT_BYTES];

    if (console.read.url == NULL) {
        sock_text(address, ip);
        add_host("localhost", sock_port(address));
        (void)snprintf(console.conf.hosts[console.conf.host_count++], sizeof console.conf.hosts[0], "%s", ip);
        return OPTIONS_GO;
    }
    if (!http_origin_read(span_text(console.read.url), &origin) ||
        !span_is(origin.scheme, console.conf.tls != NULL ? "https" : "http"))
        return complain(STATUS_USAGE, "`console: {url: %s}` is no URL of this console's; write %s, without a path",
                        console.read.url, console.conf.tls != NULL ? "'https://gate.example.com'" : "'http://127.0.0.1:8480'");
    (void)snprintf(console.conf.hosts[console.conf.host_count++], sizeof console.conf.hosts[0], "%.*s%s%.*s",
                   SPAN_ARG(origin.authority.name), origin.authority.port.len > 0 ? ":" : "", SPAN_ARG(origin.authority.port));
    return OPTIONS_GO;
}

/* A cookie is every port's of its host, so that the name has the port where several may serve there. */
static void name_cookie(const struct sock_address *address)
{
    if (console.conf.tls != NULL)
        (void)snprintf(console.conf.cookie, sizeof console.conf.cookie, "__Host-callgate");
    else
        (void)snprintf(console.conf.cookie, sizeof console.conf.cookie, "callgate-%u", sock_port(address));
}

static int open_listener(const struct asked *asked)
{
    const char *text = asked->address != NULL        ? asked->address
                       : console.read.address != NULL ? console.read.address
                                                      : USUAL_ADDRESS;
    const bool has_tls = console.read.tls.certificate != NULL || console.read.tls.key != NULL;
    struct sock_address address;
    struct why why = {""};
    enum code code = sock_parse(span_text(text), &address, &why);

    if (code == CODE_OK && !has_tls && !sock_is_loopback(&address))
        code = why_set(&why, CODE_INVALID, "the console at %s would show people's logins to the network; give it `console: "
                       "{tls: {certificate: FILE, key: FILE}}`, or an address of this machine alone", text);
    if (code == CODE_OK && has_tls && console.read.url == NULL)
        code = why_set(&why, CODE_INVALID, "`console` has `tls` and no `url`; write how people call it: {url: "
                       "'https://gate.example.com'}");
    if (code == CODE_OK && has_tls)
        code = tls_server_new(&console.read.tls, &console.conf.tls, &why);
    if (code == CODE_OK)
        code = sock_listen_alone(&address, &console.listener, &why);
    if (code == CODE_OK)
        code = sock_local(console.listener, &address);
    if (code != CODE_OK)
        return complain_why(code, &why);
    name_cookie(&address);
    return find_hosts(&address);
}

/* ---- who runs it ---- */

/* Whether a gate is there, and what it says of who runs the console. */
static int try_gate(void)
{
    struct session session;
    struct answer answer;
    int status = OPTIONS_GO;

    session_init(&session);
    session.has_login = console.conf.login.at != NULL && buf_put(&session.login, console.conf.login) == CODE_OK;
    if (!visit_who(&session, false, &answer) && !answer.is_refused)
        status = complain(STATUS_CANNOT, "%.*s", SPAN_ARG(buf_peek(&answer.said)));
    answer_fini(&answer);
    session_fini(&session);
    return status;
}

static int find_login(const char *socket)
{
    const char *text;
    int status = control_login(socket, &console.login, &text);

    if (text != NULL)
        console.conf.login = buf_peek(&console.login);
    asking_open(socket);
    return status == OPTIONS_GO ? try_gate() : status;
}

/* ---- the command ---- */

/* Its many threads rest most of the time, so that one heap is enough: each of sixteen would keep what its largest page took. */
static void share_heap(void)
{
#ifdef __GLIBC__ /* other libraries have one anyway */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* said, lest it grow with the largest answer so far */
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
#endif
}

static int tell(const struct asked *asked)
{
    const char *scheme = console.conf.tls != NULL ? "https" : "http", *host = console.conf.hosts[console.conf.host_count - 1];
    char once[SESSIONS_SECRET_BYTES], text[512];
    struct sock_address address;
    struct doc *doc = doc_object();
    int status;

    (void)snprintf(text, sizeof text, "%s://%s/", scheme, host);
    doc_text(doc, "url", span_text(text));
    if (sock_local(console.listener, &address) == CODE_OK)
        sock_text(&address, text);
    doc_text(doc, "address", span_text(text));
    if (console.read.url == NULL) {
        sessions_offer_once(once, clock_monotonic_us());
        (void)snprintf(text, sizeof text, "%s://%s/login?once=%s", scheme, host, once);
        doc_text(doc, "once", span_text(text));
    } else {
        doc_null(doc, "once");
    }
    status = told_answer(&doc, asked->json, "the console is at {url}\n[open this, once and within ten minutes: {once}\n]");
    return fflush(stdout) == 0 ? status : STATUS_CANNOT;
}

static int confine(void)
{
    struct why why = {""};
    enum code code = by_code_open(&console.read, &why);

    pages_open();
    if (code == CODE_OK)
        code = sandbox_enter(&why);
    if (code == CODE_OK)
        code = by_code_start(&why);

    return code == CODE_OK ? OPTIONS_GO : complain_why(code, &why);
}

static int start(void)
{
    struct why why = {""};
    enum code code = CODE_OK;

    for (size_t i = 1; i < VISITS_MAX && code == CODE_OK; i++)
        code = thread_start(&console.threads[i], "visits", serve, NULL, &why);
    if (code != CODE_OK)
        return complain_why(code, &why);
    serve(NULL);
    return STATUS_DONE;
}

/* A missing configuration leaves all at its default, where the socket is said otherwise. */
static int read_conf(const struct asked *asked, struct arena *arena)
{
    static struct faults faults;

    faults_init(&faults);
    if (access(conf_file_path(asked->file), F_OK) != 0 && asked->config == NULL) {
        arena_init(arena, 1);
        return OPTIONS_GO;
    }
    return conf_console(asked->file, arena, &console.read, &faults) == CODE_OK ? OPTIONS_GO : complain_faults(&faults);
}

/* Whether the gate is one of many. What is wrong with that is the gate's to say. */
static bool has_fleet(const struct asked *asked)
{
    struct conf_fleet fleet = {.membership = NULL};
    struct faults faults;
    struct arena arena;
    bool has;

    faults_init(&faults);
    if (access(conf_file_path(asked->file), F_OK) != 0)
        return false;
    has = conf_fleet(asked->file, &arena, &fleet, &faults) == CODE_OK && fleet.membership != NULL;
    arena_fini(&arena);
    return has;
}

int cmd_console(const struct asked *asked)
{
    struct arena arena, socket_arena;
    struct why why = {""};
    const char *socket = control_socket(asked->file, &socket_arena);
    int status = read_conf(asked, &arena);
    enum code code = sandbox_harden(&why);

    share_heap();
    console.conf.has_fleet = has_fleet(asked);
    if (code == CODE_OK)
        code = secret_heap_open(&why);
    if (code != CODE_OK && status == OPTIONS_GO)
        status = complain_why(code, &why);
    if (status == OPTIONS_GO)
        status = find_login(socket);
    if (status == OPTIONS_GO)
        status = open_listener(asked);
    if (status == OPTIONS_GO)
        status = confine();
    if (status == OPTIONS_GO && (status = tell(asked)) == STATUS_DONE)
        status = start();
    sock_close(&console.listener);
    tls_unref(&console.conf.tls);
    buf_fini(&console.login);
    arena_fini(&arena);
    arena_fini(&socket_arena);
    return status;
}
