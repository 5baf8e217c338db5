# SPDX-License-Identifier: Apache-2.0
"""4.17: benchmarks about agents: what they do in good faith becomes a policy by `policy learn`, and their attacks meet it.

The calls of good faith are recorded by a gate with an open policy, before a server that says yes to everything; the draft that is
learned from them goes into a second gate as it is, and the attacks are sent to that one."""

import collections
import json
import subprocess

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
