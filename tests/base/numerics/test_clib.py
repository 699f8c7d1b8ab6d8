"""Libraries of C are compiled with the package, known by their source, and not needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from realloc.base.numerics.clib import Table, Tables, library_of, open_library
from realloc.decide.search import library as search

ROOT = Path(__file__).parents[3]
CODE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from hatch_build import compile_folder
print(len(compile_folder(Path(sys.argv[2]))) > 0)
"""
STUB = """
from typing import Generic, TypeVar
T = TypeVar("T")
class BuildHookInterface(Generic[T]): ...
"""

if shutil.which(os.environ.get("CC", "cc")) is None:
    pytest.skip("no C compiler here: numpy does the work", allow_module_level=True)


@pytest.fixture
def build(tmp_path):
    """The build hook's own function, without hatchling."""
    stub = tmp_path / "hatchling" / "builders" / "hooks" / "plugin"
    stub.mkdir(parents=True)
    (stub / "interface.py").write_text(STUB)

    def run(source, **environment):
        words = [sys.executable, "-c", CODE, str(ROOT), str(source)]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), **environment}
        return subprocess.run(
            words, capture_output=True, text=True, check=True, env=environment
        )

    return run


def test_the_search_was_compiled_with_the_package():
    assert open_library(search.SOURCE) is not None


def test_one_of_other_source_is_not_called(build, tmp_path):
    own = tmp_path / "search" / "c"
    shutil.copytree(search.SOURCE, own, ignore=shutil.ignore_patterns("*.so"))
    assert open_library(own) is None  # nothing was compiled here
    assert build(own).stdout.strip() == "True"
    assert open_library(own) is not None
    header = own / "problem.h"
    header.write_bytes(header.read_bytes() + b"\n")
    assert open_library(own) is None


def test_without_a_compiler_there_is_none_and_nothing_old_is_left(build, tmp_path):
    own = tmp_path / "small" / "c"
    own.mkdir(parents=True)
    (own / "one.c").write_text("int one(void) { return 1; }")
    build(own)
    assert library_of(own).exists()
    without = build(own, CC="no-such-compiler")
    assert without.stdout.strip() == "False"
    assert "numpy does its work instead" in without.stderr
    assert not library_of(own).exists()


def test_a_table_is_a_struct_of_eight_bytes_each():
    array = np.arange(3.0)
    table = Table(count=2, size=0.5, values=array, nothing=None)
    found = np.frombuffer(table.bytes.raw[:-1], np.int64)  # it ends with a zero
    assert found[0] == 2
    assert found[1:2].view(np.float64)[0] == 0.5
    assert found[2:].tolist() == [array.__array_interface__["data"][0], 0]


def test_tables_lie_one_after_the_other():
    both = Tables([Table(one=1, size=0.5), Table(one=2, size=1.5)])
    found = np.frombuffer(both.bytes.raw[:-1], np.int64)
    assert found[::2].tolist() == [1, 2]
    leading = Table(inner=both)
    assert np.frombuffer(leading.bytes.raw[:-1], np.int64)[0] != 0


def test_a_processor_without_wide_registers_gets_the_plain_library(build, tmp_path):
    own = tmp_path / "search" / "c"
    shutil.copytree(search.SOURCE, own, ignore=shutil.ignore_patterns("*.so"))
    build(own)
    for level in ("v3", "v4"):
        library_of(own, level).unlink(missing_ok=True)
    assert open_library(own) is not None


def test_arrays_in_pieces_are_refused():
    with pytest.raises(ValueError, match="one piece"):
        Table(values=np.zeros((4, 4))[:, ::2])
