#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tool server as a process of its own that writes down each call before it answers: the upstream's own log, against
which the audit is held. usage: counting_server.py LOG   (prints its port as the first line)

Each line of LOG is arguments.id of one tools/call."""

import asyncio
import json
import sys


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
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"),
                               "result": {"content": [{"type": "text", "text": "done"}]}}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
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
