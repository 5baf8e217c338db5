# SPDX-License-Identifier: Apache-2.0
"""A stdio MCP server for the test: newline-delimited JSON-RPC, nothing but the standard library."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

LOCK = threading.Lock()
QUESTIONS = {}


def say(message):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(number, method, params):
    say({"id": number, "method": method, "params": params})
    QUESTIONS[number] = threading.Event()


def wait(arguments):
    """So many seconds, or until a file is gone."""
    if "file" not in arguments:
        return time.sleep(arguments["seconds"])
    while os.path.exists(arguments["file"]):
        time.sleep(0.01)


def call(message):
    name, arguments = message["params"]["name"], message["params"].get("arguments", {})
    text = json.dumps(arguments, sort_keys=True)
    if name == "die":
        os.kill(os.getpid(), arguments.get("signal", signal.SIGKILL))
    if name == "exit":
        os._exit(arguments["status"])
    if name == "fork":  # leaves a child behind that holds stdout
        text = str(subprocess.Popen(["sleep", "600"]).pid)
    if name == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if name == "half":
        sys.stdout.write('{"jsonrpc":"2.0","id":')
        sys.stdout.flush()
        os._exit(3)
    if name == "long":
        text = "x" * (100 << 20)
    if name == "big":
        text = "y" * arguments["bytes"]
    if name == "two":  # two messages in one write
        with LOCK:
            sys.stdout.write('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"first"}}\n' +
                             json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}) + "\n")
            sys.stdout.flush()
        return
    if name == "nothing":
        return
    if name == "slow":
        print("at work on", message["id"], file=sys.stderr, flush=True)
        threading.Thread(target=lambda: (wait(arguments), done(message, text)), daemon=True).start()
        return
    if name == "progress":
        token = message["params"]["_meta"]["progressToken"]
        for step in range(3):
            say({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 3}})
    if name in ("sample", "roots"):
        method = "sampling/createMessage" if name == "sample" else "roots/list"
        ask(f"q-{message['id']}", method, {"messages": [], "maxTokens": 9} if name == "sample" else {})
        PENDING[f"q-{message['id']}"] = message
        return
    done(message, text)


PENDING = {}


def done(message, text):
    say({"id": message["id"], "result": {"content": [{"type": "text", "text": text}]}})


def take(message):
    method = message.get("method")
    if method is None:
        asked = PENDING.pop(message["id"], None)
        if asked is not None:
            done(asked, json.dumps(message.get("result") or message["error"]))
        return
    if "id" not in message:
        print("note", method, json.dumps(message.get("params", {}), sort_keys=True), file=sys.stderr, flush=True)
        return
    if method == "initialize":
        say({"id": message["id"], "result": {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                                             "serverInfo": {"name": "test", "version": "1"}}})
    elif method == "tools/list":
        names = ("echo", "remove", "slow", "sample")
        say({"id": message["id"], "result": {"tools": [{"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": name == "echo"}} for name in names]}})
    elif method == "tools/call":
        call(message)
    else:
        say({"id": message["id"], "result": {}})


print("up", os.getpid(), "key" if "CALLGATE_KEY" in os.environ else "no key", file=sys.stderr, flush=True)
for line in sys.stdin:
    take(json.loads(line))
print("eof", file=sys.stderr, flush=True)
if "--stay" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
sys.exit(int(os.environ.get("STATUS", "0")))
