"""The store of a rolling deployment: load the current version, commit the next, go back, freeze."""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from realloc.base import disk
from realloc.base.errors import ArtifactError, StoreError
from realloc.base.lock import is_locked, locked
from realloc.logs import Logs
from realloc.model.files import pack_model, rebuild_model, write_model
from realloc.model.realloc import ReAlloc, load, open_saved
from realloc.storage.store import canary, frozen
from realloc.storage.store.commit import Canary, clear_unfinished, forget_old, publish
from realloc.storage.store.head import Head, read_head
from realloc.storage.store.place import (
    LOCK,
    check_free,
    check_local,
    is_store,
    make_path,
    make_store,
)
from realloc.storage.store.record import next_version
from realloc.storage.store.restore import (
    describe_restored,
    find_head,
    find_target,
    put_damaged_aside,
    read_files,
)
from realloc.storage.store.versions import (
    MODEL,
    Kept,
    Version,
    check_model,
    find_faults,
    list_versions,
    read_version,
)
from realloc.storage.store.windows import WindowId, check_order, count_repeats, identify

READ_ATTEMPTS = 5

T = TypeVar("T")


def utc_now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


class Store:
    """A folder of whole, checked versions of a model, and one pointer to the current one.

    `keep`: how many versions stay; `allow_network`: also on a network file system; `clock`: what
    time it is, for tests.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep: int = 10,
        allow_network: bool = False,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        if keep < 2:
            raise StoreError(
                f"Expected to keep at least 2 versions (the current one, its parent), got {keep}."
            )
        self.path = Path(path).absolute()
        self.keep = keep
        self.allow_network = allow_network
        self.clock = clock
        self._writing = False

    # Reading: nothing here changes the disk

    def current(self) -> Version | None:
        """The record of the current version; None where nothing was committed yet."""
        kept = self._read_current()
        return kept.version if kept else None

    def head(self) -> Head:
        """Which version is current; refused where nothing was committed yet."""
        head = self._pointer()
        if head is None:
            raise StoreError(
                f"Expected a store with a model at {str(self.path)!r}, but there is none. "
                "`realloc fit` makes one."
            )
        return head

    def history(self) -> tuple[Version, ...]:
        """The records of all versions, oldest first; `verify` names the unreadable."""
        head = self._pointer()
        if head is None:
            return ()
        records: list[Version] = []
        for number, folder in list_versions(self.path).items():
            if number <= head.number:
                with suppress(ArtifactError, StoreError):
                    records.append(read_version(folder).version)
        return tuple(records)

    def load(self, number: int | None = None) -> ReAlloc:
        """The model of a version, by default the current."""
        return self.open(number)[0]

    def open(self, number: int | None = None) -> tuple[ReAlloc, Version]:
        """The model of a version and its record."""
        return self._read(number, lambda kept: (open_kept(kept), kept.version))

    def applied(self, window: Logs) -> bool:
        """Whether the current version has learned from exactly this window."""
        current = self.current()
        return current is not None and _has(current, identify(window))

    def verify(self) -> tuple[str, ...]:
        """Hash every version, ask the current canary: a sentence for each fault, with the file."""
        try:
            for head in self._heads():
                faults = find_faults(self.path, head)
                if not faults:
                    self.load()
                if self._pointer() == head:
                    return tuple(faults)
        except StoreError as problem:
            return (str(problem),)
        raise self._too_fast()

    @property
    def busy(self) -> bool:
        """Whether somebody is writing now."""
        return is_locked(self.path / LOCK)

    @property
    def empty(self) -> bool:
        """Whether there is no model at all."""
        return self._pointer() is None

    # Writing

    @contextmanager
    def writer(self) -> Generator[None]:
        """Be the only writer: hold it while you load, learn and commit."""
        if self._writing:
            yield
            return
        with ExitStack() as stack:
            with self._explained():
                self._enter(stack)
            yield

    def commit(
        self,
        model: ReAlloc,
        window: Logs,
        *,
        again: bool = False,
        allow_gap: bool = False,
        allow_overlap: bool = False,
    ) -> Version:
        """Make a model that has just learned from `window` the current version.

        A window that was applied before changes nothing. `again`: the model starts over instead of
        following the current version.
        """
        with self.writer():
            parent = self._read_current()
            new = identify(window)
            if parent and not again and _has(parent.version, new):
                return parent.version
            known = parent.version.windows if parent and not again else ()
            check_order(new, known, self.clock(), allow_gap, allow_overlap)
            _check_new(window, model, model.fitted.rounds - 1, allow_overlap)
            _check_round(model, parent.version if parent else None, again)
            version = next_version(model, window, (*known, new), parent, self.clock())
            return self._publish(
                version,
                pack_model(self.path / MODEL, model.saved),
                canary.ask(model, canary.choose_rows(window)),
            )

    def check_window(
        self,
        window: Logs,
        model: ReAlloc,
        *,
        allow_gap: bool = False,
        allow_overlap: bool = False,
    ) -> None:
        """Refuse a window that may not come next; `model` is that of the current version."""
        current = self.current()
        known = current.windows if current else ()
        check_order(identify(window), known, self.clock(), allow_gap, allow_overlap)
        _check_new(window, model, model.fitted.rounds, allow_overlap)

    def rollback(self, to: int | None = None) -> Version:
        """Make a new version with the model of an older one: `to`, or the one learned from last."""
        if not is_store(self.path):
            raise StoreError(
                f"Expected a store with versions at {str(self.path)!r}, but there is none."
            )
        with ExitStack() as stack:
            with self._explained():
                if not self._writing:
                    stack.enter_context(self._locked())
                make_store(self.path)
                head = find_head(self.path)
                target = find_target(self.path, head, to)
                clear_unfinished(self.path, head)
            version = describe_restored(self.path, target, head, self.clock())
            restored = self._publish(
                version, read_files(target.folder / MODEL), target.canary
            )
            put_damaged_aside(self.path, head.number)
            return restored

    def export(self, path: str | os.PathLike[str], number: int | None = None) -> Version:
        """Write a copy of a version that answers alike, without what only the next round needs."""
        model, version = self.open(number)
        target = Path(path).absolute()
        if os.path.realpath(target).startswith(
            os.path.join(os.path.realpath(self.path), "")
        ):
            raise StoreError(
                f"Expected a place outside of the store, got {str(target)!r}. "
                "Choose another folder."
            )
        origin = {"version": version.number, "model": version.model}
        write_model(target, model.saved.without_memory(), origin)
        return version

    def freeze(self, reason: str) -> None:
        """Every answer is "no change" from now on, also where no model can be loaded."""
        frozen.freeze(self.path, reason, self.clock())

    def unfreeze(self) -> bool:
        """Let models answer again; False where nothing was frozen."""
        return frozen.unfreeze(self.path)

    @property
    def frozen(self) -> str | None:
        """Since when and why the store is frozen; None where it is not."""
        return frozen.why_frozen(self.path)

    # Parts of the above

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Turn a disk error before anything is published into a sentence."""
        try:
            yield
        except OSError as problem:
            raise StoreError(
                f"Cannot write into {str(self.path)!r}: {disk.describe(problem)}. "
                "What was current before still is."
            ) from problem

    def _locked(self) -> AbstractContextManager[None]:
        return locked(
            self.path / LOCK,
            f"Expected to be the only writer of {str(self.path)!r}, "
            "but another process is writing. Wait until it is done; nothing was changed.",
        )

    def _pointer(self) -> Head | None:
        return read_head(self.path) if is_store(self.path) else None

    def _read_current(self) -> Kept | None:
        return None if self.empty else self._read(None, lambda kept: kept)

    def _read(self, number: int | None, use: Callable[[Kept], T]) -> T:
        """What `use` makes of a version, by default the current."""
        for head in self._heads():
            wanted = number or head.number
            try:
                return use(self._kept(wanted, head))
            except (ArtifactError, StoreError, OSError) as problem:
                if self._pointer() == head:
                    raise StoreError(
                        f"Version {wanted} of {str(self.path)!r} cannot be used. {problem} "
                        "`realloc rollback` goes back to the version before, "
                        "`realloc verify` looks at all."
                    ) from problem
        raise self._too_fast()

    def _heads(self) -> Generator[Head]:
        """The pointer, read again: a writer may be faster and remove what was old meanwhile."""
        for _ in range(READ_ATTEMPTS):
            yield self.head()

    def _too_fast(self) -> StoreError:
        return StoreError(
            f"Cannot read {str(self.path)!r}: its versions change faster than they can be read."
        )

    def _kept(self, number: int, head: Head) -> Kept:
        folders = list_versions(self.path)
        if number not in folders or number > head.number:
            known = (
                ", ".join(str(known) for known in folders if known <= head.number) or "none"
            )
            raise StoreError(f"Expected a version that is kept ({known}), got {number}.")
        return read_version(folders[number], head.digest if number == head.number else None)

    def _enter(self, stack: ExitStack) -> None:
        if not self.allow_network:
            check_local(self.path)
        if not is_store(self.path) and not (self.path / LOCK).exists():
            check_free(self.path)
        make_path(self.path)
        stack.enter_context(self._locked())
        if not is_store(self.path):
            check_free(self.path)
        make_store(self.path)
        clear_unfinished(self.path, read_head(self.path))
        self._writing = True
        stack.callback(setattr, self, "_writing", False)

    def _gate(self, folder: Path, expected: Canary) -> Canary:
        """Read back what was written: it must load and answer the canary as the model did."""
        canary.check(load(folder), expected)
        return expected

    def _publish(
        self, version: Version, files: Mapping[str, bytes], expected: Canary
    ) -> Version:
        head = publish(
            self.path, version, files, lambda folder: self._gate(folder, expected)
        )
        with suppress(
            OSError
        ):  # the version is current; what is old now, the next writer removes
            needed = {n for n in (version.number, version.parent, version.former) if n}
            forget_old(self.path, self.keep, needed)
        return self._kept(head.number, head).version


def open_kept(kept: Kept) -> ReAlloc:
    """The model of a version, checked to the last byte and by its canary."""
    artifact = check_model(kept)
    if not kept.canary:
        raise StoreError(f"Expected a canary in {str(kept.folder)!r}, but there is none.")
    model = open_saved(rebuild_model(artifact, kept.folder / MODEL))
    canary.check(model, kept.canary)
    return model


def _has(version: Version, window: WindowId) -> bool:
    return window.digest in {known.digest for known in version.windows}


def _check_round(model: ReAlloc, current: Version | None, again: bool) -> None:
    """Refuse a model that neither follows the current version nor starts over."""
    before = None if again else current
    wanted = before.rounds + 1 if before else 1
    if model.fitted.rounds != wanted:
        after = f"after version {before.number}" if before else "to start with"
        raise StoreError(
            f"Expected a model of round {wanted} {after}, got round {model.fitted.rounds}. "
            "Load the current version, update it and commit that."
        )


def _check_new(window: Logs, model: ReAlloc, rounds: int, allow_overlap: bool) -> None:
    """Refuse rows that the model remembers from its first `rounds` rounds."""
    logged = model.fitted.support.logged
    before = logged.window < rounds
    repeats = count_repeats(window, logged.unit[before], logged.time[before])
    if repeats and not allow_overlap:
        raise StoreError(
            f"Expected rows that are new, but {repeats:,} of the rows that the model remembers "
            "are in this window too. Leave out what was learned from already, "
            "or count it twice with `--allow-overlap`. Nothing was changed."
        )
