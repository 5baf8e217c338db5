/* SPDX-License-Identifier: Apache-2.0 */
/* callgate status: what the audit tells of the gate, and the disk that it fills. */
#include "setup/cmd_status_priv.h"

#include "admin/disk.h"
#include "audit/writer.h"
#include "base/num.h"
#include "db/db.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/sock.h"
#include "web/web.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECENT_ROWS 1000
#define INTERVAL_UNKNOWN_MS 60000 /* to who may read no more of the configuration than where the audit lies */

/* One text out of the audit; empty where there is none. */
static enum code ask_audit(struct db *audit, const char *sql, char *out, size_t size)
{
    struct db_stmt *stmt;
    enum code code = db_find(audit, sql, NULL, 0, &stmt);

    out[0] = '\0';
    if (code == CODE_OK)
        (void)snprintf(out, size, "%.*s", SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static const char last_state[] =
    "SELECT kind FROM event WHERE kind IN ('audit_down', 'audit_up', 'start') ORDER BY seq DESC LIMIT 1";
static const char last_life[] = "SELECT kind FROM event WHERE kind IN ('start', 'stop') ORDER BY seq DESC LIMIT 1";
/* The oldest row that the last checkpoint does not cover; that one was named does not make another due. */
static const char first_unsigned[] =
    "WITH last AS (SELECT coalesce(max(size), 0) AS size FROM checkpoint) SELECT min(time_us) FROM ("
    "SELECT * FROM (SELECT time_us FROM decision, last WHERE seq > size ORDER BY seq LIMIT 1) UNION ALL "
    "SELECT * FROM (SELECT time_us FROM outcome, last WHERE seq > size ORDER BY seq LIMIT 1) UNION ALL "
    "SELECT * FROM (SELECT time_us FROM event, last WHERE seq > size AND kind <> 'checkpoint' ORDER BY seq LIMIT 1))";
static const char last_denials[] =
    "SELECT group_concat(n || ' ' || reason, ', ') FROM (SELECT reason, count(*) AS n FROM decision WHERE verdict = 'deny' "
    "AND seq > (SELECT max(seq) FROM decision) - 1000 GROUP BY reason ORDER BY n DESC LIMIT 5)";

/* What the last start says of itself. NULL where a gate of before it could say so. */
static const char last_confined[] =
    "SELECT coalesce((SELECT group_concat(value, ', ') FROM json_each(detail, '$.confined')), 'nothing') FROM event "
    "WHERE kind = 'start' AND json_type(detail, '$.confined') IS NOT NULL ORDER BY seq DESC LIMIT 1";
static const char last_root[] = "SELECT 'root' FROM (SELECT detail FROM event WHERE kind = 'start' ORDER BY seq DESC LIMIT 1) "
                                "WHERE json_extract(detail, '$.uid') = 0";

/* What the gate said that it runs, and since when: at its start, and where it took another text. */
static const char last_taken[] =
    "SELECT coalesce(json_extract(detail, '$.configuration.sha256'), json_extract(detail, '$.sha256')), time_us FROM event "
    "WHERE kind = 'start' OR (kind = 'reload' AND json_extract(detail, '$.configuration') = 'taken') ORDER BY seq DESC LIMIT 1";
static const char last_kept[] =
    "SELECT CASE json_extract(detail, '$.configuration') WHEN 'kept' THEN json_extract(detail, '$.why') END FROM event "
    "WHERE kind IN ('start', 'reload') ORDER BY seq DESC LIMIT 1";

/* Whether the file is what the gate said that it runs. Takes: taken: its digest, in hexadecimal. */
static enum code compare_file(const struct conf *conf, struct span taken, bool *is_same, struct why *why)
{
    unsigned char digest[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];
    enum code code = conf_digest(conf->path, digest, why);

    if (code != CODE_OK)
        return code;
    num_hex(digest, DIGEST_BYTES, hex);
    *is_same = span_equals(taken, span_of(hex, sizeof hex));
    return CODE_OK;
}

static enum code look_at_running(struct report *report, const struct conf *conf, struct db *audit)
{
    struct db_stmt *stmt;
    char since[CLOCK_TEXT_BYTES], kept[512] = "";
    struct why why = {""};
    bool is_same = false;
    enum code code = db_find(audit, last_taken, NULL, 0, &stmt);

    if (code == CODE_OK && !span_is_empty(db_text(stmt, 0)) && compare_file(conf, db_text(stmt, 0), &is_same, &why) != CODE_OK)
        find(report, "running", false, "%s: the next start would fail", why.text);
    if (code != CODE_OK || span_is_empty(db_text(stmt, 0)) || why.text[0] != '\0') {
        db_finalize(&stmt);
        return code == CODE_NOT_FOUND ? CODE_OK : code;
    }
    clock_text(db_int(stmt, 1), since);
    code = ask_audit(audit, last_kept, kept, sizeof kept);
    if (code == CODE_OK && kept[0] != '\0')
        find(report, "running", false, "the last reload was refused, a configuration of %.19sZ runs: %s", since, kept);
    else if (code == CODE_OK)
        find(report, "running", is_same, "a configuration of %.19sZ, sha256 %.*s%s%s", since, 16, db_text(stmt, 0).at,
             is_same ? ", which is what the file holds" : ", and the file holds another: reload it (SIGHUP): ",
             is_same ? "" : conf->path);
    db_finalize(&stmt);
    return code;
}

bool cmd_status__differs(const struct conf *conf)
{
    struct why why = {""};
    struct db *audit = NULL;
    struct db_stmt *stmt = NULL;
    bool is_same = true;

    if (db_open(conf->audit.database, DB_PAST, &audit, &why) == CODE_OK &&
        db_find(audit, last_taken, NULL, 0, &stmt) == CODE_OK && !span_is_empty(db_text(stmt, 0)))
        (void)compare_file(conf, db_text(stmt, 0), &is_same, &why);
    db_finalize(&stmt);
    db_close(&audit);
    return !is_same;
}

#define METRICS_WAIT_US INT64_C(2000000)

/* One figure of the metrics. Returns: `otherwise` where it is not there. */
static uint64_t figure_of(struct span text, const char *name, uint64_t otherwise)
{
    char line[80];
    const char *at;
    int len = snprintf(line, sizeof line, "\n%s ", name);
    uint64_t value;

    at = memmem(text.at, text.len, line, (size_t)len);
    text = at != NULL ? span_part(text, (size_t)(at - text.at) + (size_t)len, SIZE_MAX) : SPAN_LIT("");
    return num_u64(span_cut(text, '\n', &text), &value) == CODE_OK ? value : otherwise;
}

/* What the running gate says in its metrics, where somebody reads that, too: it sees the whole disk fill, and the rows of the
 * audit say of it only what calls took; and it knows whether checkpoints are where they belong. */
void cmd_status__ask_gate(struct report *report, const struct conf *conf)
{
    char url[SOCK_TEXT_BYTES + 32], address[SOCK_TEXT_BYTES];
    struct web_request request = {.insecure = true, .wait_us = METRICS_WAIT_US,
                                  .body_max_bytes = (size_t)64 << 20};
    struct web_answer answer = {.code = CODE_OK};
    struct web *web = NULL;
    struct why why = {""};

    report->disk_hours = DISK_HOURS_MAX;
    if (!conf->admin.is_on)
        return;
    sock_text(&conf->admin.address, address);
    (void)snprintf(url, sizeof url, "http://%s/metrics", address);
    request.url = span_text(url);
    if (web_new(&web, &why) == CODE_OK && web_start(web, &why) == CODE_OK &&
        web_fetch(web, &request, &answer, &why) == CODE_OK && answer.status == 200) {
        report->disk_hours = figure_of(buf_peek(&answer.body), "callgate_disk_hours_left", DISK_HOURS_MAX);
        report->late_s = figure_of(buf_peek(&answer.body), "callgate_audit_checkpoint_late_seconds", 0);
    }
    web_answer_fini(&answer);
    web_free(&web);
}

/* A gate that cannot sign goes on, and denies nothing: only here and in its figures does that show. Takes: audit: of a gate
 * that runs. */
static enum code look_at_checkpoints(struct report *report, const struct conf *conf, struct db *audit)
{
    uint32_t interval_ms = conf->audit.checkpoint_interval_ms != 0 ? conf->audit.checkpoint_interval_ms : INTERVAL_UNKNOWN_MS;
    int64_t since_us = 0, late_us;
    enum code code = db_number(audit, first_unsigned, NULL, 0, &since_us);

    late_us = since_us != 0 ? clock_wall_us() - since_us : 0;
    if (late_us < (int64_t)report->late_s * 1000000)
        late_us = (int64_t)report->late_s * 1000000;
    if (code == CODE_OK)
        find(report, "checkpoints", late_us < checkpoint_late_us(interval_ms), "%s",
             late_us < checkpoint_late_us(interval_ms) ? "cover what is recorded"
             : "records wait for a checkpoint, without which they cannot be proven; the log says why none is signed");
    return code;
}

/* Calls pass without it, so it is no fault; but nobody should have to look for it. */
static enum code look_at_confinement(struct report *report, struct db *audit)
{
    char held[128], root[8];
    enum code code = ask_audit(audit, last_confined, held, sizeof held);

    if (code == CODE_OK)
        code = ask_audit(audit, last_root, root, sizeof root);
    if (code != CODE_OK || held[0] == '\0')
        return code;
    find(report, "confined", true, "%swhoever took the gate over would be held back from: %s",
         strcmp(held, "files, ports, calls, memory") == 0 ? "" : "warning: not in all; ", held);
    if (root[0] != '\0')
        find(report, "confined", true, "warning: it runs as root; with `user: callgate` in the configuration it would"
             " go on as callgate");
    return CODE_OK;
}

static const char last_refused[] =
    "SELECT d.upstream, o.reason, count(*) AS n FROM outcome o JOIN decision d ON d.seq = o.decision "
    "WHERE o.outcome = 'refused' AND o.seq > (SELECT max(seq) FROM outcome) - 1000 GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 8";

static bool may_be_mended(struct span name)
{
    return span_is(name, reason_name(REASON_UPSTREAM_ERROR_NULL)) || span_is(name, reason_name(REASON_UPSTREAM_ID_TYPE));
}

/* Answers that no agent saw, by the rule that they broke. */
static enum code look_at_refused(struct report *report, struct db *audit)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(audit, last_refused, &stmt);

    while (db_next(&stmt, &code)) {
        struct span name = db_text(stmt, 1);

        bool is_ours = span_is(name, reason_name(REASON_ANSWER_WITHHELD)); /* the policy says so: nothing to warn of */
        find(report, "answers", true, "%samong the last %d records, %" PRId64 " of %.*s were refused (%.*s): %s%s",
             is_ours ? "" : "warning: ", RECENT_ROWS, db_int(stmt, 2), SPAN_ARG(db_text(stmt, 0)), SPAN_ARG(name),
             reason_text(reason_named(name)), is_ours ? " `callgate audit query --answer withhold` lists them."
                                              : may_be_mended(name) ? " `lenient` on the route would mend it." : "");
    }
    return code;
}

/* What the gate last said of tokens that it fetches for upstreams, where that was since its start. */
static const char outgoing_said[] =
    "SELECT json_extract(detail, '$.upstream'), json_extract(detail, '$.state') = 'works', "
    "coalesce(json_extract(detail, '$.why'), ''), time_us, "
    "coalesce(json_extract(detail, '$.until'), 0), coalesce(json_extract(detail, '$.header'), ''), max(seq) FROM event "
    "WHERE kind = 'outgoing' "
    "AND seq > coalesce((SELECT max(seq) FROM event WHERE kind = 'start'), 0) GROUP BY 1, 6";

static enum code look_at_fetched(struct report *report, struct db *audit)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(audit, outgoing_said, &stmt);

    while (db_next(&stmt, &code)) {
        char since[CLOCK_TEXT_BYTES], until[CLOCK_TEXT_BYTES];
        struct span name = db_text(stmt, 0), header = db_text(stmt, 5);
        char giver[512] = "its provider";

        if (header.len > 0)
            (void)snprintf(giver, sizeof giver, "the program of %.*s", SPAN_ARG(header));
        clock_text(db_int(stmt, 3), since);
        clock_text(db_int(stmt, 4), until);
        if (db_int(stmt, 1) != 0)
            find(report, "credential", true, "%.*s: %s gives tokens since %.19sZ", SPAN_ARG(name), giver, since);
        else
            find(report, "credential", false, "%.*s: %s gives no token since %.19sZ: %.*s%s%.19s%s", SPAN_ARG(name),
                 giver, since, SPAN_ARG(db_text(stmt, 2)), db_int(stmt, 4) != 0 ? "; the last one goes up until " : "",
                 db_int(stmt, 4) != 0 ? until : "", db_int(stmt, 4) != 0 ? "Z" : "; calls are denied");
    }
    return code;
}

void cmd_status__audit(struct report *report, const struct conf *conf)
{
    struct why why = {0};
    struct db *audit = NULL;
    char kind[64], life[64], denials[256], said[512];
    enum code code = CODE_OK;

    if (audit_is_said_down(conf->audit.database, said, sizeof said))
        find(report, "audit", false, "the gate cannot record calls and denies every one: %s", said);
    code = db_open(conf->audit.database, DB_PAST, &audit, &why);

    if (code == CODE_NOT_FOUND) {
        find(report, "audit", true, "there is no %s yet; the first start makes it", conf->audit.database);
        return;
    }
    if (code == CODE_OK)
        code = ask_audit(audit, last_state, kind, sizeof kind);
    if (code == CODE_OK)
        code = ask_audit(audit, last_life, life, sizeof life);
    if (code == CODE_OK)
        code = ask_audit(audit, last_denials, denials, sizeof denials);
    if (code != CODE_OK) {
        find(report, "audit", false, "%s cannot be read: %s", conf->audit.database,
             audit != NULL ? db_error(audit) : why.text);
    } else {
        if (said[0] == '\0')
            find(report, "audit", strcmp(kind, "audit_down") != 0, "%s",
                 strcmp(kind, "audit_down") == 0 ? "the gate could not write it when it last tried: every call is denied"
                                                 : "can be written, as far as the gate recorded");
        find(report, "gate", strcmp(life, "stop") != 0, "%s",
             strcmp(life, "stop") == 0 ? "was stopped; `callgate serve` starts it" : "was started and has recorded no stop");
        if (denials[0] != '\0')
            find(report, "denials", true, "among the last %d records: %s", RECENT_ROWS, denials);
        if (look_at_refused(report, audit) != CODE_OK || look_at_fetched(report, audit) != CODE_OK ||
            look_at_confinement(report, audit) != CODE_OK ||
            (strcmp(life, "start") == 0 && (look_at_running(report, conf, audit) != CODE_OK ||
                                            look_at_checkpoints(report, conf, audit) != CODE_OK)))
            find(report, "audit", false, "%s cannot be read: %s", conf->audit.database, db_error(audit));
    }
    db_close(&audit);
}

void cmd_status__disk(struct report *report, const struct conf *conf)
{
    uint64_t bytes = 0, hours = report->disk_hours;
    enum code code = file_disk_room(conf->audit.database, &bytes);
    char lasts[80] = "";

    if (code != CODE_OK)
        return;
    if (hours < DISK_HOURS_MAX)
        (void)snprintf(lasts, sizeof lasts, ", enough for %" PRIu64 " hours as the disk fills now", hours);
    find(report, "disk", bytes >= DISK_LOW_BYTES, "%" PRIu64 " MiB are left beside the audit%s%s", bytes >> 20, lasts,
         bytes < DISK_LOW_BYTES ? ": when it is full, every call is denied; make room" : "");
}
