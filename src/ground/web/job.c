/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web_priv.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/sandbox.h"

#include <errno.h>
#include <stdio.h>

#define WAIT_US (INT64_C(10) * 1000000)
#define CONNECT_MAX_MS 5000
#define HEAD_MAX_BYTES ((size_t)32 << 10) /* over all heads of an answer, interim ones (100 Continue) included */
#define BODY_MAX_BYTES ((size_t)1 << 20)
#define SENT_MAX_BYTES ((size_t)16 << 20)
#define LINE_MAX_BYTES ((size_t)64 << 10) /* nobody's token is longer */
#define CONNECTION_MAX_S 600

/* ---- the request ---- */

static bool is_clean(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ' && text.at[i] != '\t')
            return false;
    return true;
}

/* libcurl takes a line that ends with NUL, and keeps a copy of it. */
static enum code add_header(struct web_job *job, struct span name, struct span value)
{
    struct curl_slist *more = NULL;
    struct buf line;
    enum code code;

    if (name.len == 0 || !is_clean(name) || !is_clean(value) || span_find(name, ':') < name.len)
        return CODE_INVALID;
    buf_init(&line, LINE_MAX_BYTES);
    buf_wipes(&line);
    buf_add_span(&line, name);
    buf_add_text(&line, value.len > 0 ? ": " : ";");
    buf_add_span(&line, value);
    code = buf_add_byte(&line, '\0');
    if (code == CODE_OK) {
        more = web__curl.slist_append(job->headers, buf_peek(&line).at);
        code = more != NULL ? CODE_OK : CODE_NOMEM;
    }
    if (more != NULL)
        job->headers = more;
    buf_fini(&line);
    return code;
}

static enum code copy_request(struct web_job *job, const struct web_request *request)
{
    enum code code = CODE_OK;

    if (request->body.at != NULL) {
        job->body = mem_dup(request->body.at, request->body.len);
        job->body_len = request->body.len;
        code = job->body != NULL ? CODE_OK : CODE_NOMEM;
    }
    for (size_t i = 0; i < request->header_count && code == CODE_OK; i++)
        code = add_header(job, request->headers[i].name, request->headers[i].value);
    /* An empty `Expect:` keeps libcurl from asking before it sends a large body. */
    for (size_t i = 0; i < 2 && code == CODE_OK; i++) {
        struct curl_slist *more = web__curl.slist_append(job->headers, i == 0 ? "Expect:" : "User-Agent: callgate");

        code = more != NULL ? CODE_OK : CODE_NOMEM;
        job->headers = more != NULL ? more : job->headers;
    }
    return code;
}

static enum code check_url(struct web_job *job, const struct web_request *request, const struct web_proxy *proxy,
                           struct why *why)
{
    if (!is_clean(request->url) || memchr(request->url.at, '\0', request->url.len) != NULL ||
        !web__url_read(job->url, false, &job->is_tls, &job->to))
        return why_set(why, CODE_INVALID, "a URL that is to be asked is none; write https://HOST/PATH, without a user");
    if (!job->is_tls && !request->insecure && !sock_host_is_loopback(span_text(job->to.host)))
        return why_set(why, CODE_INVALID, "plain http to %s would show everything to everyone on the way; write https",
                       job->to.host);
    job->by_proxy = job->is_tls && web__proxy_serves(proxy, job->to.host);
    if (job->by_proxy && proxy->is_wrong)
        return why_set(why, CODE_INVALID, "HTTPS_PROXY names no proxy that can be used for %s; write http://HOST:PORT, or name "
                       "the server in NO_PROXY", job->to.host);
    job->next = job->by_proxy ? proxy->at : job->to;
    return CODE_OK;
}

enum code web__job_new(const struct web_request *request, const struct web_proxy *proxy, struct web_job **out, struct why *why)
{
    struct web_job *job = mem_zalloc(sizeof *job);
    enum code code;

    *out = job;
    if (job == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for a request");
    job->begin_us = clock_monotonic_us() + request->pause_us;
    job->until_us = job->begin_us + (request->wait_us > 0 ? request->wait_us : WAIT_US);
    job->part = request->part;
    job->part_context = request->part_context;
    job->done = request->done;
    job->context = request->context;
    job->tls = tls_ref(request->tls);
    buf_init(&job->answer.head, HEAD_MAX_BYTES);
    buf_init(&job->answer.body, request->body_max_bytes > 0 ? request->body_max_bytes : BODY_MAX_BYTES);
    buf_wipes(&job->answer.head);
    buf_wipes(&job->answer.body);
    job->url = mem_dup(request->url.at, request->url.len);
    if (job->url == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory for a request");
    code = check_url(job, request, proxy, why);
    if (code != CODE_OK)
        return code;
    code = request->body.len <= SENT_MAX_BYTES ? copy_request(job, request) : CODE_LIMIT;
    return code == CODE_OK ? code : why_set(why, code, "a request to %s cannot be made: %s", job->to.host, code_text(code));
}

static void free_wiped(char *block, size_t len)
{
    if (block != NULL)
        mem_wipe(block, len);
    mem_free(block);
}

void web__job_free(struct web_job *job)
{
    if (job == NULL)
        return;
    web__curl.easy_cleanup(job->easy);
    web__curl.slist_free_all(job->headers);
    web__curl.slist_free_all(job->addresses);
    free_wiped(job->body, job->body_len);
    free_wiped(job->url, job->url != NULL ? strlen(job->url) : 0); /* a query may hold a secret */
    tls_unref(&job->tls);
    web_answer_fini(&job->answer);
    mem_free(job);
}

/* ---- the answer ---- */

static size_t refuse(struct web_job *job, enum code code, const char *text)
{
    job->refused = code;
    (void)snprintf(job->error, sizeof job->error, "%s", text);
    return 0; /* 0 makes libcurl end the transfer */
}

static bool has_name(struct span line, const char *name, struct span *value)
{
    struct span named;

    while (line.len > 0 && (line.at[line.len - 1] == '\n' || line.at[line.len - 1] == '\r'))
        line.len--;
    named = span_trim(span_cut(line, ':', value));
    *value = span_trim(*value);
    return span_equals_nocase(named, span_text(name));
}

static size_t take_head(char *at, size_t size, size_t count, void *context)
{
    struct web_job *job = context;
    struct span line = span_of(at, size * count), value;

    job->head_bytes += line.len;
    if (job->head_bytes > HEAD_MAX_BYTES)
        return refuse(job, CODE_LIMIT, "its head is too large");
    if (span_starts_with(line, SPAN_LIT("HTTP/"))) { /* an interim head (100 Continue) comes before the answer's own */
        buf_clear(&job->answer.head);
        job->has_head = false;
    }
    job->has_head = job->has_head || span_is(line, "\r\n") || span_is(line, "\n");
    if (has_name(line, "Content-Encoding", &value) && !span_equals_nocase(value, SPAN_LIT("identity")))
        return refuse(job, CODE_INVALID, "its answer is compressed, which nobody asked for");
    if (has_name(line, "Transfer-Encoding", &value) && !span_equals_nocase(value, SPAN_LIT("chunked")))
        return refuse(job, CODE_INVALID, "its answer is compressed on the way, which nobody asked for");
    if (buf_add_span(&job->answer.head, line) != CODE_OK)
        return refuse(job, CODE_NOMEM, "there is not enough memory for its head");
    return line.len;
}

static void read_status(struct web_job *job)
{
    long status = 0;

    (void)web__curl.easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &status);
    job->answer.status = job->has_head && status >= 200 ? (int)status : 0;
}

static size_t take_body(char *at, size_t size, size_t count, void *context)
{
    struct web_job *job = context;
    enum code code = CODE_OK;

    if (job->part != NULL) {
        read_status(job);
        job->is_enough = !job->part(job->part_context, &job->answer, span_of(at, size * count));
        return job->is_enough ? 0 : size * count;
    }
    code = buf_add(&job->answer.body, at, size * count);
    if (code == CODE_OK)
        return size * count;
    return refuse(job, code, code == CODE_LIMIT ? "its answer is too large" : "there is not enough memory for its answer");
}

/* ---- the transfer ---- */

static CURLcode lend_tls(CURL *easy, void *ssl_ctx, void *context)
{
    const struct web_job *job = context;

    (void)easy;
    return tls_lend(job->tls, ssl_ctx) == CODE_OK ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

/* libcurl would resolve names on threads of its own, which the sandbox does not permit. So names are resolved before,
 * and only literal addresses pass here. */
static int refuse_lookup(void *state, void *reserved, void *context)
{
    const struct web_job *job = context;
    struct sock_address address;

    (void)state, (void)reserved;
    return sock_parse_ip(span_text(job->next.host), 1, &address) == CODE_OK ? 0 : 1;
}

#define SET(option, value) (web__curl.easy_setopt(job->easy, CURLOPT_##option, value) == CURLE_OK)

static bool set_bounds(struct web_job *job, int64_t now_us)
{
    long left_ms = job->until_us > now_us ? (long)((job->until_us - now_us) / 1000) + 1 : 1; /* 0 would be no bound */

    return SET(TIMEOUT_MS, left_ms) && SET(CONNECTTIMEOUT_MS, left_ms < CONNECT_MAX_MS ? left_ms : (long)CONNECT_MAX_MS) &&
           SET(MAXFILESIZE_LARGE, job->part != NULL ? 0 : (curl_off_t)job->answer.body.cap_bytes) &&
           SET(MAXLIFETIME_CONN, (long)CONNECTION_MAX_S) &&
           SET(HEADERFUNCTION, take_head) && SET(HEADERDATA, job) && SET(WRITEFUNCTION, take_body) && SET(WRITEDATA, job) &&
           SET(SUPPRESS_CONNECT_HEADERS, 1L) && SET(FOLLOWLOCATION, 0L) && SET(NOSIGNAL, 1L) && SET(ERRORBUFFER, job->error) &&
           SET(RESOLVER_START_FUNCTION, refuse_lookup) && SET(RESOLVER_START_DATA, job) && SET(PRIVATE, job);
}

/* The authorities that libcurl was built with are not loaded, since tls_lend sets those that count. */
static bool set_tls(struct web_job *job, const struct web_proxy *proxy)
{
    return SET(PROTOCOLS_STR, job->is_tls ? "https" : "http") && SET(REDIR_PROTOCOLS_STR, "https") &&
           SET(SSL_VERIFYPEER, 1L) && SET(SSL_VERIFYHOST, 2L) && SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
           SET(CAINFO, NULL) && SET(CAPATH, NULL) && SET(SSL_SESSIONID_CACHE, 0L) && SET(SSL_CTX_FUNCTION, lend_tls) &&
           SET(SSL_CTX_DATA, job) && SET(PROXY, job->by_proxy ? proxy->url : "") && SET(NOPROXY, "") &&
           SET(PROXYPORT, (long)proxy->at.port) && SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) && SET(PIPEWAIT, 1L);
}

static bool set_question(struct web_job *job)
{
    return SET(URL, job->url) && SET(PATH_AS_IS, 1L) && SET(HTTPHEADER, job->headers) && SET(RESOLVE, job->addresses) &&
           SET(SHARE, job->pool->share) &&
           (job->body == NULL || (SET(POSTFIELDSIZE_LARGE, (curl_off_t)job->body_len) && SET(POSTFIELDS, job->body)));
}

/* Writes "+shop.example:443:192.0.2.1,[2001:db8::1]" for CURLOPT_RESOLVE. libcurl forgets it after a minute, and
 * each request sets it anew. */
static enum code name_addresses(struct web_job *job, const struct sock_address *addresses, size_t count)
{
    struct buf line;
    enum code code;

    buf_init(&line, 4096);
    buf_addf(&line, "+%s:%u:", job->next.host, job->next.port);
    for (size_t i = 0; i < count; i++) {
        char text[SOCK_TEXT_BYTES];

        sock_ip_text(&addresses[i], text);
        buf_addf(&line, strchr(text, ':') != NULL ? "%s[%s]" : "%s%s", i > 0 ? "," : "", text);
    }
    code = buf_add_byte(&line, '\0');
    if (code == CODE_OK)
        job->addresses = web__curl.slist_append(NULL, buf_peek(&line).at);
    buf_fini(&line);
    return code == CODE_OK && job->addresses == NULL ? CODE_NOMEM : code;
}

enum code web__job_prepare(struct web_job *job, const struct web_proxy *proxy, const struct sock_address *addresses,
                           size_t count, int64_t now_us)
{
    enum code code = count > 0 && strchr(job->next.host, ':') == NULL ? name_addresses(job, addresses, count) : CODE_OK;

    job->easy = code == CODE_OK ? web__curl.easy_init() : NULL;
    return job->easy != NULL && set_bounds(job, now_us) && set_tls(job, proxy) && set_question(job) ? CODE_OK : CODE_NOMEM;
}

/* ---- the result ---- */

/* Replaces what is not printable, since some of libcurl's sentences quote a server's certificate or reason. */
static const char *plain(char *text)
{
    for (char *at = text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return text;
}

static void explain(struct web_job *job, CURLcode code)
{
    struct why *why = &job->answer.why;
    const char *said = job->error[0] != '\0' ? plain(job->error) : web__curl.easy_strerror(code);
    long system = 0;

    job->answer.code = job->refused != CODE_OK ? job->refused : CODE_IO;
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        (void)why_set(why, CODE_IO, "%s did not answer in time%s", job->to.host, job->by_proxy ? " through the proxy" : "");
        break;
    case CURLE_COULDNT_CONNECT:
        (void)web__curl.easy_getinfo(job->easy, CURLINFO_OS_ERRNO, &system);
        (void)why_set(why, CODE_IO, "%s:%u cannot be reached%s%s", job->next.host, job->next.port,
                      job->by_proxy ? ", which HTTPS_PROXY names as the proxy" : "",
                      system == EACCES && !sandbox_knows_port(job->next.port)
                          ? "; the gate, as it has confined itself, connects to no such port: restart it" : "");
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CONNECT_ERROR:
        job->answer.code = CODE_DENIED;
        (void)why_set(why, CODE_DENIED, "%s is not who it should be, or does not believe us: %s", job->to.host, said);
        break;
    case CURLE_FILESIZE_EXCEEDED:
        job->answer.code = CODE_LIMIT;
        (void)why_set(why, CODE_LIMIT, "%s: its answer is too large", job->to.host);
        break;
    case CURLE_BAD_CONTENT_ENCODING: /* libcurl 8 refuses a transfer coding before take_head sees its header */
        job->answer.code = CODE_INVALID;
        (void)why_set(why, CODE_INVALID, "%s: its answer is compressed, which nobody asked for", job->to.host);
        break;
    case CURLE_OUT_OF_MEMORY:
        job->answer.code = CODE_NOMEM;
        /* fall through */
    default: (void)why_set(why, CODE_IO, "%s: %s", job->to.host, said);
    }
}

void web__job_settle(struct web_job *job, CURLcode code)
{
    read_status(job);
    if (!job->is_enough && (code != CURLE_OK || job->refused != CODE_OK))
        explain(job, code);
}

void web_answer_fini(struct web_answer *answer)
{
    buf_fini(&answer->head);
    buf_fini(&answer->body);
}

struct span web_answer_header(const struct web_answer *answer, const char *name)
{
    struct span rest = buf_peek(&answer->head), value;

    while (rest.len > 0)
        if (has_name(span_cut(rest, '\n', &rest), name, &value))
            return value;
    return SPAN_NONE;
}

bool web_answer_is(const struct web_answer *answer, const char *media)
{
    struct span parameters, type = span_cut(web_answer_header(answer, "Content-Type"), ';', &parameters);

    return span_equals_nocase(span_trim(type), span_text(media));
}
