# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire: raw requests as a test wants them, raw upstreams that do what a test says."""

import json
import socket
import threading


def head(method="POST", path="/mcp", length=None, host="127.0.0.1", lines=()):
    """A plain request head; `lines` are added as they stand."""
    rows = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    if length is not None:
        rows += ["Content-Type: application/json", f"Content-Length: {length}"]
    return ("\r\n".join([*rows, *lines]) + "\r\n\r\n").encode()


def request(message, **more):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return head(length=len(body), **more) + body


class Reply:
    """One parsed response: status, headers (lower-case names), body; `closed`: the peer closed after it."""

    def __init__(self, status, headers, body, closed):
        self.status, self.headers, self.body, self.closed = status, headers, body, closed

    def json(self):
        return json.loads(self.body)


class Wire:
    """A client connection that sends what it is told and parses replies strictly."""

    def __init__(self, port, timeout=60, address="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout, (address, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = b""

    def secure(self, context, name="gate.test", session=None):
        """What follows is TLS."""
        self.socket = context.wrap_socket(self.socket, server_hostname=name, session=session)
        return self

    def send(self, data):
        self.socket.sendall(data)
        return self

    def more(self):
        """Returns False at the end of the stream (a reset counts as one)."""
        try:
            piece = self.socket.recv(65536)
        except ConnectionResetError:
            return False
        self.waiting += piece
        return bool(piece)

    def until(self, mark):
        while mark not in self.waiting:
            if not self.more():
                raise EOFError(f"closed before {mark!r}; had {self.waiting[:300]!r}")
        found, self.waiting = self.waiting.split(mark, 1)
        return found + mark

    def exactly(self, count):
        while len(self.waiting) < count:
            if not self.more():
                raise EOFError("closed in the middle")
        found, self.waiting = self.waiting[:count], self.waiting[count:]
        return found

    def head(self):
        """The next head, 1xx included. Returns (status, headers)."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            if line:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
        return int(lines[0].split()[1]), headers

    def chunk(self):
        """The next chunk's bytes; b'' is the last one."""
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size)
        self.exactly(2)
        return data

    def reply(self, method="POST"):
        status, headers = self.head()
        while status // 100 == 1:
            status, headers = self.head()
        body = b""
        if method == "HEAD" or status in (204, 304):
            pass
        elif headers.get("transfer-encoding") == "chunked":
            while piece := self.chunk():
                body += piece
        elif "content-length" in headers:
            body = self.exactly(int(headers["content-length"]))
        else:
            while self.more():
                pass
            body, self.waiting = self.waiting, b""
        return Reply(status, headers, body, headers.get("connection", "").lower() == "close")

    def is_closed(self, seconds=60):
        """Whether the peer closes within the time."""
        self.socket.settimeout(seconds)
        try:
            return not self.more()
        except TimeoutError:
            return False

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ask(port, data, method="POST", address="127.0.0.1"):
    """Sends bytes on a connection of its own; returns the Reply, or None when the peer closed without one."""
    with Wire(port, address=address) as wire:
        wire.send(data)
        try:
            return wire.reply(method)
        except EOFError:
            return None


class RawServer:
    """An upstream whose every connection is handled by `behave(Wire-like)`; for lies, silence and cuts."""

    path = "/mcp"

    def __init__(self, behave):
        self.behave, self.connections, self.closed = behave, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.ending = False

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}{self.path}"

    def _accept(self):
        while not self.ending:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        wire = Wire.__new__(Wire)
        wire.socket, wire.waiting = connection, b""
        connection.settimeout(120)
        try:
            self.behave(wire)
        except (OSError, EOFError, ValueError):
            pass
        finally:
            connection.close()
            self.closed += 1

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ending = True
        # A thread that waits in accept would keep a socket that is only closed listening.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def read_request(wire):
    """In a RawServer: the next request. Returns (request line, headers, body)."""
    lines = wire.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:] if line}
    return lines[0], headers, wire.exactly(int(headers.get("content-length", 0)))


def json_reply(value, status="200 OK", lines=()):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    rows = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *lines]
    return ("\r\n".join(rows) + "\r\n\r\n").encode() + body


def reply_json(wire, value, status="200 OK", lines=()):
    wire.send(json_reply(value, status, lines))


def begin_stream(wire, lines=()):
    wire.send(("\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", *lines])
               + "\r\n\r\n").encode())


def send_chunk(wire, data):
    wire.send(b"%x\r\n%s\r\n" % (len(data), data))


def event(message, **fields):
    """`message`: a value, or bytes that are the data as they are."""
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    rows = ["event: message"] + [f"{k}: {v}" for k, v in fields.items()]
    return "\n".join(rows).encode() + b"\ndata: " + data + b"\n\n"
