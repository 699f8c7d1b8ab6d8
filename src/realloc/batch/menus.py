"""Caps over all rows in two passes, so that no process needs all rows.

1. Every chunk is decided, and what else its rows could do is written down: its menu.
2. Once all menus are there, caps are priced and every row is told which offer to take. The first
   process to do so decides for all.
3. Every chunk takes the offers that were chosen for its rows.
"""

import io
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.artifact import sha256
from realloc.base.errors import StoreError
from realloc.base.place import Place
from realloc.base.simplex import Integers
from realloc.batch.score import ScoredChunk, finish, read_chunk
from realloc.batch.workers import ChunkTask
from realloc.decide.portfolio.pool import Demand, Pooled, choose_offers
from realloc.serve.load import LoadedModel
from realloc.storage.ledger.rows import Run

DIGITS = 16  # of a digest in a name
DIGEST = 64  # of a whole digest
OPTIONS = "options.npz"
POSITIONS = "positions"  # of the rows in their chunk
Arrays = dict[str, NDArray[Any]]


def offer_chunk(task: ChunkTask, loaded: LoadedModel, pools: dict[str, float]) -> bytes:
    """Decide on a chunk and pack what its rows could do, batch by batch."""
    today = read_chunk(task.chunk, loaded.schema, task.repeated)
    arrays: Arrays = {POSITIONS: today.positions}
    for place, made in enumerate(loaded.answering.offer(today.logs, pools)):
        demand = {field.name: getattr(made.demand, field.name) for field in fields(Demand)}
        for name, values in (made.offer.to_arrays() | demand).items():
            arrays[f"{place}.{name}"] = values
    return _pack(arrays)


def take_chunk(task: ChunkTask, loaded: LoadedModel, run: Run) -> ScoredChunk:
    """Take the chosen offers; the task brings the menu and one option for each row."""
    menu, option = task.kept
    today = read_chunk(task.chunk, loaded.schema, task.repeated)
    decision = loaded.answering.take(today.logs, _batches(_unpack(menu)), option)
    return finish(task.chunk, today, decision, loaded, run)


@dataclass(frozen=True)
class Menus:
    """The menus of a run's chunks, each named by its content."""

    place: Place
    work: str

    @cached_property
    def names(self) -> dict[int, str]:
        """The name of each chunk's menu."""
        found: dict[int, str] = {}
        for name in self.place.names(self.work):
            kind, _, rest = name.partition("-")
            if kind == "menu":
                found.setdefault(int(rest.partition("-")[0]), name)
        return found

    def whole(self, number: int) -> bool:
        """Whether a chunk's menu is there to the last byte."""
        try:
            self.read(self.names[number])
        except (OSError, KeyError, StoreError):
            return False
        return True

    def read(self, name: str) -> bytes:
        """The content of a menu."""
        content = self.place.read(f"{self.work}/{name}")
        if not name.endswith(f"-{sha256(content)[:DIGITS]}.npz"):
            raise StoreError(
                f"{self.place.describe(f'{self.work}/{name}')!r} was changed after it was "
                "written. Run its shard again."
            )
        return content

    def keep(self, number: int, content: bytes) -> None:
        """Write a menu down."""
        name = f"{self.work}/menu-{number:05d}-{sha256(content)[:DIGITS]}.npz"
        if not self.place.create(name, content) and self.place.read(name) != content:
            self.place.replace(name, content)  # damaged


@dataclass(frozen=True)
class Chosen:
    """Which offers are taken: one menu and its rows' options for each chunk."""

    digest: str
    menus: Menus
    names: list[str]
    options: list[Integers]

    def kept_for(self, number: int) -> tuple[bytes, Integers]:
        """What `take_chunk` needs of a chunk."""
        return self.menus.read(self.names[number]), self.options[number]


def choose(menus: Menus, caps: Pooled) -> Chosen:
    """Choose for all rows, or read what another process has chosen."""
    path = f"{menus.work}/{OPTIONS}"
    try:
        return _parse(menus, menus.place.read(path))
    except FileNotFoundError:
        write = menus.place.create
    except (OSError, ValueError, KeyError):
        write = menus.place.replace  # damaged
    names = [menus.names[number] for number in sorted(menus.names)]
    menu_arrays = [_unpack(menus.read(name)) for name in names]
    orders = [np.argsort(arrays[POSITIONS]) for arrays in menu_arrays]
    demands = [
        _join_demands(arrays, order)
        for arrays, order in zip(menu_arrays, orders, strict=True)
    ]
    options = choose_offers(demands, caps)
    chosen: Arrays = {"names": np.array(names)}
    for number, (option, order) in enumerate(zip(options, orders, strict=True)):
        chosen[str(number)] = option[np.argsort(order)]
    content = _pack(chosen)
    write(path, sha256(content).encode() + content)
    return _parse(menus, menus.place.read(path))


def _parse(menus: Menus, content: bytes) -> Chosen:
    digest = content[:DIGEST].decode("ascii")
    if sha256(content[DIGEST:]) != digest:
        raise ValueError
    arrays = _unpack(content[DIGEST:])
    names = arrays["names"].tolist()
    return Chosen(digest, menus, names, [arrays[str(n)] for n in range(len(names))])


def _join_demands(menu: Arrays, order: Integers) -> Demand:
    """What the rows of a whole chunk ask for, in an order that does not depend on the chunks."""
    batches = _batches(menu)
    columns = {
        field.name: np.concatenate([arrays[field.name] for arrays in batches])[order]
        for field in fields(Demand)
    }
    return Demand(**columns)


def _batches(menu: Arrays) -> list[Arrays]:
    """The arrays of each batch."""
    batches: dict[int, Arrays] = {}
    for name, values in menu.items():
        place, dot, name_there = name.partition(".")
        if dot:
            batches.setdefault(int(place), {})[name_there] = values
    return [batches[place] for place in sorted(batches)]


def _pack(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _unpack(content: bytes) -> Arrays:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
