"""Compile the parts in C when the package is built; without a compiler numpy does their work,
slower (`realloc.base.numerics.clib`).
"""

import os
import platform
import shlex
import subprocess
import sys
import sysconfig
from hashlib import sha256
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("src", "realloc")
# Nothing fast and loose: sums may be reordered only where the source says so.
FLAGS = "-std=gnu11 -O3 -fPIC -shared -fopenmp-simd -fno-math-errno -fno-trapping-math"
SOURCES = ("decide/search/c",)
# Beside what every processor can run, for those with wider registers (realloc_level of level.c).
LEVELS = ("v3", "v4")


class CompileHook(BuildHookInterface[Any]):
    """Shared libraries without Python's own interface, read with ctypes: the same files for
    every version of Python.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and make the wheel one of this platform."""
        for name in SOURCES:
            folder = Path(self.root) / PACKAGE / name
            made = compile_folder(folder)
            if made:
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{platform_tag()}"
            build_data["artifacts"] += [
                f"/{target.relative_to(self.root).as_posix()}" for target in made
            ]


def compile_folder(folder: Path) -> list[Path]:
    """Compile the sources of a folder for each level; the libraries that were made."""
    for old in folder.glob("lib*.so"):  # of another source it would be worse than none
        old.unlink()
    problem = compile_level(folder, "")
    if problem:
        print(
            f"realloc: {folder.name} was not compiled, numpy does its work instead: {problem}",
            file=sys.stderr,
        )
        return []
    made = [library_of(folder, "")]
    if platform.machine() in ("x86_64", "AMD64"):
        made += [
            library_of(folder, one) for one in LEVELS if not compile_level(folder, one)
        ]
    return made


def compile_level(folder: Path, level: str) -> str:
    """Make one library, put in place whole, so that a service that runs keeps the file it has
    opened; why it could not be made.
    """
    target = library_of(folder, level)
    aside = target.with_suffix(f".{os.getpid()}")
    command = [
        *shlex.split(os.environ.get("CC", "cc")),
        *FLAGS.split(),
        *([f"-march=x86-64-{level}"] if level else []),
        f'-DSOURCE="{digest_of(folder)}"',
        "-o",
        str(aside),
        *(str(source) for source in sorted(folder.glob("*.c"))),
        "-lm",
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        aside.unlink(missing_ok=True)
        return (getattr(problem, "stderr", "") or str(problem)).strip()
    aside.replace(target)
    return ""


def digest_of(folder: Path) -> str:
    """As `realloc.base.numerics.clib` makes it: by this it knows a library again."""
    files = sorted(folder.glob("*.[ch]"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def library_of(folder: Path, level: str) -> Path:
    """As `realloc.base.numerics.clib` looks for it."""
    return folder / f"lib{folder.parent.name}{level and '-'}{level}.so"


def platform_tag() -> str:
    """Such as linux_x86_64."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
