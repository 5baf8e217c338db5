/* SPDX-License-Identifier: Apache-2.0 */
/* How the tokens for upstreams are: events where fetching begins to work or to fail, and metrics. */
#include "providers/outgoing_desk.h"
#include "run/serve_priv.h"

#include "json/doc.h"

#include <inttypes.h>

void serve__record_outgoing(struct serve *serve)
{
    const struct proxy_conf *conf = serve->conf->proxy;

    for (size_t i = 0; i < conf->fetched_count; i++) {
        const struct outgoing *outgoing = conf->fetched[i].outgoing;
        struct outgoing_token *token;
        struct outgoing_report report;
        struct doc *doc;
        struct buf detail;

        if (!outgoing_news(outgoing, &report))
            continue;
        token = outgoing_known(providers_lookups(serve->providers), outgoing);
        doc = doc_object();
        buf_init(&detail, 4096);
        doc_text(doc, "upstream", conf->fetched[i].route->name);
        if (outgoing->header.len > 0)
            doc_text(doc, "header", outgoing->header);
        doc_text(doc, "state", report.is_failing ? SPAN_LIT("fails") : SPAN_LIT("works"));
        if (report.is_failing)
            doc_text(doc, "why", span_text(report.why));
        if (token != NULL)
            doc_int(doc, "until", token->until_us);
        if (doc_print(doc, &detail) == CODE_OK)
            serve__event(serve, "outgoing", buf_peek(&detail));
        buf_fini(&detail);
        doc_free(&doc);
        outgoing_token_unref(&token);
    }
}

void serve__measure_outgoing(const struct serve *serve, struct buf *out)
{
    static const char *const heads[] = {
        "# HELP callgate_outgoing_fetched_total Tokens for an upstream that a provider or program gave.\n"
        "# TYPE callgate_outgoing_fetched_total counter\n",
        "# HELP callgate_outgoing_failed_total Times that it gave none.\n"
        "# TYPE callgate_outgoing_failed_total counter\n",
        "# HELP callgate_outgoing_failing 1 while it gives none; a caller's token that it refuses does not count.\n"
        "# TYPE callgate_outgoing_failing gauge\n",
        "# HELP callgate_outgoing_failed_timestamp_seconds When it gave none the last time.\n"
        "# TYPE callgate_outgoing_failed_timestamp_seconds gauge\n",
        "# HELP callgate_outgoing_got_timestamp_seconds When the token that goes up was asked for; one of a route.\n"
        "# TYPE callgate_outgoing_got_timestamp_seconds gauge\n",
        "# HELP callgate_outgoing_expiry_timestamp_seconds Until when that one goes up.\n"
        "# TYPE callgate_outgoing_expiry_timestamp_seconds gauge\n",
    };
    static const char *const names[] = {"fetched_total", "failed_total", "failing", "failed_timestamp_seconds",
                                        "got_timestamp_seconds", "expiry_timestamp_seconds"};
    const struct proxy_conf *conf = serve->conf->proxy;

    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        buf_add_text(out, heads[n]);
        for (size_t i = 0; i < conf->fetched_count; i++) {
            const struct outgoing *outgoing = conf->fetched[i].outgoing;
            struct outgoing_token *token = outgoing_known(providers_lookups(serve->providers), outgoing);
            struct outgoing_report report = {.fetched = 0};
            int64_t values[sizeof names / sizeof *names];

            outgoing_look(outgoing, &report);
            values[0] = (int64_t)report.fetched;
            values[1] = (int64_t)report.failed;
            values[2] = report.is_failing;
            values[3] = report.failed_us / 1000000;
            values[4] = token != NULL ? token->got_us / 1000000 : 0;
            values[5] = token != NULL ? token->until_us / 1000000 : 0;
            if (values[n] != 0 || n < 3)
                buf_addf(out, "callgate_outgoing_%s{upstream=\"%.*s\"%s%.*s%s} %" PRId64 "\n", names[n],
                         SPAN_ARG(conf->fetched[i].route->name), outgoing->header.len > 0 ? ",header=\"" : "",
                         SPAN_ARG(outgoing->header), outgoing->header.len > 0 ? "\"" : "", values[n]);
            outgoing_token_unref(&token);
        }
    }
}
