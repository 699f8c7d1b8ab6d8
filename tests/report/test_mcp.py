"""The tools over the protocol itself: the command is started, and a client asks it."""

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from realloc.base.errors import MissingExtra
from realloc.report.agent_tools import AgentTools
from realloc.report.mcp import make_server

HAS_MCP = find_spec("mcp") is not None
pytestmark = pytest.mark.filterwarnings("ignore")  # of the protocol's own libraries


async def ask(folder: Path):
    from mcp import Client, StdioServerParameters  # pyright: ignore[reportMissingImports]
    from mcp.client.stdio import stdio_client  # pyright: ignore[reportMissingImports]

    code = "from realloc.cli.main import main; main()"
    arguments = [
        "-c",
        code,
        "mcp",
        "--store",
        str(folder / "store"),
        "--files",
        str(folder),
    ]
    started = StdioServerParameters(
        command=sys.executable,
        args=arguments,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with Client(stdio_client(started)) as client:
        tools = (await client.list_tools()).tools
        status = await client.call_tool("status", {})
        refused = await client.call_tool("check_logs", {"logs": "../x.csv"})
    return tools, status, refused


@pytest.mark.slow
@pytest.mark.skipif(not HAS_MCP, reason="pip install 'realloc-uplift[mcp]'")
def test_a_client_lists_the_tools_and_reads_the_store(decided):
    tools, status, refused = asyncio.run(ask(decided))
    expected = AgentTools(decided / "store", decided).tools
    assert [tool.name for tool in tools] == [tool.__name__ for tool in expected]
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert status.structured_content["current"] == 1
    assert refused.is_error
    assert "Expected a file below" in str(refused.content)


@pytest.mark.skipif(HAS_MCP, reason="MCP is installed")
def test_without_the_library_the_pip_line_is_said(decided):
    with pytest.raises(MissingExtra, match=r"realloc-uplift\[mcp\]"):
        make_server(AgentTools(decided / "store", decided))
