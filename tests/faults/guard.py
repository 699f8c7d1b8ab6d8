"""A guard, how it is switched off, and tests of other files as the check that must then fail.

A guard is switched off in its source: one text of a function is replaced by another, and the function gets the code of that.
"""

import contextlib
import importlib
import importlib.util
import inspect
import logging
import tempfile
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Guard:
    """`old` in the source of `function` becomes `new`; `check(folder, monkeypatch)` passes before and fails after."""

    function: Callable
    old: str
    new: str
    check: Callable[[Path, pytest.MonkeyPatch], None]
    long: bool = False  # noticed by `make faults` only: the check takes a while


OFF: list[Guard] = []  # what is switched off now, for processes that are started meanwhile


@contextlib.contextmanager
def switched_off(guard: Guard):
    """The function without its guard, wherever it was imported to."""
    function = getattr(guard.function, "__wrapped__", guard.function)
    kept = function.__code__
    function.__code__ = _changed(function, guard.old, guard.new)
    OFF.append(guard)
    try:
        yield
    finally:
        OFF.remove(guard)
        function.__code__ = kept


def _changed(function, old, new):
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old!r} is not once in {function.__qualname__}"
    lines = source.replace(old, new).splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith(("def ", "async def ")))  # after decorators
    name, outside = function.__name__, ", ".join(function.__code__.co_freevars)  # as `__class__`, where super() is used
    text = [f"def outer({outside}):", *(f"    {line}" for line in lines[begin:]), f"    return {name}.__code__"]
    made = {}
    exec(compile("\n".join(text), inspect.getfile(function), "exec"), function.__globals__, made)  # noqa: S102
    return made["outer"](*function.__code__.co_freevars)


def switch_off(module: str, name: str, old: str, new: str) -> None:
    """For good, in a process of its own."""
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    function = getattr(function, "__wrapped__", function)
    function.__code__ = _changed(function, old, new)


def main_without(guard: Guard, main: str) -> str:
    """The code of a process with the guard switched off."""
    told = guard.function.__module__, guard.function.__qualname__, guard.old, guard.new
    root = str(Path(__file__).parents[2])
    return f"import sys; sys.path.insert(0, {root!r}); from tests.faults.guard import switch_off; switch_off(*{told!r}); {main}"


def tested(check, *arguments):
    """A test of another file, with its parameters and fixtures; that it passes while the guard is on is shown there."""

    def call(folder, _):
        with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
            patch.setattr(threading, "excepthook", lambda _: None)  # a thread may die of it
            if OFF and "service" in check.__module__:
                from tests.service import asking

                patch.setattr(asking, "MAIN", main_without(OFF[-1], asking.MAIN))
            given = Given(check, folder, patch, stack)
            left = list(arguments)
            check(*(given.find(name) if given.knows(name) else left.pop(0) for name in names))
            assert not left

    names = list(inspect.signature(check).parameters)
    call.elsewhere = True
    return call


class Given:
    """The fixtures of a test, found where pytest would find them."""

    def __init__(self, check, folder, patch, stack):
        self.folder, self.patch, self.stack = folder, patch, stack
        package = check.__module__.rpartition(".")[0] + ".conftest"
        there = importlib.util.find_spec(package) is not None
        self.places = [inspect.getmodule(check), *([importlib.import_module(package)] if there else [])]
        self.found = {}

    def knows(self, name):
        return name in ("tmp_path", "monkeypatch", "caplog") or self._fixture(name) is not None

    def find(self, name):
        plain = {"tmp_path": lambda: self.folder, "monkeypatch": lambda: self.patch, "caplog": self._hear}
        if name not in self.found:
            self.found[name] = plain[name]() if name in plain else self._make(self._fixture(name))
        return self.found[name]

    def _fixture(self, name):
        found = next((vars(place)[name] for place in self.places if name in vars(place)), None)
        return inspect.unwrap(found) if hasattr(found, "__wrapped__") else None

    def _make(self, function):
        names = inspect.signature(function).parameters
        if list(names) == ["tmp_path_factory"]:
            return _made_once(function)
        made = function(*(self.find(name) for name in names))
        if not inspect.isgenerator(made):
            return made
        self.stack.callback(lambda: next(made, None))
        return next(made)

    def _hear(self):
        heard = Heard()
        self.stack.enter_context(heard)
        return heard


@cache
def _made_once(function):
    """What costs a while and that no check changes: stores, which only the store and the model are asked for."""
    return function(Once())


class Once:
    """Stands for pytest's factory of folders."""

    def mktemp(self, name):
        self.folder = tempfile.TemporaryDirectory()
        KEPT.append(self.folder)
        return Path(self.folder.name)


KEPT = []


class Heard(logging.Handler):
    """Stands for pytest's `caplog`."""

    def __init__(self):
        super().__init__()
        self.records, self.text = [], ""
        self.logger = self.before = None

    def emit(self, record):
        self.records.append(record)
        self.text += self.format(record) + "\n"

    def set_level(self, level, logger=None):
        self.logger = logging.getLogger(logger)
        self.before = self.logger.level
        self.logger.setLevel(level)
        self.logger.addHandler(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.logger is not None:
            self.logger.removeHandler(self)
            self.logger.setLevel(self.before)
