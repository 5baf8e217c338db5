# SPDX-License-Identifier: Apache-2.0
"""Requests of MCP 2026-07-28: each says its revision in _meta, and its headers say again what its body says."""

import json

REVISION = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId", "tasks/update": "taskId",
         "tasks/cancel": "taskId"}


def message(method, params=None, number=1, revision=REVISION, capabilities=None, meta=None):
    own = {VERSION: revision, CAPABILITIES: capabilities or {}, **(meta or {})}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {}, _meta=own)}


def headers(asked, **more):
    """The mandatory ones; `more` replaces them by name (`_` for `-`), None leaves one out."""
    method, params = asked["method"], asked["params"]
    lines = {"MCP-Protocol-Version": str(params.get("_meta", {}).get(VERSION, REVISION)), "Mcp-Method": method,
             "Accept": "application/json, text/event-stream"}
    if method in NAMES and NAMES[method] in params:
        lines["Mcp-Name"] = str(params[NAMES[method]])
    lines.update({name.replace("_", "-"): value for name, value in more.items()})
    return {name: value for name, value in lines.items() if value is not None}


def post(gate, asked, path="/mcp", **more):
    """Returns (status, headers, the message that came back, also from an event stream)."""
    status, back, body = gate.post(path, asked, headers(asked, **more))
    if back.get("content-type", "").startswith("text/event-stream"):
        data = [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
        return status, back, json.loads(data[-1])
    return status, back, json.loads(body) if body else None
