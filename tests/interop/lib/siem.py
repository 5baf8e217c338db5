# SPDX-License-Identifier: Apache-2.0
"""What the recipes of tools/SIEM.md are run with: rows whose values were made to break them, a gate that writes them, the guide's own
command that follows the trail, and the guide's blocks with this machine's folders in the place of the operator's."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import threading

from integration.lib.gate import CALLGATE, TOP, Gate, call, check, equal, eventually, mcp_route

POLICY = """\
policy: two
rules:
  - {id: two.protocol, effect: permit, match: {methods: [protocol]}}
  - {id: two.count, effect: permit, match: {tools: [count]}}
  - {id: two.never, effect: forbid, match: {tools: ['never*']}, reason: 'No = no | "ever" \\ never'}
"""
HOSTILE = [
    "a\nb\r\nc\rd", "\n<134>1 2026-11-28T00:00:00Z h callgate - - - CEF:0|Forged|Forged|1|x|x|9|externalId=999999",
    "|=\\ \\n \\\\| act=permit externalId=999999 ", "\u0000nul\u0000", "\u202egnp\u2066x\u2069\u200b", "\u2028\u2029\x85\x1b[31m\x9b",
    '{"seq":999999}\n{"metadata":{"sequence":999999}}', "59 <134>1 - h callgate - - - CEF:0|Forged|Forged|1|x|x|9|", "grüße \U0001F600",
    "#012#011", "\ufefffirst", "%msg% $!x `id` ${env:HOME} $HOME", "x" * 32768, "\x7f" * 64000, "\\" * 32000]
BROKEN = [b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"v":"\xff\xfe\xc0\xaf"}}}',
          b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never\xff","arguments":{}}}',
          b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"v":"\\ud800"}}}']


def hostile_gate(upstream):
    return Gate([mcp_route(upstream.url, tool_names="printable")], {"two.yaml": POLICY})


def fill(gate):
    """One call or more with each of the values: in arguments and their names, in the tool's name, in the correlation."""
    for value in HOSTILE:
        gate.post("/mcp", call("count", {"v": value, value[:60]: 1}))
        gate.post("/mcp", call("never" + value[:40], {"v": value}), {"X-Correlation-Id": "=|\\ " + re.sub(r"[^ -~]", "?", value[:40])})
    for body in BROKEN:
        gate.post("/mcp", body)
    gate.post("/mcp", call("count"), {"X-Correlation-Id": b"\xff\xfe|"})
    eventually(lambda: gate.rows("SELECT count(*) AS n FROM unfinished")[0]["n"] == 0, "all outcomes are written")


def exported(gate, form):
    """All rows so far, as lines of a form."""
    done = gate.run("audit", "export", str(gate.audit_path), "--format", form)
    equal(done.returncode, 0, f"all rows as {form}")
    return done.stdout.splitlines()


def block(heading, language="", **replaced):
    """The first block of a section; `replaced`: what stands there for the operator's machine is not on this one."""
    section = (TOP / "tools/SIEM.md").read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return put(re.search(rf"^```{language}\n(.*?)^```", section, re.S | re.M).group(1), replaced)


def put(text, replaced):
    for old, new in replaced.items():
        check(old in text, f"{old} stands in the guide")
        text = text.replace(old, str(new))
    return text


class Follower:
    """The command of the guide's unit."""

    def __init__(self, gate, form, folder):
        unit = (TOP / "tools/dist/callgate-export@.service").read_text(encoding="utf-8")
        command = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).replace("%i", form)
        command = put(command, {"@PREFIX@/bin/callgate": CALLGATE, "/var/lib/callgate-export": folder, "/var/log/callgate-export": folder,
                                "/etc/callgate/callgate.yaml": gate.conf_path})
        self.command, self.output, self.process = shlex.split(command), folder / f"{form}.log", None

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE)

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        self.process.communicate()

    def rotate(self):
        """What logrotate does."""
        eventually(self.output.exists, "there is a file to rotate")
        if os.path.exists(f"{self.output}.1"):
            os.rename(f"{self.output}.1", f"{self.output}.2")
        os.rename(self.output, f"{self.output}.1")
        self.stop()
        self.start()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)


class Program:
    """A real shipper or collector, which is killed and comes again."""

    def __init__(self, name, command, environment=None):
        self.name, self.command, self.environment, self.process = name, list(map(str, command)), environment, None
        self.log = pathlib.Path(os.environ["SCENARIO_TMP"]) / f"{name}.log"

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env={**os.environ, **(self.environment or {})})

    def stop(self, with_signal=signal.SIGKILL):
        equal(self.process.poll(), None, f"{self.name} runs until it is stopped")
        self.process.send_signal(with_signal)
        self.process.wait()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.process.kill()
        self.process.wait()
        if kind is not None:
            print(self.log.read_text(errors="replace")[-3000:])


def kills(gate, follower, shipper, arrived):
    """While calls come in the shipper is killed again and again, each time just when something has come, and the follower now and then; the
    file is rotated. Takes: arrived: returns how much has come."""
    calls = threading.Thread(target=lambda: [fill(gate) for _ in range(4)])
    calls.start()
    turn = 0
    while calls.is_alive() or turn < 6:
        before = arrived()
        eventually(lambda: arrived() > before or not calls.is_alive(), f"turn {turn}: something comes")
        shipper.stop(signal.SIGKILL if turn % 2 == 0 else signal.SIGTERM)
        if turn % 3 == 0:
            follower.stop(signal.SIGKILL)
            follower.start()
        if turn == 2:
            fill(gate)
            follower.rotate()  # while nobody reads
        shipper.start()
        if turn == 4:
            follower.rotate()
        turn += 1
    calls.join()
    print(f"ok: {turn} kills")


def once(came, wanted, number, what, perhaps=()):
    """Each of `wanted` came, and nothing else; some twice. Takes: number: of a row, by which they are in order; perhaps: those that the
    guide says may be lost."""
    seen = {}
    for row in came:
        if seen.setdefault(number(row), row) != row:
            check(False, f"{what}: {number(row)} came twice, and differs")
    equal([str(row)[:300] for row in wanted if seen.get(number(row)) != row and (number(row) in seen or number(row) not in perhaps)], [],
          f"{what}: each of {len(wanted)} arrived whole")
    equal(sorted(set(seen) - {number(row) for row in wanted}), [], f"{what}: and nothing that is no row")
    print(f"ok: {what}: {len(came) - len(seen)} came twice, {len(wanted) - len(seen)} did not come")
