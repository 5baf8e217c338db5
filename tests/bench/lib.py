# SPDX-License-Identifier: Apache-2.0
"""What the benches share: a backend and a reverse proxy of nginx, load of wrk, the policy that is judged under load."""

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
    return {"calls": int(re.search(r"(\d+) requests in", text).group(1)), "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)),
            "p50_us": latencies.get("50"), "p99_us": latencies.get("99"), "errors": "Non-2xx" in text or "Socket errors" in text}


def many_rules(count):
    """The bench's policy among others that do not concern the call."""
    rules = "".join(f"  - {{id: other.r{n}, effect: permit, match: {{upstreams: [up{n % 50}], tools: [tool_{n}]}}, "
                    f"when: [{{arg: a, equals: {n}}}]}}\n" for n in range(count))
    return POLICY + rules
