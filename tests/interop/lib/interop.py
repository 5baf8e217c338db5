# SPDX-License-Identifier: Apache-2.0
"""What interop scenarios share: the official packages, servers of theirs on ports of their own, clients whose output is
compared with and without the gate between."""

import json
import os
import pathlib
import socket
import subprocess
import time

from integration.lib.gate import OPEN_POLICY, TOP, Failed, Gate, check, equal, free_port, main, mcp_route, skip  # noqa: F401

LIB = pathlib.Path(__file__).resolve().parent
INTO = TOP / "build" / "interop"
NODE = str(INTO / "node_modules" / "node" / "bin" / "node")
CONFORMANCE = str(INTO / "node_modules/%s/dist/index.js")
EVERYTHING = str(INTO / "node_modules/@modelcontextprotocol/server-everything/dist/index.js")


def python(generation):
    return str(INTO / f"python-{generation}" / "bin" / "python")


def setup():
    done = subprocess.run([str(LIB / "setup")], capture_output=True, text=True)
    if done.returncode == 3:
        skip("the official packages cannot be had: " + done.stderr.strip())
    if done.returncode != 0:
        raise Failed("the official packages cannot be installed: " + done.stderr)


class Server:
    """A real server as a process; `command` may hold {port}. Ready when it accepts a connection."""

    def __init__(self, command, environment=None):
        self.port = free_port()
        self.log = open(pathlib.Path(os.environ.get("SCENARIO_TMP", "/tmp")) / f"server-{self.port}.log", "wb")
        command = [part.replace("{port}", str(self.port)) for part in command]
        self.process = subprocess.Popen(command, cwd=INTO, stdout=self.log, stderr=self.log,
                                        env=dict(os.environ, PORT=str(self.port), **(environment or {})))
        until = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise Failed(f"{command}: the server did not get ready")
                time.sleep(0.05)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()


def everything():
    return Server([NODE, EVERYTHING, "streamableHttp"])


def py_server(generation, *options):
    return Server([python(generation), str(LIB / "py-server.py"), "{port}", *options])


def conformance_server():
    return Server([NODE, str(INTO / "conformance-server.mjs")])


def steps(command, seconds=400):
    """Runs a client; returns its steps as a dictionary, in order."""
    done = subprocess.run(command, cwd=INTO, capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        raise Failed(f"{command}: ended with {done.returncode}: {done.stderr[-3000:]}")
    return {line["step"]: line["value"] for line in map(json.loads, done.stdout.strip().split("\n"))}


def same_with_and_without(command, server, changed=(), **route):
    """The client sees through the gate what it sees without it, but for the steps in `changed`. Returns both."""
    direct = steps([*command, server.url])
    with Gate([mcp_route(server.url, **route)], {"open.yaml": OPEN_POLICY}) as gate:
        through = steps([*command, gate.url + "/mcp"])
        for step, value in direct.items():
            if step not in changed:
                equal(through.get(step), value, f"{step} is the same through the gate") if len(str(value)) < 200 else \
                    check(through.get(step) == value, f"{step} is the same through the gate")
        check(direct["end"] and through["end"], "the client came to its end both ways")
        every_permit_has_an_outcome(gate)
        verify(gate)
    return direct, through


def every_permit_has_an_outcome(gate):
    gate.stop()
    rows = gate.rows("SELECT seq, method, outcome FROM call WHERE verdict = 'permit' AND outcome IS NULL")
    # Requests of servers have a decision and no outcome (audit-record.md).
    rows = [row for row in rows if row["method"] not in ("sampling/createMessage", "elicitation/create", "roots/list")]
    equal(rows, [], "every permit has its outcome")
    count = gate.rows("SELECT count(*) AS n FROM call WHERE verdict = 'permit'")[0]["n"]
    check(count > 3, f"{count} permits were recorded")


STRICT_POLICY = """\
policy: strict
rules:
  - {id: strict.protocol, effect: permit, match: {methods: ['*']}}
  - {id: strict.tools, effect: permit, match: {tools: ['*']}}
  - {id: strict.no-tool, effect: forbid, match: {tools: [get-env, fail]}}
  - {id: strict.no-value, effect: forbid, match: {tools: [echo]}, when: [{arg: '$..*', matches: '(?i)drop\\s+table'}]}
"""


def both_are_denied(command, server):
    """Under a policy that forbids one tool and one argument value the client sees isError for both, and its session lives on."""
    with Gate([mcp_route(server.url)], {"strict.yaml": STRICT_POLICY}) as gate:
        seen = steps([*command, gate.url + "/mcp", "denied"])
        equal([seen["forbidden tool"], seen["forbidden value"], seen["permitted"]], [True, True, False],
              "a forbidden tool and a forbidden value are isError, a permitted call is not")
        equal(gate.rows("SELECT rule FROM call WHERE tool IS NOT NULL AND verdict = 'deny' ORDER BY seq"),
              [{"rule": "strict.no-tool"}, {"rule": "strict.no-value"}], "both have their rows")


def verify(gate):
    done = subprocess.run([os.environ.get("CALLGATE", str(TOP / "build/release/callgate")), "audit", "verify",
                           str(gate.audit_path)], capture_output=True, text=True)
    equal(done.returncode, 0, "the chain verifies")
