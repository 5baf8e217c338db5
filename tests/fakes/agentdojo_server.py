# SPDX-License-Identifier: Apache-2.0
"""Tool servers in the form of the AgentDojo document: MCP by POST to /mcp/{slug}, X-API-Key, JSON, 202 for notifications, 429 with
Retry-After once a key asked more than 100 times a minute."""
import json
import time

from integration.lib.small_servers import SmallServer, error, initialized, result

TOOL = {"name": "send-notification", "description": "Send a push notification",
        "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}}
PROMPT = {"name": "summarize-topic", "description": "Summarize a topic in a style",
          "arguments": [{"name": "topic", "description": "The topic to summarize", "required": True},
                        {"name": "style", "description": "The writing style", "required": True}]}
LIMITED = {"error": "Rate limit exceeded. Try again in 30 seconds."}


class AgentDojoServer(SmallServer):
    path = "/mcp/{slug}"
    slugs = ("my-server", "their-server")
    key = "your-api-key"
    per_minute = 100

    def __init__(self, tls=None):
        super().__init__(tls)
        self.times = []

    def is_over(self):
        now = time.monotonic()
        self.times = [then for then in self.times if now - then < 60] + [now]
        return len(self.times) > self.per_minute

    def answer(self, request):
        slug = request.path.removeprefix("/mcp/")
        if request.headers.get("X-API-Key") != self.key:
            request.reply(401, {"error": "Invalid API key"})
        elif slug not in self.slugs:
            request.reply(404, {"error": "Server not found"})
        elif self.is_over():
            request.reply(429, LIMITED, Retry_After="30")
        else:
            self.call(request, slug, json.loads(request.body))

    def call(self, request, slug, message):
        if "id" not in message:
            request.reply(202)
            return
        params = message.get("params", {})
        values = {
            "initialize": initialized(slug, {"tools": {}, "resources": {}, "prompts": {}}),
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "Notification sent successfully"}], "isError": False},
            "resources/list": {"resources": [{"uri": "db://users", "name": "User Directory", "description": "Read-only user data",
                                              "mimeType": "application/json"}]},
            "resources/read": {"contents": [{"uri": "db://users", "mimeType": "application/json", "text": '[{"id": 1, "name": "Alice"}]'}]},
            "prompts/list": {"prompts": [PROMPT]},
            "prompts/get": {"description": "Summarize a topic in a style", "messages": [{"role": "user", "content": {
                "type": "text", "text": "Summarize the following quantum computing in casual style."}}]},
            "ping": {},
        }
        value = values.get(message["method"])
        if value is None:
            request.reply(200, error(message, -32601, f"Method not found: {message['method']}"))
        elif message["method"] == "tools/call" and "message" not in params.get("arguments", {}):
            request.reply(200, error(message, -32602, "message is required"))
        elif message["method"] == "tools/call" and params["arguments"]["message"] == "fail":
            request.reply(200, error(message, -32603, "Internal Error"))
        elif message["method"] == "ping" and params:
            request.reply(200, error(message, -32600, "Invalid Request"))
        else:
            request.reply(200, result(message, value))
