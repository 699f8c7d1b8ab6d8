"""The trace that a request belongs to, as W3C Trace Context names it in the header `traceparent`.

00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
"""

import re
from collections.abc import Iterable

HEADER = b"traceparent"
FORM = re.compile(
    rb"(?!ff)(?P<version>[0-9a-f]{2})-(?P<trace>(?!0{32})[0-9a-f]{32})"
    rb"-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?P<more>-.*)?"
)


def trace_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The trace's id; None without the header, with two of them, or where it is malformed.

    >>> trace_of([(b"traceparent", b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01")])
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    """
    given = [value for name, value in headers if name == HEADER]
    found = FORM.fullmatch(given[0]) if len(given) == 1 else None
    if found is None or (found["version"] == b"00" and found["more"]):
        return None
    return found["trace"].decode()
