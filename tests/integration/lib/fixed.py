# SPDX-License-Identifier: Apache-2.0
"""11.1: calls that are the same whenever they are made, for whoever counts what a call takes: one agent's connection, a server that gives
the same bytes, and each call begins when the one before it is over for the gate, too. So counts hang neither on how busy the machine is
nor on who was quicker."""

import json
import pathlib
import time

from integration.lib.gate import Failed, call, eventually
from integration.lib.wire import RawServer, Wire, read_request, request

POLICY = """\
policy: fixed
rules:
  - {id: fixed.protocol, effect: permit, match: {methods: [protocol]}}
  - id: fixed.search
    effect: permit
    match: {tools: [search_products]}
    when:
      - {arg: query, is: string, max_length: 200}
      - {arg: limit, is: integer, max: 100, optional: true}
  - id: fixed.sql
    effect: forbid
    match: {tools: ['*']}
    when: [{arg: '$..*', matches: '(?i)\\b(drop|truncate|delete)\\b\\s+(table|from)\\b'}]
"""

# One thread for each kind, and nothing by the clock: no checkpoint within the run, nothing that is looked after in between.
CONF = {"workers": 1, "audit": {"database": "audit.db", "checkpoint_interval": "1h", "checkpoint_rows": 1000000}}

CALL = request(call("search_products", {"query": "lamp", "limit": 10}), lines=["Accept: application/json, text/event-stream"])
REPLY = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": json.dumps([{"id": 1, "price": 24.99}])}]}}
ANSWER = json.dumps(REPLY).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER

STILL_S = 0.012  # nobody in the gate rests for so long within a call: an outcome waits 10 ms for another's commit


def serve(wire):
    while True:
        read_request(wire)
        wire.send(ANSWER)


def server():
    return RawServer(serve)


def threads(process):
    """The names of a gate's threads by their number, and of its first as "main". Each names itself: until then it is called as the first is."""
    place = pathlib.Path(f"/proc/{process}/task")

    def named():
        found = {int(task.name): (task / "comm").read_text().strip() for task in place.iterdir()}
        first = found.pop(process)
        return first not in found.values() and {process: "main", **found}
    return eventually(named, "each thread has its name")


def kind(name):
    """worker-0 is a worker, audit-writer a writer."""
    return name.removeprefix("audit-").rstrip("-0123456789")


def tasks(process):
    """The places in /proc of the threads that a call goes through."""
    return [pathlib.Path(f"/proc/{process}/task/{task}") for task, name in threads(process).items() if kind(name) in ("worker", "writer", "keeper")]


def resting(concerned):
    """What changes whenever one of them does something; None while one of them does."""
    found = []
    for task in concerned:
        text = (task / "status").read_text()
        if "\nState:\tS" not in text:
            return None
        found.append(text[text.index("voluntary_ctxt_switches"):])
    return found


def settle(concerned):
    """Returns when all of them have been waiting for something that is not due soon."""
    for _ in range(20000):
        before = resting(concerned)
        time.sleep(STILL_S)
        if before is not None and resting(concerned) == before:
            return
    raise Failed("the gate does not come to rest")


def make_calls(gate, count):
    """One after the other on a connection of its own."""
    concerned = tasks(gate.process.pid)
    with Wire(gate.port) as wire:
        for _ in range(count):
            settle(concerned)
            wire.send(CALL)
            if wire.reply().status != 200:
                raise Failed("a fixed call was not answered")
        settle(concerned)
