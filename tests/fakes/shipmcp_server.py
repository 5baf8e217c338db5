# SPDX-License-Identifier: Apache-2.0
"""Tool servers in the form of the ShipMCP document: MCP by POST to /{slug}/mcp with a Bearer token, whose scope may be read-only;
discovery and llms.txt without one; resources of up to 4 MB inline; -32001 inside 200; 401, 403, 429 and 503."""
import base64
import json

from integration.lib.small_servers import SmallServer, error, initialized, result

HOST = "https://mcp.shipmcp.io"
WELL_KNOWN = "/.well-known/oauth-protected-resource"


def tool(title, description, **properties):
    return {"name": title, "description": description, "inputSchema": {"type": "object", "properties": properties}}


TOOLS = [tool("search_products", "Full-text search across products. Searches: name, description.", query={"type": "string"},
              limit={"type": "integer", "default": 50}),
         tool("filter_products", "Filters products.", category={"type": "string"}, price_max={"type": "number"}),
         tool("insert_product", "Appends a product.", name={"type": "string"})]


class ShipmcpServer(SmallServer):
    path = "/{slug}/mcp"
    slugs = ("shop", "books")
    scopes = {"smcp_test": "write", "smcp_read": "read", "smcp_theirs": None}
    large = base64.b64encode(bytes(range(256)) * (4 * 1024 * 1024 // 256)).decode()  # 4 MB inline
    state = None  # "provisioning" or "limited"

    def answer(self, request):
        parts = request.path.split("/")
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if request.path.startswith(WELL_KNOWN):
            request.reply(200, {"resource": HOST + request.path[len(WELL_KNOWN):], "authorization_servers": ["https://shipmcp.io"]})
        elif parts[2:] == ["llms.txt"]:
            request.reply(200, f"# {parts[1]}\n\nTools: search_products\n".encode(), "text/plain; charset=utf-8")
        elif self.state == "provisioning":
            request.reply(503, {"error": "endpoint is still provisioning"}, Retry_After="30")
        elif self.state == "limited":
            request.reply(429, {"error": "rate limit exceeded"}, Retry_After="7")
        elif scheme != "Bearer" or token not in self.scopes:
            request.reply(401, {"error": "invalid_token"}, WWW_Authenticate='Bearer realm="ShipMCP", resource_metadata='
                          f'"{HOST}{WELL_KNOWN}{request.path}"')
        elif self.scopes[token] is None:
            request.reply(403, {"error": "forbidden"})
        else:
            self.call(request, parts[1], token, json.loads(request.body))

    def call(self, request, slug, token, message):
        params, name = message.get("params", {}), message.get("params", {}).get("name")
        uri = f"shipmcp://{slug}/1"
        values = {
            "initialize": {"protocolVersion": "2024-11-05", "serverInfo": {"name": "shipmcp", "version": "1.0.0"}, "capabilities": {"tools": {}},
                           "instructions": f"Schema and tool docs: https://shipmcp.io/{slug}/llms.txt"},
            "tools/list": {"tools": TOOLS},
            "tools/call": {"content": [{"type": "text", "text": '[{"id":1,"name":"…","price":24.99}]'}]},
            "resources/list": {"resources": [{"uri": uri, "name": "original.bin", "mimeType": "application/octet-stream", "size": 4194304}],
                               **({} if params.get("cursor") else {"nextCursor": "b3BhcXVl"})},
            "resources/read": {"contents": [{"uri": uri, "mimeType": "application/octet-stream", "blob": self.large}]},
            "resources/templates/list": {"resourceTemplates": []},
            "ping": {},
        }
        if params.get("uri", uri) != uri:
            values["resources/read"] = {"contents": [{"uri": params["uri"], "mimeType": "text/plain",
                                                      "text": "https://files.shipmcp.io/2?signature=abc&expires=120"}]}
        if "id" not in message:
            request.reply(202)
        elif slug not in self.slugs:
            request.reply(200, error(message, -32001, "Endpoint missing"))
        elif message["method"] not in values:
            request.reply(200, error(message, -32601, "Method not found"))
        elif name == "insert_product" and self.scopes[token] == "read":
            request.reply(403, {"error": "insufficient_scope"})
        elif name == "filter_products" and "category" not in params.get("arguments", {}):
            request.reply(200, error(message, -32602, "category is required"))
        elif name == "search_products" and params.get("arguments", {}).get("query") == "crash":
            request.reply(200, error(message, -32603, "Postgres failure"))
        else:
            request.reply(200, result(message, values[message["method"]]))
