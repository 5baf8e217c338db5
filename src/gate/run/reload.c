/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_priv.h"

#include "args/command.h"
#include "expiry/expiry.h"
#include "base/log.h"
#include "base/num.h"
#include "json/doc.h"
#include "os/clock.h"
#include "os/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_server(const struct proxy_upstream *a, const struct proxy_upstream *b)
{
    if (!same_text(a->host, b->host) || a->port != b->port || !span_equals(a->path, b->path) ||
        (a->tls == NULL) != (b->tls == NULL) || a->header_count != b->header_count)
        return false;
    for (size_t i = 0; i < a->header_count; i++)
        if (!span_equals(a->headers[i].name, b->headers[i].name) || !span_equals(a->headers[i].value, b->headers[i].value))
            return false;
    return true;
}

static bool same_notify(const struct conf_notify *a, const struct conf_notify *b)
{
    return same_server(&a->server, &b->server) && span_equals(a->secret, b->secret) &&
           (a->program.host == NULL) == (b->program.host == NULL);
}

static bool same_fleet(const struct conf_fleet *a, const struct conf_fleet *b)
{
    return same_text(a->database, b->database) && same_text(a->membership, b->membership) && a->stale_ms == b->stale_ms &&
           a->keeps_arguments == b->keeps_arguments;
}

/* Refuses a change of what is opened only at the start. Taking it silently would leave a configuration that is not what
 * runs. */
static enum code check_fixed(const struct conf *old, const struct conf *fresh, struct why *why)
{
    const struct conf_audit *was = &old->audit, *is = &fresh->audit;
    const struct conf_admin *before = &old->admin, *after = &fresh->admin;
    const struct {
        const char *key;
        bool differs;
    } fixed[] = {
        {"store", strcmp(old->store, fresh->store) != 0},
        {"audit: database", strcmp(was->database, is->database) != 0},
        {"audit: redact_key", strcmp(was->redact_key, is->redact_key) != 0},
        {"audit: checkpoints", !same_text(was->checkpoints, is->checkpoints) ||
                               !same_server(&was->checkpoint_server, &is->checkpoint_server)},
        {"audit: checkpoint_key", strcmp(was->checkpoint_key, is->checkpoint_key) != 0},
        {"audit: checkpoint_interval and checkpoint_rows",
         was->checkpoint_interval_ms != is->checkpoint_interval_ms || was->checkpoint_rows != is->checkpoint_rows},
        {"audit: arguments", was->arguments_max_bytes != is->arguments_max_bytes},
        {"audit: rotate", was->rotate_bytes != is->rotate_bytes},
        {"notify", !same_notify(&old->notify, &fresh->notify)},
        {"alerts: url, run", !same_notify(&old->alerts.to, &fresh->alerts.to)},
        {"user", !same_text(old->user, fresh->user)},
        {"sandbox", old->is_unconfined != fresh->is_unconfined},
        {"workers", old->workers != fresh->workers},
        {"admin: address", before->is_on != after->is_on || !sock_equals(&before->address, &after->address)},
        {"admin: public", before->public_healthz != after->public_healthz || before->public_readyz != after->public_readyz ||
                          before->public_metrics != after->public_metrics},
        {"admin: tenants", before->tenants != after->tenants},
        {"fleet", !same_fleet(&old->fleet, &fresh->fleet)},
        {"people: socket", old->people.is_on != fresh->people.is_on || !same_text(old->people.socket, fresh->people.socket)},
    };

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i].differs)
            return why_set(why, CODE_INVALID, "%s: `%s` cannot change while the gate runs; restart it", fresh->path,
                           fixed[i].key);
    return CODE_OK;
}

static void look_at_file(struct serve *serve)
{
    struct serve_file *file = &serve->file;

    file->looked_us = clock_monotonic_us();
    file->unread.text[0] = '\0';
    if (conf_digest(serve->conf->path, file->now, &file->unread) != CODE_OK)
        memset(file->now, 0, DIGEST_BYTES);
    file->differs = memcmp(file->now, serve->conf->proxy->digest, DIGEST_BYTES) != 0;
}

static enum code load_fresh(const struct conf *old, struct conf **fresh, struct why *why)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = conf_load(old->path, fresh, &faults, NULL);
    for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
        log_error("app", "%s:%d:%d: %s", faults.fault[i].file, faults.fault[i].line, faults.fault[i].column,
                  faults.fault[i].text);
    return code == CODE_OK ? code : why_of_faults(why, code, &faults);
}

/* Refuses an ended certificate, unless the listener's old one has ended too: that is no reason to keep the rest of the old
 * configuration, such as lists of revoked certificates. Call it after proxy_check_conf, so that the listeners are the same. */
static enum code check_certificates(const struct conf *old, const struct conf *fresh, struct why *why)
{
    struct faults faults;

    faults_init(&faults);
    if (!expiry_hold(fresh, old, &faults))
        return why_of_faults(why, CODE_INVALID, &faults);
    if (!expiry_hold(fresh, NULL, &faults))
        log_error("app", "%s", faults.fault[0].text);
    return CODE_OK;
}

static enum code take_conf(struct serve *serve, struct why *why)
{
    struct conf *fresh = NULL;
    enum code code = load_fresh(serve->conf, &fresh, why);

    if (code == CODE_OK)
        code = check_fixed(serve->conf, fresh, why);
    if (code == CODE_OK)
        code = serve__check_commands(serve, fresh, why);
    if (code == CODE_OK)
        code = serve__check_ports(serve, fresh, why);
    if (code == CODE_OK)
        code = serve__remember_plans(serve, fresh, why);
    if (code == CODE_OK)
        code = proxy_check_conf(serve->proxy, fresh->proxy, why);
    if (code == CODE_OK)
        code = check_certificates(serve->conf, fresh, why);
    if (code == CODE_OK)
        code = resolver_set(serve->resolver, fresh->names, fresh->name_count);
    if (code != CODE_OK) {
        conf_free(&fresh);
        return code;
    }
    /* meanwhile calls go on under the old configuration */
    if (!resolver_wait(serve->resolver, NAMES_WAIT_MS))
        log_warn("app", "not every upstream's name is resolved yet; their calls fail until it is");
    if (serve->runner != NULL)
        runner_reload(serve->runner); /* before any connection to a new command */
    serve__reload_control(serve);
    providers_reload(serve->providers, fresh->proxy); /* before any call under the new configuration */
    proxy_publish_conf(serve->proxy, proxy_conf_ref(fresh->proxy), resolver_table(serve->resolver));
    conf_free(&serve->conf);
    serve->conf = fresh;
    poster_renew(serve->poster, &fresh->audit.checkpoint_server);
    poster_renew(serve->notify.posters[0], &fresh->notify.server);
    poster_renew(serve->alerts.posters[0], &fresh->alerts.to.server);
    return CODE_OK;
}

static struct doc *doc_of_conf(const struct conf *conf)
{
    struct doc *doc = doc_object();
    char hex[2 * DIGEST_BYTES];

    num_hex(conf->proxy->digest, DIGEST_BYTES, hex);
    doc_text(doc, "file", span_text(conf->path));
    doc_text(doc, "sha256", span_of(hex, sizeof hex));
    return doc;
}

void serve__describe_conf(const struct conf *conf, struct buf *out)
{
    struct doc *doc = doc_of_conf(conf);

    (void)buf_fail(out, doc_print(doc, out));
    doc_free(&doc);
}

static void record_reload(struct serve *serve, enum code code, const struct why *why)
{
    struct doc *doc = doc_of_conf(serve->conf);
    struct buf detail;

    buf_init(&detail, 16384);
    doc_text(doc, "configuration", code == CODE_OK ? SPAN_LIT("taken") : SPAN_LIT("kept"));
    if (code != CODE_OK)
        doc_text(doc, "why", span_text(why->text));
    if (doc_print(doc, &detail) == CODE_OK)
        serve__event(serve, "reload", buf_peek(&detail));
    buf_fini(&detail);
    doc_free(&doc);
}

/* Notes how a reload ended. A configuration that was refused is read again only for a signal, for another
 * text, or for a pipe some seconds later. */
static void note_reload(struct serve *serve, enum code code, const struct why *why)
{
    struct serve_file *file = &serve->file;

    file->refused.text[0] = '\0';
    if (code == CODE_OK)
        file->taken_us = clock_wall_us();
    else if (why->text[0] != '\0')
        file->refused = *why;
    else
        (void)why_set(&file->refused, code, "%s", code_text(code));
    look_at_file(serve);
    memcpy(file->tried, file->now, DIGEST_BYTES);
    file->tried_us = clock_monotonic_us();
}

void serve__reload(struct serve *serve)
{
    struct why why = {0};
    char text[64];
    enum code code;

    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_monotonic_us());
    service_notify(text);
    code = take_conf(serve, &why);
    if (code == CODE_OK)
        log_info("app", "the configuration was taken");
    else
        log_error("app", "the old configuration stays: %s", why.text[0] != '\0' ? why.text : code_text(code));
    record_reload(serve, code, &why);
    note_reload(serve, code, &why);
    serve->store_seen = -1;
    serve->policy_refused = 0;
    serve__past_reloaded(serve);
    serve__follow_store(serve);
    if (code == CODE_OK)
        serve__log_strays(serve);
    serve__put_store_events(serve);
    service_notify("READY=1");
}

#define LOOK_EVERY_US INT64_C(1000000)
#define TRY_AGAIN_US INT64_C(5000000) /* by then what was wrong, such as a certificate, may be mended */

void serve__follow_conf(struct serve *serve, bool is_asked)
{
    struct serve_file *file = &serve->file;
    unsigned char before[DIGEST_BYTES];
    int64_t now_us = clock_monotonic_us();

    if (serve->is_draining || (!is_asked && now_us - file->looked_us < LOOK_EVERY_US))
        return;
    memcpy(before, file->now, DIGEST_BYTES);
    look_at_file(serve);
    if (!file->differs || file->unread.text[0] != '\0')
        return;
    if (!is_asked && (serve->linger_us == 0 || memcmp(before, file->now, DIGEST_BYTES) != 0))
        return; /* a gate that an operator started waits for his signal, and a file that is changing may be half written */
    if (memcmp(file->now, file->tried, DIGEST_BYTES) != 0 || (is_asked && now_us - file->tried_us >= TRY_AGAIN_US))
        serve__reload(serve);
}

/* Says why, for a pipe that has read another configuration. */
static void say_difference(const struct serve *serve, struct why *why)
{
    const struct serve_file *file = &serve->file;

    if (file->unread.text[0] != '\0')
        (void)why_set(why, CODE_IO, "its configuration %s cannot be read: %s", serve->conf->path, file->unread.text);
    else if (file->refused.text[0] != '\0')
        (void)why_set(why, CODE_INVALID, "it keeps an older %s: %s", serve->conf->path, file->refused.text);
    else
        (void)why_set(why, CODE_INVALID, "it runs %s, and this pipe reads another file: start it with --config and that one, "
                      "or give this configuration a gate of its own with `pipe: {socket: FILE}`", serve->conf->path);
}

void serve__look_for_pipes(void *context)
{
    struct serve *serve = context;
    uint64_t looks = proxy_looks(serve->proxy);
    struct why why = {""};

    serve__follow_conf(serve, true);
    say_difference(serve, &why);
    proxy_looked(serve->proxy, looks, &why);
}
