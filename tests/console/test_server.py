"""Starting it: who may call from where."""

import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from realloc.base.errors import ConfigError
from realloc.console.server import ConsoleSettings, open_console

MAIN = "from realloc.cli.main import main; main()"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"role": "review"}, "Expected `--token-file` with `--role review`"),
        ({"host": "10.0.0.7"}, "where other machines can call"),
        ({"host": "0.0.0.0"}, "where other machines can call"),  # noqa: S104
        ({"runs": "nowhere"}, "Expected a folder of evaluations"),
    ],
)
def test_it_does_not_start_open(made, tmp_path, settings, said):
    if "runs" in settings:
        settings = {"runs": tmp_path / "nowhere"}
    with pytest.raises(ConfigError, match=said):
        open_console(ConsoleSettings(store=made / "store", **settings))


def test_it_answers_on_a_port_of_its_own_and_ends_at_sigterm(made):
    words = ("console", "--store", str(made / "store"), "--port", "0")
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("realloc: console of store at http://127.0.0.1:")
        with urllib.request.urlopen(f"{line.split()[-1]}/items") as answer:  # noqa: S310
            assert answer.status == 200
            assert "Selection as" in answer.read().decode()
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        process.wait(20)
        assert time.monotonic() - begun < 20
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
