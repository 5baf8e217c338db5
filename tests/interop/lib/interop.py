# SPDX-License-Identifier: Apache-2.0
"""What interop scenarios share: the official packages, servers of theirs on ports of their own, clients whose output is
compared with and without the gate between."""

import json
import os
import pathlib
import select
import socket
import subprocess
import tempfile
import threading
import time

from integration.lib.gate import OPEN_POLICY, TOP, Failed, Gate, check, equal, eventually, free_port, main, mcp_route, skip  # noqa: F401

LIB = pathlib.Path(__file__).resolve().parent
INTO = TOP / "build" / "interop"
NODE = str(INTO / "node_modules" / "node" / "bin" / "node")
CONFORMANCE = str(INTO / "node_modules/%s/dist/index.js")
PY_CLIENT = str(LIB / "py-client.py")
EVERYTHING = str(INTO / "node_modules/@modelcontextprotocol/server-everything/dist/index.js")


def python(generation):
    return str(INTO / f"python-{generation}" / "bin" / "python")


def setup(*what):
    done = subprocess.run([str(LIB / "setup"), *what], capture_output=True, text=True)
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


def conformance_server(*options):
    return Server([NODE, str(INTO / "conformance-server.mjs"), *options])


# The clients: each takes a target (a URL, or a list: a command that speaks over stdio), a plan and a mode (legacy, auto, or a
# revision that it insists on), and prints its steps.
CLIENTS = {
    "typescript 1": [NODE, str(INTO / "ts-client.mjs"), "1"],
    "typescript 2": [NODE, str(INTO / "ts-client.mjs"), "2"],
    "python 1": [python("1"), PY_CLIENT, "sdk"],
    "python 2": [python("2"), PY_CLIENT, "sdk"],
    "python 2.2": [python("2.2"), PY_CLIENT, "sdk"],
    "fastmcp": [python("2"), PY_CLIENT, "fastmcp"],
    "go": [str(INTO / "go-client")],
}
# What each speaks of itself; those of one generation fall into the older era by themselves.
BOTH_ERAS = ("typescript 2", "python 2", "python 2.2", "fastmcp", "go")

# A plan is a list of steps, which each client's driver knows: [what, words…]. What is to be cancelled is when the server has said that it
# has it, or, with a number behind, after so many seconds, whether it came there or not. The first is for the server of the conformance
# tests in the older era, the second for it in the newer one, where a server's questions come inside of results.
WORDS = "grüße \u2028 \U0001F600 \"x\""
COMMON = [
    ["tools"], ["call", "echo", {"message": WORDS}], ["call", "nope", {}], ["call", "test_error_handling", {}],
    ["call", "test_multiple_content_types", {}], ["call", "test_x_mcp_header", {"region": "Zürich ", "level": 3}],
    ["progress", "test_tool_with_progress", {}], ["call", "test_input_required_result_elicitation", {}],
    ["call", "test_input_required_result_multi_round", {}], ["prompt", "test_input_required_result_prompt", {}],
    ["resources"], ["templates"], ["read", "test://static-text"], ["read", "test://static-binary"],
    ["read", "test://template/7/data"], ["read", "test://nope"], ["prompts"],
    ["prompt", "test_prompt_with_arguments", {"arg1": "a", "arg2": "b"}],
    ["complete", "test_prompt_with_arguments", "arg1", "par"], ["cancel", "slow", {}], ["many", "echo", {}, 20],
    ["size", "big", {"bytes": 400000}]]
ASKING = [["call", "test_input_required_result_multiple_inputs", {}], ["call", "test_input_required_result_list_roots", {}]]
OLD_PLAN = [["server"], ["revision"], ["ping"], ["level", "info"], ["call", "test_tool_with_logging", {}], ["logs", 3], *COMMON, *ASKING,
            ["call", "test_sampling", {"prompt": "hi"}], ["call", "test_elicitation", {"message": "who?"}], ["asked"],
            ["subscribe", "test://watched-resource"], ["call", "test_reconnection", {}]]
# A result over 1 MiB is more than clients take as an event of the older era.
NEW_PLAN = [["server"], ["revision"], *COMMON, *ASKING, ["asked"], ["size", "big", {"bytes": 2000000}],
            ["listen", "test://watched-resource"]]
EVERYTHING_PLAN = [
    ["server"], ["revision"], ["ping"], ["tools"], ["call", "echo", {"message": WORDS}], ["call", "get-sum", {"a": 19.99, "b": 1e2}],
    ["call", "get-tiny-image", {}], ["call", "get-sum", {"a": "x"}],
    ["progress", "trigger-long-running-operation", {"duration": 1, "steps": 3}],
    ["call", "trigger-sampling-request", {"prompt": "hi", "maxTokens": 10}], ["call", "trigger-elicitation-request", {}], ["asked"],
    ["resources"], ["templates"], ["read", "demo://resource/static/document/architecture.md"],
    ["subscribe", "demo://resource/static/document/architecture.md"],
    ["prompts"], ["prompt", "simple-prompt", {}], ["level", "warning"], ["cancel", "trigger-long-running-operation", {"duration": 20, "steps": 2}, 0.3],
    ["many", "echo", {}, 20]]
PYTHON_PLAN = [
    ["revision"], ["tools"], ["call", "echo", {"message": WORDS}], ["call", "add", {"a": 19.99, "b": 100}], ["call", "fail", {}],
    ["size", "big", {"bytes": 400000}], ["progress", "slow", {"steps": 3}], ["many", "echo", {}, 20]]
DENIED_PLAN = [["call", "fail", {}], ["call", "echo", {"message": "x; DROP TABLE users"}], ["call", "echo", {"message": "hello"}]]


class Forks:
    """Python clients of one kind, each forked from a process that has loaded the packages: that takes longer than what a client does.
    They come one after the other: who asks from several threads waits, and reads no other's status."""

    kinds = {}
    begins = threading.Lock()

    @classmethod
    def of(cls, client):
        with cls.begins:
            if client not in cls.kinds:
                cls.kinds[client] = cls(CLIENTS[client])
            return cls.kinds[client]

    def __init__(self, command):
        self.process = subprocess.Popen(command, cwd=INTO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.turn = threading.Lock()

    def run(self, words, seconds):
        """Returns (exit status, stdout, stderr)."""
        with self.turn, tempfile.TemporaryDirectory(prefix="callgate-client-") as folder:
            files = [pathlib.Path(folder) / name for name in ("out", "err")]
            self.process.stdin.write(json.dumps([*words, *map(str, files)]) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                raise Failed(f"{words}: did not end in {seconds} s")
            status = self.process.stdout.readline()
            return int(status or -1), *(file.read_text(encoding="utf-8") if file.exists() else "" for file in files)


def steps(client, target, plan, mode="legacy", seconds=400, oauth=None):
    """Runs a client; returns its steps, as [what, value], in order. What was asked of it at once came in any order. `oauth`: it gets
    itself tokens where they are wanted; "refresh": and
    refreshes them; "dpop": bound to a key of its own."""
    target = json.dumps(target) if isinstance(target, list) else target
    if PY_CLIENT in CLIENTS[client]:
        code, out, err = Forks.of(client).run([target, json.dumps(plan), mode, oauth or ""], seconds)
    else:
        done = subprocess.run([*CLIENTS[client], target, json.dumps(plan), mode], cwd=INTO, capture_output=True, text=True, timeout=seconds,
                              env=dict(os.environ, **({"OAUTH": oauth} if oauth else {})))
        code, out, err = done.returncode, done.stdout, done.stderr
    if code != 0:
        raise Failed(f"{client} at {target}: ended with {code}: {err[-3000:]}")
    found = [(line["step"], line.get("value")) for line in map(json.loads, out.strip().split("\n"))]
    return [[what, sorted(value) if what == ["asked"] else value] for what, value in found]


def compare(client, direct, through):
    """Each step's value is the same both ways."""
    equal([what for what, _ in through], [what for what, _ in direct], f"{client}: the same steps")
    for (what, value), (_, other) in zip(direct, through):
        if value != other:
            raise Failed(f"{client}: {what} differs: direct {str(value)[:1500]}, through the gate {str(other)[:1500]}")
    equal(direct[-1][0], "end", f"{client}: came to its end both ways with {len(direct)} equal steps")


def same_with_and_without(client, server, plan, mode="legacy", **route):
    """The client sees through the gate what it sees without it. Returns what it saw."""
    direct = steps(client, server.url, plan, mode)
    with Gate([mcp_route(server.url, **route)], {"open.yaml": OPEN_POLICY}) as gate:
        compare(client, direct, steps(client, gate.url + "/mcp", plan, mode))
        every_permit_has_an_outcome(gate)
        verify(gate)
    return direct


def every_permit_has_an_outcome(gate):
    gate.stop()
    rows = gate.rows("SELECT seq, method, outcome FROM call WHERE verdict = 'permit' AND outcome IS NULL")
    # What a server sends has a decision and no outcome (schema/audit-format.md).
    rows = [row for row in rows if row["method"] not in ("sampling/createMessage", "elicitation/create", "roots/list", "stream/message")]
    equal(rows, [], "every permit has its outcome")
    count = gate.rows("SELECT count(*) AS n FROM call WHERE verdict = 'permit'")[0]["n"]
    check(count > 3, f"{count} permits were recorded")


STRICT_POLICY = """\
policy: strict
rules:
  - {id: strict.protocol, effect: permit, match: {methods: ['*']}}
  - {id: strict.tools, effect: permit, match: {tools: ['*']}}
  - {id: strict.no-tool, effect: forbid, match: {tools: [fail]}}
  - {id: strict.no-value, effect: forbid, match: {tools: [echo]}, when: [{arg: '$..*', matches: '(?i)drop\\s+table'}]}
"""


def both_are_denied(client, server, mode="legacy"):
    """Under a policy that forbids one tool and one argument value the client sees isError for both, and its session lives on."""
    with Gate([mcp_route(server.url)], {"strict.yaml": STRICT_POLICY}) as gate:
        seen = steps(client, gate.url + "/mcp", DENIED_PLAN, mode)
        equal([value.get("isError", False) for _, value in seen[:3]], [True, True, False],
              f"{client}: a forbidden tool and a forbidden value are isError, a permitted call is not")
        equal(gate.rows("SELECT rule FROM call WHERE tool IS NOT NULL AND verdict = 'deny' ORDER BY seq"),
              [{"rule": "strict.no-tool"}, {"rule": "strict.no-value"}], "both have their rows")


def verify(gate):
    done = subprocess.run([os.environ.get("CALLGATE", str(TOP / "build/release/callgate")), "audit", "verify",
                           str(gate.audit_path)], capture_output=True, text=True)
    equal(done.returncode, 0, "the chain verifies")
