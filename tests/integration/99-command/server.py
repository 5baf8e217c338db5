# SPDX-License-Identifier: Apache-2.0
"""A stdio server whose tools are what a gate must live with."""
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def text(value):
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def fork_away(seconds=600):
    """A process that has left group, session and parent."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        os.write(writer, str(os.getpid()).encode())
        os.close(writer)
        time.sleep(seconds)
        os._exit(0)
    os.wait()
    os.close(writer)
    return int(os.read(reader, 64))


def act(name, given):
    if name == "who":
        return {"pid": os.getpid(), "group": os.getpgid(0) == os.getpid(), "environment": dict(os.environ),
                "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1], "folder": os.getcwd(),
                "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0]}
    if name == "pid":
        return os.getpid()
    if name == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if name == "fork":
        return [fork_away(), subprocess.Popen(["sleep", "600"]).pid]
    if name == "daemon":
        return fork_away(given["seconds"])
    if name == "flood":
        for _ in range(1600):
            os.write(1, b"x" * 65536)
    if name == "large":
        return "x" * (9 << 20)
    if name == "silent":
        ctypes.CDLL(None).prctl(15, b"silent", 0, 0, 0)  # its process is called so from here on, which others can see
        time.sleep(600)
    if name == "held":
        return len(held)
    if name == "die":
        os._exit(3)
    if name == "half":
        os.write(1, b'{"jsonrpc":"2.0","id":')
        os._exit(0)
    if name == "twins":
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "twin"}})
        os.write(1, (note + "\nthis is no message\n" + note + "\n").encode())
    if name == "memory":
        try:
            return len(bytearray(given["bytes"]))
        except MemoryError:
            return "no memory"
    return given


stubborn, held = False, []
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        say({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                                             "serverInfo": {"name": "odd", "version": "1"}}})
    elif asked.get("method") == "tools/call":
        if asked["params"]["name"] == "hold":
            held.append(asked["id"])
            continue
        if asked["params"]["name"] == "progress":
            for n in range(asked["params"]["arguments"]["many"]):
                say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": asked["params"]["_meta"]["progressToken"], "progress": n, "message": "x" * 65536}})
        if asked["params"]["name"] == "release":
            say({"jsonrpc": "2.0", "id": held.pop(), "result": text("released")})
        value = act(asked["params"]["name"], asked["params"].get("arguments", {}))
        stubborn = stubborn or asked["params"]["name"] == "stubborn"
        say({"jsonrpc": "2.0", "id": asked["id"], "result": text(value)})
    elif "id" in asked:
        say({"jsonrpc": "2.0", "id": asked["id"], "result": {}})
while stubborn:
    time.sleep(600)
