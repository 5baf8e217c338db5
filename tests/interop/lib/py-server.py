# SPDX-License-Identifier: Apache-2.0
"""A server on the official Python SDK (1.x or 2.x, whichever interpreter runs this).
usage: python py-server.py PORT [json]   (json: replies as JSON instead of SSE)"""

import asyncio
import sys

import pydantic
import uvicorn

try:  # 2.x
    from mcp.server.mcpserver import Context, MCPServer as Server
except ImportError:  # 1.x
    from mcp.server.fastmcp import Context, FastMCP as Server

server = Server("py-server")


@server.tool()
def echo(message: str) -> str:
    return message


class Card(pydantic.BaseModel):
    number: str = pydantic.Field(pattern=r"^[0-9]{4}( [0-9]{4}){3}$")


@server.tool()
def card() -> Card:
    return Card(number="4111 1111 1111 1111")


@server.tool()
def add(a: float, b: float) -> float:
    return a + b


@server.tool()
def fail() -> str:
    raise ValueError("always")


@server.tool()
def big(bytes: int) -> str:
    return "x" * bytes


@server.tool()
async def slow(steps: int, ctx: Context) -> str:
    for i in range(steps):
        await ctx.report_progress(i + 1, steps)
        await asyncio.sleep(0.3)  # so that a client that is held up still hears the first long before the result
    return "done"


as_json = "json" in sys.argv[2:]
try:
    app = server.streamable_http_app(json_response=as_json)  # 2.x takes it here
except TypeError:
    server.settings.json_response = as_json
    app = server.streamable_http_app()
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
