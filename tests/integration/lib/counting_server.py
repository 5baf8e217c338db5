# SPDX-License-Identifier: Apache-2.0
"""A tool server as a process of its own that writes down each call before it answers: the upstream's own log, against
which the audit is held. usage: counting_server.py LOG   (prints its port as the first line)

Each line of LOG is arguments.id of one tools/call. The tool `stream` is answered by server-sent events: a notification, a while
later the result."""

import asyncio
import json
import sys


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n\r\n"
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "half"}}


def chunk(message):
    text = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(text), text)


async def answer(writer, message):
    reply = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": [{"type": "text", "text": "done"}]}}
    if message.get("params", {}).get("name") == "stream":
        writer.write(HEAD % (b"text/event-stream", b"Transfer-Encoding: chunked") + chunk(NOTE))
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(chunk(reply) + b"0\r\n\r\n")
    else:
        body = json.dumps(reply).encode()
        writer.write(HEAD % (b"application/json", b"Content-Length: %d" % len(body)) + body)
    await writer.drain()


async def connection(reader, writer, log):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            message = json.loads(await reader.readexactly(length)) if length else {}
            if message.get("method") == "tools/call":
                log.write(str(message["params"]["arguments"]["id"]) + "\n")
                log.flush()
            await answer(writer, message)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    with open(sys.argv[1], "a", encoding="ascii") as log:
        server = await asyncio.start_server(lambda r, w: connection(r, w, log), "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())
