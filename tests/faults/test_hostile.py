"""Stores made to harm: refused with a sentence; nothing is executed, imported or written
outside, and nothing hangs.
"""

import json
import os
import pickle
import resource
import shutil
import signal
import sys
import time

import pytest

from realloc.base.errors import ReallocError
from realloc.storage.store import Store
from realloc.storage.store import place as place_module
from tests.faults.hostile import CASES, WRITING, Opened
from tests.small import fitted, window
from tests.storage.store.light import NOON, LightStore

NEVER = (
    "pickle.",
    "exec",
    "compile",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.",
    "socket.connect",
    "ctypes.dlopen",
    "import",
    "os.putenv",
    "urllib.",
)
CHANGES = (
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.truncate",
    "os.link",
    "os.symlink",
    "os.chmod",
)
LONGEST_SECONDS = 2.0


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    Store(folder / "good", clock=lambda: NOON).commit(fitted(), window())
    return folder


class Watched:
    """What an audit hook saw that may not happen while a store is open: code, imports, changes
    elsewhere.
    """

    def __init__(self):
        self.inside, self.seen = None, []
        sys.addaudithook(
            self.look
        )  # stays for the life of the process, so only ever in a fork

    def look(self, event, arguments):
        if self.inside is None:
            return
        inside, self.inside = (
            self.inside,
            None,
        )  # what the hook itself does is not looked at
        try:
            if event.startswith(NEVER):
                self.seen.append(f"{event} {arguments!r:.80}")
            elif event == "open" and self.leaves(arguments, inside):
                self.seen.append(f"written: {arguments[0]}")
            elif event in CHANGES and not all(
                self.within(path, inside) for path in self.paths(event, arguments)
            ):
                self.seen.append(f"{event} {arguments!r:.200}")
        finally:
            self.inside = inside

    def paths(self, event, arguments):
        return arguments[:2] if event == "os.rename" else arguments[:1]

    def leaves(self, arguments, inside):
        path, _, flags = arguments
        if not isinstance(path, str | bytes | os.PathLike) or not flags & (
            os.O_WRONLY | os.O_RDWR | os.O_CREAT
        ):
            return False
        followed = not flags & (os.O_NOFOLLOW | os.O_EXCL)
        return not (self.within(os.path.realpath(path) if followed else path, inside))

    def within(self, path, inside):
        parent = os.path.realpath(os.path.dirname(os.fspath(path)))
        return (parent + "/").startswith(os.path.realpath(inside) + "/")


def in_fork(work):
    """Call `work(watched)` in a fork and give back what it returns, as JSON would."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            found = json.dumps(work(Watched())).encode()
        except BaseException as problem:
            found = json.dumps(f"{type(problem).__name__}: {problem}").encode()
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(found)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = json.loads(pipe.read() or '"died"')
    os.waitpid(child, 0)
    return found


def use(store: Store, watched: Watched, root, calls):
    """Everything a reader or writer may do with a store; what it said to each."""
    said = {}
    for name, call in calls.items():
        watched.inside = root
        signal.setitimer(signal.ITIMER_REAL, 60)  # whoever hangs is killed by it
        begun = time.process_time()
        try:
            said[name] = f"done: {call()!r:.200}"
        except ReallocError as problem:
            said[name] = f"refused: {problem}"
        except BaseException as problem:
            said[name] = f"broken: {type(problem).__name__}: {problem}"
        watched.inside = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        if time.process_time() - begun > LONGEST_SECONDS:
            said[name] = f"broken: took {time.process_time() - begun:.1f} s"
    return said


def reading(root):
    store = Store(root, clock=lambda: NOON)
    return {
        "load": store.load,
        "verify": store.verify,
        "current": store.current,
        "history": store.history,
        "frozen": lambda: store.frozen,
        "busy": lambda: store.busy,
    }


def writing(root):
    store = LightStore(root)
    return {
        "step": store.step,
        "rollback": store.rollback,
        "freeze": lambda: store.freeze("x"),
    }


def try_cases(good, cases, calls, watched):
    """Each case on a copy of the good store: what was said, what was seen, what is left
    outside; and the memory that took.
    """
    Store(good / "good").load()  # whatever is imported late is imported now
    LightStore(good / "good").history()
    found = {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, change in cases.items():
        root, outside = good / "case" / "store", good / "case" / "outside"
        shutil.copytree(good / "good", root)
        outside.mkdir()
        (outside / "secret").write_text("secret")
        change(Opened(root, outside))
        watched.seen.clear()
        said = use(Store(root), watched, root, calls(root))
        left = sorted(set(os.listdir(outside)) - {"moved"})
        secret = (
            (outside / "secret").read_text() if (outside / "secret").exists() else "gone"
        )
        found[name] = {
            "said": said,
            "seen": list(watched.seen),
            "left": left,
            "inside": secret,
        }
        shutil.rmtree(good / "case")
    found["memory"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return found


def harmed(found):
    """Names of cases after which something was seen, left or broken."""
    return {
        name: result
        for name, result in found.items()
        if result["seen"]
        or result["left"] != ["secret"]
        or result["inside"] != "secret"
        or any(said.startswith("broken") for said in result["said"].values())
    }


def test_every_hostile_store_is_refused_and_does_nothing(good):
    found = in_fork(lambda watched: try_cases(good, CASES, reading, watched))
    assert isinstance(found, dict), found
    assert found.pop("memory") < 300  # MiB
    assert len(found) >= 100
    assert harmed(found) == {}
    assert {
        name: result["said"] for name, result in found.items() if not refused(result)
    } == {}


def refused(result):
    return result["said"]["load"].startswith("refused") and not result["said"][
        "verify"
    ].startswith("done: ()")


def test_a_writer_stays_inside_whatever_lies_there(good):
    found = in_fork(lambda watched: try_cases(good, CASES | WRITING, writing, watched))
    assert isinstance(found, dict), found
    found.pop("memory")
    assert harmed(found) == {}


def test_names_in_the_store_that_python_might_import_are_ignored_and_a_frozen_store_never_hangs(
    good,
):
    def calls(root):
        store = Store(root)
        return {
            "load": store.load,
            "frozen": lambda: store.frozen,
            "busy": lambda: store.busy,
        }

    found = in_fork(lambda watched: try_cases(good, WRITING, calls, watched))
    assert isinstance(found, dict), found
    found.pop("memory")
    assert harmed(found) == {}
    for name, result in found.items():
        assert result["said"]["load"].startswith("done"), name
        assert result["said"]["frozen"].startswith("done: None") == (
            not name.startswith("FROZEN")
        ), name


def test_control_a_pickle_that_is_read_is_seen(good):
    def open_it(watched):
        outside = good / "control"
        outside.mkdir()
        content = Opened(good / "good", outside).evil()
        said = use(None, watched, good / "good", {"load": lambda: pickle.loads(content)})
        return {"said": said, "seen": watched.seen, "left": os.listdir(outside)}

    found = in_fork(open_it)
    assert any(event.startswith("pickle.find_class") for event in found["seen"])
    assert any(event.startswith("os.mkdir") for event in found["seen"])
    assert found["left"] == ["executed"]


def test_control_without_the_guard_a_link_at_tmp_would_empty_what_it_leads_to(good):
    def unguarded(watched):
        place_module.check_folders = lambda root: None
        return try_cases(good, {"tmp": WRITING["tmp is a link"]}, writing, watched)

    found = in_fork(unguarded)
    found.pop("memory")
    assert found["tmp"]["inside"] == "gone"
    assert any(event.startswith("os.remove") for event in found["tmp"]["seen"])
