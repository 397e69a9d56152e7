"""What the scripts here share: calls of tools, and what comes back."""

import json
import subprocess
import time

from mcp import MCPError


def member(result, *names):
    """Fields were renamed between versions of the SDK."""
    for name in names:
        if hasattr(result, name):
            return getattr(result, name)
    raise AssertionError(f"{result!r} has none of {names}")


def is_error(result):
    return bool(member(result, "is_error", "isError"))


def value(result):
    assert not is_error(result), text(result)
    return member(result, "structured_content", "structuredContent")


def text(result):
    return "".join(block.text for block in result.content)


async def call(session, tool, **arguments):
    return await session.call_tool(tool, arguments)


async def refuses(session, tool, **arguments):
    """Whether the call is turned down: by the tool, or before it gets there."""
    try:
        return is_error(await call(session, tool, **arguments))
    except MCPError:
        return True


def sessions(program):
    """The sessions that go on."""
    listed = subprocess.run([program, "session", "ls", "--json"], check=True, capture_output=True, text=True)
    return json.loads(listed.stdout)


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False
