# SPDX-License-Identifier: Apache-2.0
"""A person's browser, which says yes to whatever the provider of the tests asks."""
import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request


class _Stop(urllib.request.HTTPRedirectHandler):
    """Follows within the provider, and from a front to it; what leads elsewhere is the end of the walk."""

    def __init__(self, origin):
        self.origin = origin

    def redirect_request(self, request, body, code, message, headers, url):
        asked = urllib.parse.urlsplit(request.full_url)
        back = urllib.parse.parse_qs(asked.query).get("redirect_uri", [None])[0]
        if asked.path.endswith("/authorize") and not (back and url.startswith(back)):
            self.origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
        if url.startswith(self.origin):
            return super().redirect_request(request, body, code, message, headers, url)
        raise urllib.error.HTTPError(url, code, message, headers, body)


def browse(url, context=None):
    """Where it ends outside of the provider."""
    origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
    handlers = [urllib.request.HTTPSHandler(context=context)] if context else []
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), *handlers,
                                         urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), _Stop(origin))
    try:
        with opener.open(url, timeout=60) as page:
            raise RuntimeError(f"{url}: the browser stays at {page.url}: {page.read()[:1000]}")
    except urllib.error.HTTPError as end:
        if end.code not in (302, 303):
            raise RuntimeError(f"{url}: {end.code} {end.read()[:1000]}") from end
        return end.url
