/* SPDX-License-Identifier: Apache-2.0 */
#include "expiry/expiry.h"

#include "os/clock.h"

/* ---- of ours: whether they are in their time ---- */

/* Returns: NULL: it is, or nothing is shown; else what is wrong with it, and from or until when. */
static const char *out_of_time(const struct tls_context *tls, int64_t now_us, int64_t *at_us)
{
    int64_t from_us, until_us;

    if (tls == NULL || !tls_shown_times(tls, &from_us, &until_us) || (from_us <= now_us && until_us > now_us))
        return NULL;
    *at_us = from_us > now_us ? from_us : until_us;
    return from_us > now_us ? "is not valid before" : "ended at";
}

static void hold_one(struct faults *faults, const struct conf *conf, struct span whose, const struct tls_context *tls,
                     const struct tls_context *old)
{
    int64_t now_us = clock_wall_us(), at_us = 0;
    const char *wrong = out_of_time(tls, now_us, &at_us);
    char at[CLOCK_TEXT_BYTES];
    int64_t unasked;

    if (wrong == NULL || (old != NULL && out_of_time(old, now_us, &unasked) != NULL))
        return;
    clock_text(at_us, at);
    faults_add(faults, conf->path, 0, 0, "the certificate of %.*s %s %.19sZ: whoever checks it ends the connection; put one "
               "that is valid now in its place", SPAN_ARG(whose), wrong, at);
}

static const struct tls_context *old_of(const struct conf *old, const struct proxy_route *route)
{
    for (size_t i = 0; old != NULL && i < old->proxy->route_count; i++)
        if (span_equals(old->proxy->routes[i].name, route->name))
            return old->proxy->routes[i].upstream.tls;
    return NULL;
}

bool expiry_hold(const struct conf *conf, const struct conf *old, struct faults *faults)
{
    size_t before = faults->added;

    for (size_t i = 0; i < conf->proxy->listen_count; i++) {
        const struct proxy_listen *listen = &conf->proxy->listens[i];
        char address[SOCK_TEXT_BYTES];

        if (listen->tls == NULL)
            continue;
        sock_text(&listen->address, address);
        hold_one(faults, conf, span_text(address), listen->tls, old != NULL ? old->proxy->listens[i].tls : NULL);
    }
    for (size_t i = 0; i < conf->proxy->route_count; i++) {
        const struct proxy_route *route = &conf->proxy->routes[i];

        hold_one(faults, conf, route->name, route->upstream.tls, old_of(old, route));
    }
    return faults->added == before;
}

/* ---- when they end ---- */

struct telling {
    void (*told)(void *context, const char *side, struct span name, int64_t until_us);
    void *context;
};

static void put_end(const struct telling *telling, const char *side, struct span name, int64_t until_us)
{
    if (until_us != INT64_MAX)
        telling->told(telling->context, side, name, until_us);
}

static void put_ends(const struct telling *telling, struct span name, const struct tls_context *tls)
{
    if (tls == NULL)
        return;
    put_end(telling, "client", name, tls_shown_until_us(tls));
    put_end(telling, "upstream", name, tls_met_until_us(tls));
    put_end(telling, "ca", name, tls_trust_until_us(tls));
}

void expiry_each(const struct conf *conf, void (*told)(void *context, const char *side, struct span name, int64_t until_us),
                 void *context)
{
    const struct telling telling = {told, context};
    const struct proxy_conf *proxy = conf->proxy;

    for (size_t i = 0; i < proxy->listen_count; i++) {
        char address[SOCK_TEXT_BYTES];

        sock_text(&proxy->listens[i].address, address);
        if (proxy->listens[i].tls == NULL)
            continue;
        put_end(&telling, "listener", span_text(address), tls_shown_until_us(proxy->listens[i].tls));
        put_end(&telling, "client_ca", span_text(address), tls_trust_until_us(proxy->listens[i].tls));
    }
    for (size_t i = 0; i < proxy->route_count; i++)
        put_ends(&telling, proxy->routes[i].name, proxy->routes[i].upstream.tls);
    put_ends(&telling, SPAN_LIT("(checkpoints)"), conf->audit.checkpoint_server.tls);
    put_ends(&telling, SPAN_LIT("(notify)"), conf->notify.server.tls);
    put_ends(&telling, SPAN_LIT("(alerts)"), conf->alerts.to.server.tls);
}
