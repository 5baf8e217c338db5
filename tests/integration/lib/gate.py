# SPDX-License-Identifier: Apache-2.0
"""What every scenario needs: a gate with a configuration and policies of its own, started on ports that the kernel
chooses, ready when it says so on a pipe, and ended by its process id.

    from gate import Gate, mcp_route, check, main
    with Gate(routes=[mcp_route(upstream_url)], policies={"open.yaml": OPEN_POLICY}) as gate:
        status, headers, body = gate.post("/mcp", {"jsonrpc": "2.0", ...})
        rows = gate.rows("SELECT verdict, tool FROM call ORDER BY seq")

A scenario prints what it checks and ends with exit status 0 (passed), 1 (failed) or 77 (skipped, with a sentence)."""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import random
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
FLAVOUR = os.environ.get("FLAVOUR", "release")
# A sanitizer keeps a shadow of everything, of terabytes, and what was freed: how much memory there is, and what stands in it, says nothing then.
SHADOWED = FLAVOUR in ("asan", "tsan")
CALLGATE = os.environ.get("CALLGATE", str(TOP / "build" / FLAVOUR / "callgate"))
HASTY = str(pathlib.Path(CALLGATE).parent / "hasty" / "callgate")  # the same program, but for tests/hasty/pause.c

OPEN_POLICY = """\
policy: open
rules:
  - {id: open.protocol, effect: permit, match: {methods: [protocol]}}
  - {id: open.all, effect: permit, match: {methods: ['*']}}
"""


class Failed(AssertionError):
    pass


def check(condition, text):
    """One statement of the scenario, printed when it holds; ends the scenario when it does not."""
    if not condition:
        raise Failed(text)
    print("ok:", text)


def equal(got, wanted, text):
    if got != wanted:
        raise Failed(f"{text}: got {got!r}, wanted {wanted!r}")
    print("ok:", text)


def eventually(question, text, seconds=30.0):
    """Asks until it is true; for what another process does in its own time. Counted in steps of 20 ms, not by the clock, so that
    a busy machine, which holds us up as it does the gate, takes no time away."""
    for _ in range(int(seconds * 50)):
        answer = question()
        if answer:
            print("ok:", text)
            return answer
        time.sleep(0.02)
    raise Failed(f"{text}: not within {seconds} s")


class Promise:
    """What is said to come within a time, which is counted as in `eventually`. Each is waited for as long as it takes; of all, half must
    have kept the time, since on a busy machine one is late now and then."""

    def __init__(self, seconds):
        self.seconds, self.took = seconds, []

    def eventually(self, question, text):
        asked = []
        answer = eventually(lambda: asked.append(1) or question(), text, 60)
        self.took.append((len(asked) - 1) * 0.02)
        return answer

    def is_kept(self, text):
        check(sorted(self.took)[(len(self.took) - 1) // 2] <= self.seconds,
              f"{text}: half of {len(self.took)} times within {self.seconds} s, the slowest after {max(self.took):.2f} s")


SECONDS = {}  # by what is asked for


def within_a_second(question, text, what):
    """As `eventually`; a scenario fails at its end where less than half of those that ask for one thing came within a second."""
    return SECONDS.setdefault(what, Promise(1.0)).eventually(question, text)


def quickest(work, times=3):
    """Does it so often. Returns the shortest time that it took, since others on the machine make some longer and none shorter, and
    all that it returned."""
    took, answers = [], []
    for _ in range(times):
        began = time.monotonic()
        answers.append(work())
        took.append(time.monotonic() - began)
    return min(took), answers


def within(seconds, work, text):
    """Does it, in a time that is counted as in `eventually`, and returns what it returned."""
    done = []
    threading.Thread(target=lambda: done.append(work()), daemon=True).start()
    return eventually(lambda: done, text, seconds)[0]


CLAIMS = []


def free_port():
    """For a server that cannot be given port 0 and cannot say which it got: one that the kernel gives to nobody who asks for any, and
    that no other scenario takes meanwhile, since a socket of its name says so as long as this process lives."""
    for _ in range(1000):
        port = random.randrange(12000, 32000)
        claim = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe:
            try:
                claim.bind(f"\0callgate-scenario-port-{port}")
                probe.bind(("127.0.0.1", port))
                CLAIMS.append(claim)
                return port
            except OSError:
                claim.close()
    raise Failed("no port is free")


def shown_on(terminal):
    """What programs left on a pseudo-terminal whose other end is closed: it comes in pieces, then an error in place of an end."""
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            return shown


def main(scenario):
    """Runs a scenario function and turns its end into an exit status. What it starts is to hear each signal, also where a shell's
    background or nohup had this process ignore it."""
    for signo in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(signo) == signal.SIG_IGN:
            signal.signal(signo, signal.SIG_DFL)
    try:
        scenario()
        for what, promise in SECONDS.items():
            promise.is_kept(what)
    except Failed as failure:
        print("FAILED:", failure)
        sys.exit(1)
    sys.exit(0)


def skip(sentence):
    print("skipped:", sentence)
    sys.exit(77)


def mcp_route(url, name="up", path="/mcp", identity=None, **more):
    """A route as callgate.yaml has it, in JSON, which is YAML."""
    route = {"name": name, "path": path, "dialect": "mcp", "upstream": {"url": url},
             "identity": identity or [{"none": {"principal": "tester", "tenant": "acme"}}]}
    upstream = more.pop("upstream", None)
    if upstream:
        route["upstream"].update(upstream)
    route.update(more)
    return route


def is_there(pid):
    """Whether the process runs; one that has ended and is not waited for does not."""
    try:
        return "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def modes(folder):
    """Those of the folder and of all in it, of folders and of files."""
    return {(path.is_dir(), oct(path.stat().st_mode & 0o7777)) for path in [folder, *folder.rglob("*")]}


def names_of(user):
    """What a person with this account may be recorded as: by it, or, where this session is somebody else's, with that login before."""
    login = int(pathlib.Path("/proc/self/loginuid").read_text())
    name = os.environ.get("SUDO_USER") if login == 0xFFFFFFFF else pwd.getpwuid(login).pw_name
    return {user.pw_name} if name in (None, user.pw_name) else {user.pw_name, f"{name} (as {user.pw_name})"}


class Gate:
    """A running gate. `conf` is merged over the defaults; `policies` maps file names to texts and is loaded first. With `haste` its
    pauses are so many times shorter (tests/hasty)."""

    def __init__(self, routes, policies=None, conf=None, folder=None, serve_args=(), environment=None, start=True,
                 wrapper=(), program=CALLGATE, haste=None):
        self.own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="callgate-test-"))
        self.routes = routes
        self.conf = {"listen": [{"address": "127.0.0.1:0"}], "store": "callgate.db",
                     "audit": {"database": "audit.db"}, "workers": 2, "drain": "10s"}
        self.conf.update(conf or {})
        self.conf["routes"] = routes
        self.serve_args = list(serve_args)
        self.wrapper = list(wrapper)  # a tracer before the program, say
        self.environment = dict(os.environ, **({"CALLGATE_HASTE": str(haste)} if haste else {}), **(environment or {}))
        self.program = HASTY if haste else str(program)  # or a copy, where others than its owner may run it
        self.process = None
        self.ports = []
        self.write_conf()
        if policies:
            self.load(policies)
        if start:
            self.start()

    # files ------------------------------------------------------------------------------------------------------
    @property
    def conf_path(self):
        return self.folder / "callgate.yaml"

    @property
    def audit_path(self):
        return self.folder / "audit.db"

    @property
    def live_path(self):
        """The file that audit.db is a link to."""
        return self.audit_path.resolve()

    def write_conf(self):
        self.conf_path.write_text(json.dumps(self.conf, indent=1))
        self.conf_path.chmod(0o600)

    def write(self, name, text, mode=0o600):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    # commands ---------------------------------------------------------------------------------------------------
    def run(self, *arguments, environment=None, **options):
        """`callgate ARGUMENTS --config …`; returns the finished process with its text output."""
        return subprocess.run([self.program, *arguments, "--config", str(self.conf_path)], cwd=self.folder, text=True,
                              capture_output=True, timeout=240, env={**self.environment, **(environment or {})}, **options)

    def told(self, *words, fails=False):
        """Likewise a command that goes well, or one that fails."""
        done = self.run(*words)
        check((done.returncode != 0) == fails, f"{' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def stored(self, sql, *values):
        """The first column of the first row that the store has; None: it has no row."""
        with contextlib.closing(sqlite3.connect(f"file:{self.folder / 'callgate.db'}?mode=ro", uri=True, timeout=60)) as store:
            row = store.execute(sql, values).fetchone()
        return row[0] if row else None

    def fleet_state(self, name):
        return self.stored("SELECT value FROM fleet_state WHERE name = ?", name)

    def load(self, policies, *options):
        paths = [str(self.write(name, text)) for name, text in policies.items()]
        done = self.run("policy", "load", *paths, *options)
        if done.returncode != 0:
            raise Failed(f"policy load: {done.returncode}: {done.stderr}{done.stdout}")
        return done

    def made_key(self, *options):
        """What `key create` tells of a new key: its text, its number."""
        done = self.run("key", "create", "--json", *options)
        if done.returncode != 0:
            raise Failed(f"key create {' '.join(options)}: {done.stderr}")
        return json.loads(done.stdout)

    def key(self, principal="bot", tenant="acme", *options):
        """The text of a new key of an agent."""
        return self.made_key("--principal", principal, "--tenant", tenant, *options)["key"]

    def persons_key(self, person, *roles):
        return self.made_key("--principal", person, *(word for role in roles for word in ("--role", role)))["key"]

    def approval(self, *which):
        """All that is known of an approval. Takes: its number; or "--decision" and that of a call. None: there is none."""
        done = self.run("approvals", "show", *which, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def held(self, result):
        """Takes: what a call was answered that waits for a person. Returns the number by which he finds it, once he does."""
        decision = str(result["_meta"]["dev.callgate/denial"]["decision"])
        return str(eventually(lambda: self.approval("--decision", decision), "the call waits for a person")["approval"])

    # life -------------------------------------------------------------------------------------------------------
    def launch(self, *options, pass_fds=()):
        """Starts the process and does not wait for anything."""
        self.log = open(self.folder / "gate.log", "ab")
        self.process = subprocess.Popen([*self.wrapper, self.program, "serve", "--config", str(self.conf_path), *options, *self.serve_args],
                                        cwd=self.folder, stderr=self.log, stdout=self.log, pass_fds=pass_fds, env=self.environment)

    def start(self):
        reader, writer = os.pipe()
        self.launch("--ready-fd", str(writer), pass_fds=[writer])
        os.close(writer)
        line = b""
        until = time.monotonic() + 120
        while not line.endswith(b"\n") and time.monotonic() < until:
            if select.select([reader], [], [], 0.2)[0]:
                piece = os.read(reader, 4096)
                if not piece:
                    break
                line += piece
        os.close(reader)
        if not line.endswith(b"\n"):
            self.stop(signal.SIGKILL)
            raise Failed("the gate did not get ready:\n" + self.log_text())
        # One JSON object a line: {"listen": ["127.0.0.1:40001", …], "admin": "127.0.0.1:40002"}
        ready = json.loads(line)
        self.ports = [int(address.rsplit(":", 1)[1]) for address in ready["listen"]]
        self.admin_port = int(ready["admin"].rsplit(":", 1)[1]) if "admin" in ready else None
        return self

    @property
    def port(self):
        return self.ports[0]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self, with_signal=signal.SIGTERM, seconds=120):
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed("the gate did not end:\n" + self.log_text())
        self.process = None
        self.log.close()
        return status

    def log_text(self):
        return (self.folder / "gate.log").read_text(errors="replace")

    def files_with(self, text):
        """The names of the gate's files in which these bytes stand. A journal is there for a moment, and may be gone before it is read."""
        found = set()
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and text in path.read_bytes():
                    found.add(path.name)
        return found

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            status = self.stop()
            if kind is None and status not in (0, None):
                raise Failed(f"the gate ended with {status}:\n" + self.log_text())
        finally:
            if kind is not None:
                print(self.log_text()[-4000:])
            elif self.own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    # talking ----------------------------------------------------------------------------------------------------
    def request(self, method, path, body=None, headers=None, port=None):
        """One request on a connection of its own. Returns (status, headers with lower-case names, body bytes)."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=120)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, path, message, headers=None, port=None):
        wanted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        wanted.update(headers or {})
        return self.request("POST", path, message, wanted, port)

    def metrics(self):
        return self.request("GET", "/metrics", port=self.admin_port)[2].decode()

    def metric(self, name):
        """Takes: name: with its labels, as /metrics has them. 0: nothing was counted under these labels yet, which is when a line is there."""
        text = self.metrics()
        found = [int(line.rpartition(" ")[2]) for line in text.splitlines() if line.rpartition(" ")[0] == name]
        if not found and ("{" not in name or f"# TYPE {name.partition('{')[0]} " not in text):
            raise Failed(f"there is no metric {name}")
        return found[0] if found else 0

    def counted(self, text, *parts):
        """/metrics, once all of these stand in it: a call is counted when it ends, which is after its answer has gone out."""
        return eventually(lambda: all(part in (found := self.metrics()) for part in parts) and found, text)

    def permits(self, tool="t", arguments=None):
        """Whether the call is made, whatever its server then says: a gate that judges nothing yet has the sentence, and no result to hold a mark."""
        said = self.post("/mcp", call(tool, arguments))[2]
        return b"dev.callgate/denial" not in said and b"This call was not made" not in said

    # the audit --------------------------------------------------------------------------------------------------
    def events(self, kind):
        """The details of all events of the kind, in order."""
        return [json.loads(row["detail"]) for row in self.rows("SELECT detail FROM event WHERE kind = ? ORDER BY seq", (kind,))]

    def reload(self):
        """Has the gate read its configuration anew. Returns what it says of that in the audit, once it does."""
        before = len(self.events("reload"))
        self.process.send_signal(signal.SIGHUP)
        eventually(lambda: len(self.events("reload")) > before, "the reload is recorded")
        return self.events("reload")[-1]

    def settled(self, text="all outcomes are written"):
        """Waits until no call of the file that is written is without its outcome, which comes after the answer has gone out."""
        eventually(lambda: not self.rows("SELECT 1 FROM unfinished"), text)

    def rows(self, sql, parameters=()):
        connection = sqlite3.connect(f"file:{self.audit_path}?mode=ro", uri=True, timeout=60)
        connection.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in connection.execute(sql, parameters)]
        finally:
            connection.close()


def call(tool, arguments=None, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments if arguments is not None else {}}}


def initialize(revision="2025-06-18", number=0):
    return {"jsonrpc": "2.0", "id": number, "method": "initialize",
            "params": {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}


def message_of(headers, body):
    """The one JSON-RPC message of a reply, whether JSON or a single SSE event."""
    if headers.get("content-type", "").startswith("text/event-stream"):
        lines = [line[5:].strip() for line in body.decode().splitlines() if line.startswith("data:")]
        lines = [line for line in lines if line]
        if len(lines) != 1:
            raise Failed(f"{len(lines)} events where one was due: {body!r}")
        return json.loads(lines[0])
    return json.loads(body)
