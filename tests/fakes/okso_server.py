# SPDX-License-Identifier: Apache-2.0
"""An endpoint in the form of the okso document's reference tool (one tool, echo_external), with a second that a policy may hide: as a
command that reads one object on stdin and writes one on stdout, and over HTTP POST for routes.

    echo '{"action":"list_tools"}' | okso_server.py
"""
import json
import sys

ECHO = {"name": "echo_external", "description": "Echoes a message.", "command": "echo_external MESSAGE", "origin": "remote",
        "safety": "Harmless.", "input_schema": {"type": "object", "properties": {"message": {"type": "string"}}},
        "result_schema": {"type": "object", "properties": {"echo": {"type": "string"}}}}
REMOVE = {**ECHO, "name": "remove_external", "description": "Removes what is named."}
TOOLS = [ECHO, REMOVE]


def failed(category, message):
    return {"type": "error", "error": {"name": "mcp_echo", "category": category, "message": message}}


def answer(asked):
    found = [tool for tool in TOOLS if tool["name"] == asked.get("tool")]
    if asked.get("action") == "list_tools":
        return {"type": "result", "tools": TOOLS}
    if not found:
        return failed("usage", f"unknown tool: {asked.get('tool')}")
    if asked["action"] == "describe_tool":
        return {"type": "result", "tool": found[0]}
    if "message" not in asked.get("arguments", {}):
        return failed("usage", "message is missing")
    return {"type": "result", "tool": asked["tool"], "result": {"echo": asked["arguments"]["message"]}}


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
