# SPDX-License-Identifier: Apache-2.0
"""Small tool servers in the forms that the gate was made for, each on a port of its own, with a log of what reached it.

    with ArmoriqServer(tls=(certificate, key)) as server: …server.url, server.seen

`seen` holds one dictionary a request: method, path, headers (lower-case names), body (bytes)."""

import http.server
import json
import ssl
import threading

from integration.lib.wire import event


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


class Upstream(SmallServer):
    """11.10: an MCP server. A call is answered with `texts`, one of the tool `hold` once `hold` is set, `tools/list` with `tools` (names,
    or all that is told of each), a batch with a list; with `session` it begins one; with `form` "sse" its answers are events, with the
    messages of `before` ahead. What a scenario has of its own goes in from the outside to the inside: `answer` for what is no MCP,
    `other` for what is no POST, `answer_to` for all of a message's answer, `value_of` or `value` for its result, `deliver` for how it
    goes down."""

    texts, tools, session, form, before = (), None, None, "json", ()

    def __init__(self, texts=None, tools=None, session=None, **more):
        super().__init__(**more)
        self.hold = threading.Event()
        for name, value in (("texts", texts), ("tools", tools), ("session", session)):
            if value is not None:
                setattr(self, name, value)

    def answer(self, asked):
        if asked.command != "POST":
            return self.other(asked)
        said = json.loads(asked.body)
        messages = said if isinstance(said, list) else [said]
        answers = [self.answer_to(one, asked) for one in messages if "id" in one and "method" in one]
        if not answers:
            return asked.reply(202)
        session = self.begins(messages[0]) if messages[0].get("method") == "initialize" else None
        return self.deliver(asked, answers if isinstance(said, list) else answers[0], **({"Mcp_Session_Id": session} if session else {}))

    def other(self, asked):
        asked.reply(202 if asked.command == "DELETE" else 405)

    def begins(self, message):
        """The session that `message` begins, or None."""
        return self.session

    def deliver(self, asked, answer, **headers):
        """`answer`: a message, a batch of them, or bytes that are sent as they are."""
        if self.form == "json":
            asked.reply(200, answer, **headers)
        else:
            asked.chunks([event(one) for one in [*self.before, answer]], **headers)

    def answer_to(self, message, asked):
        return result(message, self.value_of(message))

    def value_of(self, message):
        if message["method"] == "initialize":
            asked = message.get("params", {}).get("protocolVersion")
            return {**initialized("s", {} if self.tools is None else {"tools": {}}), **({"protocolVersion": asked} if asked else {})}
        if message["method"] == "tools/list" and self.tools is not None:
            return {"tools": [{"name": one, "inputSchema": {"type": "object"}} if isinstance(one, str) else one for one in self.tools]}
        return self.value(message)

    def value(self, message):
        if message.get("params", {}).get("name") == "hold":
            self.hold.wait(600)
        return {"content": [{"type": "text", "text": text} for text in self.texts]}

    def arrived(self, tool=""):
        """How many calls of it reached the server."""
        said = [json.loads(one["body"]) for one in self.seen if one["body"]]
        calls = [one for each in said for one in (each if isinstance(each, list) else [each]) if one.get("method") == "tools/call"]
        return len([one for one in calls if not tool or one["params"]["name"] == tool])


def result(message, value):
    return {"jsonrpc": "2.0", "id": message["id"], "result": value}


def error(message, code, words):
    return {"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": code, "message": words}}


def initialized(name, capabilities):
    return {"protocolVersion": "2024-11-05", "capabilities": capabilities, "serverInfo": {"name": name, "version": "1.0.0"}}
