"""Compile the search (src/realloc/decision/compiled.c) when the package is built; without a compiler numpy does it, slower.

No fused multiply-add and no reordering: the C code has to make the very numbers that numpy makes.
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

FOLDER = Path("src", "realloc", "decision")
FLAGS = "-std=gnu11 -O3 -fPIC -shared -ffp-contract=off -fno-math-errno -fno-trapping-math"


class CompileHook(BuildHookInterface[Any]):
    """One shared library without Python's own interface, read with ctypes: the same file for every version of Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and make the wheel one of this platform."""
        folder = Path(self.root) / FOLDER
        target = folder / "libcompiled.so"
        if compile_search(folder / "compiled.c", target):
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"
            build_data["artifacts"].append(f"/{FOLDER.as_posix()}/{target.name}")


def compile_search(source: Path, target: Path) -> bool:
    """Whether a compiler made it; put in place whole, so that a service that runs keeps the file it has opened."""
    aside = target.with_suffix(f".{os.getpid()}")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()  # by which decision/compiled.py knows it again
    flags = [*FLAGS.split(), f'-DSOURCE="{digest}"']
    command = [*shlex.split(os.environ.get("CC", "cc")), *flags, "-o", str(aside), str(source), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        told = getattr(problem, "stderr", "") or str(problem)
        print(f"realloc: the search was not compiled and numpy does it instead: {told.strip()}", file=sys.stderr)
        aside.unlink(missing_ok=True)
        target.unlink(missing_ok=True)  # one of other sources would be worse than none
        return False
    aside.replace(target)
    return True


def platform_tag() -> str:
    """Such as linux_x86_64."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
