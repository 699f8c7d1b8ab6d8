"""Numbers as people write them."""

import math


def readable(value: float) -> str:
    """About three digits, thousands separated, never an exponent.

    >>> [readable(value) for value in (11020.4, 123.4, 1.236, 0.07119, -0.5, 0.0)]
    ['11,020', '123', '1.24', '0.0712', '-0.5', '0']
    """
    if not math.isfinite(value):
        return "not known"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def counted(number: int, word: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
