# SPDX-License-Identifier: Apache-2.0
"""Small tool servers in the forms that the gate was made for, each on a port of its own, with a log of what reached it.

    with ArmoriqServer(tls=(certificate, key)) as server: …server.url, server.seen

`seen` holds one dictionary a request: method, path, headers (lower-case names), body (bytes)."""

import base64
import http.server
import json
import ssl
import threading


class SmallServer:
    """HTTP/1.1 with keep-alive; subclasses answer in `answer(request)` by request.reply(...)."""

    path = "/mcp"

    def __init__(self, tls=None, host="127.0.0.1"):
        outer = self
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.body = self.rfile.read(length) if length else b""
                outer.seen.append({"method": self.command, "path": self.path, "body": self.body,
                                   "headers": {k.lower(): v for k, v in self.headers.items()}})
                outer.answer(self)

            do_GET = do_HEAD = do_POST = do_DELETE = handle_one

            def reply(self, status, body=b"", kind="application/json", **headers):
                if not isinstance(body, bytes):
                    body = json.dumps(body).encode()
                self.send_response(status)
                if body:
                    self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def chunks(self, pieces, kind="text/event-stream", **headers):
                """Streams pieces as they come, chunked."""
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Transfer-Encoding", "chunked")
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                for piece in pieces:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass  # an agent or a gate that goes away is what scenarios do on purpose

        self.listener = Listener((host, 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*map(str, tls))
            self.listener.socket = context.wrap_socket(self.listener.socket, server_side=True)
        self.scheme = "https" if tls else "http"
        self.port = self.listener.server_address[1]

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}{self.path}"

    def methods(self):
        """JSON-RPC methods that arrived, in order."""
        return [json.loads(one["body"]).get("method") for one in self.seen if one["body"]]

    def __enter__(self):
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown()
        self.listener.server_close()


def result(message, value):
    return {"jsonrpc": "2.0", "id": message["id"], "result": value}


def error(message, code, words):
    return {"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": code, "message": words}}


def initialized(name, capabilities):
    return {"protocolVersion": "2024-11-05", "capabilities": capabilities, "serverInfo": {"name": name, "version": "1.0.0"}}


class ArmoriqServer(SmallServer):
    """Each response is one server-sent event, streamed; content[].text is a JSON string."""

    def answer(self, request):
        message = json.loads(request.body)
        if "id" not in message:
            request.reply(202)
            return
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            reply = result(message, initialized("armoriq-form", {"tools": {}}))
        elif method == "tools/list":
            schema = {"type": "object", "properties": {"parameter1": {"type": "string"}}, "required": ["parameter1"]}
            reply = result(message, {"tools": [{"name": "tool_name", "description": "A tool", "inputSchema": schema}]})
        elif method == "tools/call":
            data = json.dumps({"result": params.get("arguments", {})})
            reply = result(message, {"content": [{"type": "text", "text": data}]})
        else:
            reply = error(message, -32601, "Method not found")
        request.chunks([f"event: message\ndata: {json.dumps(reply)}\n\n".encode()])


class AgentDojoServer(SmallServer):
    """JSON responses by slug, X-API-Key, 202 for notifications, 429 with Retry-After."""

    path = "/mcp/my-server"
    key = "your-api-key"
    limited = False

    def answer(self, request):
        if request.headers.get("X-API-Key") != self.key:
            request.reply(401, {"error": "Invalid API key"})
            return
        if self.limited:
            request.reply(429, {"error": "Rate limit exceeded. Try again in 30 seconds."}, Retry_After="30")
            return
        message = json.loads(request.body)
        if "id" not in message:
            request.reply(202)
            return
        values = {
            "initialize": initialized("my-server", {"tools": {}, "resources": {}, "prompts": {}}),
            "tools/list": {"tools": [{"name": "send-notification", "description": "Send a push notification",
                                      "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}}}]},
            "tools/call": {"content": [{"type": "text", "text": "Notification sent successfully"}], "isError": False},
            "resources/list": {"resources": [{"uri": "db://users", "name": "Users", "mimeType": "application/json"}]},
            "resources/read": {"contents": [{"uri": "db://users", "mimeType": "application/json", "text": "[]"}]},
            "prompts/list": {"prompts": [{"name": "summarize-topic", "arguments": []}]},
            "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "Summarize."}}]},
            "ping": {},
        }
        value = values.get(message["method"])
        request.reply(200, result(message, value) if value is not None else error(message, -32601, "Method not found"))


class ShipmcpServer(SmallServer):
    """Bearer tokens, 401 with WWW-Authenticate, large base64 resources, -32001 inside 200, llms.txt without a token."""

    path = "/shop/mcp"
    token = "smcp_test"
    large = base64.b64encode(bytes(range(256)) * (4 * 1024 * 1024 // 256)).decode()
    provisioning = False

    def answer(self, request):
        if request.path == "/shop/llms.txt":
            request.reply(200, b"# Shop\n\nTools: search_products\n", "text/plain; charset=utf-8")
        elif request.path == "/.well-known/oauth-protected-resource/shop/mcp":
            request.reply(200, {"resource": "https://mcp.shipmcp.io/shop/mcp",
                                "authorization_servers": ["https://shipmcp.io"]})
        elif self.provisioning:
            request.reply(503, {"error": "provisioning"}, Retry_After="30")
        elif request.headers.get("Authorization") != f"Bearer {self.token}":
            challenge = ('Bearer realm="ShipMCP", resource_metadata='
                         '"https://mcp.shipmcp.io/.well-known/oauth-protected-resource/shop/mcp"')
            request.reply(401, {"error": "unauthorized"}, WWW_Authenticate=challenge)
        else:
            self.call(request, json.loads(request.body))

    def call(self, request, message):
        if "id" not in message:
            request.reply(202)
            return
        params = message.get("params", {})
        values = {
            "initialize": dict(initialized("shipmcp", {"tools": {}}), instructions="see llms.txt"),
            "tools/list": {"tools": [{"name": "search_products", "description": "Full-text search",
                                      "inputSchema": {"type": "object", "properties": {"query": {"type": "string"},
                                                      "limit": {"type": "integer", "default": 50}},
                                                      "required": ["query"]}}]},
            "tools/call": {"content": [{"type": "text", "text": '[{"id":1,"price":24.99}]'}]},
            "resources/list": {"resources": [{"uri": "shipmcp://shop/1", "name": "original.bin",
                                              "mimeType": "application/octet-stream", "size": 4194304}]},
            "resources/read": {"contents": [{"uri": params.get("uri"), "mimeType": "application/octet-stream",
                                             "blob": self.large}]},
            "resources/templates/list": {"resourceTemplates": []},
            "ping": {},
        }
        if message["method"] == "tools/call" and params.get("name") == "gone":
            request.reply(200, error(message, -32001, "Endpoint missing"))
            return
        value = values.get(message["method"])
        request.reply(200, result(message, value) if value is not None else error(message, -32601, "Method not found"))
