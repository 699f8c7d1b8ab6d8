"""The trace of a request is logged where it is well-formed, and nothing else of the header is."""

import pytest

from realloc.serve.http.trace import trace_of
from tests.serve.http.asking import ask, open_app, some_rows

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GOOD = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.mark.parametrize("header", [GOOD, GOOD.replace("00-4", "cc-4") + "-more"])
def test_the_trace_of_a_known_or_later_version_is_read(header):
    assert trace_of([(b"traceparent", header.encode())]) == TRACE


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        GOOD.upper(),
        GOOD + "-more",
        GOOD.replace("00-4", "ff-4"),
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        GOOD + "\n",
    ],
)
def test_what_is_malformed_is_no_trace(header):
    assert trace_of([(b"traceparent", header.encode())]) is None


def test_two_headers_name_no_trace():
    assert trace_of([(b"traceparent", GOOD.encode())] * 2) is None


def test_the_log_line_of_a_request_names_its_trace(made, caplog):
    app = open_app(made)
    caplog.set_level("INFO", logger="realloc.serve.http")
    ask(app, "/v1/recommend", {"rows": some_rows(1)}, traceparent=GOOD)
    ask(app, "/healthz", traceparent="00-" + "x" * 32)
    lines = [line for line in caplog.messages if " ms " in line]
    assert lines[0].endswith(f" trace {TRACE}")
    assert "trace" not in lines[1]
    assert "xxx" not in caplog.text
