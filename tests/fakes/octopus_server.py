# SPDX-License-Identifier: Apache-2.0
"""A tool server in the form of the Octopus document, over HTTPS: GET /tools (a bare array), POST /tool/{name}/call, GET /health.

It keeps the document's every statement about its own side: application/json on all routes, 200 or a structured error. What
a test wants of it besides stands in `delay`, `tools` and `raw`."""
import json
import time

from integration.lib.small_servers import SmallServer

TOKEN = "eyJhbGciOi.octopus.token"

CREATE = {
    "name": "zendesk_create_ticket",
    "description": "Create a new Zendesk support ticket. Returns the ticket ID and URL.",
    "inputSchema": {"type": "object", "properties": {
        "subject": {"type": "string", "description": "The ticket subject line"},
        "description": {"type": "string", "description": "Full description of the issue"},
        "priority": {"type": "string", "enum": ["low", "normal", "high", "urgent"]}}, "required": ["subject", "description"]},
    "outputSchema": {"type": "object", "properties": {
        "ticket_id": {"type": "integer"}, "ticket_url": {"type": "string", "format": "uri"}, "status": {"type": "string"}}},
}
SEARCH = {
    "name": "zendesk_search_tickets",
    "description": "Search Zendesk tickets using full-text or field-based query.",
    "inputSchema": {"type": "object", "properties": {
        "query": {"type": "string", "description": "Zendesk search query string"},
        "status": {"type": "string", "enum": ["open", "pending", "solved", "closed"]}}, "required": ["query"]},
}
DELETE = {"name": "zendesk_delete_ticket", "description": "Delete a ticket.", "inputSchema": {"type": "object"}}


class OctopusServer(SmallServer):
    path = ""
    base = "/v1"  # below which the document's routes stand

    def __init__(self, tls=None):
        super().__init__(tls)
        self.tools = [CREATE, SEARCH, DELETE]
        self.delay = 0  # seconds before any answer
        self.raw = None  # (status, body, Content-Type): given in place of any answer

    def answer(self, request):
        path = request.path.removeprefix(self.base).removeprefix("/emea")
        time.sleep(self.delay)
        if self.raw is not None:
            request.reply(self.raw[0], self.raw[1], kind=self.raw[2])
        elif request.headers.get("Authorization") != f"Bearer {TOKEN}":
            request.reply(401, {"error": "unauthorized", "message": "A bearer token is required."})
        elif (request.command, path) == ("GET", "/health"):
            request.reply(200, {"status": "ok", "version": "1.2.0"})
        elif (request.command, path) == ("GET", "/tools"):
            request.reply(200, self.tools)
        elif request.command == "POST" and path.startswith("/tool/") and path.endswith("/call"):
            self.call(request, path[len("/tool/"):-len("/call")], json.loads(request.body))
        else:
            request.reply(404, {"error": "not_found", "message": "There is no such route."})

    @staticmethod
    def call(request, tool, arguments):
        if tool == "zendesk_search_tickets":
            request.reply(503, {"error": "upstream_unavailable", "retry_after": 30,
                                "message": "Zendesk API is temporarily unavailable. Retry in 30 seconds."})
        elif arguments.get("priority", "low") not in ("low", "normal", "high", "urgent"):
            request.reply(422, {"error": "validation_error", "field": "priority",
                                "message": "The 'priority' field must be one of: low, normal, high, urgent."})
        else:
            request.reply(200, {"ticket_id": 12345, "ticket_url": "https://mycompany.zendesk.com/tickets/12345", "status": "open"})
