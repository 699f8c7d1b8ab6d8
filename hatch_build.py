"""Compile the parts in C when the package is built; without a compiler numpy does their work,
slower (`realloc.base.numerics.clib`).
"""

import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("src", "realloc")
# Nothing fused and nothing reordered: the search has to make the very numbers that numpy makes.
FLAGS = "-std=gnu11 -O3 -fPIC -shared -ffp-contract=off -fno-math-errno -fno-trapping-math"
SOURCES = ("decide/search/compiled.c",)


class CompileHook(BuildHookInterface[Any]):
    """Shared libraries without Python's own interface, read with ctypes: the same files for
    every version of Python.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and make the wheel one of this platform."""
        for name in SOURCES:
            source = Path(self.root) / PACKAGE / name
            if compile_source(source):
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{platform_tag()}"
                target = library_of(source).relative_to(self.root)
                build_data["artifacts"].append(f"/{target.as_posix()}")


def compile_source(source: Path) -> bool:
    """Whether a compiler made it; put in place whole, so that a service that runs keeps the
    file it has opened.
    """
    target = library_of(source)
    aside = target.with_suffix(f".{os.getpid()}")
    digest = hashlib.sha256(
        source.read_bytes()
    ).hexdigest()  # by which realloc.base.numerics.clib knows it again
    flags = [*FLAGS.split(), f'-DSOURCE="{digest}"']
    command = [
        *shlex.split(os.environ.get("CC", "cc")),
        *flags,
        "-o",
        str(aside),
        str(source),
        "-lm",
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        told = getattr(problem, "stderr", "") or str(problem)
        print(
            f"realloc: {source.name} was not compiled, numpy does its work instead: {told.strip()}",
            file=sys.stderr,
        )
        aside.unlink(missing_ok=True)
        target.unlink(missing_ok=True)  # one of another source would be worse than none
        return False
    aside.replace(target)
    return True


def library_of(source: Path) -> Path:
    """As `realloc.base.numerics.clib` looks for it."""
    return source.with_name(f"lib{source.stem}.so")


def platform_tag() -> str:
    """Such as linux_x86_64."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
