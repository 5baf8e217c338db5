# SPDX-License-Identifier: Apache-2.0
"""The property of limits over a fleet (14.7), with three gates, a real PostgreSQL and its standby, under load: whatever is cut, killed, set or
promoted, no window of real time has more calls than the limit says, and nothing is used twice.

    Broken(seed).run(faults)

A call's use lies between when it was sent and when it was answered; a limit is broken where more calls than it says were both within its window. What
was never answered counts where it is counted at the server behind: of an hour's limit and of steps of plans, each of which is used once."""

import collections
import http.client
import json
import os
import random
import shutil
import signal
import threading
import time

from integration.lib.fleet import Database, Fleet, Wire, courier_of
from integration.lib.gate import call, check, equal, eventually, mcp_route
from integration.lib.plans import HEADER, Signer, step
from integration.lib.small_servers import Upstream

NAMES = ("gate-a", "gate-b", "gate-c")
PER = 4.0
FEW, HOURLY, SUM = 12, 60, 500
POLICY = f"""\
policy: p
rules:
  - {{id: p.protocol, effect: permit, match: {{methods: [protocol]}}}}
  - {{id: p.free, effect: permit, match: {{tools: [free]}}}}
  - {{id: p.few, effect: permit, match: {{tools: [few]}}, limit: {{calls: {FEW}, per: {int(PER)}s}}}}
  - {{id: p.hour, effect: permit, match: {{tools: [hour]}}, limit: {{calls: {HOURLY}, per: hour}}}}
  - {{id: p.sum, effect: permit, match: {{tools: [sum]}}, limit: {{sum: '$.n', at_most: {SUM}, per: hour}}}}
  - {{id: p.once, effect: permit, match: {{tools: [once]}}, when: [{{plan: required}}]}}
"""


class Told:
    """Calls that went on, (when they were sent, when answered), by tool; and how all ended."""

    def __init__(self):
        self.went_on, self.ends, self.lock = collections.defaultdict(list), collections.Counter(), threading.Lock()

    def note(self, tool, sent, answered, text, status):
        reason = "went on" if status == 200 and b"dev.callgate/denial" not in text else f"denied {status}"
        with self.lock:
            self.ends[tool, reason] += 1
            if reason == "went on":
                self.went_on[tool].append((sent, answered))


class Agent(threading.Thread):
    def __init__(self, number, gates, plans, told, stop):
        super().__init__(daemon=True)
        self.number, self.gates, self.plans, self.told, self.stop = number, gates, plans, told, stop
        self.chance = random.Random(number)
        self.start()

    def run(self):
        turn = 0
        while not self.stop.is_set():
            turn += 1
            self.one(self.gates[self.number % 3], self.chance.choice(("few", "few", "few", "hour", "sum", "once")), f"{self.number}-{turn}")
            time.sleep(0.03)

    def one(self, gate, tool, name):
        arguments, headers = {"id": name}, {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if tool == "sum":
            arguments["n"] = self.chance.randint(1, 20)
        if tool == "once":
            plan, steps = self.chance.choice(self.plans)
            arguments["id"] = self.chance.choice(steps)
            headers[HEADER] = plan
        connection, sent = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=10), time.monotonic()
        try:
            connection.request("POST", "/mcp", json.dumps(call(tool, arguments)), headers)
            answer = connection.getresponse()
            self.told.note(tool, sent, time.monotonic(), answer.read(), answer.status)
        except (OSError, http.client.HTTPException):
            with self.told.lock:
                self.told.ends[tool, "no answer"] += 1
        finally:
            connection.close()


def most_within(calls, per):
    """Of how many calls both ends lie within some window."""
    calls, most = sorted(calls), 0
    for at, (sent, _) in enumerate(calls):
        most = max(most, sum(answered <= sent + per for _, answered in calls[at:] if answered <= sent + per))
        if len(calls) - at <= most:
            break
    return most


class Broken:
    def __init__(self, seed):
        self.chance, self.figures, self.told = random.Random(seed), collections.Counter(), Told()
        self.wires, self.gates, self.plans = [], [], []

    # faults ------------------------------------------------------------------------------------------------------
    def cut(self):
        wire = self.chance.choice(self.wires)
        wire.cut()
        time.sleep(self.chance.uniform(0.2, 3))
        wire.mend()

    def slow(self):
        wire = self.chance.choice(self.wires)
        wire.delay = self.chance.uniform(0.05, 0.4)
        time.sleep(self.chance.uniform(0.5, 2))
        wire.mend()

    def kill_courier(self):
        pid = courier_of(self.chance.choice(self.gates))
        if pid:
            os.kill(pid, signal.SIGKILL)

    def kill_gate(self):
        gate = self.chance.choice(self.gates)
        gate.stop(signal.SIGKILL)
        time.sleep(self.chance.uniform(0, 0.5))
        gate.start()

    def kill_database(self):
        self.database.kill()
        time.sleep(self.chance.uniform(0, 2))
        self.database.start()

    def set_clock(self):
        offset = int(self.chance.choice((-3600, -3, -1, 1.5, 3, 30, 3600)) * 1e6)
        self.database.sql("CREATE OR REPLACE FUNCTION callgate.limit_database_us() RETURNS bigint LANGUAGE sql VOLATILE SET search_path = pg_catalog, "
                          f"pg_temp RETURN floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + {offset}::bigint")

    def restore(self):
        """A backup of some seconds before takes the database's place; its standby is made anew."""
        while self.database.standbys:
            self.database.standbys.pop().close()
        copy = self.database.folder / "backup"
        self.database.backup(copy)
        time.sleep(self.chance.uniform(1, 4))
        self.database.restore(copy)
        shutil.rmtree(copy)
        self.database.standby()

    def promote(self):
        """The standby, which lacks the last seconds, takes the database's place; then it gets one of its own."""
        standby = self.database.standbys[-1]
        standby.sql("ALTER SYSTEM SET primary_conninfo = ''", "postgres")
        standby.sql("SELECT pg_reload_conf()", "postgres")
        time.sleep(self.chance.uniform(1, 3))
        self.database.kill()
        standby.promote()
        self.database = standby
        for wire in self.wires:
            wire.to_port = standby.port
        standby.standby()

    # the whole ---------------------------------------------------------------------------------------------------
    def make(self, fleet, server):
        signer = Signer(fleet.folder)
        for number in range(4):
            names = [f"plan{number}-{at}" for at in range(20)]
            self.plans.append((signer.plan([step("once", {"id": {"value": name}}, upstream="up") for name in names]), names))
        for name in NAMES:
            wire = Wire(self.database.port)
            self.wires.append(wire)
            gate = fleet.gate(name, [mcp_route(server.url, plan={"keys": {"file": signer.public}})], url=self.database.url(port=wire.port),
                              fleet={"stale": "300s"}, start=False, policies=None if self.gates else {"p.yaml": POLICY})
            gate.node = name
            self.gates.append(gate)
            gate.start()
            eventually(lambda: gate.post("/mcp", call("free"))[0] == 200, f"{name} judges calls")

    def hold(self, server):
        """What must be so, whatever happened."""
        by_tool = collections.Counter(tool for tool, _ in server.calls())
        most = most_within(self.told.went_on["few"], PER)
        print(f"figures: {dict(self.figures)}; ends: {sorted(self.told.ends.items())}; few: {most} of {FEW} in a window; "
              f"hour: {by_tool['hour']} of {HOURLY}", flush=True)
        check(most <= FEW, f"no window has more than {FEW}: {most}")
        check(by_tool["hour"] <= HOURLY, f"an hour has no more than {HOURLY}: {by_tool['hour']}")
        spent = server.sum_of("sum")
        check(spent <= SUM, f"nor more than {SUM} in all: {spent}")
        equal({what: count for what, count in server.once().items() if count > 1}, {}, "no step of a plan was used twice")
        check(most >= FEW // 2 and by_tool["hour"] > HOURLY // 2, "and they were used")

    def run(self, faults, promotions=1):
        with Database() as database, Counted(session="one", tools=["free", "few", "hour", "sum", "once"]) as server:
            database.create()
            self.database = database
            database.standby()
            fleet, stop = Fleet(database), threading.Event()
            try:
                self.make(fleet, server)
                agents = [Agent(number, self.gates, self.plans, self.told, stop) for number in range(9)]
                kinds = [self.cut, self.slow, self.kill_courier, self.kill_gate, self.kill_database, self.set_clock, self.restore]
                plan = [*kinds, *(self.chance.choice(kinds) for _ in range(faults))][:faults - promotions] + [self.promote] * promotions
                self.chance.shuffle(plan)
                for fault in plan:
                    time.sleep(self.chance.uniform(0.5, 2.5))
                    print("fault:", fault.__name__, flush=True)
                    fault()
                    self.figures[fault.__name__] += 1
                before = len(self.told.went_on["few"])
                eventually(lambda: len(self.told.went_on["few"]) > before + FEW, "limits are given again once all is well", 120)
                stop.set()
                for agent in agents:
                    agent.join(15)
                self.hold(server)
            finally:
                stop.set()
                for gate in self.gates:
                    gate.stop(signal.SIGKILL)
                fleet.close()


class Counted(Upstream):
    """What came up, as (tool, arguments)."""

    def calls(self):
        said = [json.loads(asked["body"]) for asked in list(self.seen) if b"tools/call" in asked["body"]]
        return [(one["params"]["name"], one["params"]["arguments"]) for one in said]

    def sum_of(self, tool):
        return sum(arguments.get("n", 0) for name, arguments in self.calls() if name == tool)

    def once(self):
        return collections.Counter(arguments["id"] for name, arguments in self.calls() if name == "once")
