/* SPDX-License-Identifier: Apache-2.0 */
/* Reads HTTPS_PROXY and NO_PROXY as curl would. libcurl does not read them itself, because this room resolves the proxy's
 * name, and must not resolve a name that only the proxy can. */
#include "web/web_priv.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>

static const char *told(const char *lower, const char *upper)
{
    const char *text = getenv(lower);

    if (text == NULL || text[0] == '\0')
        text = getenv(upper);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static bool read_parts(CURLU *url, bool *is_tls, struct resolve_name *to)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    uint64_t number = 0;
    bool good = web__curl.url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                web__curl.url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                web__curl.url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;

    if (good) {
        struct span name = span_text(host);

        *is_tls = strcmp(scheme, "https") == 0;
        if (span_starts_with(name, SPAN_LIT("[")))
            name = span_part(name, 1, name.len - 2);
        good = (*is_tls || strcmp(scheme, "http") == 0) && num_u64(span_text(port), &number) == CODE_OK && number > 0 &&
               number <= UINT16_MAX && name.len > 0 && name.len < sizeof to->host;
        to->port = (uint16_t)number;
        if (good)
            (void)snprintf(to->host, sizeof to->host, "%.*s", SPAN_ARG(name));
    }
    web__curl.free(scheme);
    web__curl.free(host);
    web__curl.free(port);
    return good;
}

bool web__url_read(const char *text, bool with_user, bool *is_tls, struct resolve_name *to)
{
    CURLU *url = web__curl.url();
    /* libcurl reads "https:///host" as if it had two slashes. */
    bool good = url != NULL && strstr(text, ":///") == NULL &&
                web__curl.url_set(url, CURLUPART_URL, text, with_user ? 0 : CURLU_DISALLOW_USER) == CURLUE_OK &&
                read_parts(url, is_tls, to);

    web__curl.url_cleanup(url);
    return good;
}

void web__proxy_read(struct web_proxy *proxy)
{
    const char *text = told("https_proxy", "HTTPS_PROXY");
    bool has_scheme = text != NULL && strstr(text, "://") != NULL, is_tls = false;
    size_t room = text != NULL ? strlen(text) + sizeof "http://" : 0;

    *proxy = (struct web_proxy){.except = told("no_proxy", "NO_PROXY")};
    if (text == NULL)
        return;
    proxy->url = mem_alloc(room);
    if (proxy->url != NULL)
        (void)snprintf(proxy->url, room, "%s%s", has_scheme ? "" : "http://", text);
    /* A proxy that is itself reached by TLS is refused, since the authorities of the server behind it would check it. */
    proxy->is_wrong = proxy->url == NULL || !web__url_read(proxy->url, true, &is_tls, &proxy->at) || is_tls;
}

uint16_t web_proxy_port(void)
{
    struct web_proxy proxy;

    if (web__load(NULL) != CODE_OK)
        return 0;
    web__proxy_read(&proxy);
    mem_free(proxy.url);
    return proxy.is_wrong ? 0 : proxy.at.port;
}

/* An entry `example.com` or `.example.com` means that name and all below it, `10.0.0.0/8` a network, `*` everything. */
static bool excepts(struct span entry, struct span host, const struct sock_address *address)
{
    struct sock_net net;
    size_t below;

    if (address != NULL)
        return span_is(entry, "*") || (sock_net_parse(entry, &net, NULL) == CODE_OK && sock_net_holds(&net, address));
    if (span_starts_with(entry, SPAN_LIT(".")))
        entry = span_part(entry, 1, SIZE_MAX);
    if (entry.len == 0 || entry.len > host.len)
        return false;
    below = host.len - entry.len;
    return span_is(entry, "*") ||
           (span_equals_nocase(span_part(host, below, SIZE_MAX), entry) && (below == 0 || host.at[below - 1] == '.'));
}

bool web__proxy_serves(const struct web_proxy *proxy, const char *name)
{
    struct span host = span_text(name), rest = span_text(proxy->except);
    struct sock_address address;
    bool is_literal = sock_parse_ip(host, 1, &address) == CODE_OK;

    if ((proxy->url == NULL && !proxy->is_wrong) || sock_host_is_loopback(host))
        return false;
    host.len -= span_ends_with(host, SPAN_LIT(".")) ? 1 : 0;
    while (rest.len > 0)
        if (excepts(span_trim(span_cut(rest, ',', &rest)), host, is_literal ? &address : NULL))
            return false;
    return true;
}
