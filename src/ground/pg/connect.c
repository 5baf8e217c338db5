/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, host by host, with a time for each; a lost connection; what a failure is called. */
#include "base/mem.h"
#include "os/clock.h"
#include "pg/pg_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_WAIT_MS 5000
#define HOSTS_MAX 16
#define COPY_BYTES_MAX ((size_t)1 << 30)

int64_t pg__until(int wait_ms)
{
    return clock_monotonic_us() + wait_ms * INT64_C(1000);
}

enum code pg__wait(PGconn *conn, bool to_write, int64_t until_us)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = PQsocket(conn), .events = (short)(POLLIN | (to_write ? POLLOUT : 0))};
        int64_t left_ms = (until_us - clock_monotonic_us() + 999) / 1000;
        int ready;

        if (poll_fd.fd < 0 || left_ms <= 0)
            return CODE_IO;
        ready = poll(&poll_fd, 1, (int)left_ms);
        if (ready > 0)
            return CODE_OK;
        if (ready < 0 && errno != EINTR)
            return CODE_IO;
    }
}

void pg__line(const char *text, char *out, size_t size)
{
    size_t len = 0;

    for (; text != NULL && *text != '\0' && *text != '\n' && len + 1 < size; text++)
        if ((unsigned char)*text >= ' ' && *text != 127)
            out[len++] = *text;
    while (len > 0 && (unsigned char)out[len - 1] >= 0x80 && len + 1 == size) /* no half of a character at the cut */
        len--;
    out[len] = '\0';
}

/* The standard's classes, and PostgreSQL's conditions that mean something else than their class. */
static enum code code_of(const char *state)
{
    static const struct { const char *prefix; enum code code; } meanings[] = {
        {"23505", CODE_EXISTS},    {"42501", CODE_DENIED},    {"25006", CODE_IO},        {"57014", CODE_IO},
        {"53300", CODE_IO},        {"55P03", CODE_BUSY},      {"42P01", CODE_NOT_FOUND}, {"42883", CODE_NOT_FOUND},
        {"3F000", CODE_NOT_FOUND}, {"3D000", CODE_NOT_FOUND}, {"42704", CODE_NOT_FOUND}, {"42710", CODE_EXISTS},
        {"42P06", CODE_EXISTS},    {"42P07", CODE_EXISTS},    {"42P04", CODE_EXISTS},    {"25P03", CODE_IO},
        {"08", CODE_IO},           {"28", CODE_DENIED},       {"40", CODE_BUSY},         {"53", CODE_LIMIT},
        {"54", CODE_LIMIT},        {"57P", CODE_IO},          {"58", CODE_IO},           {"XX", CODE_IO},
    };

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strncmp(state, meanings[i].prefix, strlen(meanings[i].prefix)) == 0)
            return meanings[i].code;
    return CODE_INVALID;
}

enum code pg__lose(struct pg *pg, struct why *why, const char *doing)
{
    char line[256];

    pg->is_lost = true;
    pg__line(PQerrorMessage(pg->conn), line, sizeof line);
    return why_set(why, CODE_IO, "%s: the database gave no answer to %s%s%s; it is away, or too slow", pg->server, doing,
                   line[0] != '\0' ? ": " : "", line);
}

enum code pg__failed(struct pg *pg, const PGresult *result, struct why *why)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    char line[256];

    pg->state[0] = '\0';
    if (PQstatus(pg->conn) == CONNECTION_BAD)
        pg->is_lost = true;
    if (state == NULL || strlen(state) != 5)
        return pg__lose(pg, why, "a question");
    memcpy(pg->state, state, 6);
    pg__line(said, line, sizeof line);
    return why_set(why, code_of(state), "%s: %s (%s)", pg->server, line, state);
}

/* With the words of PQERRORS_VERBOSE a server's refusal begins "FATAL:  28P01: ", whatever language it speaks. */
static enum code refused(struct pg *pg, struct why *why)
{
    char line[256];
    const char *at;

    pg__line(PQerrorMessage(pg->conn), line, sizeof line);
    at = strstr(line, ":  ");
    if (at == NULL || strlen(at) < 9 || at[8] != ':') {
        bool is_tls = (strstr(line, "SSL") != NULL && strstr(line, "SYSCALL") == NULL && strstr(line, "closed") == NULL) ||
                      strstr(line, "certificate") != NULL || strstr(line, "channel binding") != NULL;

        return why_set(why, is_tls ? CODE_DENIED : CODE_IO, "%s: %s%s", pg->server, line,
                       is_tls ? "; the database must prove its name by a certificate of the authority in sslrootcert" : "");
    }
    memcpy(pg->state, at + 3, 5);
    pg->state[5] = '\0';
    return why_set(why, code_of(pg->state), "%s: the database does not let this role in: %s (%s)", pg->server, at + 10,
                   pg->state);
}

static enum code connect_one(struct pg *pg, const struct pg__options *options, struct why *why)
{
    int64_t until_us = pg__until(CONNECT_WAIT_MS);
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    PQfinish(pg->conn);
    pg->conn = PQconnectStartParams(options->names, options->values, 0);
    if (pg->conn == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for a connection to the database");
    if (PQstatus(pg->conn) == CONNECTION_BAD)
        return refused(pg, why);
    (void)PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE);
    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        enum code code = pg__wait(pg->conn, status == PGRES_POLLING_WRITING, until_us);

        if (code != CODE_OK)
            return why_set(why, code, "%s: the database did not answer within %d seconds", pg->server, CONNECT_WAIT_MS / 1000);
        status = PQconnectPoll(pg->conn);
    }
    return status == PGRES_POLLING_OK ? CODE_OK : refused(pg, why);
}

static void say_nothing(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

static struct span nth(struct span list, size_t n)
{
    struct span part = list;

    for (size_t i = 0; i <= n; i++)
        part = span_cut(list, ',', &list);
    return part;
}

static const char *value_of(const PQconninfoOption *parsed, const char *name)
{
    for (; parsed->keyword != NULL; parsed++)
        if (strcmp(parsed->keyword, name) == 0)
            return parsed->val;
    return NULL;
}

/* libpq would give the first of several hosts all of our time. A list of ports has one for each host, or one for all. */
static enum code connect_any(struct pg *pg, struct pg__options *options, struct why *why)
{
    struct span hosts = span_text(value_of(options->parsed, "host")), ports = span_text(value_of(options->parsed, "port"));
    struct span addresses = span_text(value_of(options->parsed, "hostaddr"));
    bool has_ports = span_find(ports, ',') < ports.len;
    char host[256], port[16], address[64];
    size_t first = options->count;
    enum code code = CODE_IO;

    for (size_t i = 0; i < HOSTS_MAX && code == CODE_IO && nth(hosts, i).len > 0; i++) {
        (void)snprintf(host, sizeof host, "%.*s", SPAN_ARG(nth(hosts, i)));
        (void)snprintf(port, sizeof port, "%.*s", SPAN_ARG(nth(ports, has_ports ? i : 0)));
        (void)snprintf(address, sizeof address, "%.*s", SPAN_ARG(nth(addresses, i)));
        (void)snprintf(pg->server, sizeof pg->server, "%.100s:%s", host, port[0] != '\0' ? port : "5432");
        options->names[first] = "host", options->values[first] = host;
        options->names[first + 1] = "port", options->values[first + 1] = port;
        options->names[first + 2] = "hostaddr", options->values[first + 2] = address;
        options->names[first + 3] = options->values[first + 3] = NULL;
        code = connect_one(pg, options, why);
    }
    return code;
}

enum code pg_open(const struct pg_place *place, const char *application, struct pg **out, struct why *why)
{
    struct pg *pg = mem_zalloc(sizeof *pg);
    struct pg__options options = {0};
    enum code code;

    *out = NULL;
    if (pg == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for a connection to the database");
    buf_init(&pg->rows, COPY_BYTES_MAX);
    pg->wait_ms = (place->wait_ms > 0 ? place->wait_ms : PG_WAIT_MS) + PG__GRACE_MS;
    code = pg__options_read(place, &options, why);
    if (code == CODE_OK) {
        options.names[options.count] = "application_name";
        options.values[options.count++] = application;
        code = connect_any(pg, &options, why);
    }
    pg__options_fini(&options);
    if (code != CODE_OK) {
        pg_close(&pg);
        return code;
    }
    (void)PQsetNoticeReceiver(pg->conn, say_nothing, NULL);
    (void)PQsetErrorVerbosity(pg->conn, PQERRORS_DEFAULT);
    (void)PQsetnonblocking(pg->conn, 1);
    *out = pg;
    return CODE_OK;
}

void pg_close(struct pg **pg)
{
    if (*pg == NULL)
        return;
    PQfinish((*pg)->conn);
    buf_fini(&(*pg)->rows);
    mem_free(*pg);
    *pg = NULL;
}

bool pg_is_lost(const struct pg *pg)
{
    return pg->is_lost || PQstatus(pg->conn) == CONNECTION_BAD;
}

int pg_socket(const struct pg *pg)
{
    return pg_is_lost(pg) ? -1 : PQsocket(pg->conn);
}

const char *pg_sqlstate(const struct pg *pg)
{
    return pg->state;
}

