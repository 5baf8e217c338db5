# SPDX-License-Identifier: Apache-2.0
"""4.17: the payloads of a request smuggling generator (smuggler's configs), sent to a gate on loopback: whatever it makes of them,
its server must see only requests that the gate permitted and wrote down, and none of the hidden ones."""

import collections
import concurrent.futures
import json
import pathlib
import sys
import threading

from integration.lib.gate import OPEN_POLICY, Gate, mcp_route
from integration.lib.small_servers import SmallServer, result
from integration.lib.wire import Wire, request

THREADS = 4
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'  # as canonical bytes have it
HIDDEN = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Hidden: yes\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Server(SmallServer):
    def answer(self, request_):
        try:
            request_.reply(200, result(json.loads(request_.body), {}))
        except (ValueError, KeyError, TypeError):
            request_.reply(400)


def gadgets(folder):
    """The head lines that each config of the generator tries, by the generator's own code; its request around them is left out."""
    sys.path.insert(0, str(folder))
    from lib.Payload import Chunked, EndChunk, Payload, RN  # the generator's
    for config in ("default", "doubles", "exhaustive"):
        space = {"Chunked": Chunked, "EndChunk": EndChunk, "Payload": Payload, "RN": RN, "mutations": {}}
        exec((folder / "configs" / f"{config}.py").read_text("utf-8"), space)  # what the generator does itself
        for name, payload in space["mutations"].items():
            yield f"{config} {name}", payload.header.encode("latin-1")


def payloads(header):
    """Requests as an agent may send them, but for the gadget, which says something of a transfer encoding; each in four framings."""
    start = header.index(b"\r\n") + 2
    lines = header[start:].replace(b"__HOST__", b"127.0.0.1").replace(b"application/x-www-form-urlencoded; charset=UTF-8",
                                                                     b"application/json")
    lines = lines.replace(b"__RANDOM__", b"1").replace(b"__METHOD__", b"POST").replace(b"__ENDPOINT__", b"/mcp")
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)
    without = lines.replace(b"Content-Length: __REPLACE_CL__\r\n", b"")
    yield b"POST /mcp HTTP/1.1\r\n" + lines.replace(b"__REPLACE_CL__", b"%d" % len(PING)) + b"\r\n" + PING + HIDDEN
    yield b"POST /mcp HTTP/1.1\r\n" + lines.replace(b"__REPLACE_CL__", b"%d" % len(chunked)) + b"\r\n" + chunked + HIDDEN
    yield b"POST /mcp HTTP/1.1\r\n" + lines.replace(b"__REPLACE_CL__", b"%d" % len(chunked + HIDDEN)) + b"\r\n" + chunked + HIDDEN
    yield b"POST /mcp HTTP/1.1\r\n" + without + b"\r\n" + chunked + HIDDEN


def send(port, payload):
    """Returns the status of each answer, in order."""
    wire = Wire(port, timeout=1)
    try:
        wire.send(payload)
        while wire.more():
            pass
    except OSError:
        pass  # no more within a second, or the gate has gone already
    finally:
        wire.socket.close()
    return [int(part[:3]) for part in wire.waiting.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]


def run(folder):
    counts, lock = collections.Counter(), threading.Lock()
    with Server() as server, Gate([mcp_route(server.url)], {"open.yaml": OPEN_POLICY}) as gate:

        def one(payload):
            answers = send(gate.port, payload)
            with lock:
                counts["payloads"] += 1
                counts["refused at once" if answers and answers[0] >= 400 else "unanswered: its end is missing" if not answers else
                       "first request taken by its one framing, then refused" if answers[-1] >= 400 else "all of it taken"] += 1

        every = [payload for _, header in gadgets(folder) for payload in payloads(header)]
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            list(pool.map(one, every))
        status, _, _ = gate.request("POST", "/mcp", PING, {"Content-Type": "application/json"})
        permits = gate.rows("SELECT count(*) AS n FROM call WHERE verdict = 'permit'")[0]["n"]
        hidden = sum("x-hidden" in seen["headers"] or seen["body"] != PING for seen in server.seen)
        framed = sum("transfer-encoding" in seen["headers"] for seen in server.seen)
    for what, count in sorted(counts.items()):
        print(f"  {what}: {count}")
    print(f"  requests at the server: {len(server.seen)}, permits in the audit: {permits}; hidden ones at the server: {hidden}")
    print(f"  with the gadget still in their head at the server: {framed}; the gate answers afterwards: {status}")
    return hidden + framed + (len(server.seen) != permits) + (status != 200)
