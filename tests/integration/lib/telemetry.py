# SPDX-License-Identifier: Apache-2.0
"""What `callgate telemetry` sends: a collector of our own that takes only what OTLP's JSON mapping has, and what each row of the trail
has to be told as.

    with Collector() as collector, Telemetry(gate, "--all") as telemetry:
        eventually(lambda: len(collector.calls()) == 3, "…")

`script` holds what the next requests of traces are answered: a status, (status, headers), or a function of the request that answers it."""
import json
import os
import re
import sqlite3
import subprocess

from integration.lib.gate import Failed, equal
from integration.lib.small_servers import SmallServer

HEX = {16: re.compile(r"[0-9a-f]{16}"), 32: re.compile(r"[0-9a-f]{32}")}
UINT = re.compile(r"0|[1-9][0-9]{0,19}")
INT = re.compile(r"-?(0|[1-9][0-9]{0,18})")


def text(value):
    return isinstance(value, str)


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def digits(value):
    return text(value) and UINT.fullmatch(value) is not None


def hexadecimal(size):
    return lambda value: text(value) and HEX[size].fullmatch(value) is not None and set(value) != {"0"}


def list_of(of):
    return lambda value: isinstance(value, list) and all(of(one) for one in value)


def message(needed=(), **fields):
    """Of these fields and no others, as proto3's JSON has them."""
    def holds(value):
        if not isinstance(value, dict) or not set(needed) <= set(value) <= set(fields):
            return False
        wrong = [name for name, one in value.items() if not fields[name](one)]
        if wrong:
            print("not OTLP:", wrong, json.dumps(value)[:2000])
        return not wrong
    return holds


VALUE = message(stringValue=text, intValue=lambda value: text(value) and INT.fullmatch(value) is not None, doubleValue=number,
                boolValue=lambda value: isinstance(value, bool))
ATTRIBUTES = list_of(message(("key", "value"), key=lambda key: text(key) and key != "", value=lambda value: VALUE(value) and len(value) == 1))
MOMENTS = {"timeUnixNano": digits, "startTimeUnixNano": digits}
SPAN = message(("traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"), traceId=hexadecimal(32), spanId=hexadecimal(16),
               parentSpanId=hexadecimal(16), flags=whole, name=text, kind=lambda kind: kind in range(1, 6), startTimeUnixNano=digits,
               endTimeUnixNano=digits, attributes=ATTRIBUTES, status=message(("code",), code=lambda code: code in (0, 1, 2), message=text),
               links=list_of(message(("traceId", "spanId"), traceId=hexadecimal(32), spanId=hexadecimal(16))))
LOG = message(("timeUnixNano", "body"), timeUnixNano=digits, observedTimeUnixNano=digits, severityNumber=lambda one: one in range(1, 25),
              severityText=text, eventName=text, body=VALUE, attributes=ATTRIBUTES)
POINT = message(("timeUnixNano",), attributes=ATTRIBUTES, **MOMENTS, asInt=lambda value: text(value) and INT.fullmatch(value) is not None, asDouble=number)
BUCKETS = message(("timeUnixNano", "startTimeUnixNano", "count"), attributes=ATTRIBUTES, **MOMENTS, count=digits, sum=number,
                  bucketCounts=list_of(digits), explicitBounds=list_of(number))
METRIC = message(("name",), name=text, description=text, unit=text, gauge=message(dataPoints=list_of(POINT)),
                 sum=message(("isMonotonic",), dataPoints=list_of(POINT), aggregationTemporality=lambda one: one == 2, isMonotonic=lambda one: one is True),
                 histogram=message(dataPoints=list_of(BUCKETS), aggregationTemporality=lambda one: one == 2))


def body_of(resources, scopes, items, item):
    scope = message(scope=message(name=text, version=text), schemaUrl=text, **{items: list_of(item)})
    return message((resources,), **{resources: list_of(message(resource=message(attributes=ATTRIBUTES), **{scopes: list_of(scope)}))})


KINDS = {"traces": ("resourceSpans", "scopeSpans", "spans", SPAN), "metrics": ("resourceMetrics", "scopeMetrics", "metrics", METRIC),
         "logs": ("resourceLogs", "scopeLogs", "logRecords", LOG)}


def items_of(signal, body):
    resources, scopes, items, _ = KINDS[signal]
    return [one for resource in body.get(resources, ()) for scope in resource[scopes] for one in scope[items]]


def attributes(item):
    """An item's attributes as a dictionary of what they are, numbers as such."""
    return {one["key"]: int(one["value"]["intValue"]) if "intValue" in one["value"] else next(iter(one["value"].values()), "") for one in item.get("attributes", ())}


class Taken:
    """What was taken, however it came."""

    def __init__(self):
        self.items = {signal: [] for signal in KINDS}

    def calls(self):
        """The calls' own spans by the number of their decision, each once: one that came twice has to be the same both times."""
        found = {}
        for span in self.items["traces"]:
            said = attributes(span)
            if span["kind"] == 2 and found.setdefault(said["callgate.decision"], span) != span:
                raise Failed(f"two different spans of one call: {span} {found[said['callgate.decision']]}")
        return found

    def children(self, call):
        return {one["spanId"]: one for one in self.items["traces"] if one.get("parentSpanId") == call["spanId"] and one["kind"] != 2}.values()

    def events(self):
        return {attributes(one)["callgate.seq"]: one for one in self.items["logs"]}

    def metrics(self):
        """The last of each."""
        return {one["name"]: one for one in self.items["metrics"]}


class Collector(SmallServer, Taken):
    path = ""

    def __init__(self, **more):
        SmallServer.__init__(self, **more)
        Taken.__init__(self)
        self.script, self.faults, self.always, self.asked, self.no_metrics = [], [], None, 0, None

    def take(self, asked):
        signal = asked.path.removeprefix("/v1/")
        body = json.loads(asked.body)
        if asked.command != "POST" or asked.headers["Content-Type"] != "application/json" or signal not in KINDS or not body_of(*KINDS[signal])(body):
            self.faults.append(f"{asked.command} {asked.path}: {asked.body[:4000]}")
            return asked.reply(400)
        self.items[signal] += items_of(signal, body)
        return asked.reply(200, b'{"partialSuccess":{}}')

    def answer(self, asked):
        if self.no_metrics and asked.path == "/v1/metrics":
            return asked.reply(self.no_metrics)
        if asked.path != "/v1/traces":
            return self.take(asked)
        said = self.always or (self.script.pop(0) if self.script else None)
        self.asked += 1
        if said is None:
            return self.take(asked)
        if callable(said):
            return said(asked)
        status, headers = said if isinstance(said, tuple) else (said, {})
        return asked.reply(status, **headers)


class Telemetry:
    """The exporter beside a gate, until it is killed."""

    def __init__(self, gate, *words):
        self.gate, self.words = gate, words

    def __enter__(self):
        self.log = open(self.gate.folder / "telemetry.log", "ab")
        self.process = subprocess.Popen([self.gate.program, "telemetry", *self.words, "--config", str(self.gate.conf_path)], cwd=self.gate.folder,
                                        stderr=self.log, stdout=self.log, env=self.gate.environment)
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            os.kill(self.process.pid, 9)
        self.process.wait()
        self.log.close()
        if kind is not None:
            print(self.text()[-4000:])

    def text(self):
        return (self.gate.folder / "telemetry.log").read_text(errors="replace")

    def place(self):
        try:
            return json.loads((self.gate.folder / self.gate.conf["telemetry"].get("place", "telemetry.place")).read_text())["seq"]
        except FileNotFoundError:
            return -1


# OpenTelemetry's names for a server's and a client's span of MCP (conventions for GenAI 0.1.0, general ones 1.45.0).
CONVENTIONS = {"mcp.method.name", "mcp.protocol.version", "mcp.resource.uri", "jsonrpc.request.id", "gen_ai.operation.name", "gen_ai.tool.name",
               "gen_ai.prompt.name", "gen_ai.tool.call.arguments", "gen_ai.agent.name", "rpc.response.status_code", "error.type",
               "network.transport", "http.response.status_code", "client.address", "enduser.id"}
GOOD = ("result", "accepted", "stream_ended", "detached")


def due(gate):
    """The decisions of all files that have to have a span, each with its outcome: whatever was not permitted, or permitted without an
    answer, and each outcome. The tool `unkept` is called in traces that their agents do not keep."""
    decisions, outcomes = {}, {}
    for path in gate.folder.glob("audit-*.db"):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)
        connection.row_factory = sqlite3.Row
        decisions.update({row["seq"]: dict(row) for row in connection.execute("SELECT * FROM decision WHERE tool IS NOT 'unkept'")})
        outcomes.update({row["decision"]: dict(row) for row in connection.execute("SELECT * FROM outcome")})
        connection.close()
    return {seq: (row, outcomes.get(seq)) for seq, row in decisions.items() if not row["expects_outcome"] or seq in outcomes}


def compare(taken, gate):
    """Each row's span, field by field; its children within it, of the lengths that the row says."""
    calls, rows = taken.calls(), due(gate)
    equal(sorted(calls), sorted(rows), "each call has its span, and nothing else has")
    equal(sorted({name for span in taken.items["traces"] for name in attributes(span) if not name.startswith("callgate.")} - CONVENTIONS), [],
          "attributes have OpenTelemetry's names, or the trail's")
    for seq, (row, answered) in rows.items():
        span, said, ended = calls[seq], attributes(calls[seq]), answered or {"outcome": None, "upstream_us": None, **row}
        end = answered["time_us"] if answered else row["time_us"] + row["judge_us"]
        length = row["judge_us"] if ended["latency_us"] is None else ended["latency_us"]
        wanted = {"endTimeUnixNano": end * 1000, "startTimeUnixNano": min(end - length, row["time_us"]) * 1000}
        judged = row["time_us"] + row["judge_us"]
        got = {name: int(span[name]) for name in wanted}
        names = {"callgate.verdict": row["verdict"], "callgate.rule": row["rule"], "callgate.tenant": row["tenant"], "callgate.upstream": row["upstream"],
                 "callgate.correlation": row["correlation"], "callgate.outcome": ended["outcome"], "mcp.method.name": row["method"],
                 "gen_ai.tool.name": row["tool"] if row["method"] == "tools/call" else None, "http.response.status_code": ended["status"]}
        wrong = {name: (said.get(name), value) for name, value in names.items() if said.get(name) != value}
        failed = ended["outcome"] not in GOOD if answered else row["verdict"] == "deny"
        children = sorted(taken.children(span), key=lambda one: (int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"])))
        lengths = [(int(one["endTimeUnixNano"]) - int(one["startTimeUnixNano"])) // 1000 for one in children]
        within = all(int(span["startTimeUnixNano"]) <= int(one["startTimeUnixNano"]) <= int(one["endTimeUnixNano"]) <= int(span["endTimeUnixNano"])
                     and one["traceId"] == span["traceId"] for one in children)
        kinds = [1, 1, 3] if answered and ended["upstream_us"] is not None else [1, 1] if answered else [1]
        if got != wanted or wrong or ("error.type" in said) != failed or (span.get("status", {}).get("code", 0) == 2) != failed or not within or \
           sorted(one["kind"] for one in children) != kinds or row["judge_us"] not in lengths or \
           (len(kinds) == 3 and min(ended["upstream_us"], end - judged) not in lengths):
            raise Failed(f"row {seq}: {got} {wanted} {wrong} {failed} {within} {lengths} {row['judge_us']} {ended['upstream_us']} {json.dumps(span)}")
    print("ok:", len(rows), "spans say what their rows say")
