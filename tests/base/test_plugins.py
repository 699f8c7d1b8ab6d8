"""Entry points of installed packages: named, loaded on demand, ours first, faults in a sentence."""

import sys

import pytest

from realloc import ConfigError, LogError, Logs, read_logs
from realloc.base.plugins import BASELINES, SOURCES, find_plugin, plugin_names
from realloc.baselines.find import find_baseline
from tests.small import schema_of, window

MODULE = """
import pyarrow.parquet as pq

from realloc.baselines.uniform import Uniform


class Even(Uniform):
    pass


def read(address):
    return pq.read_table(address.partition("://")[2])
"""
POINTS = """[realloc.baselines]
even = our_plugin:Even
uniform = our_plugin:Even
broken = our_plugin:nothing
[realloc.sources]
lake = our_plugin:read
"""


def install(folder, name: str = "our-plugin", points: str = POINTS) -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with plugins, installed for one test."""
    install(tmp_path)
    (tmp_path / "our_plugin.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "our_plugin", raising=False)
    yield tmp_path
    sys.modules.pop("our_plugin", None)


def test_names_are_listed_without_importing_anything(installed):
    assert plugin_names(BASELINES) == ["broken", "even", "uniform"]
    assert plugin_names(SOURCES) == ["lake"]
    assert "our_plugin" not in sys.modules


def test_a_baseline_of_another_package_recommends_and_ours_win(installed):
    made = find_baseline("even")().fit(window())
    assert made.recommend(window(99)).num_rows == len(window(99))
    assert find_baseline("uniform").__module__ == "realloc.baselines.uniform"


def test_an_unknown_baseline_is_told_with_the_nearest_plugin(installed):
    with pytest.raises(ConfigError, match=r"Unknown baseline 'evenn'.*Did you mean 'even'"):
        find_baseline("evenn")


def test_a_source_is_read_by_its_address_in_a_list_or_alone(installed):
    import pyarrow.parquet as pq

    pq.write_table(window().to_arrow(), installed / "logs.parquet")
    address = f"lake://{installed / 'logs.parquet'}"
    for source in (address, [address]):
        logs = read_logs(source, schema_of(window()))
        assert isinstance(logs, Logs)
        assert len(logs) == len(window())


def test_an_address_that_nobody_reads_is_refused():
    with pytest.raises(LogError, match=r"entry point of 'realloc.sources'"):
        read_logs("lake://nowhere", schema_of(window()))


def test_a_plugin_that_does_not_load_is_named(installed):
    with pytest.raises(ConfigError, match="'broken' of our-plugin.*AttributeError"):
        find_plugin(BASELINES, "broken")


def test_two_packages_with_one_name_are_refused(installed):
    install(installed, "other", "[realloc.baselines]\neven = other:Even\n")
    with pytest.raises(ConfigError, match="got other and our-plugin"):
        find_plugin(BASELINES, "even")


def test_a_model_is_loaded_and_asked_without_looking_for_plugins(
    installed, monkeypatch, tmp_path
):
    from realloc import load
    from tests.small import fitted, today

    def refuse(**_):
        raise AssertionError("a plugin was looked for")

    fitted().save(tmp_path / "m")
    monkeypatch.setattr("realloc.base.plugins.entry_points", refuse)
    assert len(load(tmp_path / "m").recommend(today())) == len(today())
