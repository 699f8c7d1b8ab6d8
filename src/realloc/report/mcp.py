"""The agent tools over the Model Context Protocol, on standard input and output."""

from functools import wraps
from pathlib import Path
from typing import Any

from realloc.base.errors import ReallocError
from realloc.base.imports import need
from realloc.base.version import __version__
from realloc.report.agent_tools import AgentTools

INSTRUCTIONS = (
    "ReAlloc recommends how to split marketing budgets between channels, or to keep a split. "
    "These tools read one store; none changes anything. To publish, freeze or roll back, tell the "
    "person which `realloc` command to run. Gains are estimates with intervals: report both."
)


def serve_mcp(store: Path, files: Path) -> None:
    """Answer until the client closes the stream."""
    make_server(AgentTools(store, files)).run(transport="stdio")


def make_server(tools: AgentTools) -> Any:
    """The server with a tool for each function."""
    server = need("mcp.server", "mcp").MCPServer(
        "realloc", instructions=INSTRUCTIONS, version=__version__
    )
    hints = need("mcp.types", "mcp").ToolAnnotations(
        read_only_hint=True, destructive_hint=False, open_world_hint=False
    )
    for tool in tools.tools:
        server.add_tool(_in_words(tool), annotations=hints)
    return server


def _in_words(tool: Any) -> Any:
    """The tool, with errors of ours as the sentence that the agent reads."""
    failure = need("mcp.server.mcpserver.exceptions", "mcp").ToolError

    @wraps(tool)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return tool(*arguments, **named)
        except ReallocError as problem:
            raise failure(str(problem)) from problem

    return call
