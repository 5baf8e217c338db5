# SPDX-License-Identifier: Apache-2.0
"""`callgate console` before a gate, and a browser that has no eyes: cookies, forms and their tokens."""
import html
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import tempfile
import urllib.parse

from integration.lib.gate import Failed, Gate, equal, mcp_route

KEYS = "X-API-Key"


def with_people(upstream, policy, conf=None, **more):
    """A gate whose agents show keys, and which takes people's commands. Not started. Takes: more: of its route."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="callgate-console-"))
    route = mcp_route(upstream.url, name="shop", identity=[{"api_key": KEYS}], correlation_header="X-Correlation-Id", **more)
    gate = Gate([route], conf={"people": {"socket": str(folder / "control.sock")}, **(conf or {})}, folder=folder, start=False)
    gate.write("shop.yaml", policy)
    equal(gate.run("policy", "load", "shop.yaml").returncode, 0, "a policy")
    return gate


class Console:
    def __init__(self, gate, address="127.0.0.1:0"):
        self.log = gate.folder / "console.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([gate.program, "console", "--json", "--address", address, "--config", str(gate.conf_path)],
                                            stdout=subprocess.PIPE, stderr=log, text=True, cwd=gate.folder, env=gate.environment)
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the console did not start: {self.log.read_text()}")
        self.said = json.loads(line)
        self.url, self.address = self.said["url"], self.said["address"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=30)


class Page:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.text = body.decode(errors="replace")

    @property
    def words(self):
        """What a person reads."""
        return html.unescape(re.sub(r"<[^>]*>", " ", self.text))

    def field(self, name):
        found = re.search(rf'name="{name}"[^>]* value="([^"]*)"', self.text)
        return found and html.unescape(found[1])


class Browser:
    """A person at the console."""

    def __init__(self, console, source=None, scheme=None):
        """`source`: the address that it comes from; `scheme`: how it talks, where not as the console's URL says."""
        self.console, self.url, self.source = console, urllib.parse.urlsplit(console.url), source
        self.scheme = scheme or self.url.scheme
        self.jar, self.own_cookie, self.set_cookie = {}, None, None

    @property
    def cookie(self):
        return self.own_cookie or "; ".join(f"{name}={value}" for name, value in self.jar.items()) or None

    @cookie.setter
    def cookie(self, text):
        """What it shows whatever it was given."""
        self.own_cookie = text

    @property
    def origin(self):
        return f"{self.url.scheme}://{self.url.netloc}"

    def ask(self, method, path, body=None, **headers):
        by = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        more = {"context": ssl._create_unverified_context()} if self.scheme == "https" else {}
        connection = by(self.console.address, timeout=60, source_address=self.source and (self.source, 0), **more)
        wanted = {"Host": self.url.netloc, **({"Cookie": f"{self.cookie}"} if self.cookie else {}),
                  **{name.replace("_", "-"): value for name, value in headers.items() if value is not None}}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {**wanted, **({"Content-Length": str(len(body))} if body is not None else {})}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            page = Page(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
            for self.set_cookie in answer.headers.get_all("Set-Cookie") or []:
                name, value = self.set_cookie.split(";")[0].split("=", 1)
                self.jar[name] = value
                self.jar = {name: value for name, value in self.jar.items() if value}
                self.own_cookie = None
        finally:
            connection.close()
        return page

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, fields, Origin="", **headers):
        """As a form does it. Origin "": the console's own; None: there is none."""
        return self.ask("POST", path, urllib.parse.urlencode(fields).encode(), Origin=self.origin if Origin == "" else Origin,
                        **{"Content_Type": "application/x-www-form-urlencoded", **headers})

    def log_in(self, its_key):
        return self.post("/login", {"key": its_key})
