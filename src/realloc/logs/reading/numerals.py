"""Numbers as people write them: decimal commas, thousands separators and currency signs."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.options import ReadOptions

INFINITE = r"[+-]?(?:inf|infinity)"
SPACES = "[ \u00a0\u202f]"
SIGN = r"\p{Sc}|EUR|USD|GBP|CHF|kr|zł"
# In order of preference where several fit, and where columns are separated by semicolons.
STYLES = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"))
EUROPEAN = (
    (",", ""),
    (",", "."),
    (",", " "),
    (".", "'"),
    (".", ""),
    (".", ","),
    (".", " "),
)


def plain_numbers(text: pa.Array, read: ReadOptions) -> pa.Array:
    """Trimmed text in Arrow's way of writing numbers; null where it is no number.

    >>> style = ReadOptions(decimal=",", thousands=".", currency_sign="€")
    >>> plain_numbers(pa.array(["1.234,50 €", "-3", "1.5"]), style).to_pylist()
    ['1234.50', '-3', None]
    """
    if read.currency_sign:
        sign = re.escape(read.currency_sign)
        text = pc.replace_substring_regex(
            text, rf"^([+-]?)\s*{sign}{SPACES}*([+-]?)", r"\1\2"
        )
        text = pc.replace_substring_regex(text, rf"{SPACES}*{sign}$", "")
    separator = {" ": SPACES, "'": "['’]"}.get(read.thousands, re.escape(read.thousands))
    grouped = rf"[1-9]\d{{0,2}}(?:{separator}\d{{3}})+" if read.thousands else r"\d+"
    point = re.escape(read.decimal)
    number = rf"[+-]?(?:(?:{grouped}|\d+)(?:{point}\d*)?|{point}\d+)(?:e[+-]?\d+)?"
    good = pc.match_substring_regex(text, f"^(?:{number}|{INFINITE})$", ignore_case=True)
    if read.thousands:
        text = pc.replace_substring_regex(text, separator, "")
    if read.decimal != ".":
        text = pc.replace_substring(text, read.decimal, ".")
    return pc.if_else(good, pc.utf8_ltrim(text, "+"), None)


@dataclass(frozen=True)
class NumberStyle:
    """How numbers seem to be written, and a cell that another style would read otherwise."""

    read: ReadOptions
    doubtful: str | None = None


def find_style(texts: list[pa.Array], european: bool) -> NumberStyle:
    """The style that reads the most cells of several columns that hold numbers.

    >>> find_style([pa.array(["1.234,50 €", "12,00 €"])], european=True).read.to_toml()
    'decimal = ",", thousands = ".", currency_sign = "€"'
    """
    cells = pc.unique(pc.utf8_trim_whitespace(pa.concat_arrays(texts).drop_null()))
    signs = pc.extract_regex(cells, rf"^[+-]?\s*(?P<front>{SIGN})|(?P<back>{SIGN})$")
    found = {
        sign
        for side in ("front", "back")
        for sign in pc.unique(signs.field(side)).to_pylist()
    }
    named = found - {"", None}
    plain = ReadOptions(currency_sign=named.pop() if len(named) == 1 else "")
    options = [replace(plain, decimal=point, thousands=by) for point, by in STYLES]
    if european:
        options = [replace(plain, decimal=point, thousands=by) for point, by in EUROPEAN]
    values = [np.asarray(plain_numbers(cells, read).cast(pa.float64())) for read in options]
    fits = [int(np.isfinite(numbers).sum()) for numbers in values]
    best = [k for k, count in enumerate(fits) if count == max(fits)]
    simplest = min(best, key=lambda k: len(options[k].changed))
    same = [np.array_equal(values[k], values[best[0]], equal_nan=True) for k in best]
    if all(same):
        read = options[simplest]
        if read.decimal == "," and not read.thousands:  # a dot can only be a separator then
            read = replace(read, thousands=".")
        return NumberStyle(read)
    other = values[best[same.index(False)]]
    first = int(np.argmax((other != values[best[0]]) & np.isfinite(other)))
    return NumberStyle(options[best[0]], cells[first].as_py())


def looks_like(cell: str) -> str:
    """The keys of `[read]` that would make a number of one cell, or nothing."""
    style = find_style([pa.array([cell])], european=False).read
    readable = plain_numbers(pa.array([cell.strip()]), style)[0].is_valid
    return style.to_toml() if readable else ""
