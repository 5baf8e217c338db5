# SPDX-License-Identifier: Apache-2.0
"""`callgate hook` as clients call it: their JSON on stdin, with the members of the documentation that each payload names."""

import json
import os
import subprocess

from integration.lib.gate import CALLGATE

ROUTE = {"dialect": "hook", "identity": [{"login": {"tenant": "desk"}}]}


def claude(tool, arguments, event="PreToolUse", call="toolu_01", session="s-1", **more):
    """Claude Code 2.1.197, as it wrote to a hook."""
    return {"session_id": session, "transcript_path": "/srv/ada/.claude/t.jsonl", "cwd": "/srv/ada", "prompt_id": "p-1",
            "permission_mode": "default", "effort": {"level": "high"}, "hook_event_name": event, "tool_name": tool,
            "tool_input": arguments, "tool_use_id": call, **more}


def codex(tool, arguments, event="PreToolUse", call="call_1", session="01a2"):
    """Codex 0.171.0, likewise."""
    return {"session_id": session, "turn_id": "01a3", "transcript_path": "/srv/ada/.codex/t.jsonl", "cwd": "/srv/ada", "hook_event_name": event,
            "model": "gpt-5", "permission_mode": "default", "tool_name": tool, "tool_input": arguments, "tool_use_id": call}


def cursor(event, session="c-1", **members):
    """Cursor 2.x, by its documentation of November 2026 (cursor.com/docs/hooks): it was not run."""
    return {"conversation_id": session, "generation_id": "g-1", "model": "gpt-5", "hook_event_name": event, "cursor_version": "2.1.0",
            "workspace_roots": ["/srv/ada"], "user_email": "ada@example.com", "transcript_path": None, **members}


class Answer:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self):
        return f"status {self.status}, stdout {self.out!r}, stderr {self.err!r}"


def hook(conf, said, client="claude-code", program=CALLGATE, **options):
    """Takes: said: an object, or bytes. Returns what the client gets."""
    text = said if isinstance(said, bytes) else json.dumps(said).encode()
    done = subprocess.run([program, "hook", "--client", client, "--config", str(conf)], input=text, capture_output=True, timeout=60,
                          env={**os.environ, "CALLGATE_HASTE": ""}, **options)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return Answer(done)
