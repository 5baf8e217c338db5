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
};

void serve__event(struct serve *serve, const char *kind, const char *actor, struct span detail)
{
    struct audit_event event = {
        .time_us = clock_wall_us(), .kind = span_text(kind), .actor = span_text(actor), .detail = detail,
    };

    if (audit_put_event(serve->ring, &event) != CODE_OK)
        log_error("app", "the event %s could not be recorded: the audit is down or full", kind);
}

static enum code put_rows(struct serve *serve, const struct source *source, struct db_stmt *stmt, int64_t *told)
{
    enum code code;

    db_bind_int(stmt, 1, *told);
    while ((code = db_step(stmt)) == CODE_OK) {
        struct audit_event event = {
            .time_us = clock_wall_us(), .kind = span_text(source->kind), .tenant = db_text(stmt, 1),
            .actor = db_text(stmt, 2), .detail = db_text(stmt, 3),
        };

        code = audit_put_event(serve->ring, &event);
        if (code != CODE_OK)
            return code;
        *told = db_int(stmt, 0);
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

/* Sets *more where something is left for the next look. */
static enum code tell_source(struct serve *serve, const struct source *source, bool *more, struct why *why)
{
    struct db_stmt *stmt = NULL;
    int64_t told, before;
    enum code code = store_told(serve->store, source->table, &told, why);

    if (code != CODE_OK)
        return code;
    before = told;
    code = db_prepare(serve->store, source->sql, &stmt);
    if (code == CODE_OK)
        code = put_rows(serve, source, stmt, &told);
    db_finalize(&stmt);
    *more = *more || told != before || code != CODE_OK;
    if (code != CODE_OK && code != CODE_BUSY && code != CODE_DOWN)
        return store_why(why, code, serve->store, "reading the store");
    return told == before ? CODE_OK : store_set_told(serve->store, source->table, told, why);
}

void serve__tell_audit(struct serve *serve)
{
    bool more = false;

    if (!serve->owes_events)
        return;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct why why = {0};

        if (tell_source(serve, &sources[i], &more, &why) != CODE_OK)
            log_error("app", "%s; the audit will be told later", why.text);
    }
    serve->owes_events = more;
}
