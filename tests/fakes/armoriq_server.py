# SPDX-License-Identifier: Apache-2.0
"""A tool server in the form of the ArmorIQ document: MCP by POST to /mcp, each response one server-sent event, streamed."""
import json

from integration.lib.small_servers import SmallServer, error, initialized, result


class ArmoriqServer(SmallServer):
    """`events` has each event as it was written, so that what comes through the gate can be compared."""

    names = ("tool_name",)

    def __init__(self, tls=None):
        super().__init__(tls)
        self.events = []

    def answer(self, request):
        message = json.loads(request.body)
        if "id" not in message:
            request.reply(202)
            return
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            reply = result(message, initialized("your-mcp-server-name", {"tools": {}}))
        elif method == "tools/list":
            schema = {"type": "object", "properties": {"parameter1": {"type": "string", "description": "Description of parameter1"}},
                      "required": ["parameter1"]}
            reply = result(message, {"tools": [{"name": name, "description": "Clear description of what this tool does", "inputSchema": schema}
                                               for name in self.names]})
        elif method == "tools/call":
            data = json.dumps({"result": params.get("arguments", {})})  # the text is a JSON string
            reply = result(message, {"content": [{"type": "text", "text": data}]})
        else:
            reply = error(message, -32601, "Method not found")
        self.events.append(f"event: message\ndata: {json.dumps(reply)}\n\n".encode())
        request.chunks([self.events[-1]])
