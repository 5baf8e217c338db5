# SPDX-License-Identifier: Apache-2.0
"""People's own accounts: a server that answers with the token that it was shown, people at a console, and the gate between them.

    with Claims() as upstream, corp_of() as corp, shop_of(upstream) as shop:
        world = world_of(upstream, corp, shop)      # the gate, not started; `Console` before it is world.console
        with world.gate.start(), Console(world.gate) as world.console:
            world.connect(world.log_in())           # ann connects her account, with a browser that says yes
            world.ask()["sub"]                      # what the server was shown for a call of hers; a text where it was denied"""
import base64
import json
import time
import urllib.parse

from integration.lib.console import Browser, with_people
from integration.lib.gate import call, check, equal
from integration.lib.small_servers import Upstream, result
from interop.lib.browser import browse
from interop.lib.interop import OPEN_POLICY
from interop.lib.provider import Provider

URL = "http://127.0.0.1:8480"  # how the console is called; the browsers of the tests find it wherever it listens
SECRET = "console-secret-0123456789abcdef/+"
GATE_SECRET = "gate-secret-0123456789abcdef/+"
PEOPLE = {"ann-id": {"org": "acme"}, "bob-id": {"org": "acme"}, "eve-id": {"org": "globex"}}
CODE = ["authorization_code", "refresh_token"]


class Claims(Upstream):
    """A protected server that answers with what stands in the token. As protected servers do, it takes one a little past its end, since what
    stands there are whole seconds and a call takes its time."""

    refuses = False

    def __init__(self, **more):
        super().__init__(**more)
        self.tokens = []  # that it was shown

    def answer(self, asked):
        scheme, _, token = (asked.headers.get("Authorization") or "").partition(" ")
        part = token.split(".")[1] if token.count(".") == 2 else "e30"
        said = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        self.tokens.append(token)
        if self.refuses or scheme != "Bearer" or said.get("aud") != self.url or said.get("exp", 0) + 3 < time.time():
            return asked.reply(401, {}, WWW_Authenticate="Bearer")
        return asked.reply(200, result(json.loads(asked.body), {"content": [], "structuredContent": {"token": token, **said}}))


class World:
    def __init__(self, gate, upstream, corp, shop, keys):
        self.gate, self.upstream, self.corp, self.shop, self.keys = gate, upstream, corp, shop, keys
        self.console, self.console_url = None, gate.conf["console"]["url"]

    def log_in(self, account="ann-id"):
        browser = Browser(self.console)
        there = browser.get("/login?by=corp").headers["location"]
        self.corp.test("login", account=account)
        back = urllib.parse.urlsplit(browse(there))
        equal(browser.get(f"{back.path}?{back.query}").status, 303, f"{account} logs in")
        return browser

    def begin(self, browser, route="shop", account="ann-shop"):
        """What the provider has the browser bring back, and the query with which it was sent there."""
        token = browser.get("/connect").field("token")
        page = browser.post(f"/connect/{route}", {"token": token})
        equal(page.status, 200, f"the console answers with a page: {page.words[-400:]}")
        there = page.headers["refresh"].removeprefix("0; url=")
        self.shop.test("login", account=account)
        back = browse(there)
        check(back.startswith(f"{self.console_url}/connect/{route}?"), f"the browser comes back: {back}")
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query)), dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(there).query))

    def back(self, browser, fields, route="shop"):
        return browser.get(f"/connect/{route}?" + urllib.parse.urlencode(fields))

    def connect(self, browser, route="shop", account="ann-shop"):
        fields, _ = self.begin(browser, route, account)
        page = self.back(browser, fields, route)
        equal((page.status, page.headers.get("location")), (303, "/connect"), f"{account} is connected: {page.words[-400:] if page.status != 303 else ''}")

    def ask(self, who="ann", path="/shop"):
        answer = json.loads(self.gate.post(path, call("t"), {"X-API-Key": self.keys[who]})[2])
        if "result" not in answer:
            return json.dumps(answer["error"])
        return answer["result"].get("structuredContent") or answer["result"]["content"][0]["text"]

    def accounts(self, *words):
        return [json.loads(line) for line in self.gate.run("connect", "list", "--json", *words).stdout.splitlines()]

    def events(self, kind):
        return [json.loads(row["detail"]) for row in self.gate.rows(f"SELECT detail FROM event WHERE kind = '{kind}' ORDER BY seq")]


def corp_of(url=URL, **more):
    """Where people log in at the console."""
    clients = [{"client_id": "console", "client_secret": SECRET, "grant_types": CODE, "response_types": ["code"], "redirect_uris": [f"{url}/login/corp"]}]
    return Provider(path="/realms/corp", accounts=PEOPLE, claims=["org"], clients=clients, **more)


def shop_of(upstream, **more):
    """Where they have accounts of their own."""
    own = [{"client_id": "gate-public", "token_endpoint_auth_method": "none", "grant_types": CODE, "response_types": ["code"], "redirect_uris": [f"{URL}/connect/shop"]},
           {"client_id": "gate-official", "token_endpoint_auth_method": "none", "grant_types": CODE, "response_types": ["code"], "redirect_uris": [f"{URL}/connect/official"]},
           {"client_id": "gate-post", "client_secret": GATE_SECRET, "token_endpoint_auth_method": "client_secret_post", "grant_types": CODE, "response_types": ["code"],
            "redirect_uris": [f"{URL}/connect/posted"]}]
    return Provider(path="/realms/shop", accounts={"ann-shop": {}, "bob-shop": {}}, clients=own, resources={upstream.url: {"scope": "tools:read"}}, **more)


def world_of(upstream, corp, shop, url=URL, console=None, conf=None):
    """Routes `shop`, by a public client, and `posted`, by one with a secret; `corp` knows the console."""
    connect = {"provider": "shop", "client": {"id": "gate-public"}, "scopes": ["offline_access", "tools:read"]}
    gate = with_people(upstream, OPEN_POLICY, conf={
        "providers": [{"name": "corp", "issuer": corp.issuer, "leeway": "1s"}, {"name": "shop", "issuer": shop.issuer}],
        "console": {"url": url, "clients": [{"provider": "corp", "client": "console", "secret": {"file": "console.secret"}}], **(console or {})}, **(conf or {})})
    [route] = gate.conf["routes"]
    gate.conf["routes"] = [{**route, "path": "/shop", "upstream": {"url": upstream.url, "authorization": {"connect": connect}}},
                           {**route, "name": "posted", "path": "/posted", "upstream": {"url": upstream.url, "authorization": {
                               "connect": {**connect, "client": {"id": "gate-post", "secret": {"file": "gate.secret"}, "method": "post"}}}}}]
    gate.conf["people"]["logins"] = [{"provider": "corp", "console": "console", "tenant": "$.org"}]
    gate.write("console.secret", SECRET + "\n").chmod(0o600)
    gate.write("gate.secret", GATE_SECRET + "\n").chmod(0o600)
    gate.write_conf()
    keys = {"ann": gate.key("ann-id"), "bob": gate.key("bob-id"), "viewer": gate.persons_key("vic", "viewer")}
    return World(gate, upstream, corp, shop, keys)


def known_keys(gate):
    return all((gate.folder / f"jwks-{name}.json").exists() for name in ("corp", "shop"))
