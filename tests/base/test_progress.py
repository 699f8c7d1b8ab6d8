import io
import os
import re
import subprocess
import sys
import time

import pytest
from rich.console import Console

import realloc.base.progress as progress_module
from realloc.base.progress import _duration, guarded, show_progress, silent

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def terminal(file=None):
    return Console(
        file=file or io.StringIO(),
        force_terminal=True,
        width=100,
        color_system=None,
        legacy_windows=False,
    )


def drawn(console):
    return console.file.getvalue()


def left(console):
    """The lines that stay on the terminal: what is drawn and not erased again."""
    lines, row = [""], 0
    for piece in re.findall(r"\x1b\[[0-9?;]*[a-zA-Z]|\r|\n|[^\x1b\r\n]+", drawn(console)):
        if piece == "\n":
            row += 1
            lines.extend([""] * (row + 1 - len(lines)))
        elif piece.endswith("A"):
            row -= int(piece[2:-1] or 1)
        elif piece.endswith("K"):
            lines[row] = ""
        elif piece not in ("\r", HIDE, SHOW) and not piece.startswith("\x1b"):
            lines[row] = piece
    return [line.rstrip() for line in lines if line.strip()]


def test_silent_takes_anything_and_says_nothing(capsys):
    assert silent("fit", 1, 2) is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("quiet", [True, False])
def test_nobody_watching_means_silence(quiet, capsys):
    with show_progress(quiet=quiet) as progress:
        assert progress is silent
    with show_progress(quiet=quiet, console=Console(file=io.StringIO())) as progress:
        assert progress is silent
    assert capsys.readouterr() == ("", "")


def test_quiet_wins_over_a_terminal():
    console = terminal()
    with show_progress(quiet=True, console=console) as progress:
        progress("fit", 1, 2)
    assert drawn(console) == ""


def test_rich_loads_only_where_it_shows():
    code = (
        "import sys; from realloc.base.progress import show_progress\n"
        "with show_progress() as p: p('fit', 1, 2)\n"
        "sys.stderr = None\n"
        "with show_progress() as p: p('fit', 1, 2)\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_bars_show_name_count_and_times_while_a_step_runs():
    console = terminal()
    with show_progress(console=console) as progress:
        for done in range(1500):
            progress("fit teacher", done, 2000)
    assert re.search(r"fit teacher [━╸╺ ]+ +[\d,]+/2,000 0:00:0\d -:--:--", drawn(console))


def test_ended_steps_stay_as_one_line_each_and_nothing_else_does():
    console = terminal()
    with show_progress(console=console) as progress:
        for step in ("fit teacher", "distill [bold]"):
            for done in range(11):
                progress(step, done, 10)
            progress(step, 10, 10)  # told twice
    assert [re.sub(r"[\d.]+ s", "T s", line) for line in left(console)] == [
        "fit teacher  10/10  T s",
        "distill [bold]  10/10  T s",
    ]


def test_a_step_can_run_again_and_run_inside_another():
    console = terminal()
    with show_progress(console=console) as progress:
        for fold in range(2):
            for epoch in range(1, 4):
                progress("epochs", epoch, 3)
            progress("folds", fold + 1, 2)
    assert [line.split("  ")[:2] for line in left(console)] == [
        ["epochs", "3/3"],
        ["epochs", "3/3"],
        ["folds", "2/2"],
    ]


def test_a_step_that_stopped_early_says_how_far_it_came():
    console = terminal()
    with show_progress(console=console) as progress:
        progress("fit", 37, 100)
        progress("empty", 0, 0)
    assert [line.split("  ")[:2] for line in left(console)] == [
        ["empty", "0/0"],
        ["fit", "37/100"],
    ]


def test_nothing_is_drawn_before_the_first_step():
    console = terminal()
    with show_progress(console=console):
        pass
    assert drawn(console) == ""


def fit_until(problem, console):
    with show_progress(console=console) as progress:
        progress("fit", 3, 10)
        raise problem


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError])
def test_an_interrupt_goes_on_and_leaves_the_terminal_clean(problem):
    console = terminal()
    stderr = sys.stderr
    with pytest.raises(problem):
        fit_until(problem, console)
    assert HIDE in drawn(console)
    assert drawn(console).rfind(SHOW) > drawn(console).rfind(HIDE)
    assert [line.split("  ")[:2] for line in left(console)] == [["fit", "3/10"]]
    assert sys.stderr is stderr
    before = drawn(console)
    console.print("after")  # no bar is drawn any more
    assert drawn(console) == before + "after\n"


def test_an_interrupt_while_drawing_goes_on_too(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    console = terminal()
    monkeypatch.setattr("rich.progress.Progress.update", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit_until(ValueError, console)
    assert drawn(console).rfind(SHOW) > drawn(console).rfind(HIDE) >= 0


def test_an_error_of_a_callback_is_told_once_and_breaks_nothing(caplog):
    calls = []

    def broken(step, done, total):
        calls.append(done)
        raise RuntimeError("no display")

    progress = guarded(broken)
    for done in range(5):
        progress("fit", done, 5)
    assert calls == [0]
    assert [record.getMessage() for record in caplog.records] == [
        "Progress is not shown any more, the work goes on: RuntimeError('no display')"
    ]


def test_a_guarded_callback_can_still_be_interrupted():
    def interrupted(step, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupted)("fit", 1, 2)


def test_a_count_that_is_none_breaks_nothing(caplog):
    console = terminal()
    with show_progress(console=console) as progress:
        progress("fit", 1, 10)
        progress("fit", "many", 10)
        progress("fit", 3, 10)
    assert "the work goes on" in caplog.text
    assert drawn(console).rfind(SHOW) > drawn(console).rfind(HIDE)


def test_a_terminal_that_goes_away_breaks_nothing(monkeypatch):
    monkeypatch.setattr(
        "threading.excepthook", lambda *_: None
    )  # the drawing thread may die of it
    console = terminal()
    with show_progress(console=console) as progress:
        progress("fit", 1, 10)
        console.file.close()
        for done in range(10):
            progress("fit", done + 1, 10)


def test_results_on_stdout_stay_there(capsys):
    console = terminal()
    with show_progress(console=console) as progress:
        progress("fit", 1, 10)
        print("result")  # noqa: T201
    assert capsys.readouterr().out == "result\n"
    assert "result" not in drawn(console)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo terminal")
def test_a_real_terminal_on_stderr_shows_bars_and_survives_ctrl_c():
    code = (
        "import os, signal\nfrom realloc.base.progress import show_progress\n"
        "with show_progress() as progress:\n"
        "    progress('fit', 1, 2); print('result', flush=True); os.kill(os.getpid(), "
        "signal.SIGINT)\n"
    )
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        out = child.stdout.read()
    os.close(ours)
    assert out == b"result\n"
    assert b"fit  1/2" in shown
    assert shown.rfind(SHOW.encode()) > shown.rfind(HIDE.encode()) >= 0
    assert b"KeyboardInterrupt" in shown[shown.rfind(SHOW.encode()) :]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (12.34, "12.3 s"), (125, "0:02:05"), (3725.4, "1:02:05")],
)
def test_durations_read_well(seconds, text):
    assert _duration(seconds) == text


def test_where_nobody_watches_a_line_says_the_step_the_part_and_the_time_left(
    monkeypatch, capsys
):
    monkeypatch.setattr(progress_module, "FIRST_LINE", 0.05)
    monkeypatch.setattr(progress_module, "NEXT_LINE", 0.05)
    with show_progress(piped=True) as progress:
        progress("teacher", 0, 100)
        time.sleep(0.12)
        progress("teacher", 50, 100)
        time.sleep(0.12)
        progress("teacher", 100, 100)
        time.sleep(0.12)
    lines = [line.split("s  ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == "teacher: 0 of 100 (0%)"
    assert any(re.fullmatch(r"teacher: 50 of 100 \(50%\), about .* left", x) for x in lines)
    assert lines[-1] == "working"


def test_a_short_job_writes_no_line(capsys):
    with show_progress(piped=True) as progress:
        progress("teacher", 1, 2)
    with show_progress(quiet=True, piped=True) as progress:
        assert progress is silent
    assert capsys.readouterr().err == ""


def test_a_step_that_cannot_say_how_far_it_is_says_how_long_it_takes():
    step = progress_module._Step(began=10.0, first=0, done=0, total=1)
    assert step.left(now=32.0) == "22.0 s so far"
