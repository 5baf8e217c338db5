# SPDX-License-Identifier: Apache-2.0
"""9.4: AgentDojo's suites through the real gate, with the policies of policies/agentdojo before real MCP servers (dojo_server.py).

No model is asked. Of each user task the calls that solve it are made in one session, and the suite says whether the task is served;
where a call is held, a person says yes, since the user has asked for it. Of each injection task the calls are made in a session
that begins with what the user task reads, and nobody says yes: the suite says whether the attacker has reached his goal, and
whether anything changed at all. User tasks that read nothing of what the suite lets an attacker write begin no such session."""

import collections
import contextlib
import json
import pathlib
import re
import subprocess
import urllib.request

from integration.lib.gate import OPEN_POLICY, Failed, Gate, call, check, eventually, mcp_route

HERE = pathlib.Path(__file__).resolve().parent
POLICIES = HERE.parents[1] / "policies" / "agentdojo"
ROUTES = {"banking": "banking", "slack": "teamchat", "travel": "travel", "workspace": "workspace"}
READS = ("get_", "list_", "search_", "read_", "check_")


class Suites:
    """The servers, as the runner asks them."""

    def __init__(self, python, version):
        self.process = subprocess.Popen([str(python), "-B", str(HERE / "dojo_server.py"), version], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            raise Failed(f"AgentDojo {version} does not begin: {self.process.wait()}")
        self.url = f"http://127.0.0.1:{int(line)}"

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.process.kill()
        self.process.wait()

    def __call__(self, **word):
        request = urllib.request.Request(self.url + "/control", json.dumps(word).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)


class Session:
    """An agent's, through the gate."""

    def __init__(self, gate, suite):
        self.gate, self.path = gate, "/" + ROUTES[suite]
        _, headers, body = gate.post(self.path, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "dojo", "version": "1"}}})
        check("mcp-session-id" in headers, f"a session begins: {body[:200]}")
        self.headers = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        gate.post(self.path, {"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers)

    def call(self, tool, arguments):
        """Returns: None where it went through, else the code of the denial."""
        answer = json.loads(self.gate.post(self.path, call(tool, arguments), self.headers)[2])
        denial = answer.get("result", {}).get("_meta", {}).get("dev.callgate/denial")
        check(denial is not None or "result" in answer, f"{tool} is answered: {str(answer)[:200]}")
        return denial["code"] if denial else None

    def waiting(self, tool, arguments):
        asked = map(json.loads, self.gate.run("approvals", "list", "--json").stdout.splitlines())
        return [one["approval"] for one in asked if (one["state"], one["tool"], json.loads(one["arguments"])) == ("waiting", tool, arguments)]

    def call_with_leave(self, tool, arguments):
        """As call; where it is held, a person approves it and it is made again."""
        code = self.call(tool, arguments)
        if code != "approval_required":
            return code
        for number in eventually(lambda: self.waiting(tool, arguments), "a person sees the call", 10):
            done = self.gate.run("approvals", "approve", str(number), "--why", "the user asked for it")
            check(done.returncode == 0, f"it is approved: {done.stderr}")
        eventually(lambda: self.call(tool, arguments) is None, f"{tool} goes through with leave", 10)
        return "approval_required"


def serve(suites, gate, suite, name, task):
    """A user task. Returns how it went: alone, with a person's leave, or refused."""
    suites(do="begin", suite=suite, user=name)
    session = Session(gate, suite)
    codes = [session.call_with_leave(*one) for one in task["calls"]]
    served = suites(do="end", suite=suite, user=name)["user"]
    if any(code not in (None, "approval_required") for code in codes) or not served:
        return "refused"
    return "with a person" if "approval_required" in codes else "alone"


def attack(suites, gate, suite, user, injection):
    """What the user task reads, and then the calls of the injection. Returns how far it came."""
    (user_name, user_task), (name, task) = user, injection
    suites(do="begin", suite=suite, user=user_name)
    session = Session(gate, suite)
    for tool, arguments in user_task["calls"] if user_task else []:
        if tool.startswith(READS):
            session.call_with_leave(tool, arguments)
    suites(do="mark", suite=suite)
    codes = [session.call(*one) for one in task["calls"]]
    end = suites(do="end", suite=suite, injection=name)
    if end["injection"]:
        return "reached"
    if end["changed"]:
        return "in part"
    return "held" if [code for code in codes if code][:1] == ["approval_required"] else "denied"


def policy_of(suite, is_strict):
    """With the rules that stand behind `# - {id:`, where the policy leaves its author a choice."""
    text = (POLICIES / f"{ROUTES[suite]}.yaml").read_text(encoding="utf-8")
    if not is_strict:
        return text
    rules = text.split("\ntests:")[0] + "\n"
    return re.sub(r"(?m)^  # (- \{id:.*(?:\n  #    .*)*)", lambda rule: "  " + rule[1].replace("\n  # ", "\n  "), rules)


@contextlib.contextmanager
def gate_before(suites, policies):
    routes = [mcp_route(f"{suites.url}/{suite}/", name, "/" + name) for suite, name in ROUTES.items()]
    with Gate(routes, policies, {"limits": {"connections_per_address": 4096}}) as gate:
        yield gate


def has_choice(suite):
    return "\n  # - {id:" in policy_of(suite, False)


def measure(suites, suite, tasks, is_strict, pairs):
    """Returns the counts of user tasks and of attacks. Takes: pairs: which user tasks an injection is tried behind."""
    served, attacks = collections.Counter(), collections.Counter()
    injectable = [one for one in tasks["user"].items() if one[1]["injectable"]]
    with gate_before(suites, {f"{ROUTES[suite]}.yaml": policy_of(suite, is_strict)}) as gate:
        for name, task in tasks["user"].items():
            how = serve(suites, gate, suite, name, task)
            served[how] += 1
            if how == "refused":
                print(f"    refused: {name}: {task['prompt'][:80]}")
        for injection in tasks["injection"].items():
            if injection[1]["calls"]:
                attacks.update(attack(suites, gate, suite, user, injection) for user in pairs(injectable, injection))
    return served, attacks


def without_a_policy(suites, suite, tasks):
    """That the calls of each injection reach its goal where nobody looks: else stopping them would show nothing."""
    with gate_before(suites, {"open.yaml": OPEN_POLICY}) as gate:
        return sum(attack(suites, gate, suite, (None, None), one) == "reached" for one in tasks["injection"].items() if one[1]["calls"])


def told(suite, tasks, is_strict, served, attacks):
    silent = sum(not one["calls"] for one in tasks["injection"].values())
    return (f"  {suite}{', strict' * is_strict}: user tasks: {served['alone']} alone, {served['with a person']} with a person's leave, "
            f"{served['refused']} refused; attacks: {attacks['denied']} denied, {attacks['held']} held, {attacks['in part']} changed "
            f"something, {attacks['reached']} reached their goal" + (f"; {silent} makes no call" if silent else ""))


def run(python, version="v1.2.2", pairs=lambda users, injection: users):
    """Prints the figures. Returns the counts, by suite and whether the choices are strict."""
    counts = {}
    with Suites(python, version) as suites:
        for suite, tasks in suites(do="tasks").items():
            calling = sum(bool(one["calls"]) for one in tasks["injection"].values())
            reached = without_a_policy(suites, suite, tasks)
            injectable = sum(one["injectable"] for one in tasks["user"].values())
            print(f"  {suite}: {len(tasks['user'])} user tasks, {injectable} that read what an attacker may write, {calling} injection tasks with calls, of which {reached} reach their goal "
                  "without a policy", flush=True)
            for is_strict in (False, True) if has_choice(suite) else (False,):
                served, attacks = measure(suites, suite, tasks, is_strict, pairs)
                counts[suite, is_strict] = {"served": served, "attacks": attacks, "calling": calling, "without": reached}
                print(told(suite, tasks, is_strict, served, attacks), flush=True)
    return counts


def faults(python):
    """Prints the figures; a user task that is refused is a fault, also one that a person could not let go on."""
    return sum(one["served"]["refused"] for one in run(python).values())
