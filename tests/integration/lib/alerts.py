# SPDX-License-Identifier: Apache-2.0
"""Who is told of alerts: a webhook over TLS that keeps what it takes, and can refuse."""
import hashlib
import hmac
import json

from integration.lib.gate import check, equal, eventually
from integration.lib.small_servers import SmallServer

SECRET = "a-secret-that-two-know"


class Webhook(SmallServer):
    path = "/alerts"

    def __init__(self, authority):
        super().__init__(tls=authority.issue("webhook", ["IP:127.0.0.1"]))
        self.posts, self.status, self.ca = [], 200, authority.certificate

    def answer(self, request):
        if self.status == 200:
            signed = request.headers["X-Callgate-Timestamp"].encode() + b"." + request.body
            equal(request.headers["X-Callgate-Signature"], "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest(),
                  "what is posted is signed with its time")
            self.posts.append(json.loads(request.body))
        request.reply(self.status)

    def conf(self, gate, **more):
        """What `alerts` says of it."""
        gate.write("alerts.secret", SECRET)
        return {"url": self.url, "ca": str(self.ca), "secret": {"file": "alerts.secret"}, **more}

    def told(self, kind, state=None, **members):
        """All alerts of the kind that were taken, as they came."""
        return [alert for post in list(self.posts) for alert in post["alerts"] if alert["kind"] == kind and state in (None, alert["state"])
                and all(alert[name] == value for name, value in members.items())]

    def hears(self, kind, state="firing", text="", **members):
        found = eventually(lambda: self.told(kind, state, **members), f"{kind} is told ({state})", 60)[-1]
        check(text in found["text"], f"and why: {found['text']}")
        return found
