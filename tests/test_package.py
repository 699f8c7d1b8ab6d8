"""What a newcomer meets first: import, version, lazy names."""

import subprocess
import sys

import pytest

import realloc


def test_importing_loads_no_heavy_library():
    heavy = ("torch", "pandas", "polars", "scipy", "pyarrow")
    code = f"import sys, realloc; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_command_line_help_loads_no_torch_or_scipy():
    code = (
        "import sys; sys.argv=['realloc','--help']\n"
        "from realloc.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('torch', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("[]")


def test_every_public_name_can_be_had():
    for name in realloc.__all__:
        assert getattr(realloc, name) is not None
    assert len(realloc.__all__) <= 21


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = realloc.nonsense
