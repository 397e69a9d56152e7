"""Two clients of one HTTP server, with the official Python SDK: each with a session of its own, closed with it.

Arguments: the program, the workspace, the URL, the token.
"""

import asyncio
import sys

import httpx2
from calls import call, is_error, sessions, text, value, wait_for
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client

PROGRAM, WORKSPACE, URL, TOKEN = sys.argv[1:]


def client():
    return httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)


async def two_clients():
    async with client() as first_http, client() as second_http:
        async with streamable_http_client(URL, http_client=first_http) as (read, write, *_):
            async with ClientSession(read, write) as first:
                await first.initialize()
                assert sessions(PROGRAM) == [], "nothing was asked for yet"
                value(await call(first, "write_file", path="mine", content="x"))
                async with streamable_http_client(URL, http_client=second_http) as (read, write, *_):
                    async with ClientSession(read, write) as second:
                        await second.initialize()
                        assert is_error(await call(second, "read_file", path="mine"))
                        done = value(await call(second, "shell", command="sleep 600 & ls /proc/*/comm | wc -l"))
                        assert done["exit_code"] == 0, done
                        here = value(await call(first, "shell", command="cat /proc/*/comm; ls"))
                        assert "sleep" not in here["stdout"] and "mine" in here["stdout"], here
                        ids = {value(await call(each, "status"))["session"] for each in (first, second)}
                        assert len(ids) == 2 and len(sessions(PROGRAM)) == 2, ids
                # It said goodbye: its session goes, with what ran in it; the other stays.
                assert await gone_but(1)
                assert text(await call(first, "read_file", path="mine")) == "x"
                await in_parallel(first)
        assert await gone_but(0)


async def gone_but(left):
    return await asyncio.to_thread(wait_for, lambda: len(sessions(PROGRAM)) == left)


async def in_parallel(session):
    calls = [call(session, "shell", command=f"echo {n}") for n in range(8)]
    said = [value(done)["stdout"] for done in await asyncio.gather(*calls)]
    assert said == [f"{n}\n" for n in range(8)], said


async def cut_off():
    """A client that goes away while a command runs takes the session along."""
    async with client() as http, streamable_http_client(URL, http_client=http) as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            task = asyncio.create_task(call(session, "shell", command="sleep 600"))
            await asyncio.sleep(1)
            assert len(sessions(PROGRAM)) == 1
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
    assert await gone_but(0)


async def newest():
    """A client of the newest protocol, which knows no sessions, falls back to one that does."""
    async with client() as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport) as session:
            value(await call(session, "write_file", path="kept", content="x"))
            assert text(await call(session, "read_file", path="kept")) == "x", "the same session"
    assert await gone_but(0)


for part in [two_clients, cut_off, newest]:
    asyncio.run(part())
    print(part.__name__, flush=True)
print("all is well")
