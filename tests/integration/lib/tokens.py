# SPDX-License-Identifier: Apache-2.0
"""An identity provider that a scenario makes misbehave: its metadata, its key set, its introspection; and tokens signed by keys of the
scenario's own, with the openssl command alone.

    with KeyServer() as provider:
        key = Key(folder, "k1"); provider.keys = [key]
        token = key.sign(provider.claims("alice", org="acme"))"""

import base64
import hashlib
import json
import pathlib
import socket
import subprocess
import threading
import time
import urllib.parse

from integration.lib.small_servers import SmallServer


def url64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, check=True, capture_output=True).stdout


def raw_signature(der, size=32):
    """An ECDSA signature as JOSE has it, out of its DER."""
    at, parts = 2, []
    for _ in range(2):
        length = der[at + 1]
        parts.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(size, "big"))
        at += 2 + length
    return b"".join(parts)


class Key:
    """A private key, as ES256 or RS256."""

    def __init__(self, folder, kid, alg="ES256"):
        self.kid, self.alg, self.path = kid, alg, pathlib.Path(folder) / f"{kid}.pem"
        if alg == "ES256":
            self.path.write_bytes(openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout"))
            point = openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")[-64:]
            self.public = {"crv": "P-256", "kty": "EC", "x": url64(point[:32]), "y": url64(point[32:])}
        else:
            self.path.write_bytes(openssl("genrsa", "2048"))
            modulus = bytes.fromhex(openssl("rsa", "-in", self.path, "-noout", "-modulus").decode().strip().split("=")[1])
            self.public = {"e": "AQAB", "kty": "RSA", "n": url64(modulus)}
        self.jwk = {**self.public, "kid": kid, "alg": alg, "use": "sig"}
        self.thumbprint = url64(hashlib.sha256(json.dumps(self.public, separators=(",", ":"), sort_keys=True).encode()).digest())

    def sign(self, claims, kid=None, **header):
        head = {"alg": self.alg, "typ": "at+jwt", "kid": kid or self.kid, **header}
        signed = f"{url64(json.dumps(head).encode())}.{url64(json.dumps(claims).encode())}"
        signature = openssl("dgst", "-sha256", "-sign", self.path, data=signed.encode())
        return f"{signed}.{url64(raw_signature(signature) if self.alg == 'ES256' else signature)}"

    def proof(self, method, url, token, **claims):
        """RFC 9449: made just now, for this request and token."""
        made = {"htm": method, "htu": url, "iat": int(time.time()), "jti": url64(hashlib.sha256(str(time.time_ns()).encode()).digest()),
                "ath": url64(hashlib.sha256(token.encode()).digest()), **claims}
        head = {"alg": self.alg, "typ": "dpop+jwt", "jwk": self.public}
        signed = f"{url64(json.dumps(head).encode())}.{url64(json.dumps(made).encode())}"
        return f"{signed}.{url64(raw_signature(openssl('dgst', '-sha256', '-sign', self.path, data=signed.encode())))}"


class KeyServer(SmallServer):
    """`fault`, where it is set, answers whoever asks for the key set: it is called with the request."""

    audience = "https://mcp.example.com/shop/mcp"

    def __init__(self, **how):
        super().__init__(**how)
        self.keys, self.fault, self.active, self.wait, self.metadata = [], None, {}, 0, {}

    @property
    def issuer(self):
        return f"{self.scheme}://127.0.0.1:{self.port}/realms/corp"

    def answer(self, asked):
        origin = f"{self.scheme}://127.0.0.1:{self.port}"
        if self.wait:
            time.sleep(self.wait)
        if asked.path == "/realms/corp/.well-known/openid-configuration":
            asked.reply(200, {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/certs", "token_endpoint": f"{origin}/token", **self.metadata})
        elif asked.path == "/realms/corp/certs":
            self.fault(asked) if self.fault else asked.reply(200, {"keys": [key.jwk for key in self.keys]})
        elif asked.path == "/introspect":
            token = urllib.parse.parse_qs(asked.body.decode())["token"][0]
            asked.reply(200, self.active.get(token, {"active": False}))
        else:
            asked.reply(404)

    def asked_for(self, end):
        return sum(one["path"].endswith(end) for one in self.seen)

    def claims(self, subject, seconds=300, **more):
        now = int(time.time())
        return {"iss": self.issuer, "aud": self.audience, "sub": subject, "iat": now, "exp": now + seconds, **more}

    def away(self):
        """It takes no connection any more. Its port stays its own, since a socket that does not listen keeps it."""
        self.listener.shutdown()
        self.listener.socket.close()
        self.listener.socket = socket.socket()
        self.listener.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.socket.bind(("127.0.0.1", self.port))

    def back(self):
        self.listener.socket.listen(128)
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def conf(self, name="corp", **more):
        return {"name": name, "issuer": self.issuer, **more}

    def identity(self, provider="corp", **more):
        return [{"token": {"provider": provider, "audience": self.audience, "tenant": "$.org", **more}}]
