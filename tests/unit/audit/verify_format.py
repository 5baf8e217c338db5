#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""1.24: verifies an audit.db from schema/audit-format.md alone, with the standard library.

usage: verify_format.py DATABASE...     a line each: whole, or the first fault; exit 1 if any is broken"""
import hashlib
import heapq
import json
import sqlite3
import sys

COLUMNS = {
    "file": "seq format created_us id previous",
    "decision": "seq time_us tenant_previous tenant principal authentication client session node correlation "
                "correlation_replaced trace upstream dialect protocol_version direction method tool rpc_id arguments_bytes "
                "arguments_digest arguments_cut arguments_redacted begin_digest body_bytes body_digest query_bytes "
                "query_digest verdict reason rule rule_reason rules undecided monitor policy_version policy_hash judge_us "
                "status latency_us expects_outcome",
    "outcome": "seq time_us tenant_previous tenant decision outcome reason status error_code response_bytes response_digest "
               "server_requests server_notifications server_denied latency_us upstream_us",
    "event": "seq time_us tenant_previous tenant kind actor detail",
}
OUTSIDE = {"decision": " salt arguments arguments_begin"}


def field(value):
    if value is None:
        return b"\0"
    if isinstance(value, int):
        return b"\1" + value.to_bytes(8, "big", signed=True)
    if isinstance(value, float):
        raise ValueError("a REAL")
    data = value.encode() if isinstance(value, str) else value
    return (b"\2" if isinstance(value, str) else b"\3") + len(data).to_bytes(4, "big") + data


def canonical(table, values):
    values = list(values)
    while values and values[-1] is None:
        values.pop()
    return table[0].upper().encode() + b"".join(field(value) for value in values)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def rows(db, table):
    names = (COLUMNS[table] + " hash" + OUTSIDE.get(table, "")).split()
    for values in db.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY seq"):
        yield values[0], table, dict(zip(names, values)), values[:len(COLUMNS[table].split())]


def check_values(row, erasures):
    salt, arguments, begin = row["salt"], row["arguments"], row["arguments_begin"]
    if salt is None and arguments is None and begin is None:
        if not any(e["tenant"] == row["tenant"] and e["seq"] > row["seq"] and
                   json.loads(e["detail"])["before_us"] > row["time_us"] for e in erasures):
            return "values are gone without a recorded erasure"
        return None
    if not isinstance(salt, bytes) or len(salt) != 16:
        return "salt"
    if row["arguments_cut"]:
        if arguments is not None or begin is None or sha(salt, begin.encode()) != row["begin_digest"]:
            return "arguments_begin"
    elif begin is not None or (arguments is None) != (row["arguments_bytes"] is None) or \
            sha(salt, (arguments or "").encode()) != row["arguments_digest"]:
        return "arguments"
    return None


def verify(path):
    """The first fault, or None."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.execute("BEGIN")
    (number, _, first, values), = rows(db, "file")
    previous = sha(first["previous"] or bytes(32), canonical("file", values))
    if previous != first["hash"]:
        return "file: hash"
    erasures = [row for _, _, row, _ in rows(db, "event") if row["kind"] == "erased"]
    tenants, waiting, last_kind = {}, {}, None
    for seq, table, row, values in heapq.merge(*(rows(db, t) for t in ("decision", "outcome", "event")), key=lambda r: r[0]):
        place = f"row {seq}, {table}: "
        if seq != number + 1:
            return f"row {number + 1} is missing, or {seq} is there twice"
        if sha(previous, canonical(table, values)) != row["hash"]:
            return place + "hash"
        if row["tenant"] is not None:
            if row["tenant_previous"] != tenants.get(row["tenant"]) and (row["tenant"] in tenants or not first["previous"]):
                return place + "tenant_previous"
            tenants[row["tenant"]] = row["hash"]
        elif row["tenant_previous"] is not None:
            return place + "tenant_previous"
        if table == "decision":
            fault = check_values(row, erasures)
            if fault:
                return place + fault
            if row["expects_outcome"]:
                if row["verdict"] != "permit":
                    return place + "expects_outcome"
                waiting[seq] = row["tenant"]
        elif table == "outcome":
            if waiting.pop(row["decision"], 0) != row["tenant"]:
                return place + "decision"
        elif row["kind"] == "start" and waiting:
            return f"row {min(waiting)}, decision: no outcome"
        number, previous, last_kind = seq, row["hash"], row.get("kind")
    if last_kind == "stop" and waiting:
        return f"row {min(waiting)}, decision: no outcome"
    return None


def check(path):
    try:
        return verify(path)
    except (ValueError, TypeError, AttributeError, UnicodeError, sqlite3.DatabaseError) as error:
        return f"not readable as format 1: {error}"


if __name__ == "__main__":
    found = [check(path) for path in sys.argv[1:]]
    print("\n".join(fault or "whole" for fault in found))
    sys.exit(1 if any(found) else 0)
