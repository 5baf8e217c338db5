/* SPDX-License-Identifier: Apache-2.0 */
/* What a database's URL may say. Everything else is ours to say: libpq takes each option that nobody gave from the
 * environment, from a file of services or from the home folder, and who can write one of those must not choose the server,
 * the authority or the password. */
#include "base/mem.h"
#include "base/num.h"
#include "pg/pg_priv.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PG_PORT 5432 /* where the URL says none */
#define NOWHERE "/proc/self/nothing" /* in place of files that libpq would look for at home */

extern char **environ;

/* Each name is taken out of the list that is walked, so the walk begins anew. */
static void forget_environment(void)
{
    for (size_t i = 0; environ != NULL && environ[i] != NULL;) {
        size_t len = strcspn(environ[i], "=");
        char name[64];

        if (strncmp(environ[i], "PG", 2) != 0 || len >= sizeof name) {
            i++;
            continue;
        }
        memcpy(name, environ[i], len);
        name[len] = '\0';
        (void)unsetenv(name);
        i = 0;
    }
}

static const char *given(const struct pg__options *options, const char *name)
{
    for (const PQconninfoOption *at = options->parsed; at->keyword != NULL; at++)
        if (strcmp(at->keyword, name) == 0)
            return at->val;
    return NULL;
}

static void put(struct pg__options *options, const char *name, const char *value)
{
    BUG_ON(options->count + 1 >= PG__OPTIONS_MAX);
    options->names[options->count] = name;
    options->values[options->count++] = value;
}

static enum code refuse_others(const struct pg_place *place, const struct pg__options *options, struct why *why)
{
    static const char *const known[] = {"host", "hostaddr", "port", "dbname", "sslmode", "sslrootcert", NULL};

    for (const PQconninfoOption *at = options->parsed; at->keyword != NULL; at++) {
        bool is_known = at->val == NULL;

        for (size_t i = 0; known[i] != NULL && !is_known; i++)
            is_known = strcmp(at->keyword, known[i]) == 0;
        if (is_known)
            continue;
        if (strcmp(at->keyword, "password") == 0)
            return why_set(why, CODE_INVALID, "the database's URL holds a password; take it out: it has a file of its own");
        if (strcmp(at->keyword, "user") != 0)
            return why_set(why, CODE_INVALID, "the database's URL says `%s`; it may say hosts, port, name, sslmode and "
                                              "sslrootcert", at->keyword);
        if (place->user.len > 0)
            return why_set(why, CODE_INVALID, "the database's URL names a user; take it out: the role is said elsewhere");
    }
    return CODE_OK;
}

/* Of several hosts all are folders, or none. */
static enum code ask_hosts(const struct pg__options *options, bool *is_local, struct why *why)
{
    struct span rest = span_text(given(options, "host")), host;
    size_t folders = 0, hosts = 0;

    do {
        host = span_cut(rest, ',', &rest);
        hosts++;
        folders += host.len > 0 && host.at[0] == '/';
        if (host.len == 0)
            return why_set(why, CODE_INVALID, "the database's URL names no host; write postgresql://HOST/NAME?"
                                              "sslmode=verify-full&sslrootcert=FILE");
    } while (rest.len > 0);
    *is_local = folders == hosts;
    return folders == 0 || folders == hosts
               ? CODE_OK
               : why_set(why, CODE_INVALID, "the database's URL has both hosts and folders of Unix sockets; write one kind");
}

static enum code ask_tls(const struct pg_place *place, struct pg__options *options, struct why *why)
{
    const char *mode = given(options, "sslmode"), *root = given(options, "sslrootcert");
    bool is_beside = root != NULL && root[0] != '/' && place->folder != NULL;
    int written;

    if (mode == NULL || strcmp(mode, "verify-full") != 0)
        return why_set(why, CODE_INVALID, "the database's URL must say sslmode=verify-full%s%s: less takes any server",
                       mode == NULL ? "" : ", not ", mode == NULL ? "" : mode);
    if (root == NULL || root[0] == '\0')
        return why_set(why, CODE_INVALID, "the database's URL must say sslrootcert=FILE: who certifies its server");
    written = snprintf(options->root, sizeof options->root, "%s%s%s", is_beside ? place->folder : "", is_beside ? "/" : "",
                       root);
    if (written < 0 || (size_t)written >= sizeof options->root)
        return why_set(why, CODE_INVALID, "sslrootcert in the database's URL is too long a path");
    if (access(options->root, R_OK) != 0)
        return why_set(why, CODE_INVALID, "%s: cannot be read; sslrootcert in the database's URL names the certificate of "
                                          "its server's authority", options->root);
    put(options, "sslmode", "verify-full");
    put(options, "sslrootcert", options->root);
    put(options, "channel_binding", "require"); /* nobody is in between, whoever certified him */
    put(options, "ssl_min_protocol_version", "TLSv1.2");
    return CODE_OK;
}

/* The server notices within seconds when we are gone, so that what a session holds does not hold up who comes after it. */
static enum code put_ours(const struct pg_place *place, struct pg__options *options, struct why *why)
{
    options->user = mem_dup(place->user.at, place->user.len);
    options->password = mem_dup(place->password.at, place->password.len);
    if (options->user == NULL || options->password == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for a connection to the database");
    (void)snprintf(options->settings, sizeof options->settings,
                   "-c statement_timeout=%d -c search_path=callgate,pg_temp -c TimeZone=UTC -c DateStyle=ISO"
                   " -c bytea_output=hex"
                   " -c idle_in_transaction_session_timeout=30000 -c tcp_keepalives_idle=3 -c tcp_keepalives_interval=2"
                   " -c tcp_keepalives_count=3 -c tcp_user_timeout=9000",
                   place->wait_ms > 0 ? place->wait_ms : PG_WAIT_MS);
    put(options, "options", options->settings);
    put(options, "user", place->user.len > 0 ? options->user : given(options, "user"));
    put(options, "password", options->password);
    put(options, "passfile", NOWHERE);
    put(options, "sslcert", NOWHERE);
    put(options, "sslkey", NOWHERE);
    put(options, "sslcrl", NOWHERE);
    put(options, "gssencmode", "disable");
    put(options, "client_encoding", "UTF8");
    put(options, "target_session_attrs", place->is_any ? "any" : "read-write");
    put(options, "tcp_user_timeout", "5000");
    put(options, "keepalives", "1");
    put(options, "keepalives_idle", "3");
    put(options, "keepalives_interval", "2");
    put(options, "keepalives_count", "3");
    return CODE_OK;
}

enum code pg__options_read(const struct pg_place *place, struct pg__options *options, struct why *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char *fault = NULL, line[256];
    bool is_local = false;
    enum code code;

    memset(options, 0, sizeof *options);
    (void)pthread_once(&once, forget_environment);
    if (strncmp(place->database, "postgresql://", 13) != 0 && strncmp(place->database, "postgres://", 11) != 0)
        return why_set(why, CODE_INVALID, "the database is no URL; write postgresql://HOST/NAME?sslmode=verify-full"
                                          "&sslrootcert=FILE");
    options->parsed = PQconninfoParse(place->database, &fault);
    if (options->parsed == NULL) { /* what libpq says may repeat the URL, and with it a password */
        code = fault == NULL ? CODE_NOMEM : CODE_INVALID;
        pg__line(fault, line, sizeof line);
        PQfreemem(fault);
        return why_set(why, code, strchr(place->database, '@') != NULL ? "the database's URL cannot be read" :
                                  "the database's URL cannot be read: %s", line);
    }
    code = refuse_others(place, options, why);
    if (code == CODE_OK)
        code = ask_hosts(options, &is_local, why);
    if (code == CODE_OK && given(options, "dbname") == NULL)
        code = why_set(why, CODE_INVALID, "the database's URL has no name behind the host; write postgresql://HOST/NAME?...");
    if (code == CODE_OK && place->user.len == 0 && given(options, "user") == NULL)
        code = why_set(why, CODE_INVALID, "nobody says as which role to connect; write postgresql://ROLE@HOST/NAME?...");
    if (code == CODE_OK && is_local)
        put(options, "sslmode", "disable");
    else if (code == CODE_OK)
        code = ask_tls(place, options, why);
    if (code == CODE_OK)
        code = put_ours(place, options, why);
    if (code == CODE_OK)
        put(options, "dbname", given(options, "dbname"));
    return code;
}

void pg__options_fini(struct pg__options *options)
{
    if (options->password != NULL)
        mem_wipe(options->password, strlen(options->password));
    mem_free(options->user);
    mem_free(options->password);
    if (options->parsed != NULL)
        PQconninfoFree(options->parsed);
}

/* A list of ports has one for each host, or one for all. */
enum code pg_needs(const struct pg_place *place, struct pg_needs *needs, struct why *why)
{
    struct pg__options options;
    enum code code = pg__options_read(place, &options, why);
    const char *ports = code == CODE_OK ? given(&options, "port") : NULL;
    struct span rest = span_text(ports != NULL ? ports : "");
    bool is_local = code != CODE_OK || given(&options, "host")[0] == '/';
    uint64_t number;

    *needs = (struct pg_needs){.port_count = 0};
    while (!is_local && needs->port_count < PG_PORTS_MAX && (needs->port_count == 0 || rest.len > 0))
        needs->ports[needs->port_count++] =
            num_u64(span_cut(rest, ',', &rest), &number) == CODE_OK ? (uint16_t)number : PG_PORT;
    memcpy(needs->root, options.root, sizeof needs->root);
    pg__options_fini(&options);
    return code;
}

enum code pg_check(const struct pg_place *place, struct why *why)
{
    struct pg__options options;
    enum code code = pg__options_read(place, &options, why);

    pg__options_fini(&options);
    return code;
}
