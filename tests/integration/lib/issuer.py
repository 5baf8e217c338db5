# SPDX-License-Identifier: Apache-2.0
"""An identity provider without a network: a key by the openssl command, its set as a file, and tokens as scenarios want them.

    issuer = Issuer(folder)                          # folder/keys.json is its set; providers: [issuer.provider()]
    issuer.token(aud="https://gate.example/mcp", scope="tools:read", sub="alice", org="acme")
    mcp_route(url, identity=[issuer.source("https://gate.example/mcp")])"""

import base64
import json
import pathlib
import subprocess
import time


def b64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Issuer:
    def __init__(self, folder, name="corp", url="https://id.example/realms/corp", kid="k1"):
        self.folder, self.name, self.url, self.kid = pathlib.Path(folder), name, url, kid
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key = self.folder / f"{name}.key"
        self._openssl("genrsa", "-out", self.key, "2048")
        modulus = self._openssl("rsa", "-in", self.key, "-noout", "-modulus").decode().strip().split("=")[1]
        self.jwk = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": b64(bytes.fromhex(modulus)), "e": "AQAB"}
        self.set = self.folder / f"{name}.jwks"
        self.set.write_text(json.dumps({"keys": [self.jwk]}))

    @staticmethod
    def _openssl(*words, stdin=None):
        return subprocess.run(["openssl", *map(str, words)], input=stdin, check=True, capture_output=True).stdout

    def provider(self, **more):
        return {"name": self.name, "issuer": self.url, "keys": {"file": str(self.set)}, "algorithms": ["RS256"], **more}

    def source(self, audience, **more):
        """`more`: of `token`; `forward` goes beside it."""
        forward = {"forward": True} if more.pop("forward", False) else {}
        return {"token": {"provider": self.name, "audience": audience, "principal": "$.sub", "tenant": "$.org", **more}, **forward}

    def token(self, header=None, **claims):
        now = int(time.time())
        header = {"alg": "RS256", "typ": "at+jwt", "kid": self.kid, **(header or {})}
        claims = {"iss": self.url, "sub": "alice", "org": "acme", "iat": now, "exp": now + 300, **claims}
        parts = [{name: value for name, value in part.items() if value is not None} for part in (header, claims)]
        signed = ".".join(b64(json.dumps(part).encode()) for part in parts)
        return signed + "." + b64(self._openssl("dgst", "-sha256", "-sign", self.key, stdin=signed.encode()))
