# SPDX-License-Identifier: Apache-2.0
"""An unmodified official Python client over HTTP+SSE (2024-11-05), as sse-client.mjs. usage: python sse-client.py URL [denied]"""

import asyncio
import json
import sys

from mcp import ClientSession, types
from mcp.client.sse import sse_client


def say(step, value):
    print(json.dumps({"step": step, "value": value}, sort_keys=True), flush=True)


async def sample(context, params):
    text = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", model="none", content=text)


async def denied(session, tool, arguments):
    return bool((await session.call_tool(tool, arguments)).isError)


async def work(session):
    say("tools", [tool.name for tool in (await session.list_tools()).tools])
    if "denied" in sys.argv[2:]:
        say("forbidden tool", await denied(session, "get-env", {}))
        say("forbidden value", await denied(session, "echo", {"message": "x; DROP TABLE users"}))
        say("permitted", await denied(session, "echo", {"message": "hello"}))
        return
    echo = await session.call_tool("echo", {"message": "grüße \u2028 \U0001F600 \"x\""})
    say("echo", echo.content[0].text)
    seen = []

    async def progress(done, total, message):
        seen.append(done)
    await session.call_tool("trigger-long-running-operation", {"duration": 1, "steps": 3}, progress_callback=progress)
    say("progress", seen)
    say("sampling", await denied(session, "trigger-sampling-request", {"prompt": "hi", "maxTokens": 10}))
    many = await asyncio.gather(*(session.call_tool("echo", {"message": str(i)}) for i in range(20)))
    say("many", [one.content[0].text for one in many])


async def main(url):
    async with sse_client(url) as streams, ClientSession(*streams, sampling_callback=sample) as session:
        await session.initialize()
        say("connected", True)
        await work(session)
    say("end", True)


asyncio.run(main(sys.argv[1]))
