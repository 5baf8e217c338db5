# SPDX-License-Identifier: Apache-2.0
"""Load in bounds: a few keep-alive connections that send tools/call with running ids until they are told to stop."""

import http.client
import json
import pathlib
import subprocess
import sys
import threading
import time

from integration.lib.gate import call


class CountingServer:
    """counting_server.py as a process; `ids()` is what it wrote down."""

    def __init__(self, folder):
        self.log = pathlib.Path(folder) / "upstream.log"
        self.process = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).parent / "counting_server.py"),
                                         str(self.log)], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    def ids(self):
        return self.log.read_text().split() if self.log.exists() else []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Load:
    """`answers` maps an id to the parsed reply, for those that got one. `pause`: seconds of a connection between two calls."""

    def __init__(self, port, prefix, threads=8, path="/mcp", pause=0.0):
        self.port, self.prefix, self.path, self.pause = port, prefix, path, pause
        self.answers, self.sent, self.stopping = {}, set(), False
        self.threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(threads)]
        for thread in self.threads:
            thread.start()

    def _run(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        for turn in range(100000):
            if self.stopping:
                break
            name = f"{self.prefix}-{number}-{turn}"
            try:
                self.sent.add(name)
                connection.request("POST", self.path, json.dumps(call("count", {"id": name}, turn)),
                                   {"Content-Type": "application/json", "X-Correlation-Id": name})
                answer = connection.getresponse()
                self.answers[name] = (answer.status, json.loads(answer.read()), answer.getheader("X-Callgate-Decision"))
            except (OSError, http.client.HTTPException, ValueError):
                if self.stopping:
                    break
                connection.close()
                # The gate is gone: the run is over for this connection.
                break
            time.sleep(self.pause)
        connection.close()

    def finish(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(120)
        return self
