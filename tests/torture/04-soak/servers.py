# SPDX-License-Identifier: Apache-2.0
"""The servers of a soak, in a process of their own: of both eras, with streams, and one that comes and goes."""
import collections
import json
import time
import uuid

from integration.lib.small_servers import Upstream, error, initialized
from integration.lib.wire import event

AWAY = ("gone", "there", "slow", "there", "forgetful", "there")  # what becomes of the one that comes and goes, turn by turn
SLOW_S = 3
BEAT_S = 0.2  # between two events of a stream
BEATS = 20


class Server(Upstream):
    def __init__(self, name, tools):
        super().__init__(tools=tools)
        self.seen = collections.deque(maxlen=16)  # what is measured beside it is not to wait for our memory
        self.name, self.sessions, self.state = name, set(), "there"

    def begins(self, message):
        session = f"{self.name}-{uuid.uuid4()}"
        self.sessions.add(session)
        return session

    def answer(self, asked):
        session = asked.headers.get("Mcp-Session-Id")
        if self.state == "gone":
            asked.close_connection = True
            return None
        if self.state == "slow":
            time.sleep(SLOW_S)
        if session is not None and session not in self.sessions:
            return asked.reply(404, error(json.loads(asked.body) if asked.body else {}, -32001, "no such session"))
        return super().answer(asked)

    def other(self, asked):
        if asked.command == "DELETE":
            self.sessions.discard(asked.headers.get("Mcp-Session-Id"))
            return asked.reply(200)
        return self.stream(asked, [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 100}}])

    def stream(self, asked, messages):
        def pieces():
            yield b":\n\n"
            for message in messages * BEATS:
                yield event(message)
                time.sleep(BEAT_S)
        try:
            asked.chunks(pieces())
        except OSError:
            asked.close_connection = True

    def deliver(self, asked, answer, **headers):
        self.form = "sse" if b'"stream"' in asked.body else "json"
        self.before = [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": str(n)}} for n in range(5)]
        super().deliver(asked, answer, **headers)

    def value_of(self, message):
        if message["method"] == "initialize":
            return {**initialized(self.name, {"tools": {"listChanged": True}, "logging": {}}), "protocolVersion": message["params"]["protocolVersion"]}
        return super().value_of(message)

    def value(self, message):
        return {"content": [{"type": "text", "text": f"{self.name} {message.get('params', {}).get('name')} " + "y" * 500}]}


class Modern(Server):
    """Since 2026-07-28: no sessions, and what changes is subscribed to."""

    def answer(self, asked):
        message = json.loads(asked.body) if asked.body else {}
        if message.get("method") != "subscriptions/listen":
            return super().answer(asked)
        meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        return self.stream(asked, [{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params":
                                    {"_meta": meta, "notifications": message["params"]["notifications"]}}])

    def value_of(self, message):
        if message["method"] == "server/discover":
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": {"name": self.name, "version": "1"},
                    "resultType": "complete", "ttlMs": 1000, "cacheScope": "public"}
        return {**super().value_of(message), "resultType": "complete", **({"ttlMs": 0, "cacheScope": "private"} if message["method"] == "tools/list" else {})}


SERVERS = {"shop": lambda: Server("shop", ["search", "pay", "stream", "never"]), "mail": lambda: Server("mail", ["search"]),
           "git": lambda: Server("git", ["log"]), "new": lambda: Modern("new", ["search"])}


def serve(names, urls, turns, pace_s, over):
    """Takes: urls: a queue for their addresses by name; turns: how often the one that comes and goes, git, has done so."""
    servers = {name: SERVERS[name]() for name in names}
    for one in servers.values():
        one.__enter__()
    urls.put({name: one.url for name, one in servers.items()})
    while not over.wait(pace_s):
        if "git" in servers:
            git = servers["git"]
            git.state = AWAY[turns.value % len(AWAY)]
            turns.value += 1
            if git.state == "forgetful":
                git.sessions.clear()
