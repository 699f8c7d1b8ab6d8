"""Checked fields of frozen dataclasses, from Python or TOML, with errors that name the key."""

import dataclasses
import difflib
import math
import reprlib
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Never, TypeVar, Union, get_args, get_origin, get_type_hints

from realloc.base.errors import ConfigError

T = TypeVar("T")

NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "nothing",
}

RANGES: dict[str, Callable[[float], bool]] = {
    "> 0": lambda value: value > 0,
    ">= 0": lambda value: value >= 0,
    ">= 1": lambda value: value >= 1,
    "from 0 to 1": lambda value: 0 <= value <= 1,
    "between 0 and 1": lambda value: 0 < value < 1,
}


class Checked:
    """A frozen config whose pickles and copies are checked like a table from a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        fields = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]
        values = {field.name: getattr(self, field.name) for field in fields}
        return from_table, (type(self), values, f"the pickled {type(self).__name__}")


class ReadOnlyTable(dict[str, Any]):
    """A table inside a frozen config: equal to a dict, hashable, never changed.

    >>> hash(ReadOnlyTable({"ads": 0.2})) == hash(ReadOnlyTable({"ads": 0.2}))
    True
    """

    def _refuse(self, *_: Any, **__: Any) -> Never:
        raise TypeError(
            "Expected a config that stays as it was made. "
            "Make another: dataclasses.replace(config, key=value)."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse  # pyright: ignore[reportAssignmentType]
    update = setdefault = pop = popitem = clear = _refuse  # pyright: ignore[reportAssignmentType]

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnlyTable, (dict(self),)


def freeze_tables(instance: Any) -> None:
    """Replace the dicts of a frozen config by tables that cannot change."""
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if isinstance(value, dict):
            object.__setattr__(instance, field.name, _frozen(value))


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a mistyped word: ` Did you mean 'x'?`, or the list of what is known."""
    known = list(known)
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.5)
    if close:
        return f" Did you mean {lowered[close[0]]!r}?"
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return f" Known: {shown}."


def check_known(what: str, word: str, known: Collection[str], where: str) -> None:
    """Refuse a word that is not among the known ones."""
    if word not in known:
        raise ConfigError(f"Unknown {what} {word!r} in {where}.{nearest(word, known)}")


def check_range(instance: Any, names: tuple[str, ...], expected: str, where: str) -> None:
    """Refuse a field outside the `expected` range, one of `RANGES`."""
    for name in names:
        value = getattr(instance, name)
        if not RANGES[expected](value):
            raise ConfigError(f"Expected `{name}` {expected} in {where}, got {value}.")


def check_types(instance: Any, where: str) -> None:
    """Check every field of a dataclass against its annotation; tuples stand for lists."""
    hints = get_type_hints(type(instance))
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if not _fits(value, hints[field.name]):
            wanted = describe_type(hints[field.name])
            raise ConfigError(
                f"Expected `{field.name}` of {where} to be {wanted}, "
                f"got {value!r} ({_kind(value)})."
            )


def check_table(value: Any, where: str) -> None:
    """Refuse a key in the place of a TOML table."""
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"Expected {where} to be a table of keys, got {reprlib.repr(value)}."
        )


def from_table(cls: type[T], table: Any, where: str) -> T:
    """Build a checked dataclass from a TOML table; for an unknown key, name the nearest known."""
    check_table(table, where)
    known = {field.name: field for field in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]
    for key in table:
        if key not in known:
            raise ConfigError(f"Unknown key `{key}` in {where}.{nearest(key, known)}")
    required = {
        name
        for name, field in known.items()
        if field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    }
    missing = sorted(required - set(table))
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise ConfigError(f"Expected {names} in {where}, but not found there.")
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in table.items()
    }
    return cls(**values)


def _frozen(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return ReadOnlyTable({key: _frozen(item) for key, item in value.items()})


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, option) for option in get_args(hint))
    if origin is tuple:
        return isinstance(value, tuple) and all(
            _fits(item, get_args(hint)[0]) for item in value
        )
    if origin is dict:
        key, item = get_args(hint)
        return isinstance(value, dict) and all(
            _fits(k, key) and _fits(v, item) for k, v in value.items()
        )
    if hint is float:
        return (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return hint is Any or isinstance(value, hint)


def describe_type(hint: Any) -> str:
    """A type in the words of messages: `a list of text`."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(option) for option in get_args(hint))
    if origin is tuple:
        return f"a list of {describe_type(get_args(hint)[0])}"
    if origin is dict:
        return f"a table of {describe_type(get_args(hint)[1])}"
    return NAMES.get(hint, getattr(hint, "__name__", str(hint)))


def _kind(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "a list"
    return NAMES.get(type(value), type(value).__name__)
