"""Commands whose modules are imported when they are called: `--help` needs none of them."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import typer
from typer.core import TyperGroup

# Every command in the order of the help, and the module of `realloc.cli` with its function.
MODULES = {
    "demo": "demo",
    "simulate": "simulate",
    "init": "init",
    "check": "check",
    "fit": "fit",
    "update": "fit",
    "recommend": "recommend",
    "report": "report",
    "evaluate": "evaluate",
    "abtest": "abtest",
    "monitor": "monitor",
    "audit": "monitor",
    "status": "store",
    "rollback": "store",
    "verify": "store",
    "export": "store",
    "freeze": "store",
    "unfreeze": "store",
    "serve": "serve",
    "console": "open_console",
    "publish": "publish",
    "mcp": "mcp",
    "dbt": "dbt",
}


class _Commands(Mapping[str, Any]):
    """A command is made when it is first asked for."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            module = importlib.import_module(f"realloc.cli.{MODULES[name]}")
            one = typer.Typer(
                add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
            )
            one.command(name)(getattr(module, name))
            self.made[name] = typer.main.get_command(one)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class LazyGroup(TyperGroup):
    """All commands of `MODULES`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(MODULES)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names of commands that begin like this; their options are asked of the command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            SimpleNamespace(value=name, type="plain", help=first_sentence(name))
            for name in MODULES
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One line for each, from the source of its module."""
        room = formatter.width - 6 - max(map(len, MODULES))
        rows = [(name, _cut(first_sentence(name), room)) for name in MODULES]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def first_sentence(name: str) -> str:
    """The first sentence of a command's docstring, without importing its module."""
    source = pkgutil.get_data("realloc.cli", f"{MODULES[name]}.py") or b""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            text = ast.get_docstring(node) or ""
            return re.split(r"(?<=\.)\s|\n\n", text)[0]
    return ""


def _cut(line: str, width: int) -> str:
    """A line that fits, cut after a word."""
    if len(line) <= width:
        return line
    return line[: width - 2].rsplit(" ", 1)[0] + " …"
