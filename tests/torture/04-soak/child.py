# SPDX-License-Identifier: Apache-2.0
"""A server that is a command."""
import json
import os
import sys

for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "c", "version": "1"}}
    elif asked.get("params", {}).get("name") == "die":
        os._exit(3)
    else:
        result = {"content": [{"type": "text", "text": "z" * 200}]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
