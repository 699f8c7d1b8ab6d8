# ruff: noqa: F811
"""The commands `realloc monitor` and `realloc audit`."""

import json

from tests.batch.conftest import NOW, _made, place, recommend  # noqa: F401  fixtures
from tests.monitor.test_watch import write
from tests.small import window


def test_the_command_prints_alarms_and_exits_with_two(place, run):
    calm = write(place, window(96).to_pandas())
    assert "Support:" in run("monitor", "--store", place / "store", "--logs", calm).stdout
    odd = write(place, window(96).to_pandas().assign(c1=99.0), "odd.parquet")
    done = run("monitor", "--store", place / "store", "--logs", odd, "--json", code=2)
    assert json.loads(done.stdout)["alarms"]
    assert "has drifted further than `max_drift`" in done.stderr


def test_the_audit_command_finds_a_flipped_byte(place, run):
    recommend(place)
    told = json.loads(run("audit", "--store", place / "store", "--json").stdout)
    assert told["replays"][0]["differ"] == 0
    assert (
        "150 rows decided again, 0 differ"
        in run("audit", "--store", place / "store").stdout
    )
    path = next((place / "store" / "decisions" / "00000001").glob("*.parquet"))
    content = bytearray(path.read_bytes())
    content[100] ^= 4
    path.write_bytes(bytes(content))
    assert path.name in run("audit", "--store", place / "store", code=2).stderr
