"""What a power loss may leave of recorded operations: names and bytes that were not synced may be
there or not.

Files and folders are inodes. A change of names (create, mkdir, rename, remove) is certain once a
folder it touches is synced;
until then any subset of such changes may have reached the disk. A rename is one change, however
many folders it touches. The
bytes of a file are certain once it is synced; until then it may be empty, half there or full of
zeros. (All File Systems Are Not
Created Equal, Pillai et al. 2014.)
"""

import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path

MOST_SUBSETS = 64


@dataclass
class Inode:
    """A file with bytes, or a folder with names as they are now and as they are certain to be."""

    content: bytes | None = None
    certain: bool = True
    now: dict[str, "Inode"] = field(default_factory=dict)
    disk: dict[str, "Inode"] = field(default_factory=dict)


class Replayed:
    """The disk while operations are done one by one."""

    def __init__(self, root: Path):
        self.root, self.top, self.pending = root, _read(root), []

    def find(self, path: Path) -> Inode:
        node = self.top
        for part in path.relative_to(self.root).parts:
            node = node.now[part]
        return node

    def change(self, *changes):
        """One atomic change: for every (folder, name) the inode that it means from now on, or
        None.
        """
        for folder, name, node in changes:
            if node is None:
                del folder.now[name]
            else:
                folder.now[name] = node
        self.pending.append(changes)

    def do(self, operation):
        name, path, *rest = operation
        if name == "sync_file":
            self.find(path).certain = True
        elif name == "sync_folder":
            self.settle(self.find(path))
        elif name == "create":
            self.change(
                (self.find(path.parent), path.name, Inode(content=rest[0], certain=False))
            )
        elif name == "make_folder":
            self.change((self.find(path.parent), path.name, Inode()))
        elif name == "link":
            target = rest[0]
            self.change((self.find(target.parent), target.name, self.find(path)))
        elif name == "rename":
            target = rest[0]
            node = self.find(path)
            self.change(
                (self.find(path.parent), path.name, None),
                (self.find(target.parent), target.name, node),
            )
        else:
            self.change((self.find(path.parent), path.name, None))

    def settle(self, folder: Inode):
        """Everything that touches a synced folder is certain, and what came before it under the
        same names is history.
        """
        touched = [
            index
            for index, changes in enumerate(self.pending)
            if any(c[0] is folder for c in changes)
        ]
        for index in touched:
            for place, name, node in self.pending[index]:
                _apply(place.disk, name, node)
        done = {
            (id(place), name) for index in touched for place, name, _ in self.pending[index]
        }
        last = max(touched, default=-1)
        self.pending = [
            changes
            for index, changes in enumerate(self.pending)
            if index not in touched
            and not (index < last and all((id(c[0]), c[1]) in done for c in changes))
        ]

    def states(self):
        """Trees that the disk may hold if the power fails now: path → bytes, None for folders."""
        for chosen in _subsets(len(self.pending)):
            names: dict[int, dict[str, Inode]] = {}
            for index in chosen:
                for place, name, node in self.pending[index]:
                    _apply(names.setdefault(id(place), dict(place.disk)), name, node)
            for damage in ("none", "empty", "half", "zeros"):
                tree: dict[str, bytes | None] = {}
                unsure = _walk(self.top, "", names, damage, tree)
                yield tree
                if not unsure:
                    break


def _apply(entries, name, node):
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


def _subsets(n: int):
    """All subsets where they are few; else none, all, every prefix, every single one and every
    one left out.
    """
    if 2**n <= MOST_SUBSETS:
        for size in range(n + 1):
            yield from itertools.combinations(range(n), size)
        return
    everything = range(n)
    yield from {tuple(range(size)) for size in range(n + 1)}
    yield from {(one,) for one in everything}
    yield from {tuple(other for other in everything if other != one) for one in everything}
    yield from itertools.islice(itertools.combinations(range(max(0, n - 6), n), 3), 20)


def _walk(folder, path, names, damage, tree) -> bool:
    """Write down a folder as it may be; whether any file in it is unsure."""
    unsure = False
    for name, node in names.get(id(folder), folder.disk).items():
        place = f"{path}/{name}" if path else name
        if node.content is None:
            tree[place] = None
            unsure |= _walk(node, place, names, damage, tree)
        else:
            tree[place] = node.content if node.certain else _damaged(node.content, damage)
            unsure |= not node.certain
    return unsure


def _damaged(content: bytes, damage: str) -> bytes:
    kinds = {
        "none": content,
        "empty": b"",
        "half": content[: len(content) // 2],
        "zeros": bytes(len(content)),
    }
    return kinds[damage]


def _read(path: Path) -> Inode:
    node = Inode()
    for name in os.listdir(path):
        inside = path / name
        node.now[name] = (
            _read(inside) if inside.is_dir() else Inode(content=inside.read_bytes())
        )
    node.disk = dict(node.now)
    return node


def lay_down(tree: dict[str, bytes | None], root: Path) -> None:
    """Make a tree real."""
    root.mkdir()
    for place, content in sorted(tree.items()):
        if content is None:
            (root / place).mkdir()
        else:
            (root / place).write_bytes(content)
