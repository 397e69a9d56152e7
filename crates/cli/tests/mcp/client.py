"""Drives `cofferdam mcp` with the official Python SDK and fails loudly where it does not keep its word.

Arguments: the program, the workspace, then options for `cofferdam mcp`.
"""

import asyncio
import json
import os
import sys
import time

from calls import call, is_error, member, refuses, sessions, text, value, wait_for
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, WORKSPACE, *OPTIONS = sys.argv[1:]
TOOLS = {
    "shell", "read_output", "kill", "read_file", "write_file", "edit_file", "list_files", "search",
    "changes", "diff", "reset", "status",
}


def server():
    return StdioServerParameters(
        command=PROGRAM, args=["mcp", "--workspace", WORKSPACE, *OPTIONS], env=dict(os.environ)
    )


async def commands(session):
    done = value(await call(session, "shell", command="echo out; echo err >&2; exit 7"))
    assert (done["outcome"], done["exit_code"]) == ("exited", 7), done
    assert (done["stdout"], done["stderr"]) == ("out\n", "err\n"), done
    # Arguments are not a command line.
    done = value(await call(session, "shell", argv=["printf", "%s", "$(id); `id` | x"]))
    assert done["stdout"] == "$(id); `id` | x", done
    done = value(await call(session, "shell", command="sleep 30", timeout=1))
    assert done["outcome"] == "timed_out", done
    assert is_error(await call(session, "shell", command="true", timeout=999999))
    assert is_error(await call(session, "shell"))
    assert is_error(await call(session, "shell", command="true", argv=["true"]))
    assert is_error(await call(session, "shell", command="true", workdir="../.."))


async def inert(session):
    done = await call(session, "shell", command=r"printf '\033]52;c;eA==\007\033[31mred'")
    assert "\x1b" not in text(done) and "\x07" not in text(done), text(done)
    assert "\x1b" not in json.dumps(value(done), ensure_ascii=False)
    await call(session, "shell", command=r"printf 'a\033[2Jb' > esc; touch $(printf 'n\033[2Jm')")
    for result in [
        await call(session, "read_file", path="esc"),
        await call(session, "list_files"),
        await call(session, "search", pattern="a.*b"),
        await call(session, "changes"),
        await call(session, "diff"),
        await call(session, "status"),
    ]:
        assert not is_error(result), text(result)
        assert "\x1b" not in text(result), text(result)
    await call(session, "shell", command="rm esc n*m")


async def large(session):
    done = value(await call(session, "shell", command="head -c 100000000 /dev/zero | tr '\\0' x"))
    assert done["truncated"] and len(done["stdout"]) < 200_000, len(done["stdout"])
    assert done["stdout_left_out_bytes"] > 99_000_000


async def files(session):
    path = "deep/er/file.txt"
    value(await call(session, "write_file", path=path, content="one\ntwo\nthree\n"))
    assert text(await call(session, "read_file", path=path)) == "one\ntwo\nthree\n"
    assert text(await call(session, "read_file", path=path, from_line=2, lines=1)) == "two\n"
    value(await call(session, "edit_file", path=path, old="two", new="2"))
    assert is_error(await call(session, "edit_file", path=path, old="two", new="2"))
    assert is_error(await call(session, "edit_file", path=path, old="e", new="E"))
    value(await call(session, "edit_file", path=path, old="e", new="E", all=True))
    assert text(await call(session, "read_file", path="/workspace/" + path)) == "onE\n2\nthrEE\n"
    found = value(await call(session, "list_files", path="deep", depth=3))["entries"]
    assert [entry["path"] for entry in found] == ["er", "er/file.txt"], found
    assert "deep/er/file.txt:2:2" in text(await call(session, "search", pattern="^[0-9]$"))
    assert is_error(await call(session, "search", pattern="("))
    changed = value(await call(session, "changes"))["entries"]
    assert any(json.dumps(path) in json.dumps(entry) for entry in changed), changed
    assert "+2" in text(await call(session, "diff", paths=[path]))
    assert not os.path.exists(os.path.join(WORKSPACE, "deep")), "it reached the host"


async def escapes(session):
    await call(session, "shell", command="ln -s /etc out; ln -s /etc/passwd file; ln -s . here")
    outside = [
        "/etc/passwd", "../etc/passwd", "out/passwd", "file", "here/../../etc/passwd", "/proc/self/environ",
        "/workspace/../etc/passwd", "", "/",
    ]
    for path in outside:
        for tool, rest in [
            ("read_file", {}), ("write_file", {"content": "x"}), ("edit_file", {"old": "r", "new": "x"}),
        ]:
            result = await call(session, tool, path=path, **rest)
            assert is_error(result), (tool, path, text(result))
    for path in ["/etc", "..", "out"]:
        assert is_error(await call(session, "list_files", path=path)), path
        assert is_error(await call(session, "search", pattern="root", path=path)), path
    # Not a flag, not a script.
    value(await call(session, "write_file", path="-rf $(touch no)", content="x"))
    assert text(await call(session, "read_file", path="-rf $(touch no)")) == "x"
    assert is_error(await call(session, "read_file", path="no"))
    assert text(await call(session, "read_file", path="here/-rf $(touch no)")) == "x"


async def background(session):
    job = value(await call(session, "shell", command="echo up; sleep 600", background=True))["job"]
    for _ in range(100):
        seen = value(await call(session, "read_output", job=job))
        if seen["stdout"] == "up\n":
            break
        await asyncio.sleep(0.05)
    assert seen["running"] and seen["stdout"] == "up\n", seen
    value(await call(session, "kill", job=job))
    for _ in range(100):
        seen = value(await call(session, "read_output", job=job))
        if not seen["running"]:
            break
        await asyncio.sleep(0.05)
    assert (seen["outcome"], seen["signal"]) == ("signaled", 9), seen
    assert is_error(await call(session, "read_output", job=999))


async def progress(session):
    heard = []

    async def hear(progress, total, message):
        heard.append((progress, message))

    await session.call_tool("shell", {"command": "sleep 2.5"}, progress_callback=hear)
    assert len(heard) >= 2 and "running" in heard[0][1], heard


async def cancel(session):
    began = time.monotonic()
    task = asyncio.create_task(call(session, "shell", command="sleep 600 & sleep 600"))
    await asyncio.sleep(0.5)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    for _ in range(100):
        left = value(await call(session, "shell", command="pgrep -x sleep | wc -l"))["stdout"].strip()
        if left == "0":
            break
        await asyncio.sleep(0.1)
    assert left == "0" and time.monotonic() - began < 20, left


async def resources(session):
    listed = await session.list_resources()
    names = {str(resource.uri) for resource in listed.resources}
    assert len(names) == 3, names
    await call(session, "shell", command=r"printf 'one\033[2J' > seen")
    read = {name: (await session.read_resource(name)).contents[0].text for name in names}
    plan = json.loads(read["cofferdam://session/plan"])
    assert plan["purpose"] == "session" and plan["network"] == "none", plan
    assert "seccomp" in read["cofferdam://session/receipt"], read
    assert "+++ b/seen" in read["cofferdam://session/diff"], read
    assert all("\x1b" not in text for text in read.values())
    for name in ["cofferdam://session/secrets", "file:///etc/passwd"]:
        try:
            await session.read_resource(name)
            raise AssertionError(name)
        except MCPError:
            pass


async def arguments(session):
    for tool, given in [
        ("shell", {"command": 7}), ("shell", {"command": "true", "as_root": True}),
        ("shell", {"command": "true", "timeout": -1}), ("shell", {"argv": "true"}), ("shell", {"argv": []}),
        ("read_file", {}), ("read_file", {"path": None}), ("read_file", {"path": ["a"]}),
        ("kill", {"job": "all"}), ("kill", {"job": 10**30}), ("edit_file", {"path": "x", "old": "", "new": "y"}),
        ("list_files", {"depth": "deep"}), ("status", {"more": 1}), ("no_such_tool", {}),
    ]:
        assert await refuses(session, tool, **given), (tool, given)
    assert value(await call(session, "shell", command="echo still"))["stdout"] == "still\n"


async def summary(session):
    """Counts of what the session has changed come with every command."""
    value(await call(session, "reset"))
    with open(os.path.join(WORKSPACE, "kept"), "w") as file:
        file.write("host")
    done = value(await call(session, "shell", command="true"))
    assert done["changes"] == {"created": 0, "modified": 0, "deleted": 0, "at_least": False}, done
    done = value(await call(session, "shell", command="mkdir d; touch d/a d/b; echo x >> kept"))
    assert done["changes"] == {"created": 3, "modified": 1, "deleted": 0, "at_least": False}, done
    done = value(await call(session, "shell", command="rm -r d kept"))
    assert done["changes"] == {"created": 0, "modified": 0, "deleted": 1, "at_least": False}, done
    os.remove(os.path.join(WORKSPACE, "kept"))


async def killed(_):
    """A server that is killed leaves no session, and what ran in it is gone."""
    before = {session["run"] for session in sessions(PROGRAM)}
    try:
        async with stdio_client(server()) as (read, write), ClientSession(read, write) as other:
            await other.initialize()
            value(await call(other, "shell", command="echo x > made; sleep 600", background=True))
            mine = value(await call(other, "status"))["session"]
            pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_server(pid)]
            assert len(pids) == 1, pids
            os.kill(pids[0], 9)
            assert wait_for(lambda: all(session["run"] != mine for session in sessions(PROGRAM)))
    except* Exception as group:
        left = group.subgroup(lambda error: isinstance(error, AssertionError))
        if left:
            raise left
    # One that was reset a moment ago may still be ending.
    assert {session["run"] for session in sessions(PROGRAM)} <= before


SERVERS = set()


def is_server(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        with open(f"/proc/{pid}/stat") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return False
    return parent == os.getpid() and b"mcp" in words and pid not in SERVERS


async def two(session):
    async with stdio_client(server()) as (read, write), ClientSession(read, write) as other:
        await other.initialize()
        value(await call(session, "write_file", path="mine", content="x"))
        assert is_error(await call(other, "read_file", path="mine"))
        mine = value(await call(session, "status"))["session"]
        assert mine != value(await call(other, "status"))["session"]


async def reset(session):
    value(await call(session, "write_file", path="gone", content="x"))
    value(await call(session, "reset"))
    assert is_error(await call(session, "read_file", path="gone"))


async def main():
    async with stdio_client(server()) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        SERVERS.update(pid for pid in os.listdir("/proc") if pid.isdigit() and is_server(pid))
        tools = (await session.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS, [tool.name for tool in tools]
        assert all(tool.description and member(tool, "input_schema", "inputSchema") for tool in tools)
        for part in [
            commands, arguments, inert, large, files, escapes, background, progress, cancel, resources, two, reset,
            summary, killed,
        ]:
            began = time.monotonic()
            await part(session)
            print(f"{part.__name__}: {time.monotonic() - began:.2f} s", flush=True)


asyncio.run(main())
print("all is well")
