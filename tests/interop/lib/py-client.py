# SPDX-License-Identifier: Apache-2.0
"""An unmodified official Python client (1.x or 2.x, whichever interpreter runs this) against a server with the tools of
py-server.py; prints one JSON line a step. usage: python py-client.py URL [denied]"""

import asyncio
import json
import sys

try:  # 2.x
    from mcp import Client
    GENERATION = 2
except ImportError:  # 1.x
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client
    GENERATION = 1


def say(step, value):
    print(json.dumps({"step": step, "value": value}, sort_keys=True), flush=True)


def field(thing, *names):
    """SDK generations spell fields differently: serverInfo, server_info."""
    for name in names:
        if hasattr(thing, name):
            return getattr(thing, name)
    raise AttributeError(names)


async def denials(session):
    async def denied(tool, arguments):
        return bool(field(await session.call_tool(tool, arguments), "isError", "is_error"))
    say("forbidden tool", await denied("fail", {}))
    say("forbidden value", await denied("echo", {"text": "x; DROP TABLE users"}))
    say("permitted", await denied("echo", {"text": "hello"}))


async def steps(session):
    say("tools", sorted(tool.name for tool in (await session.list_tools()).tools))
    echo = await session.call_tool("echo", {"text": "grüße \u2028 \U0001F600 \"x\""})
    say("echo", echo.content[0].text)
    say("sum", (await session.call_tool("add", {"a": 19.99, "b": 100})).content[0].text)
    failed = await session.call_tool("fail", {})
    say("fail", field(failed, "isError", "is_error"))
    big = await session.call_tool("big", {"bytes": 400000})
    say("big", len(big.content[0].text))
    many = await asyncio.gather(*(session.call_tool("echo", {"text": str(i)}) for i in range(20)))
    say("many", [m.content[0].text for m in many])
    seen = []

    async def progress(done, total, message):
        seen.append(done)
    await session.call_tool("slow", {"steps": 3}, progress_callback=progress)
    say("progress", seen)


async def main(url):
    work = denials if "denied" in sys.argv[2:] else steps
    if GENERATION == 2:
        async with Client(url) as client:
            say("connected", True)
            await work(client)
    else:
        async with streamablehttp_client(url) as (reader, writer, _):
            async with ClientSession(reader, writer) as session:
                await session.initialize()
                say("connected", True)
                await work(session)
    say("end", True)


asyncio.run(main(sys.argv[1]))
