# SPDX-License-Identifier: Apache-2.0
"""A FastAPI server whose every response is one server-sent event, over TLS.
usage: python armoriq-server.py PORT CERTIFICATE KEY"""

import json
import sys

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

app = FastAPI()
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def result_of(message):
    method = message["method"]
    if method == "initialize":
        return {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "fastapi", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "search", "description": "Searches", "inputSchema": SCHEMA}]}
    if method == "tools/call":
        found = {"result": f"found {message['params']['arguments']['query']}"}
        return {"content": [{"type": "text", "text": json.dumps(found)}]}
    return None


@app.post("/mcp")
async def endpoint(request: Request):
    message = await request.json()
    if "id" not in message:
        return Response(status_code=202)
    result = result_of(message)
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    reply |= {"result": result} if result is not None else {"error": {"code": -32601, "message": "Method not found"}}

    async def stream():
        yield f"event: message\ndata: {json.dumps(reply)}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), ssl_certfile=sys.argv[2], ssl_keyfile=sys.argv[3], log_level="warning")
