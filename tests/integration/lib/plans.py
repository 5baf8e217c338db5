# SPDX-License-Identifier: Apache-2.0
"""Intent plans (schema/plan.md), written by a second hand: signed with openssl, in whatever text a test wants.

    signer = Signer(folder); shown = signer.plan(steps=[...]); signer.sign(b"any bytes")"""
import base64
import hashlib
import json
import os
import subprocess
import time

HEADER = "X-Callgate-Plan"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def canonical(value):
    """RFC 8785, for values with ASCII names and whole numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def argument_digest(plan_id, text):
    return hashlib.sha256(b"callgate-plan-argument/1\n" + plan_id.encode() + b"\n" + text).hexdigest()


def digest(shown):
    text = shown.split(".")[0]
    return hashlib.sha256(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))).hexdigest()


def step(tool, arguments="any", times=None, upstream="shop"):
    made = {"upstream": upstream, "tool": tool, "arguments": arguments}
    return made if times is None else {**made, "times": times}


class Signer:
    def __init__(self, folder, name="plans"):
        self.private, self.public = str(folder / f"{name}.pem"), str(folder / f"{name}.pub")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.private], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", self.private, "-pubout", "-out", self.public], check=True, capture_output=True)
        os.chmod(self.private, 0o600)
        os.chmod(self.public, 0o644)
        der = subprocess.run(["openssl", "pkey", "-in", self.private, "-pubout", "-outform", "DER"], check=True, capture_output=True)
        self.raw = der.stdout[-32:]
        self.id = hashlib.sha256(self.raw).hexdigest()[:16]

    def sign(self, text, prefix=b"callgate-plan/1\n"):
        """The form of the header, whatever the text is."""
        path = self.private + ".text"
        with open(path, "wb") as file:
            file.write(prefix + text)
        done = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.private, "-in", path], check=True, capture_output=True)
        return base64url(text) + "." + base64url(done.stdout)

    def members(self, steps, **more):
        now = int(time.time())
        return {"callgate_plan": 1, "id": base64url(os.urandom(18)), "issuer": "alice@example.com", "key": self.id, "principal": "tester",
                "tenant": "acme", "not_before": now - 30, "expires": now + 3600, "order": "any", "steps": steps, **more}

    def plan(self, steps, **more):
        return self.sign(canonical(self.members(steps, **more)))
