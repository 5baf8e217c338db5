# SPDX-License-Identifier: Apache-2.0
"""A FastMCP server whose tools are found by a search and called by another tool. usage: server.py PORT"""
import sys

from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform

server = FastMCP("shop")


@server.tool
def read_file(path: str) -> str:
    """Reads a file."""
    return "read " + path


@server.tool(annotations={"destructiveHint": True})
def drop_file(path: str) -> str:
    """Drops a file."""
    return "dropped " + path


server.add_transform(BM25SearchTransform())
server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
