# SPDX-License-Identifier: Apache-2.0
"""The real authorization server of the scenarios (provider.mjs), and what an agent does with it.

    setup()                                     # of interop.py: installs the packages, or skips the scenario
    with Provider(path="/realms/corp", accounts={"alice": {"org": "acme", "realm_access": {"roles": ["dev"]}}}) as provider:
        provider.issuer                         # also `authority`: its CA's certificate, where `tls` is a pki.Authority
        provider.person("alice", audience, "tools:read")["access_token"]   # PKCE with a browser that says yes; also refresh_token
        provider.service(audience, "tools:read")["access_token"]           # client credentials
        provider.test("rotate", keep=True)      # steers it; all of these are in provider.mjs: TEST"""

import base64
import hashlib
import json
import os
import pathlib
import secrets
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from integration.lib.gate import Failed
from interop.lib.browser import browse
from interop.lib.interop import INTO, NODE

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class Provider:
    def __init__(self, tls=None, trusts=None, **options):
        """`tls`: a pki.Authority, for HTTPS on 127.0.0.1; `trusts`: one by which it knows others; the rest as provider.mjs has it."""
        self.authority = tls and str(tls.certificate)
        if tls:
            certificate, key = tls.issue("provider", ["IP:127.0.0.1", "DNS:localhost"])
            options["tls"] = {"certificate": str(certificate), "key": str(key), "authority": self.authority}
        log = pathlib.Path(os.environ.get("SCENARIO_TMP", "/tmp")) / f"provider-{secrets.token_hex(4)}.log"
        with open(log, "wb") as errors:
            self.process = subprocess.Popen([NODE, str(INTO / "provider.mjs"), json.dumps(options)], cwd=INTO,
                                            stdout=subprocess.PIPE, stderr=errors,
                                            env={**os.environ, **({"NODE_EXTRA_CA_CERTS": str(trusts.certificate)} if trusts else {})})
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the provider does not start: {log.read_text()[-2000:]}")
        ready = json.loads(line)
        self.issuer, self.port = ready["issuer"], ready["port"]
        self.origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(self.issuer))
        self.context = ssl.create_default_context(cafile=self.authority) if tls else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def _open(self):
        https = [urllib.request.HTTPSHandler(context=self.context)] if self.context else []
        return urllib.request.build_opener(urllib.request.ProxyHandler({}), *https)

    def ask(self, path, form=None, basic=None, headers=None):
        """(status, JSON) of the provider, below its issuer; `basic`: a client's (id, secret)."""
        request = urllib.request.Request(self.issuer + path, headers=headers or {})
        if form is not None:
            request.data = urllib.parse.urlencode({name: value for name, value in form.items() if value is not None}).encode()
        if basic:
            request.add_header("Authorization", "Basic " + base64.b64encode(":".join(basic).encode()).decode())
        try:
            with self._open().open(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def test(self, what, **words):
        request = urllib.request.Request(f"{self.origin}/test/{what}", json.dumps(words).encode())
        with self._open().open(request, timeout=60) as answer:
            return json.loads(answer.read())

    def sign(self, claims, **header):
        """Any token at all, by a key of the provider's."""
        return self.test("sign", header=header, claims=claims)["token"]

    def token(self, form, basic=None, headers=None):
        status, answer = self.ask("/token", form, basic, headers)
        if status != 200:
            raise Failed(f"no token for {form}: {status} {answer}")
        return answer

    def person(self, account, resource, scope="", client="app", redirect="http://127.0.0.1/callback"):
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        query = {"client_id": client, "response_type": "code", "redirect_uri": redirect, "code_challenge": challenge,
                 "code_challenge_method": "S256", "resource": resource, "scope": scope, "state": "s", "login_hint": account}
        end = urllib.parse.parse_qs(urllib.parse.urlsplit(browse(f"{self.issuer}/auth?{urllib.parse.urlencode(query)}", self.context)).query)
        if "code" not in end:
            raise Failed(f"no code for {account}: {end}")
        return self.token({"grant_type": "authorization_code", "code": end["code"][0], "redirect_uri": redirect, "client_id": client,
                           "code_verifier": verifier, "resource": resource})

    def refresh(self, token, resource=None, client="app"):
        return self.token({"grant_type": "refresh_token", "refresh_token": token, "client_id": client, "resource": resource})

    def service(self, resource, scope="", client=("service", "service-secret"), headers=None):
        return self.token({"grant_type": "client_credentials", "resource": resource, "scope": scope}, client, headers)

    def exchange(self, token, resource, scope=None, client=("gate", "gate-secret")):
        return self.token({"grant_type": EXCHANGE, "subject_token": token, "resource": resource, "scope": scope,
                           "subject_token_type": "urn:ietf:params:oauth:token-type:access_token"}, client)
