/* SPDX-License-Identifier: Apache-2.0 */
/* Looks once a second at what must not wait for somebody to look, and tells it (alert/alerts.h). What was told and still holds
 * has its name in the store, so that a restart does not tell it again. */
#include "run/serve_priv.h"

#include "alert/alerts.h"
#include "expiry/expiry.h"
#include "store/store.h"
#include "base/log.h"
#include "enforce/gate.h"
#include "os/clock.h"
#include "os/file.h"
#include "unicode/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US 1000000
#define MOST (ALERT_CONDITIONS + ALERT_DENIALS + 1) /* all that is due is one post, so that none waits behind others' */
#define POST_BYTES ((size_t)4 << 20)
#define SENTENCE_BYTES 1024
#define SHOWN_BYTES (8 * SENTENCE_BYTES) /* an unseen character is shown by eight at most */
#define STORED_BYTES 512
#define SAVES 16             /* at a look: each waits for the disk, and signals and the admin port wait behind it */
#define VERSION 1            /* of what is posted */
#define DAY_US INT64_C(86400000000)

static struct alerts *table(const struct serve *serve)
{
    return gate_alerts(serve->shared);
}

static int64_t every_us(const struct serve *serve)
{
    return (int64_t)serve->conf->alerts.every_ms * 1000;
}

/* ---- what holds ---- */

static bool hold(const struct serve *serve, enum alert_kind kind, const char *about, const char *text)
{
    return alerts_hold(table(serve), kind, span_text(about), span_text(text), clock_monotonic_us(), clock_wall_us());
}

static void look_at_audit(const struct serve *serve)
{
    struct poster_gauges poster = {.waiting = 0};
    struct audit_gauges audit;
    char text[ALERT_TEXT_BYTES], why[ALERT_TEXT_BYTES / 2] = "";
    int64_t late_us;

    poster_gauges(serve->poster, &poster);
    audit_gauges(serve->audit, &audit);
    late_us = serve__checkpoint_late_us(serve, &audit);
    if (audit.down) {
        (void)audit_is_said_down(serve->conf->audit.database, why, sizeof why);
        (void)snprintf(text, sizeof text, "calls cannot be recorded, so every one is denied%s%s",
                       why[0] != '\0' ? ": " : "", why);
        hold(serve, ALERT_AUDIT_DOWN, "", text);
    }
    if (audit.checkpoint_fault == CHECKPOINT_FORKED || poster.is_refuted)
        hold(serve, ALERT_FORKED, "", poster.is_refuted
             ? "who keeps checkpoints has another history of this log (409): `callgate audit verify --checkpoints` compares"
             : "the process that signs checkpoints holds other rows than the audit's file: somebody has written there");
    if (late_us <= checkpoint_late_us(serve->conf->audit.checkpoint_interval_ms))
        return;
    (void)snprintf(text, sizeof text, "records wait since %" PRId64 " s for a checkpoint, without which they cannot be proven: "
                   "%s", late_us / 1000000, audit.checkpoint_fault == CHECKPOINT_UNWRITTEN ? "its file cannot be written"
                   : poster.failing_since_us != 0 ? "nobody takes what is posted" : "none can be signed");
    hold(serve, ALERT_CHECKPOINT_LATE, "", text);
}

/* Only a quarter more counts as enough again, so that a disk at the edge is told once. */
static void look_at_disk(struct serve *serve)
{
    uint64_t room_bytes, bound_bytes = serve->conf->alerts.disk_bytes;
    char text[ALERT_TEXT_BYTES];

    if (file_disk_room(serve->conf->audit.database, &room_bytes) != CODE_OK)
        return;
    if (serve->alerts.disk_is_low)
        bound_bytes += bound_bytes / 4;
    serve->alerts.disk_is_low = room_bytes < bound_bytes;
    if (!serve->alerts.disk_is_low)
        return;
    (void)snprintf(text, sizeof text, "the audit's disk has %" PRIu64 " MiB left, enough for %" PRIu64 " hours as it fills; "
                   "when it is full every call is denied: make room", room_bytes >> 20,
                   disk_hours_left(&serve->disk_growth, room_bytes, clock_monotonic_us()));
    hold(serve, ALERT_DISK_LOW, "", text);
}

struct ending {
    const struct serve *serve;
    size_t more; /* for which there is no place */
};

static void look_at_certificate(void *context, const char *side, struct span name, int64_t until_us)
{
    struct ending *ending = context;
    const struct serve *serve = ending->serve;
    int64_t left_us = until_us - clock_wall_us();
    char about[ALERT_ABOUT_BYTES], text[ALERT_TEXT_BYTES], day[CLOCK_TEXT_BYTES];

    if (left_us >= (int64_t)serve->conf->alerts.certificates_ms * 1000)
        return;
    clock_text(until_us, day);
    (void)snprintf(about, sizeof about, "%s %.*s", side, SPAN_ARG(span_part(name, 0, ALERT_ABOUT_BYTES / 2)));
    (void)snprintf(text, sizeof text, "a certificate (%s) %s %.10s: connections %s; have it renewed", about,
                   left_us > 0 ? "ends on" : "ended on", day, left_us > 0 ? "will fail" : "fail");
    ending->more += !hold(serve, ALERT_CERTIFICATE_ENDS, about, text);
}

static void look_at_certificates(const struct serve *serve)
{
    struct ending ending = {serve, 0};
    char text[ALERT_TEXT_BYTES];

    expiry_each(serve->conf, look_at_certificate, &ending);
    if (ending.more == 0)
        return;
    (void)snprintf(text, sizeof text, "%zu certificate%s more end%s soon, or ended: `callgate status` names them", ending.more,
                   ending.more == 1 ? "" : "s", ending.more == 1 ? "s" : "");
    hold(serve, ALERT_CERTIFICATE_ENDS, "", text);
}

static void look_at_configuration(const struct serve *serve)
{
    char text[ALERT_TEXT_BYTES];

    if (serve->file.refused.text[0] != '\0') {
        (void)snprintf(text, sizeof text, "a reload was refused, an older configuration runs: %.400s",
                       serve->file.refused.text);
        hold(serve, ALERT_CONFIGURATION_REFUSED, "", text);
    }
    if (serve->policy_refused == 0)
        return;
    (void)snprintf(text, sizeof text, "policy version %" PRIu64 " was not taken, version %" PRIu64 " stays: the log says why",
                   serve->policy_refused, serve->policy_active);
    hold(serve, ALERT_CONFIGURATION_REFUSED, "policy", text);
}

/* ---- what is posted ---- */

static enum code write_sentence(const struct alert *alert, struct buf *out)
{
    struct buf text;
    enum code code;

    buf_init(&text, SENTENCE_BYTES);
    if (!alert->is_on)
        buf_add_text(&text, "over: ");
    if (alert->kind != ALERT_DENIED)
        buf_add_text(&text, alert->text);
    else
        buf_addf(&text, "%s%s denied %" PRIu64 " call%s%s%s%s%s", alert->about[0] != '\0' ? "rule " : "further rules",
                 alert->about, alert->fresh, alert->fresh == 1 ? "" : "s", alert->tenant[0] != '\0' ? " of tenant " : "",
                 alert->tenant, alert->text[0] != '\0' ? ": " : "", alert->text);
    code = buf_code(&text);
    if (code == CODE_OK)
        code = terminal_add(out, buf_peek(&text));
    buf_fini(&text);
    return code;
}

static struct span some(const char *text)
{
    return text[0] != '\0' ? span_text(text) : SPAN_NONE;
}

static void add_link(const struct serve *serve, const struct alert *alert, struct doc *doc)
{
    const char *url = serve->conf->console.url;
    char text[400];

    if (alert != NULL && alert->seq != 0)
        (void)snprintf(text, sizeof text, "%s/calls/%" PRIu64, url != NULL ? url : "", alert->seq);
    else
        (void)snprintf(text, sizeof text, "%s/now", url != NULL ? url : "");
    doc_text_or_null(doc, "url", url != NULL ? span_text(text) : SPAN_NONE);
}

static enum code add_alert(const struct serve *serve, const struct alert *alert, struct doc *list)
{
    struct doc *doc = doc_add_object(list, NULL);
    bool is_denial = alert->kind == ALERT_DENIED;
    struct buf text;
    enum code code;

    buf_init(&text, SHOWN_BYTES);
    code = write_sentence(alert, &text);
    doc_text(doc, "kind", span_text(alert_kind_text(alert->kind)));
    doc_text(doc, "severity", alert_is_critical(alert->kind) ? SPAN_LIT("critical") : SPAN_LIT("warning"));
    doc_text(doc, "state", alert->is_on ? SPAN_LIT("firing") : SPAN_LIT("resolved"));
    doc_text(doc, "text", buf_peek(&text));
    serve__add_time(doc, "since", alert->since_us);
    if (alert->is_on)
        doc_null(doc, "ended");
    else
        serve__add_time(doc, "ended", alert->ended_us);
    doc_int(doc, "count", (int64_t)alert->fresh);
    doc_int(doc, "total", (int64_t)alert->count);
    doc_text_or_null(doc, "about", is_denial ? SPAN_NONE : some(alert->about));
    doc_text_or_null(doc, "rule", is_denial ? some(alert->about) : SPAN_NONE);
    doc_text_or_null(doc, "tenant", some(alert->tenant));
    doc_text_or_null(doc, "correlation", some(alert->correlation));
    if (alert->seq != 0) {
        doc_int(doc, "decision", (int64_t)alert->seq);
        doc_int(doc, "policy_version", (int64_t)alert->policy_version);
    } else {
        doc_null(doc, "decision");
        doc_null(doc, "policy_version");
    }
    add_link(serve, alert, doc);
    buf_fini(&text);
    return code;
}

/* One line for who shows no more than that: the gravest of them. */
static void add_summary(const struct alert *alerts, size_t count, struct doc *doc)
{
    const struct alert *first = alerts;
    char more[48];
    struct buf text;

    for (size_t i = 0; i < count; i++)
        if (alert_is_critical(alerts[i].kind) && !alert_is_critical(first->kind))
            first = &alerts[i];
    buf_init(&text, SHOWN_BYTES);
    (void)snprintf(more, sizeof more, " (and %zu more)", count - 1);
    if (write_sentence(first, &text) == CODE_OK && (count == 1 || buf_add_text(&text, more) == CODE_OK))
        doc_text(doc, "text", buf_peek(&text));
    buf_fini(&text);
}

static enum code write_post(const struct serve *serve, const struct alert *alerts, size_t count, struct buf *out)
{
    struct doc *doc = doc_object(), *list;
    enum code code = CODE_OK;

    doc_text(doc, "event", SPAN_LIT("alerts"));
    doc_int(doc, "version", VERSION);
    doc_text(doc, "gate", span_text(serve->gate_mark));
    doc_text(doc, "node", span_text(serve->alerts.node));
    serve__add_time(doc, "sent", clock_wall_us());
    add_summary(alerts, count, doc);
    add_link(serve, count == 1 ? alerts : NULL, doc);
    list = doc_add_array(doc, "alerts");
    for (size_t i = 0; i < count && code == CODE_OK; i++)
        code = add_alert(serve, &alerts[i], list);
    if (code == CODE_OK)
        code = doc_print(doc, out);
    doc_free(&doc);
    return code;
}

/* Nothing waits behind a post: what comes meanwhile is folded, and told once this one is taken. */
static bool is_idle(const struct serve *serve, unsigned target)
{
    const struct serve_alerts *alerts = &serve->alerts;

    return alerts->posters[target] == NULL || poster_settled(alerts->posters[target]) == alerts->posted[target];
}

/* What a server found too large once is told in smaller parts from then on: half of it, then a quarter. */
static size_t most_of(struct poster *poster)
{
    struct poster_gauges gauges = {.waiting = 0};
    size_t most;

    poster_gauges(poster, &gauges);
    most = gauges.dropped < 16 ? (size_t)MOST >> gauges.dropped : 1;
    return most > 0 ? most : 1;
}

static void post(struct serve *serve, unsigned target)
{
    struct alert *due = serve->alerts.due;
    struct poster *poster = serve->alerts.posters[target];
    int64_t now_us = clock_monotonic_us();
    size_t count = poster != NULL && is_idle(serve, target)
                       ? alerts_due(table(serve), target, every_us(serve), now_us, due, most_of(poster)) : 0;
    struct buf text;

    if (count == 0)
        return;
    buf_init(&text, POST_BYTES);
    if (write_post(serve, due, count, &text) == CODE_OK &&
        poster_offer(poster, buf_peek(&text), serve->alerts.posted[target] + 1)) {
        serve->alerts.posted[target]++;
        alerts_told(table(serve), target, due, count, now_us);
    }
    buf_fini(&text); /* where it could not be written it is tried at the next look */
}

/* ---- over a restart ---- */

static void begin_name(const struct serve *serve, unsigned target, char begins[STORED_BYTES])
{
    (void)snprintf(begins, STORED_BYTES, "alert@%s/%u:", serve->gate_mark, target);
}

static enum code save_one(struct serve *serve, unsigned target, const struct alert *alert, bool is_told)
{
    struct why why = {""};
    char begins[STORED_BYTES], name[2 * STORED_BYTES];

    begin_name(serve, target, begins);
    (void)snprintf(name, sizeof name, "%s%s\n%s\n%s", begins, alert_kind_text(alert->kind), alert->about, alert->tenant);
    return is_told ? store_set_told(serve->store, name, alert->since_us, &why) : store_untell(serve->store, name, &why);
}

/* Each target on its own, so that one that is away has another hear nothing twice. */
static void save(struct serve *serve, unsigned target)
{
    struct alert alert;
    bool is_told;

    if (!is_idle(serve, target))
        return; /* what is on its way may not arrive */
    for (int i = 0; i < SAVES / ALERT_TARGETS && alerts_unsaved(table(serve), target, &alert, &is_told); i++) {
        if (save_one(serve, target, &alert, is_told) != CODE_OK)
            return; /* it is tried at the next look */
        alerts_saved(table(serve), target, &alert, is_told);
    }
}

struct knowing {
    struct alerts *alerts;
    unsigned target;
};

static void know(void *context, struct span name, int64_t since_us)
{
    const struct knowing *knowing = context;
    struct span rest, kind = span_cut(name, '\n', &rest), about = span_cut(rest, '\n', &rest);

    for (enum alert_kind i = ALERT_DENIED; i < ALERT_KINDS; i++)
        if (span_is(kind, alert_kind_text(i)))
            alerts_know(knowing->alerts, knowing->target, i, about, rest, since_us, clock_monotonic_us());
}

/* ---- for the others ---- */

_Static_assert(SERVE_POSTERS == ALERT_TARGETS, "a poster a target");

enum code serve__open_alerts(struct serve *serve, struct why *why)
{
    if (gethostname(serve->alerts.node, sizeof serve->alerts.node - 1) != 0)
        serve->alerts.node[0] = '\0';
    if ((serve->alerts.due = mem_array(MOST, sizeof *serve->alerts.due)) == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for alerts");
    return serve__open_posters(serve, &serve->conf->alerts.to, "alert", 0, serve->alerts.posters, why);
}

enum code serve__start_alerts(struct serve *serve, struct why *why)
{
    unsigned targets = 0;
    enum code code = CODE_OK;

    for (unsigned i = 0; i < ALERT_TARGETS && code == CODE_OK; i++) {
        struct knowing knowing = {table(serve), i};
        char begins[STORED_BYTES];

        if (serve->alerts.posters[i] == NULL)
            continue;
        targets |= 1u << i;
        begin_name(serve, i, begins);
        code = poster_start(serve->alerts.posters[i], why);
        if (code == CODE_OK)
            code = store_told_each(serve->store, span_text(begins), know, &knowing, why);
    }
    alerts_aim(table(serve), targets);
    return code;
}

void serve__mind_alerts(struct serve *serve)
{
    int64_t now_us = clock_monotonic_us();

    if (now_us - serve->alerts.looked_us < LOOK_US)
        return;
    serve->alerts.looked_us = now_us;
    alerts_look(table(serve));
    look_at_audit(serve);
    look_at_disk(serve);
    look_at_certificates(serve);
    look_at_configuration(serve);
    alerts_looked(table(serve), every_us(serve), now_us, clock_wall_us());
    for (unsigned i = 0; i < ALERT_TARGETS; i++) {
        post(serve, i);
        save(serve, i);
    }
}

void serve__measure_alerts(const struct serve *serve, struct buf *out)
{
    struct poster_gauges posts = {.waiting = 0};
    struct alerts_gauges gauges;

    alerts_gauges(table(serve), &gauges);
    for (unsigned i = 0; i < ALERT_TARGETS; i++)
        poster_gauges(serve->alerts.posters[i], &posts);
    buf_add_text(out, "# HELP callgate_alerts_firing What holds now of what `alerts` tells, by kind.\n"
                      "# TYPE callgate_alerts_firing gauge\n");
    for (enum alert_kind kind = ALERT_DENIED; kind < ALERT_KINDS; kind++)
        buf_addf(out, "callgate_alerts_firing{kind=\"%s\"} %" PRIu64 "\n", alert_kind_text(kind), gauges.firing[kind]);
    buf_addf(out, "# HELP callgate_alerted_denials_total Calls that rules with `alert: true` denied.\n"
                  "# TYPE callgate_alerted_denials_total counter\ncallgate_alerted_denials_total %" PRIu64 "\n",
             gauges.denials);
    buf_addf(out, "# HELP callgate_alerts_posted_total Posts of alerts that were taken.\n"
                  "# TYPE callgate_alerts_posted_total counter\ncallgate_alerts_posted_total %" PRIu64 "\n", posts.posted);
    buf_addf(out, "# HELP callgate_alert_posts_dropped_total Posts of alerts that were too large for the server (413).\n"
                  "# TYPE callgate_alert_posts_dropped_total counter\ncallgate_alert_posts_dropped_total %" PRIu64 "\n",
             posts.dropped);
    buf_addf(out, "# HELP callgate_alert_posts_failed_total Attempts to post alerts that failed.\n"
                  "# TYPE callgate_alert_posts_failed_total counter\ncallgate_alert_posts_failed_total %" PRIu64 "\n",
             posts.failed);
}

void serve__close_alerts(struct serve *serve)
{
    for (unsigned i = 0; i < ALERT_TARGETS; i++)
        poster_free(&serve->alerts.posters[i]);
    mem_free(serve->alerts.due);
}
