"""Examples in docstrings as code, for mkdocstrings: the project writes them without a heading."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"((?:^>>> .*\n?)(?:^(?!\s*$).+\n?)*)", re.M)


class FencedExamples(griffe.Extension):
    """Puts a fence around every example."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of a class, function or attribute that was just loaded."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(fence, obj.docstring.value)


def fence(example: re.Match[str]) -> str:
    """The example as a block."""
    return f"```pycon\n{example[1].rstrip()}\n```\n"
