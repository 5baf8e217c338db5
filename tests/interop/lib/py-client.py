# SPDX-License-Identifier: Apache-2.0
"""An unmodified official Python client (1.x or 2.x, whichever interpreter runs this), or FastMCP's, does the steps of a plan and
prints one JSON line a step, as ts-client.mjs does.
usage: python py-client.py (sdk | fastmcp) TARGET PLAN MODE   (see ts-client.mjs)
       python py-client.py (sdk | fastmcp)   loads the packages, which takes seconds, and becomes a process with nothing else behind it for
each line on stdin: [TARGET, PLAN, MODE, OAUTH, file for stdout, file for stderr]; its exit status is a line of the answer"""

import asyncio
import contextlib
import json
import os
import sys
import traceback
import urllib.parse
import warnings

try:
    import mcp_types as types  # 2.x
    GENERATION = 2
except ImportError:
    from mcp import types
    GENERATION = 1

KIND = sys.argv[1]
TARGET, PLAN, MODE = sys.argv[2:5] if len(sys.argv) > 2 else ("", "", "")
person = None  # where tokens are wanted
logs, asked = [], []
warnings.simplefilter("ignore")  # of what the newer revision has no more
ANSWERS = {"ok": True, "age": 7, "score": 1.5, "verified": False}


def plain(thing):
    """What a client returned, in JSON."""
    if hasattr(thing, "model_dump"):
        return thing.model_dump(mode="json", by_alias=True, exclude_none=True)
    return [plain(one) for one in thing] if isinstance(thing, (list, tuple)) else thing


async def sample(context, params):
    asked.append("sampling/createMessage")
    text = types.TextContent(type="text", text=f"sampled {len(params.messages)}")
    return types.CreateMessageResult(role="assistant", model="none", content=text)


async def elicit(context, params):
    asked.append("elicitation/create")
    schema = getattr(params, "requestedSchema" if GENERATION == 1 else "requested_schema", None) or {}
    return types.ElicitResult(action="accept", content={key: ANSWERS.get(key, "given") for key in schema.get("required") or []})


async def roots(context):
    asked.append("roots/list")
    return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere", name="somewhere")])


async def log(params):
    logs.append(params.data)


class Person:
    """What an official client needs to get tokens: a person's browser, which says yes, and a memory."""

    def __init__(self):
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import OAuthClientMetadata
        metadata = OAuthClientMetadata(client_name="interop", redirect_uris=["http://127.0.0.1/callback"], token_endpoint_auth_method="none",
                                       grant_types=["authorization_code", "refresh_token"], response_types=["code"])
        self.events, self.client, self.tokens = [], None, None
        if os.environ["OAUTH"].startswith("known:"):  # somebody has registered it
            from mcp.shared.auth import OAuthClientInformationFull
            self.client = OAuthClientInformationFull(client_id=os.environ["OAUTH"][6:], **metadata.model_dump(exclude_none=True))
        self.auth = OAuthClientProvider(TARGET, metadata, self, self.browse, self.callback)

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.events.append(["token", tokens.scope or "", tokens.token_type])
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.events.append(["registered"])
        self.client = client

    async def browse(self, url):
        from browser import browse
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.events.append(["asked", asked.get("resource"), asked.get("scope", "")])
        self.end = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(await asyncio.to_thread(browse, url)).query))

    async def callback(self):
        if GENERATION == 1:
            return self.end["code"], self.end.get("state")
        from mcp.shared.auth import AuthorizationCodeResult
        return AuthorizationCodeResult(**self.end)


@contextlib.asynccontextmanager
async def sdk():
    """The client of the SDK, connected, and the revision that was agreed."""
    from mcp.client.stdio import StdioServerParameters, stdio_client
    stdio = TARGET.startswith("[") and StdioServerParameters(command=json.loads(TARGET)[0], args=json.loads(TARGET)[1:], env=dict(os.environ))
    handlers = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots, "logging_callback": log}
    if GENERATION == 2:
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client
        way = streamable_http_client(TARGET, http_client=create_mcp_http_client(auth=person.auth)) if person else TARGET
        async with Client(stdio or way, mode=MODE, **handlers) as client:
            yield client, client.protocol_version
        return
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client
    async with (stdio_client(stdio) if stdio else streamablehttp_client(TARGET, auth=person and person.auth)) as (reader, writer, *_):
        async with ClientSession(reader, writer, **handlers) as session:
            yield session, (await session.initialize()).protocolVersion


class Fast:
    """FastMCP's client under the names of the SDK's."""
    NAMES = {"call_tool": "call_tool_mcp", "list_tools": "list_tools_mcp", "list_resources": "list_resources_mcp",
             "list_resource_templates": "list_resource_templates_mcp", "read_resource": "read_resource_mcp",
             "list_prompts": "list_prompts_mcp", "get_prompt": "get_prompt_mcp", "complete": "complete_mcp", "send_ping": "ping"}

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        return getattr(self.client, self.NAMES.get(name, name), None) or getattr(self.client.session, name)

    async def call_tool(self, name, arguments, progress_callback=None):
        return await self.client.call_tool_mcp(name, arguments, progress_handler=progress_callback)


@contextlib.asynccontextmanager
async def fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
    words = json.loads(TARGET) if TARGET.startswith("[") else None

    async def fast_sample(messages, params, context):
        return await sample(context, params)

    async def fast_elicit(message, kind, params, context):
        return (await elicit(context, params)).content

    async with Client(StdioTransport(words[0], words[1:], env=dict(os.environ)) if words else TARGET, mode=MODE, roots=["file:///somewhere"],
                      sampling_handler=fast_sample, elicitation_handler=fast_elicit, log_handler=log) as client:
        yield Fast(client), client.protocol_version


class Steps:
    def __init__(self, client, revision):
        self.client, self.agreed = client, revision

    async def server(self):
        return plain(getattr(self.client, "server_info", None))

    async def revision(self):
        return self.agreed

    async def ping(self):
        return await self.client.send_ping()

    async def tools(self):
        return await self.client.list_tools()

    async def call(self, name, arguments):
        return await self.client.call_tool(name, arguments)

    async def progress(self, name, arguments):
        for turn in range(5):  # as ts-client.mjs does
            seen = []

            async def heard(done, total, message):
                seen.append((done, asyncio.get_running_loop().time()))
            result = await self.client.call_tool(name, arguments, progress_callback=heard)
            is_early = bool(seen) and asyncio.get_running_loop().time() - seen[0][1] > 0.06
            if is_early:
                break
        return [result, [done for done, _ in seen], is_early]

    async def cancel(self, name, arguments, seconds=None):
        there = asyncio.Event()

        async def heard(*_):
            there.set()
        task = asyncio.ensure_future(self.client.call_tool(name, arguments, progress_callback=None if seconds else heard))
        await asyncio.wait([task, asyncio.ensure_future(there.wait())], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        return "cancelled" if isinstance((await asyncio.gather(task, return_exceptions=True))[0], BaseException) else "answered"

    async def many(self, name, arguments, count):
        return await asyncio.gather(*(self.client.call_tool(name, dict(arguments, message=f"m{i}")) for i in range(count)))

    async def size(self, name, arguments):
        return len((await self.client.call_tool(name, arguments)).content[0].text)

    async def resources(self):
        return await self.client.list_resources()

    async def templates(self):
        return await self.client.list_resource_templates()

    async def read(self, uri):
        return await self.client.read_resource(uri)

    async def subscribe(self, uri):
        return await self.client.subscribe_resource(uri)

    async def listen(self, uri):
        async with self.client.listen(tools_list_changed=True, resource_subscriptions=[uri]) as stream:
            await self.client.call_tool("test_trigger_tool_change", {})
            await self.client.call_tool("test_trigger_resource_update", {})
            return sorted([type(await anext(stream)).__name__, type(await anext(stream)).__name__])

    async def prompts(self):
        return await self.client.list_prompts()

    async def prompt(self, name, arguments):
        return await self.client.get_prompt(name, arguments)

    async def complete(self, name, argument, value):
        return await self.client.complete(types.PromptReference(type="ref/prompt", name=name), {"name": argument, "value": value})

    async def level(self, level):
        return await self.client.set_logging_level(level)

    async def logs(self, count):
        for _ in range(1000):
            if len(logs) >= count:
                break
            await asyncio.sleep(0.02)
        return logs

    async def asked(self):
        return asked

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)

    async def oauth(self):
        return person.events


def say(step, value):
    print(json.dumps({"step": step, "value": value}, sort_keys=True, default=str), flush=True)


async def main():
    async with (fastmcp if KIND == "fastmcp" else sdk)() as (client, revision):
        steps = Steps(client, revision)
        for name, *words in json.loads(PLAN):
            try:
                value = plain(await asyncio.wait_for(getattr(steps, name)(*words), 60))
            except Exception as fault:
                value = f"{type(fault).__name__}: {fault}"
            say([name, *words], value)
    say("end", True)


def load():
    """What a client loads before its first word."""
    import mcp.client.auth  # noqa: F401
    import mcp.client.stdio  # noqa: F401
    import mcp.client.streamable_http  # noqa: F401
    if KIND == "fastmcp":
        import fastmcp.client.transports  # noqa: F401


def run():
    global person
    person = Person() if os.environ.get("OAUTH") else None
    asyncio.run(main())


def become(target, plan, mode, oauth, *files):
    """A client of its own, in a process that was just forked. Returns its exit status."""
    global TARGET, PLAN, MODE
    TARGET, PLAN, MODE = target, plan, mode
    os.environ["OAUTH"] = oauth
    for number, name in enumerate((os.devnull, *files)):
        file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(file, number)
        os.close(file)
    try:
        run()
        return 0
    except BaseException:  # as an interpreter ends
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if TARGET:
    run()
else:
    load()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(become(*json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
