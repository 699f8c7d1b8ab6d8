"""The command line, run in this process."""

import sys
from types import SimpleNamespace

import pytest

from realloc.cli.main import main
from tests.conftest import make_frame


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the entry point in this process, with its real exit code and output."""

    def call(*arguments, cwd=None, code=0):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["realloc", *map(str, arguments)])
            if cwd:
                patch.chdir(cwd)
            with pytest.raises(SystemExit) as ended:
                main()

        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        assert (ended.value.code or 0) == code, said.out + said.err
        return SimpleNamespace(stdout=said.out, stderr=said.err)

    return call


@pytest.fixture
def log(tmp_path):
    frame = make_frame().rename(
        columns={name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}
    )
    frame.to_csv(tmp_path / "logs.csv", index=False)
    return tmp_path / "logs.csv"
