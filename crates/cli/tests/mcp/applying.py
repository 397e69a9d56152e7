"""The tool that applies, with the official Python SDK: what the rules let pass, and no more.

Arguments: the program, the workspace, then options for `cofferdam mcp`.
"""

import asyncio
import os
import sys

from calls import call, is_error, refuses, text, value
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, WORKSPACE, *OPTIONS = sys.argv[1:]


def on_host(path):
    try:
        with open(os.path.join(WORKSPACE, path)) as file:
            return file.read()
    except FileNotFoundError:
        return None


async def main():
    server = StdioServerParameters(
        command=PROGRAM, args=["mcp", "--workspace", WORKSPACE, *OPTIONS], env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        if "apply" not in tools:
            assert await refuses(session, "apply"), "it is not there"
            print("absent")
            return
        await call(session, "shell", command="""
            mkdir -p src .github/workflows secret; echo code > src/a; echo code > src/b; echo plain > notes
            echo 'on: push' > .github/workflows/ci.yml; echo x > secret/key; echo mine > src/clash""")
        os.makedirs(os.path.join(WORKSPACE, "src"))
        with open(os.path.join(WORKSPACE, "src/clash"), "w") as file:
            file.write("the user's")
        done = value(await call(session, "apply", paths=["src/a"]))
        assert done["outcome"] == "applied" and done["applied"]["created"] == 1, done
        assert (on_host("src/a"), on_host("src/b")) == ("code\n", None)
        done = value(await call(session, "apply"))
        states = {entry["path"]: (entry["state"], entry["decides"].split(":")[0]) for entry in done["pending"]}
        assert states["notes"] == ("review", "user"), done
        assert states[".github/workflows/ci.yml"] == ("blocked", "user"), done
        assert states["secret/key"] == ("denied", "nobody here"), done
        assert states["src/clash"] == ("conflict", "user"), done
        assert "src/b" not in states and on_host("src/b") == "code\n", done
        assert (on_host("notes"), on_host("secret/key"), on_host("src/clash")) == (None, None, "the user's")
        assert on_host(".github/workflows/ci.yml") is None
        again = value(await call(session, "apply"))
        assert again["applied"] is None or sum(again["applied"].values()) == 0, again
        for path in ["../outside", "/etc/passwd", "nothing"]:
            assert is_error(await call(session, "apply", paths=[path])), path
        for given in [{"paths": ["notes"], "allow_class": ["ci"]}, {"yes": True}]:
            assert await refuses(session, "apply", **given), given
        print(text(await call(session, "apply")))
    print("offered")


asyncio.run(main())
