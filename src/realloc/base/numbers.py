"""Numbers as people write them."""

import math

LONG = 1e15


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


def written(value: float) -> str:
    """A value as it stood in a file, to six digits; an exponent only beyond a quadrillion.

    >>> [written(value) for value in (0.1, 1234567.0, 2.5e-07, 1e13, 1e31, float("inf"))]
    ['0.1', '1234567', '0.00000025', '10000000000000', '1e+31', 'inf']
    """
    if not math.isfinite(value) or abs(value) >= LONG or value == 0:
        return f"{value:g}"
    digits = max(0, min(5 - math.floor(math.log10(abs(value))), 20))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def probability(p: float) -> str:
    """A p-value in two digits.

    >>> probability(0.0312), probability(2e-9)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def counted(number: int, word: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def signed(value: float) -> str:
    """About three digits with a sign and a true minus; 0 has none.

    >>> [signed(value) for value in (1.236, -0.5, 0.0, float("nan"))]
    ['+1.24', '−0.5', '0', 'not known']
    """
    text = plain(value)
    return f"+{text}" if value > 0 and math.isfinite(value) else text


def plain(value: float) -> str:
    """About three digits with a true minus.

    >>> [plain(value) for value in (11020.4, -0.07119)]
    ['11,020', '−0.0712']
    """
    return readable(value).replace("-", "−")


def percent(part: float) -> str:
    """A part as a percentage: no decimals from 10 %, one below, two below 1 %.

    >>> [percent(part) for part in (0.5, 0.0824, 0.0041, 0.0)]
    ['50 %', '8.2 %', '0.41 %', '0 %']
    """
    if not math.isfinite(part):
        return "not known"
    size = abs(part)
    digits = 0 if size >= 0.0995 or size == 0 else 1 if size >= 0.00995 else 2
    return f"{100 * part:,.{digits}f} %".replace("-", "−")


def span(low: float, high: float) -> str:
    """An interval in words.

    >>> span(-0.2, 1.4)
    '−0.2 to +1.4'
    """
    return f"{signed(low)} to {signed(high)}"
