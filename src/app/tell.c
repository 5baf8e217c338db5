/* SPDX-License-Identifier: Apache-2.0 */
#include "app/serve_priv.h"

#include "app/store.h"
#include "base/log.h"
#include "os/clock.h"

/* Each source is an append-only table; its query gives id, tenant, actor and detail of the rows past ?1. */
struct source {
    const char *table;
    const char *kind;
    const char *sql;
};

static const struct source sources[] = {
    {"agent_key", "key_made",
     "SELECT id, tenant, made_by, json_object('key', id, 'principal', principal, 'made_us', made_us) "
     "FROM agent_key WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"agent_key_revocation", "key_revoked",
     "SELECT r.id, k.tenant, r.revoked_by, json_object('key', k.id, 'principal', k.principal, 'revoked_us', r.revoked_us) "
     "FROM agent_key_revocation r JOIN agent_key k ON k.id = r.key WHERE r.id > ?1 ORDER BY r.id LIMIT 64"},
    {"policy_activation", "policy_activated",
     "SELECT a.id, NULL, a.activated_by, json_object('version', a.version, 'hash', v.hash, 'message', v.message, "
     "'author', v.author, 'activated_us', a.activated_us) "
     "FROM policy_activation a JOIN policy_version v ON v.version = a.version WHERE a.id > ?1 ORDER BY a.id LIMIT 64"},
};

_Static_assert(sizeof sources / sizeof sources[0] == SERVE_SOURCES, "struct serve has a place for each source");

void serve__event(struct serve *serve, const char *kind, const char *actor, struct span detail)
{
    struct audit_event event = {
        .time_us = clock_wall_us(), .kind = span_text(kind), .actor = span_text(actor), .detail = detail,
    };

    if (audit_put_event(serve->ring, &event) != CODE_OK)
        log_error("app", "the event %s could not be recorded: the audit is down or full", kind);
}

/* Puts the rows past *put_to and moves it. */
static enum code put_rows(struct serve *serve, const struct source *source, struct db_stmt *stmt, int64_t *put_to)
{
    enum code code;

    db_bind_int(stmt, 1, *put_to);
    while ((code = db_step(stmt)) == CODE_OK) {
        struct audit_event event = {
            .time_us = clock_wall_us(), .kind = span_text(source->kind), .tenant = db_text(stmt, 1),
            .actor = db_text(stmt, 2), .detail = db_text(stmt, 3),
        };

        code = audit_put_event(serve->ring, &event);
        if (code == CODE_BUSY || code == CODE_DOWN)
            return CODE_OK; /* the next look goes on */
        if (code != CODE_OK)
            return code;
        *put_to = db_int(stmt, 0);
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code put_source(struct serve *serve, const struct source *source, int64_t *put_to, struct why *why)
{
    struct db_stmt *stmt = NULL;
    int64_t told;
    enum code code = store_told(serve->store, source->table, &told, why);

    if (code != CODE_OK)
        return code;
    if (*put_to < told)
        *put_to = told;
    code = db_prepare(serve->store, source->sql, &stmt);
    if (code == CODE_OK)
        code = put_rows(serve, source, stmt, put_to);
    db_finalize(&stmt);
    return code == CODE_OK ? code : store_why(why, code, serve->store, "reading the store");
}

/* Events have no ticket. What was put before a commit began is in it: so after two more commits, or with nothing left in
 * any ring, it is on disk. */
static bool is_durable(const struct serve *serve)
{
    struct audit_gauges gauges;

    audit_gauges(serve->audit, &gauges);
    return !gauges.down && (gauges.ring_bytes_used == 0 || gauges.commits >= serve->commits_then + 2);
}

void serve__mark_told(struct serve *serve)
{
    for (size_t i = 0; i < SERVE_SOURCES; i++) {
        struct why why = {0};

        if (serve->put_to[i] > 0 &&
            store_set_told(serve->store, sources[i].table, serve->put_to[i], &why) != CODE_OK)
            log_error("app", "%s; a restart may tell the audit again", why.text);
    }
    serve->awaits_audit = false;
}

/* A batch at a time: put, wait until it is durable, remember that; so a crash at any moment tells twice at worst, and
 * never not at all. */
void serve__tell_audit(struct serve *serve)
{
    struct audit_gauges gauges;
    bool put = false;

    if (serve->awaits_audit && !is_durable(serve))
        return;
    if (serve->awaits_audit)
        serve__mark_told(serve);
    if (!serve->owes_events)
        return;
    audit_gauges(serve->audit, &gauges);
    for (size_t i = 0; i < SERVE_SOURCES; i++) {
        int64_t before = serve->put_to[i];
        struct why why = {0};

        if (put_source(serve, &sources[i], &serve->put_to[i], &why) != CODE_OK)
            log_error("app", "%s; the audit will be told later", why.text);
        put = put || serve->put_to[i] > before;
    }
    serve->commits_then = gauges.commits;
    serve->awaits_audit = put;
    serve->owes_events = put; /* until a look finds nothing more */
}
