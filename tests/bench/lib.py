# SPDX-License-Identifier: Apache-2.0
"""What the benches share: a backend and a reverse proxy of nginx, load of wrk, the policy that is judged under load."""

import collections
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

POLICY = """\
policy: bench
rules:
  - {id: bench.protocol, effect: permit, match: {methods: [protocol]}}
  - id: bench.search
    effect: permit
    match: {tools: [search_products]}
    when:
      - {arg: query, is: string, max_length: 200}
      - {arg: limit, is: integer, max: 100, optional: true}
  - id: bench.sql
    effect: forbid
    match: {tools: ['*']}
    when: [{arg: '$..*', matches: '(?i)\\b(drop|truncate|delete)\\b\\s+(table|from)\\b'}]
"""

EVENT = ('event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text",'
         '"text":"[{\\"id\\":1,\\"price\\":24.99}]"}]}}\n\n')


def quoted(text):
    """As nginx reads a string in double quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("$", "\\$")


BACKEND = """
worker_processes 1; daemon off; pid %(folder)s/backend.pid; error_log stderr crit;
events { worker_connections 16384; }
http { access_log off; client_body_temp_path %(folder)s/b; proxy_temp_path %(folder)s/p; fastcgi_temp_path %(folder)s/f;
  uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/s; keepalive_requests 100000000;
  server { listen 127.0.0.1:%(port)d backlog=4096 reuseport; default_type text/event-stream;
    location / { return 200 "%(reply)s"; } } }
"""

PROXY = """
worker_processes %(workers)d; daemon off; pid %(folder)s/proxy.pid; error_log stderr crit;
events { worker_connections 16384; }
http { access_log off; client_body_temp_path %(folder)s/b; proxy_temp_path %(folder)s/p; fastcgi_temp_path %(folder)s/f;
  uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/s; keepalive_requests 100000000;
  upstream backend { server 127.0.0.1:%(backend)d; keepalive 512; keepalive_requests 100000000; }
  server { listen 127.0.0.1:%(port)d backlog=4096 reuseport;
    location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
"""

SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_products","arguments":{"query":"%s","limit":10}}}'
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def most_connections():
    """Raises our own limit of descriptors, which wrk, nginx and the gate inherit, to what the system allows. Returns how many connections
    one address may then have: a quarter, as the gate gives it."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    return limit // 4 - 128


class Clocks:
    """Between `with` and its end: the processors' seconds that each kind of thread of a process took (`of`; user and system), and the
    share of all processors that nobody used (`idle`). In clock ticks of 10 ms, so for runs of seconds."""

    TICK = os.sysconf("SC_CLK_TCK")

    def __init__(self, process):
        self.place = pathlib.Path(f"/proc/{process.pid}/task")
        self.of, self.idle = collections.Counter(), 0.0

    def threads(self):
        seconds = collections.Counter()
        for task in self.place.iterdir():
            name, fields = (task / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            seconds[re.sub(r"^audit-|[-\d]+$", "", name)] += sum(map(int, fields.split()[11:13])) / self.TICK
        return seconds

    @staticmethod
    def machine():
        fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return fields[3] + fields[4], sum(fields)

    def __enter__(self):
        self.begun, self.before = self.machine(), self.threads()
        return self

    def __exit__(self, *_):
        ended, after = self.machine(), self.threads()
        self.idle = (ended[0] - self.begun[0]) / max(ended[1] - self.begun[1], 1)
        self.of = after - self.before


def nginx(folder, name, text, **values):
    own = folder / name
    own.mkdir()
    port = free_port()
    (own / "nginx.conf").write_text(text % dict(values, folder=own, port=port))
    process = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-p", str(own), "-c", str(own / "nginx.conf")])
    return process, port


def load(port, connections, seconds, script, path="/mcp", scheme="http"):
    done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script),
                           f"{scheme}://localhost:{port}{path}"], capture_output=True, text=True)
    text = done.stdout
    if "Non-2xx" in text or "Socket errors" in text:
        print(text, file=sys.stderr)
    scale = {"us": 1, "ms": 1000, "s": 1000000}
    latencies = {k: float(v) * scale[u] for k, v, u in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)", text)}
    return {"rate": float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)), "p50_us": latencies.get("50"),
            "p99_us": latencies.get("99"), "errors": "Non-2xx" in text or "Socket errors" in text}


def many_rules(count):
    """The bench's policy among others that do not concern the call."""
    rules = "".join(f"  - {{id: other.r{n}, effect: permit, match: {{upstreams: [up{n % 50}], tools: [tool_{n}]}}, "
                    f"when: [{{arg: a, equals: {n}}}]}}\n" for n in range(count))
    return POLICY + rules
