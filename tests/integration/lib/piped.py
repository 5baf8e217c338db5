# SPDX-License-Identifier: Apache-2.0
"""A `callgate pipe` as a desktop client runs it: lines in, lines out, with a deadline for everything.

    pipe = Pipe(folder, "files", [sys.executable, "server.py"])
    pipe.begin(); answer = pipe.ask("tools/list")"""

import json
import os
import queue
import subprocess
import threading

from integration.lib.gate import CALLGATE, HASTY, Failed


class Pipe:
    def __init__(self, conf, route, command, environment=None, options=(), haste=None):
        environment = {**({"CALLGATE_HASTE": str(haste)} if haste else {}), **(environment or {})}
        self.process = subprocess.Popen([HASTY if haste else CALLGATE, "pipe", "--config", str(conf), "--route", route, *options, "--", *command],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **environment})
        self.lines, self.errors, self.number = queue.Queue(), [], 0
        self.readers = [threading.Thread(target=self.read_lines, daemon=True), threading.Thread(target=self.read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()

    def read_lines(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace").rstrip())

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, *messages):
        self.write(b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages))

    def read(self, seconds=60):
        """The next line as a message, or None at the end."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise Failed(f"no line within {seconds} s; stderr: {self.errors[-5:]}") from None
        if line is not None and (not line.endswith(b"\n") or line.count(b"\n") != 1):
            raise Failed(f"half a line: {line[:200]!r}")
        return None if line is None else json.loads(line)

    def request(self, method, params=None, meta=None):
        self.number += 1
        params = dict(params or {}, **({"_meta": meta} if meta else {}))
        self.say({"id": self.number, "method": method, "params": params})
        return self.number

    def answer(self, number, seconds=60):
        """The answer to one request, and what came before it."""
        before = []
        while (message := self.read(seconds)) is not None:
            if message.get("id") == number and "method" not in message:
                return message, before
            before.append(message)
        raise Failed(f"the lines ended before the answer to {number}; stderr: {self.errors[-5:]}")

    def ask(self, method, params=None, meta=None, seconds=60):
        return self.answer(self.request(method, params, meta), seconds)[0]

    def call(self, tool, meta=None, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, meta)

    def begin(self, revision="2025-06-18", capabilities=None):
        answer = self.ask("initialize", {"protocolVersion": revision, "capabilities": capabilities or {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.say({"method": "notifications/initialized"})
        return answer

    def end(self, seconds=60):
        """Closes its stdin and waits. Returns the exit status and the lines that were left."""
        if self.process.stdin and not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed(f"the pipe did not end within {seconds} s; stderr: {self.errors[-5:]}") from None
        for reader in self.readers:
            reader.join(20)
        left = []
        while not self.lines.empty():
            line = self.lines.get()
            left += [json.loads(line)] if line is not None else []
        return status, left
