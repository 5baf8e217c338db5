/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/pair.h"

#include "base/hash.h"
#include "http/writer.h"

#include <string.h>

#define UNSAID_US INT64_C(4000000)   /* kept so long where the server does not say how long; many close after 5 s */
#define MARGIN_US INT64_C(1000000)   /* given up so long before the server's own time is over */
#define AGE_MAX_US INT64_C(60000000) /* then names are looked up and certificates verified anew */

struct spare {
    struct list all; /* in the lane's list, the one given last first */
    struct loop_watch watch;
    struct lane *lane;
    struct stream *stream;
    struct upstream_line line;
};

/* ---- whose it is ---- */

/* Headers that agents send with every call and that do not say who they are. */
#define SAYS_NOTHING                                                                                             \
    (HTTP_EXCEPT(ACCEPT) | HTTP_EXCEPT(USER_AGENT) | HTTP_EXCEPT(CONTENT_TYPE) | HTTP_EXCEPT(CACHE_CONTROL) |    \
     HTTP_EXCEPT(TRACEPARENT) | HTTP_EXCEPT(LAST_EVENT_ID) | HTTP_EXCEPT(MCP_SESSION_ID) |                       \
     HTTP_EXCEPT(MCP_PROTOCOL_VERSION))

/* An empty text is not hashed, since most calls lack most of what is mixed. */
static uint64_t mix(uint64_t hash, struct span text)
{
    return hash_mix(hash, text.len > 0 ? hash_span(text) : 0);
}

/* A hash over who asks and with which credentials. Nobody knows what a server takes for credentials, so all headers that
 * go up count but those above, and the query, and a path that the agent chose. A path that a dialect writes was judged,
 * and holds none. */
static uint64_t whose(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct http_head *head = &pair->asks.head;
    const struct identity *identity = &exchange->identity;
    uint64_t hash = mix(exchange->who, exchange->call->asked.upstream);

    if (!span_equals(identity->tenant, identity->home)) /* which is in `who` */
        hash = mix(hash, identity->tenant);
    hash = mix(hash, exchange->authorization);
    hash = mix(hash, buf_peek(&exchange->said));
    hash = mix(hash, exchange->call->asked.query);
    if (exchange->dialect->write_path == NULL)
        hash = mix(hash, exchange->call->asked.path);
    for (size_t i = 0; i < head->count; i++) {
        enum http_name known = head->headers[i].known;
        struct span name = http_head_name(head, i);

        if (http_head_drops(head, i) || (known != HTTP_NAME_OTHER && (SAYS_NOTHING & (UINT64_C(1) << known)) != 0) ||
            span_equals_nocase(name, exchange->route->correlation_header))
            continue;
        hash = mix(mix(hash, name), http_head_value(head, i));
    }
    return hash | 1; /* never 0 */
}

/* Whether each request speaks for itself. Negotiate and NTLM authenticate the whole connection. */
static bool speaks_for_itself(struct span authorization)
{
    struct span scheme = span_part(authorization, 0, span_find(authorization, ' '));

    return authorization.at == NULL || span_equals_nocase(scheme, SPAN_LIT("Bearer")) ||
           span_equals_nocase(scheme, SPAN_LIT("Basic"));
}

/* The Authorization that goes up: the agent's, or the gate's own in its place. */
static struct span authorization_of(const struct pair *pair)
{
    return pair->exchange.route->upstream.outgoing.kind != OUTGOING_NONE
               ? pair->exchange.authorization : http_head_known(&pair->asks.head, HTTP_NAME_AUTHORIZATION);
}

static uint64_t shown(const struct pair *pair)
{
    struct span authorization = authorization_of(pair);

    return speaks_for_itself(authorization) ? mix(0, authorization) | 1 : 0;
}

void spare_begin_call(struct pair *pair)
{
    struct upstream_line *line = &pair->line;
    uint64_t who = whose(pair);

    line->is_kept = false;
    line->is_bound = line->is_bound || (line->whose != 0 && line->whose != who) ||
                     !speaks_for_itself(authorization_of(pair));
    line->whose = who;
    line->who = pair->exchange.who;
    line->shown = shown(pair);
}

bool spare_is_of_another(const struct pair *pair)
{
    const struct upstream_line *line = &pair->line;
    uint64_t now = shown(pair);

    return line->whose != 0 && !pair->is_pipe &&
           (line->who != pair->exchange.who || (line->shown != 0 && now != 0 && line->shown != now));
}

/* Reads `Keep-Alive: timeout=5`: how long the server keeps the connection. Returns: false: it does not say. */
static bool read_hint(struct span value, int64_t *us)
{
    const struct span word = SPAN_LIT("timeout=");
    size_t at = 0;

    *us = 0;
    while (at < value.len && !span_equals_nocase(span_part(value, at, word.len), word))
        at++;
    for (size_t i = at + word.len; i < value.len && value.at[i] >= '0' && value.at[i] <= '9' && *us < AGE_MAX_US; i++)
        *us = *us * 10 + (value.at[i] - '0') * INT64_C(1000000);
    return at < value.len;
}

static bool is_plain_reply(const struct http_reader *answers)
{
    const struct http_head *head = &answers->head;

    return (head->framing == HTTP_FRAMING_CONTENT_LENGTH || head->framing == HTTP_FRAMING_CHUNKED) &&
           answers->interim == 0 && head->status != 401 && head->status != 407 &&
           !http_head_has(head, HTTP_NAME_WWW_AUTHENTICATE) && !http_head_find(head, SPAN_LIT("Proxy-Authenticate"), NULL);
}

void spare_end_call(struct pair *pair)
{
    const struct http_head *head = &pair->answers.head;
    struct upstream_line *line = &pair->line;
    int64_t hint_us;

    line->is_kept = true;
    line->is_bound = line->is_bound || pair->exchange.pass != NULL || !is_plain_reply(&pair->answers);
    line->until_us = 0;
    if (read_hint(http_head_known(head, HTTP_NAME_KEEP_ALIVE), &hint_us))
        line->until_us = pair_now_us(pair) + (hint_us > MARGIN_US ? hint_us - MARGIN_US : 0);
}

/* ---- giving ---- */

static struct stream *release(struct spare *spare)
{
    struct stream *stream = spare->stream;

    if (stream->fd != -1)
        loop_watch_remove(spare->lane->worker.loop, &spare->watch);
    list_remove(&spare->all);
    spare->lane->spare_count--;
    mem_free(spare);
    return stream;
}

static void drop(struct spare *spare)
{
    struct worker *worker = &spare->lane->worker;

    worker_retire(worker, release(spare));
}

/* Whether the connection is still open and silent. A byte that nobody asked for makes it unusable, as its end does;
 * messages of TLS itself do not. */
static bool is_silent(const struct spare *spare)
{
    char byte;
    size_t done;

    return stream_read(spare->stream, &byte, 1, &done) == IO_WANT_READ;
}

static void heard(void *context, unsigned ready)
{
    struct spare *spare = context;

    (void)ready;
    if (is_silent(spare))
        return;
    spare->line.until_us = 1; /* long ago: nobody takes it, and the next sweep closes it */
    loop_watch_want(spare->lane->worker.loop, &spare->watch, 0);
}

static bool may_be_lent(const struct pair *pair)
{
    const struct upstream_line *line = &pair->line;
    const struct leg *back = &pair->back;

    return back->stream != NULL && line->is_kept && !line->is_bound && !pair->is_pipe && pair->lane->way == LANE_SERVES &&
           pair->conf == pair->lane->conf && span_is_empty(line->route->upstream.command) && back->is_ready &&
           !back->is_eof && !back->is_broken && buf_is_empty(&back->in) && leg_unsent(back) == 0;
}

void spare_give(struct pair *pair)
{
    struct lane *lane = pair->lane;
    struct spare *spare = may_be_lent(pair) ? mem_zalloc(sizeof *spare) : NULL;

    if (spare == NULL)
        return;
    if (lane->spare_count == SPARES_MAX)
        drop(LIST_ENTRY(lane->spares.prev, struct spare, all));
    spare->lane = lane;
    spare->line = pair->line;
    if (spare->line.until_us == 0)
        spare->line.until_us = pair->back_moved_us + UNSAID_US;
    if (spare->line.until_us > spare->line.born_us + AGE_MAX_US)
        spare->line.until_us = spare->line.born_us + AGE_MAX_US;
    spare->stream = leg_take(&pair->back);
    list_append(lane->spares.next, &spare->all);
    lane->spare_count++;
    if (spare->stream->fd == -1)
        return;
    loop_watch_init(&spare->watch, spare->stream->fd, heard, spare);
    loop_watch_want(lane->worker.loop, &spare->watch, LOOP_READ);
}

/* ---- taking ---- */

bool spare_take(struct pair *pair)
{
    struct lane *lane = pair->lane;
    const struct exchange *exchange = &pair->exchange;
    uint64_t who;

    if (list_is_empty(&lane->spares) || exchange->pass != NULL)
        return false;
    who = whose(pair);
    for (struct list *link = lane->spares.next; link != &lane->spares; link = link->next) {
        struct spare *spare = LIST_ENTRY(link, struct spare, all);

        if (spare->line.route != exchange->route || spare->line.whose != who || spare->line.until_us <= pair_now_us(pair))
            continue;
        pair->line = spare->line;
        pair->back_read = 0;
        pair->back_moved_us = 0; /* long ago, so that the connection is checked before it is used */
        leg_open(&pair->back, release(spare));
        leg_ready(&pair->back, LOOP_WRITE);
        return true;
    }
    return false;
}

void spare_sweep(struct lane *lane)
{
    struct list *link, *following;

    LIST_EACH(link, following, &lane->spares) {
        struct spare *spare = LIST_ENTRY(link, struct spare, all);

        if (spare->line.until_us <= loop_now_us(lane->worker.loop))
            drop(spare);
    }
}

void spare_drop_all(struct lane *lane)
{
    while (!list_is_empty(&lane->spares))
        drop(LIST_ENTRY(lane->spares.next, struct spare, all));
}
