/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_priv.h"

#include "store/store.h"
#include "store/store_audit.h"
#include "store/store_behind.h"
#include "files/trail.h"
#include "base/log.h"
#include "json/json.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

#define TOLD_NAME_BYTES 96

#define SELECT_ANSWERS(more) \
    "SELECT w.id, a.tenant, w.given_by, json_object('row', w.id, 'approval', a.id, 'gate', a.gate, 'decision', a.decision, " \
    "'principal', a.principal, 'agent', a.agent, 'upstream', a.upstream, " \
    "'method', a.method, 'tool', a.tool, 'rule', a.rule, 'given_us', w.given_us, 'until_us', w.until_us, 'login', w.login, " \
    "'why', w.why " more ") FROM approval_answer w JOIN approval_ask a ON a.id = w.ask WHERE w.id > ?1 "

/* {"policy": "sha256 of its text", ...}; null where there are too many for an event: `hash` covers all of them anyway. */
#define SELECT_FILES \
    "(SELECT CASE WHEN sum(6 * length(name) + 80) < 32768 THEN json_group_object(name, sha256) END FROM " \
    "(SELECT name, sha256 FROM policy_file WHERE version = a.version ORDER BY name))"

#define SELECT_TOLD \
    "SELECT id, NULL, 'gate', json_object('upstream', upstream, 'tool', tool, 'definition', digest, 'before', before, " \
    "'told_us', told_us) FROM definition WHERE id > ?1 "
#define SELECT_WORDS(accepted) \
    "SELECT w.id, NULL, w.given_by, json_object('row', w.id, 'upstream', d.upstream, 'tool', d.tool, 'definition', d.digest, " \
    "'given_us', w.given_us, 'login', w.login, 'why', w.why) FROM definition_word w JOIN definition d ON d.id = w.definition " \
    "WHERE w.id > ?1 AND w.accepted = " accepted " ORDER BY w.id LIMIT 64"

const struct store_source store_sources[STORE_SOURCES] = {
    {"policy_file", "policy_text", NULL,
     /* The text is asked for last, for what is told now: it may be megabytes, and each piece would copy all of it. */
     "WITH RECURSIVE piece(row, length, part) AS (SELECT f.rowid, length(f.text), 0 FROM policy_file f "
     "WHERE f.rowid >= ?1 >> 20 AND NOT EXISTS (SELECT 1 FROM policy_file o WHERE o.sha256 = f.sha256 AND o.rowid < f.rowid) "
     "UNION ALL SELECT row, length, part + 1 FROM piece WHERE (part + 1) * 8000 < length), "
     "due AS (SELECT (row << 20) + part + 1 AS id, row, length, part FROM piece WHERE id > ?1 ORDER BY id LIMIT 16) "
     "SELECT id, NULL, 'gate', json_object('sha256', f.sha256, 'part', part, 'parts', max(1, (length + 7999) / 8000), "
     "'text', substr(f.text, part * 8000 + 1, 8000)) FROM due JOIN policy_file f ON f.rowid = row ORDER BY id"},
    {"agent_key", "key_made", "made_us",
     "SELECT id, nullif(tenant, ''), made_by, json_object('row', id, 'key', id, 'principal', principal, 'agent', agent, "
     "'made_us', made_us, 'roles', roles, 'why', note) FROM agent_key WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"agent_key_revocation", "key_revoked", "revoked_us",
     "SELECT r.id, nullif(k.tenant, ''), r.revoked_by, json_object('row', r.id, 'key', k.id, 'principal', k.principal, "
     "'revoked_us', r.revoked_us, 'why', r.why) FROM agent_key_revocation r JOIN agent_key k ON k.id = r.key WHERE r.id > ?1 "
     "ORDER BY r.id LIMIT 64"},
    {"policy_activation", "policy_activated", "activated_us",
     "SELECT a.id, NULL, a.activated_by, json_object('row', a.id, 'version', a.version, 'hash', v.hash, 'message', v.message, "
     "'author', v.author, 'activated_us', a.activated_us, 'why', a.message, 'failing_tests', v.failing_tests, 'despite', "
     "v.despite, 'files', " SELECT_FILES ") "
     "FROM policy_activation a JOIN policy_version v ON v.version = a.version WHERE a.id > ?1 ORDER BY a.id LIMIT 64"},
    {"approval_ask", "approval_asked", "asked_us",
     "SELECT id, tenant, principal, json_object('row', id, 'approval', id, 'gate', gate, 'decision', decision, 'agent', agent, "
     "'upstream', upstream, 'method', method, 'tool', tool, 'rule', rule, 'approvers', replace(approvers, char(10), ', '), "
     "'policy_version', policy_version, 'asked_us', asked_us) FROM approval_ask WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"approval_answer/given", "approval_given", "given_us", SELECT_ANSWERS(", 'unseen', json(iif(w.unseen, 'true', 'false')), "
                                                        "'person', w.person, 'counted', w.counted, 'needed', a.needed")
     "AND w.granted = 1 ORDER BY w.id LIMIT 64"},
    {"approval_answer/refused", "approval_refused", "given_us", SELECT_ANSWERS("") "AND w.granted = 0 ORDER BY w.id LIMIT 64"},
    {"approval_use", "approval_used", "used_us",
     "SELECT u.id, a.tenant, a.principal, json_object('row', u.id, 'approval', a.id, 'gate', u.gate, 'decision', u.decision, "
     "'agent', a.agent, 'upstream', a.upstream, 'method', a.method, 'tool', a.tool, 'rule', a.rule, 'used_us', u.used_us) "
     "FROM approval_use u JOIN approval_ask a ON a.id = u.ask WHERE u.id > ?1 ORDER BY u.id LIMIT 64"},
    {"definition/seen", "definition_seen", NULL, SELECT_TOLD "AND before IS NULL ORDER BY id LIMIT 64"},
    {"definition/changed", "definition_changed", NULL, SELECT_TOLD "AND before IS NOT NULL ORDER BY id LIMIT 64"},
    {"definition_word/accepted", "definition_accepted", "given_us", SELECT_WORDS("1")},
    {"definition_word/withdrawn", "definition_withdrawn", "given_us", SELECT_WORDS("0")},
    {"restoration", "restored", "restored_us",
     "SELECT id, NULL, restored_by, json_object('row', id, 'backup_made', backup_made, 'restored_us', restored_us, 'why', why) "
     "FROM restoration WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"stop", "stop_placed", "made_us",
     "SELECT id, tenant, made_by, json_object('row', id, 'stop', id, 'mark', mark, 'principal', principal, 'agent', agent, "
     "'upstream', upstream, 'tool', tool, 'session', session, 'until_us', until_us, 'made_us', made_us, 'rule', rule, "
     "'why', why) FROM stop WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"stop_end", "stop_lifted", "ended_us",
     "SELECT e.id, s.tenant, e.ended_by, json_object('row', e.id, 'stop', s.id, 'ended_us', e.ended_us, 'why', e.why) "
     "FROM stop_end e JOIN stop s ON s.mark = e.mark WHERE e.id > ?1 ORDER BY e.id LIMIT 64"},
    {"account", "account_connected", "made_us",
     "SELECT id, nullif(tenant, ''), made_by, json_object('row', id, 'account', id, 'principal', principal, 'upstream', "
     "upstream, 'client', client, 'issuer', issuer, 'scopes', scopes, 'made_us', made_us) FROM account WHERE id > ?1 "
     "ORDER BY id LIMIT 64"},
    {"account_end", "account_ended", "ended_us",
     "SELECT e.id, nullif(a.tenant, ''), e.ended_by, json_object('row', e.id, 'account', a.id, 'principal', a.principal, "
     "'upstream', a.upstream, 'ended_us', e.ended_us, 'why', e.why) FROM account_end e JOIN account a ON a.id = e.account "
     "WHERE e.id > ?1 ORDER BY e.id LIMIT 64"},
    {"audit_hold", "hold_placed", "held_us",
     "SELECT id, tenant, held_by, json_object('row', id, 'hold', id, 'principal', principal, 'since_us', since_us, 'until_us', "
     "until_us, 'held_us', held_us, 'why', why) FROM audit_hold WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"audit_hold_release", "hold_released", "released_us",
     "SELECT r.id, h.tenant, r.released_by, json_object('row', r.id, 'hold', h.id, 'principal', h.principal, 'released_us', "
     "r.released_us, 'why', r.why) FROM audit_hold_release r JOIN audit_hold h ON h.id = r.hold WHERE r.id > ?1 "
     "ORDER BY r.id LIMIT 64"},
    {"fleet_refusal", "fleet_refused", "refused_us",
     "SELECT id, NULL, 'gate', json_object('row', id, 'change', change, 'refused_us', refused_us, 'why', why) FROM "
     "fleet_refusal WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"fleet_fork", "fleet_forked", "heard_us",
     "SELECT id, NULL, 'gate', json_object('row', id, 'node', node, 'told_by', told_by, 'seq', seq, 'what', what, 'heard_us', "
     "heard_us) FROM fleet_fork WHERE id > ?1 ORDER BY id LIMIT 64"},
    {"audit_reading", "audit_read", NULL,
     "SELECT id, NULL, asked_by, json_object('row', id, 'command', command, 'tenants', json(tenants), 'asked_us', asked_us) "
     "FROM audit_reading WHERE id > ?1 AND audit = ?2 ORDER BY id LIMIT 64"},
    {STORE_RETIREMENTS, "retired", NULL,
     "SELECT id, NULL, retired_by, json_object('row', id, 'first', first, 'last', last, 'shipped', shipped, 'retired_us', "
     "retired_us, 'why', why) FROM " STORE_RETIREMENTS " WHERE id > ?1 AND audit = ?2 ORDER BY id LIMIT 64"},
};

void serve__event(struct serve *serve, const char *kind, struct span detail)
{
    struct audit_event event = {
        .time_us = clock_wall_us(), .kind = span_text(kind), .actor = SPAN_LIT("gate"), .detail = detail,
    };

    if (audit_put_event(serve->ring, &event) != CODE_OK)
        log_error("app", "the event %s could not be recorded: the audit is down or full", kind);
}

/* Puts the rows past *put_to and moves it. */
static enum code put_rows(struct serve *serve, const struct store_source *source, struct db_stmt *stmt, int64_t *put_to)
{
    enum code code;

    db_bind_int(stmt, 1, *put_to);
    if (strstr(source->sql, "?2") != NULL)
        db_bind_text(stmt, 2, span_text(serve->told_mark));
    while ((code = db_step(stmt)) == CODE_OK) {
        struct audit_event event = {
            .time_us = clock_wall_us(), .kind = span_text(source->kind), .tenant = db_text(stmt, 1),
            .actor = db_text(stmt, 2), .detail = db_text(stmt, 3),
        };

        code = audit_put_event(serve->ring, &event);
        if (code == CODE_BUSY || code == CODE_DOWN)
            return CODE_BUSY; /* the next look goes on */
        if (code != CODE_OK)
            return code;
        *put_to = db_int(stmt, 0);
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

enum code serve__mark_audit(struct serve *serve, struct why *why)
{
    char settled[TRAIL_PATH_BYTES];

    store_audit_place(serve->conf->audit.database, serve->gate_mark);
    trail_settle(serve->conf->audit.database, settled);
    return store_audit_mark(settled, serve->told_mark, why);
}

enum code serve__compare_store(struct serve *serve, struct why *why)
{
    const char *audit = serve->conf->audit.database;
    struct buf *out = &serve->confined;
    struct store_places places;
    enum code code = store_is_behind(serve->store, serve->conf->store, audit, &places, why);

    serve->store_was_behind = code == CODE_DENIED;
    if (serve->store_was_behind ? serve->continue_why == NULL : code != CODE_OK)
        return code;
    if (serve->store_was_behind)
        log_warn("app", "%s; this start goes on: %s", why->text, serve->continue_why);
    (void)buf_add_text(out, ",\"store\":{\"is_told\":true,");
    if (serve->store_was_behind) {
        (void)buf_add_text(out, "\"behind\":{\"text\":");
        (void)json_write_string(out, span_text(why->text));
        (void)buf_add_text(out, ",\"why\":");
        (void)json_write_string(out, span_text(serve->continue_why));
        (void)buf_add_text(out, ",\"by\":");
        (void)json_write_string(out, span_text(serve->continue_actor));
        (void)buf_add_byte(out, ',');
        code = store_go_on(serve->store, audit, serve->told_mark, &places, out, why);
        (void)buf_add_text(out, "},");
    }
    if (code == CODE_OK)
        code = buf_add_text(out, "\"rows\":");
    if (code == CODE_OK)
        code = store_write_places(serve->store, serve->told_mark, out, why);
    return code == CODE_OK ? buf_add_byte(out, '}') : code;
}

/* Each gate on a store tells an audit of its own, so each remembers for itself how far it has come. */
static void told_name(const struct serve *serve, const struct store_source *source, char name[TOLD_NAME_BYTES])
{
    (void)snprintf(name, TOLD_NAME_BYTES, "%s@%s", source->table, serve->told_mark);
}

static enum code put_source(struct serve *serve, const struct store_source *source, int64_t *put_to, struct why *why)
{
    struct db_stmt *stmt = NULL;
    char name[TOLD_NAME_BYTES];
    int64_t told;
    enum code code;

    told_name(serve, source, name);
    code = store_told(serve->store, name, &told, why);
    if (code != CODE_OK)
        return code;
    if (*put_to < told)
        *put_to = told;
    code = db_prepare(serve->store, source->sql, &stmt);
    if (code == CODE_OK)
        code = put_rows(serve, source, stmt, put_to);
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_BUSY ? code : db_why(why, code, serve->store, "reading the store");
}

/* Whether the events that were put are on disk. They have no tickets. A commit takes all that was put before it began,
 * so after two more commits, or with nothing left in any ring, they are. */
static bool is_durable(const struct serve *serve)
{
    struct audit_gauges gauges;

    audit_gauges(serve->audit, &gauges);
    return !gauges.down && (gauges.ring_bytes_used == 0 || gauges.commits >= serve->commits_then + 2);
}

/* Returns: CODE_OK where all that was put is remembered. */
static enum code write_told(struct serve *serve, struct why *why)
{
    enum code code = store_begin(serve->store, why);

    if (code != CODE_OK)
        return code;
    for (size_t i = 0; i < STORE_SOURCES && code == CODE_OK; i++) {
        char name[TOLD_NAME_BYTES];

        told_name(serve, &store_sources[i], name);
        if (serve->put_to[i] > 0)
            code = store_set_told(serve->store, name, serve->put_to[i], why);
    }
    return store_end(serve->store, code, NULL, why);
}

void serve__mark_told(struct serve *serve)
{
    struct why why = {0};
    enum code code = write_told(serve, &why);

    if (code != CODE_OK && code != CODE_BUSY)
        log_error("app", "%s; a restart may tell the audit again", why.text);
    serve->awaits_audit = code == CODE_BUSY; /* somebody else writes the store: tried again at the next look */
}

/* A batch at a time: put, wait until it is durable, remember that; so a crash at any moment tells twice at worst, and
 * never not at all. */
void serve__put_store_events(struct serve *serve)
{
    struct audit_gauges gauges;
    bool put = false, goes_on = false;

    if (serve->awaits_audit && !is_durable(serve))
        return;
    if (serve->awaits_audit)
        serve__mark_told(serve);
    if (serve->awaits_audit || !serve->owes_events)
        return;
    audit_gauges(serve->audit, &gauges);
    for (size_t i = 0; i < STORE_SOURCES; i++) {
        int64_t before = serve->put_to[i];
        struct why why = {0};
        enum code code = put_source(serve, &store_sources[i], &serve->put_to[i], &why);

        if (code != CODE_OK && code != CODE_BUSY)
            log_error("app", "%s; the audit will be told later", why.text);
        goes_on = goes_on || code != CODE_OK;
        put = put || serve->put_to[i] > before;
    }
    serve->commits_then = gauges.commits;
    serve->awaits_audit = put;
    serve->owes_events = put || goes_on; /* until a look finds nothing more */
}
