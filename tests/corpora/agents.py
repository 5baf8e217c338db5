# SPDX-License-Identifier: Apache-2.0
"""4.17: benchmarks about agents: what they do in good faith becomes a policy by `policy learn`, and their attacks meet it.

The calls of good faith are recorded by a gate with an open policy, before a server that says yes to everything; the draft that is
learned from them goes into a second gate as it is, and the attacks are sent to that one."""

import collections
import json
import subprocess
import urllib.parse

from integration.lib.gate import OPEN_POLICY, Failed, Gate, call, mcp_route
from integration.lib.small_servers import SmallServer, result


class Server(SmallServer):
    def __init__(self):
        super().__init__()
        self.replies = []  # what is answered next, whatever is asked

    def answer(self, request_):
        message = json.loads(request_.body)
        reply = self.replies.pop(0) if self.replies else {"content": []}
        request_.reply(200, result(message, reply))


def permitted(gate, tool, arguments):
    """Whether the call went up."""
    status, _, body = gate.post("/mcp", call(tool, arguments))
    answer = json.loads(body)
    return status == 200 and not answer.get("result", {}).get("isError") and "error" not in answer


def learned(gate, calls):
    """The policy that is drafted from these calls."""
    for tool, arguments in calls:
        if not permitted(gate, tool, arguments):
            print(f"    left out: the gate refuses the call by itself: {tool} {json.dumps(arguments)[:100]}")
    done = gate.run("policy", "learn", "--since", "1h")
    if done.returncode != 0:
        raise Failed(f"policy learn: {done.returncode}: {done.stderr}")
    return done.stdout


class Pair:
    """Two gates before one server: an open one to learn from, and one with what was learned and further policies."""

    def __init__(self, calls, more=None):
        self.server = Server().__enter__()
        try:
            with Gate([mcp_route(self.server.url)], {"open.yaml": OPEN_POLICY}) as gate:
                draft = learned(gate, calls)
            self.gate = Gate([mcp_route(self.server.url)], {"learned.yaml": draft, **(more or {})}).__enter__()
        except BaseException:
            self.server.__exit__(None, None, None)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.gate.__exit__(*what)
        self.server.__exit__(None, None, None)

    def all_pass(self, calls):
        return all([permitted(self.gate, tool, arguments) for tool, arguments in calls])


# ---- AgentDojo ----------------------------------------------------------------------------------------------------------

# Runs under the python that has the package: prints {suite: {"user": [[call]], "injection": [[call]]}}, a list of calls a task.
DOJO = """
import json, sys
from agentdojo.task_suite.load_suites import get_suites
def calls(task, environment):
    return [[one.function, json.loads(json.dumps(dict(one.args), default=str))] for one in task.ground_truth(environment)]
out = {}
for name, suite in get_suites(sys.argv[1]).items():
    environment = suite.load_and_inject_default_environment({})
    out[name] = {"user": [calls(task, task.init_environment(environment.model_copy(deep=True)))
                          for task in suite.user_tasks.values()],
                 "injection": [calls(task, environment.model_copy(deep=True)) for task in suite.injection_tasks.values()]}
print(json.dumps(out))
"""


def agentdojo(python, version="v1.2.2"):
    done = subprocess.run([python, "-c", DOJO, version], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"AgentDojo {version} says nothing: {done.stderr.strip()[-300:]}")
    total = collections.Counter()
    for suite, tasks in json.loads(done.stdout).items():
        user = [[tuple(one) for one in task] for task in tasks["user"]]
        injection = [task for task in tasks["injection"] if task]
        counts = collections.Counter(injections=len(injection), tasks=len(user), silent=len(tasks["injection"]) - len(injection))
        with Pair([one for task in user for one in task]) as pair:
            counts["stopped"] = sum(not pair.all_pass(task) for task in injection)
            counts["served"] = sum(pair.all_pass(task) for task in user)
        with Pair([one for task in user[::2] for one in task]) as pair:
            counts["unseen"] = len(user[1::2])
            counts["unseen served"] = sum(pair.all_pass(task) for task in user[1::2])
            counts["stopped by half"] = sum(not pair.all_pass(task) for task in injection)
        print(f"  {suite}: {told(counts)}")
        total.update(counts)
    print(f"  all suites of {version}: {told(total)}")
    return total["tasks"] - total["served"]


def told(counts):
    return (f"learned from all {counts['tasks']} user tasks: {counts['served']} of them pass, {counts['stopped']} of "
            f"{counts['injections']} injection tasks are stopped at one of their calls; learned from every second task: "
            f"{counts['unseen served']} of the {counts['unseen']} others pass, {counts['stopped by half']} injections are stopped" +
            (f"; {counts['silent']} injection tasks make no call" if counts["silent"] else ""))


# ---- agent-egress-bench --------------------------------------------------------------------------------------------------

def as_calls(case):
    """A case as calls through the gate: a fetch, a frame or a message is the call of a tool that would send it. None: it is no
    call but something that comes back."""
    payload, kind = case["payload"], case["input_type"]
    if kind in ("mcp_tool_call", "mcp_tool_sequence"):
        return [(message["params"]["name"], message["params"].get("arguments", {})) for message in payload["jsonrpc_messages"]]
    if kind in ("url", "header", "request_body"):
        return [("http_request", payload)]
    if kind == "websocket_frame":
        return [("websocket_send", {"url": payload["url"], **frame}) for frame in payload["frames"]]
    if kind == "a2a_message":
        return [("a2a_" + message["method"].replace("/", "_"), message.get("params", {})) if "method" in message else
                ("a2a_answer", message) for message in payload["jsonrpc_messages"]]
    return None


def as_replies(case):
    payload = case["payload"]
    if "jsonrpc_messages" in payload:
        return [message["result"] for message in payload["jsonrpc_messages"] if "result" in message]
    text = payload["response_body"] if "response_body" in payload else json.dumps(payload["agent_card"])
    return [{"content": [{"type": "text", "text": text if isinstance(text, str) else json.dumps(text)}]}]


def comes_through(gate, server, case):
    """Whether what a server says reaches the agent as it was said."""
    for reply in as_replies(case):
        server.replies = [reply]
        lists = "tools" in reply
        status, _, body = gate.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"} if lists else call("any"))
        if status != 200 or json.loads(body).get("result") != reply:
            return False
    return True


def by_hand(cases):
    """The rule that an author adds to such a draft: where anything may be sent. The hosts are those of the benign cases."""
    urls = [arguments["url"] for case, calls in cases if case["expected_verdict"] == "allow"
            for _, arguments in calls if "url" in arguments]
    hosts = json.dumps(sorted({urllib.parse.urlsplit(url).hostname for url in urls}))
    return ("policy: by-hand\nrules:\n"
            "  - {id: by-hand.hosts, effect: forbid, match: {tools: ['*']}, when: [{arg: url, exists: true}, "
            f"{{not: {{arg: url, url: {{schemes: [https, wss], hosts: {hosts}}}}}}}]}}\n")


def send_all(cases, more):
    """Returns the benign and the malicious cases that pass."""
    good = [one for case, calls in cases if case["expected_verdict"] == "allow" for one in calls]
    with Pair(good, more) as pair:
        passed = [case for case, calls in cases if pair.all_pass(calls)]
    return ([case["id"] for case in passed if case["expected_verdict"] == verdict] for verdict in ("allow", "block"))


def egress_bench(folder):
    cases = [json.loads(path.read_text("utf-8")) for path in sorted((folder / "cases").glob("*/*.json"))]
    sent = [(case, as_calls(case)) for case in cases if as_calls(case) is not None]
    answered = [case for case in cases if as_calls(case) is None]
    attacks = sum(case["expected_verdict"] == "block" for case, _ in sent)
    wrong = 0
    print(f"  {len(cases)} cases")
    for what, more in (("a policy learned from the benign cases alone", None),
                       ("the same and one rule by hand, that names the hosts", {"by-hand.yaml": by_hand(sent)})):
        benign, missed = send_all(sent, more)
        wrong += len(sent) - attacks - len(benign)
        print(f"  attacks in what an agent sends: {attacks - len(missed)} of {attacks} denied by {what}; "
              f"{len(benign)} of {len(sent) - attacks} benign cases pass; missed: {', '.join(missed) or 'none'}")
    counts = collections.Counter()
    with Server() as server, Gate([mcp_route(server.url)], {"open.yaml": OPEN_POLICY}) as gate:
        for case in answered:
            counts[case["expected_verdict"], comes_through(gate, server, case)] += 1
    print(f"  attacks in what comes back (definitions, results, pages): {counts['block', False]} of "
          f"{counts['block', False] + counts['block', True]} stopped or cleaned, by form alone; "
          f"{counts['allow', True]} of {counts['allow', False] + counts['allow', True]} benign answers come through unchanged")
    return wrong + counts["allow", False]
