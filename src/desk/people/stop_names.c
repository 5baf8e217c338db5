/* SPDX-License-Identifier: Apache-2.0 */
#include "people/stop_names.h"

#include "args/print.h"
#include "base/mem.h"
#include "base/num.h"
#include "files/trail.h"
#include "names/route_names_read.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

#define LOOK_US (INT64_C(3) * 1000000) /* a stop waits for no longer trail */
#define SERVERS_BYTES 400

/* ---- what was seen ---- */

static const char *const in_store[STOP_BY_COUNT] = {
    [STOP_TENANT] = "SELECT 1 FROM agent_key WHERE tenant = ?1 UNION ALL SELECT 1 FROM approval_ask WHERE tenant = ?1 "
                    "UNION ALL SELECT 1 FROM account WHERE tenant = ?1 LIMIT 1",
    [STOP_PRINCIPAL] = "SELECT 1 FROM agent_key WHERE principal = ?1 UNION ALL SELECT 1 FROM approval_ask WHERE principal = ?1 "
                       "UNION ALL SELECT 1 FROM account WHERE principal = ?1 LIMIT 1",
    [STOP_AGENT] = "SELECT 1 FROM agent_key WHERE agent = ?1 UNION ALL SELECT 1 FROM approval_ask WHERE agent = ?1 LIMIT 1",
    [STOP_UPSTREAM] = "SELECT 1 FROM approval_ask WHERE upstream = ?1 LIMIT 1",
    [STOP_TOOL] = "SELECT 1 FROM listed_tool WHERE tool = ?1 UNION ALL SELECT 1 FROM definition WHERE tool = ?1 "
                  "UNION ALL SELECT 1 FROM approval_ask WHERE tool = ?1 OR via = ?1 LIMIT 1",
    [STOP_SESSION] = "SELECT 1 FROM approval_seen WHERE session = ?1 LIMIT 1",
};

static const char *const in_trail[STOP_BY_COUNT] = {
    [STOP_TENANT] = "SELECT 1 FROM decision WHERE tenant = ?1 LIMIT 1",
    [STOP_PRINCIPAL] = "SELECT 1 FROM decision WHERE principal = ?1 LIMIT 1",
    [STOP_AGENT] = "SELECT 1 FROM decision WHERE agent = ?1 LIMIT 1",
    [STOP_UPSTREAM] = "SELECT 1 FROM decision WHERE upstream = ?1 LIMIT 1",
    [STOP_TOOL] = "SELECT 1 FROM decision WHERE tool = ?1 UNION ALL SELECT 1 FROM decision WHERE via = ?1 LIMIT 1",
    [STOP_SESSION] = "SELECT 1 FROM decision WHERE session = ?1 LIMIT 1",
};

static enum code find(struct db *db, const char *sql, struct db_value value, struct why *why)
{
    int64_t had = 0;
    enum code code = db_number(db, sql, &value, 1, &had);

    return code == CODE_OK && had == 0 ? CODE_NOT_FOUND : db_why(why, code, db, "looking for a name");
}

static enum code find_in_files(const struct trail *trail, const char *sql, struct db_value value, struct why *why)
{
    const int64_t until_us = clock_monotonic_us() + LOOK_US;
    enum code code = CODE_NOT_FOUND;

    for (size_t i = trail->count; i > 0 && code == CODE_NOT_FOUND; i--) {
        struct db *db = NULL;

        if (clock_monotonic_us() > until_us)
            return why_set(why, CODE_BUSY, "the trail is too long to be looked through now");
        code = trail_open(trail->files[i - 1].path, &db, why);
        if (code == CODE_OK)
            code = find(db, sql, value, why);
        db_close(&db);
    }
    return code;
}

/* A store that was named without a configuration says of no trail. */
static bool has_conf(const struct asked *asked)
{
    return asked->store == NULL || asked->config != NULL;
}

static enum code find_in_trail(const struct asked *asked, enum stop_by by, struct span name, struct why *why)
{
    unsigned char session[DIGEST_BYTES];
    struct db_value value = db_of_text(name);
    struct trail trail = {0};
    struct faults faults;
    char *path = NULL;
    enum code code;

    if (!has_conf(asked))
        return why_set(why, CODE_INVALID, "no configuration was named that says where the trail is");
    if (by == STOP_SESSION && num_unhex(name, session, sizeof session) == CODE_OK)
        value = db_of_blob(span_of((const char *)session, sizeof session));
    faults_init(&faults);
    code = conf_audit_path(asked->file, &path, &faults);
    if (code != CODE_OK)
        (void)why_of_faults(why, code, &faults);
    else
        code = trail_find(path, true, &trail, why);
    if (code == CODE_OK)
        code = find_in_files(&trail, in_trail[by], value, why);
    trail_fini(&trail);
    mem_free(path);
    return code;
}

/* Returns: CODE_OK: something here has had it; CODE_NOT_FOUND: nothing has; else nobody can tell, for this reason. */
static enum code find_name(const struct asked *asked, enum stop_by by, struct span name, struct why *why)
{
    struct db *store = NULL;
    enum code code = asked_store(asked, DB_READ, &store, why);

    if (code == CODE_OK)
        code = find(store, in_store[by], db_of_text(name), why);
    db_close(&store);
    return code == CODE_NOT_FOUND ? find_in_trail(asked, by, name, why) : code;
}

/* ---- what routes are called ---- */

/* Returns: the servers of the endpoint that is called so; NULL: none is. */
static const struct yaml_node *servers_of(const struct yaml_node *root, struct span name)
{
    const struct yaml_node *routes = yaml_member(root, "routes");

    for (const struct yaml_node *route = routes ? routes->child : NULL; route != NULL; route = route->next)
        if (yaml_member(route, "name") != NULL && span_equals(yaml_member(route, "name")->text, name))
            return yaml_member(route, "servers");
    return NULL;
}

static int refuse_endpoint(const struct yaml_node *servers, struct span name)
{
    char list[SERVERS_BYTES] = "";
    size_t len = 0;

    for (const struct yaml_node *one = servers->child; one != NULL && len < sizeof list; one = one->next)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%.*s", len > 0 ? ", " : "", SPAN_ARG(one->text));
    return complain(STATUS_USAGE, "--upstream \"%.*s\" is an endpoint of many servers, and a call has the name of its own; "
                    "stop each that is meant: %s", SPAN_ARG(name), list);
}

static int refuse_unknown(const struct route_names *names, struct span name)
{
    char list[SERVERS_BYTES] = "";
    size_t len = 0;

    for (size_t i = 0; i < names->count && len < sizeof list; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", len > 0 ? ", " : "", names->routes[i].name);
    return complain(STATUS_USAGE, "--upstream \"%.*s\": no route is called so, and no call went there, so that nothing would "
                    "be stopped; there are: %s", SPAN_ARG(name), list);
}

/* Whether a route is called so, or may be: *names are those that there are. */
static bool is_route(const struct asked *asked, struct span name, struct route_names *names)
{
    static struct faults faults;

    faults_init(&faults);
    return !has_conf(asked) || route_names_read(asked->file, names, &faults) != CODE_OK ||
           policy_route_exists(names->routes, names->count, name);
}

static bool is_of_fleet(const struct asked *asked)
{
    static struct faults faults;
    const struct yaml_node *root;

    faults_init(&faults);
    return conf_file_root(asked->file, &root, &faults) == CODE_OK && yaml_member(root, "fleet") != NULL;
}

static int check_upstream(const struct asked *asked, struct span name)
{
    static struct faults faults;
    const struct yaml_node *root = NULL, *servers = NULL;
    struct route_names names;
    struct why why;
    int status = OPTIONS_GO;

    faults_init(&faults);
    if (has_conf(asked) && conf_file_root(asked->file, &root, &faults) == CODE_OK)
        servers = servers_of(root, name);
    if (servers != NULL)
        return refuse_endpoint(servers, name);
    route_names_init(&names);
    if (!is_route(asked, name, &names) && !is_of_fleet(asked) &&
        find_name(asked, STOP_UPSTREAM, name, &why) == CODE_NOT_FOUND)
        status = refuse_unknown(&names, name);
    route_names_fini(&names);
    return status;
}

/* ---- what is said ---- */

int stop_names_check(const struct asked *asked, const struct stop *stop)
{
    for (int by = 0; by < STOP_BY_COUNT; by++) {
        struct span name = by == STOP_SESSION ? span_text(asked->session) : stop->by[by];
        struct why why;

        if (name.at != NULL && memchr(name.at, '*', name.len) != NULL &&
            find_name(asked, (enum stop_by)by, stop->by[by], &why) != CODE_OK)
            return complain(STATUS_USAGE, "--%s \"%.*s\": names are exact, and a `*` stands for nothing else, so that nothing "
                            "would be stopped; give a command for each name that is meant, or --all", stop_by_text[by],
                            SPAN_ARG(name));
    }
    return stop->by[STOP_UPSTREAM].at != NULL ? check_upstream(asked, stop->by[STOP_UPSTREAM]) : OPTIONS_GO;
}

static bool is_known_route(const struct asked *asked, struct span name)
{
    struct route_names names;
    bool is;

    route_names_init(&names);
    is = has_conf(asked) && is_route(asked, name, &names) && names.count > 0;
    route_names_fini(&names);
    return is;
}

void stop_names_note(const struct asked *asked, const struct stop *stop, struct buf *note)
{
    struct why why = {""}, unread = {""};
    size_t count = 0;

    for (int by = 0; by < STOP_BY_COUNT; by++) {
        struct span name = stop->by[by];
        enum code code = CODE_OK;

        if (name.at != NULL && (by != STOP_UPSTREAM || !is_known_route(asked, name)))
            code = find_name(asked, (enum stop_by)by, name, &why);
        if (code == CODE_NOT_FOUND)
            (void)buf_addf(note, "%s%s %.*s", count++ > 0 ? ", " : "nothing of that name was seen at this gate so far: ",
                           stop_by_text[by], SPAN_ARG(name));
        else if (code != CODE_OK)
            unread = why;
    }
    if (count > 0)
        (void)buf_addf(note, "; names are exact");
    if (unread.text[0] != '\0')
        (void)buf_addf(note, "%snobody can tell whether anything here has had that name: %s", count > 0 ? "; " : "",
                       unread.text);
}
