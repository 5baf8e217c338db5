# SPDX-License-Identifier: Apache-2.0
"""The agents of a soak, in a process of their own: of both eras, with sessions and streams, and some that do not behave."""
import json
import random
import ssl
import time

from integration.lib import modern
from integration.lib.gate import Gate, call, initialize, message_of
from integration.lib.wire import Wire, head, request
from work import Later, Worker

KEY = "X-API-Key"
ACCEPT = "application/json, text/event-stream"


class Wrong(Exception):
    pass


def want(condition, what):
    if not condition:
        raise Wrong(what)


class Agent:
    """Each request on a connection of its own, as `Gate.post` has it."""

    request, port_of = Gate.request, 0

    def __init__(self, plan, ports):
        self.plan, self.ports, self.port, self.number = plan, ports, ports["gate"], 0

    def leave(self):
        pass

    @property
    def headers(self):
        return {KEY: self.plan.key.value.decode()}

    def post(self, path, message, headers=None):
        return Gate.post(self, path, message, {**self.headers, **(headers or {})})

    def next(self):
        self.number += 1
        return self.number


class Plain(Agent):
    """One connection, call after call; every tenth is one that no rule permits. Each call's time is kept, and that of the same one that
    goes to the server itself, so that a busy machine is told from a gate that grows slow."""

    def __init__(self, plan, ports, times):
        super().__init__(plan, ports)
        self.kept, self.times = {}, times

    def leave(self):
        for wire in self.kept.values():
            wire.close()
        self.kept.clear()

    def call(self, who, tool):
        if who not in self.kept:
            self.kept[who] = Wire(self.ports[who], 120)
        lines = [f"Accept: {ACCEPT}", f"{KEY}: {self.headers[KEY]}"]
        asked = request(call(tool, {"q": f"lamp {self.number}"}, self.next()), path="/shop" if who == "gate" else "/mcp", lines=lines)
        began = time.monotonic()
        reply = self.kept[who].send(asked).reply()
        if tool == "search":
            self.times[who].append((began, time.monotonic() - began))
        want(reply.status == 200 and (b"isError" in reply.body) == (tool == "never" and who == "gate"), f"{tool} of {who}: {reply.status} {reply.body[:200]}")

    def turn(self):
        for number in range(20):
            self.call("gate", "never" if number == 7 else "stream" if number == 11 else "search")
        self.call("shop", "search")
        return 20


class Joined(Agent):
    """A session with the endpoint of many, its stream open meanwhile. One of its servers comes and goes, and reloads change the endpoint."""

    path, tools = "/all", ("shop__search", "mail__search", "git__log")
    session, own = None, {}

    @property
    def headers(self):
        """A session is its principal's, whichever key the others have by now."""
        return self.own if self.session else super().headers

    def leave(self):
        if self.session is not None:
            status, _, body = self.request("DELETE", self.path, None, {**self.headers, "Mcp-Session-Id": self.session})
            self.session = None
            want(status in (200, 202), f"DELETE at {self.path}: {status} {body[:300]}")

    def ask(self, message, may_fail=False):
        try:
            status, headers, body = self.post(self.path, message, {"Mcp-Session-Id": self.session} if self.session else {})
        except OSError as error:
            raise Wrong(f"{message} at {self.path}: {error!r} {time.time()}") from error
        want(status in (200, 202) or may_fail, f"{message} at {self.path}: {status} {body[:300]}")
        self.session = headers.get("mcp-session-id", self.session)
        return message_of(headers, body) if body else None

    def begin(self):
        self.session, self.own = None, super().headers
        began = self.ask(initialize("2025-11-25", self.next()))
        want("result" in began and self.session is not None, f"initialize: {began}")
        self.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def stream(self):
        wire = Wire(self.port)
        lines = ["Accept: text/event-stream", f"Mcp-Session-Id: {self.session}", f"{KEY}: {self.headers[KEY]}"]
        wire.send(head("GET", self.path, lines=lines))
        want(wire.head()[0] == 200, "the session's stream opens")
        return wire

    def turn(self):
        self.begin()
        with self.stream() as wire:
            listed = self.ask({"jsonrpc": "2.0", "id": self.next(), "method": "tools/list"})
            if listed.get("error", {}).get("code") == 5030:
                raise Later
            want("result" in listed and "shop__search" in [one["name"] for one in listed["result"]["tools"]], f"tools/list: {listed}")
            for tool in self.tools * 2:
                said = self.ask(call(tool, {"q": "x"}, self.next()), may_fail=tool.startswith("git"))
                want("result" in said or tool.startswith("git"), f"{tool}: {said}")
            wire.socket.settimeout(20)
            wire.chunk()
        if random.random() < 0.8:  # who goes without a word leaves it to the gate
            self.leave()
        self.session = None
        return 1


class Command(Joined):
    """A session with a command's child, which dies under some."""

    path = "/cmd"

    def turn(self):
        self.begin()
        for _ in range(3):
            want("result" in self.ask(call("work", {}, self.next())), "a child answers")
        if random.random() < 0.3:
            self.post(self.path, call("die", {}, self.next()), {"Mcp-Session-Id": self.session})
            self.session = None
        self.leave()


class Modern(Agent):
    def post_modern(self, message):
        status, _, said = modern.post(self, message, "/new")
        want(status == 200 and "result" in said, f"{message['method']}: {status} {said}")

    def turn(self):
        self.post_modern(modern.message("server/discover", {}, self.next()))
        self.post_modern(modern.message("tools/list", {}, self.next()))
        for _ in range(4):
            self.post_modern(modern.message("tools/call", {"name": "search", "arguments": {"q": "x"}}, self.next()))


class Listener(Agent):
    """Subscribes, and is gone after the first events."""

    def turn(self):
        asked = modern.message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, f"s{self.next()}")
        with Wire(self.port) as wire:
            wire.send(request(asked, path="/new", lines=[f"{name}: {value}" for name, value in {**modern.headers(asked), **self.headers}.items()]))
            want(wire.head()[0] == 200, "subscriptions/listen opens")
            wire.socket.settimeout(20)
            wire.chunk()


class Secure(Agent):
    """By TLS, each other connection with the last one's session; its certificate changes."""

    def __init__(self, plan, ports, authority):
        super().__init__(plan, ports)
        self.context = ssl.create_default_context(cafile=authority)
        self.last = None

    def turn(self):
        with Wire(self.ports["tls"]).secure(self.context, "gate.test", self.last) as wire:
            reply = wire.send(request(call("search", {}, self.next()), path="/shop", host="gate.test", lines=[f"{KEY}: {self.headers[KEY]}"])).reply()
            want(reply.status == 200, f"by TLS: {reply.status} {reply.body[:200]}")
            self.last = wire.socket.session if self.last is None else None


class Held(Agent):
    """Asks what is held for a person, and again once he may have decided."""

    def __init__(self, plan, ports):
        super().__init__(plan, ports)
        self.asked = []

    def turn(self):
        self.asked.append({"to": f"{time.monotonic()}", "amount": 7})
        self.post("/shop", call("pay", self.asked[-1], self.next()))
        if len(self.asked) > 8:
            status, _, body = self.post("/shop", call("pay", self.asked.pop(0), self.next()))
            want(status == 200, f"a held call: {status} {body[:200]}")


class Rude(Agent):
    """Half a request, a hang-up in the middle of an answer, no key, no JSON, no request at all."""

    def turn(self):
        whole = request(call("stream", {"x": "y" * 3000}, self.next()), path="/shop", lines=[f"{KEY}: {self.headers[KEY]}", f"Accept: {ACCEPT}"])
        for sent in (whole[:200], whole[:-100], whole, b"\x16\x03\x01 hello", request(b"{", path="/shop"), request(call("search"), path="/none"), b""):
            with Wire(self.port) as wire:
                wire.send(sent)
                if sent == whole:
                    wire.more()
        status, _, _ = Gate.post(self, "/shop", call("search"), {KEY: "cg_none"})
        want(status == 401, f"a stranger: {status}")


def work(plan, ports, authority, results, kinds):
    """Those of `kinds`, until it is over. Puts into `results` the times of calls, of the gate and of the server itself."""
    times = {"gate": [], "shop": []}
    every = {"calls": (Plain, 4, times), "sessions": (Joined, 3), "sessions of commands": (Command, 1), "modern": (Modern, 2), "listening": (Listener, 2),
             "by TLS": (Secure, 2, authority), "held": (Held, 1), "rude": (Rude, 1)}
    workers = [Worker(plan, kind, made(plan, ports, *more), share) for kind in kinds for made, share, *more in [every[kind]] for _ in range(share)]
    for one in workers:
        one.start()
    plan.over.wait()
    for one in workers:
        one.join(30)
    results.put(times)
