"""One rule for every command that writes: what is there already is replaced with `--force` only."""

import inspect
from importlib import import_module

import pytest

from realloc.cli.lazy import MODULES
from realloc.cli.outputs import check_free
from realloc.storage.store import Store
from tests.small import fitted, today, window

WRITES = {"out", "report"}


@pytest.mark.parametrize("name", MODULES)
def test_every_command_that_writes_a_file_has_the_option(name):
    command = getattr(import_module(f"realloc.cli.{MODULES[name]}"), name)
    options = inspect.signature(command).parameters
    if WRITES & options.keys():
        assert "force" in options, f"realloc {name} writes, but has no --force"


@pytest.fixture
def place(tmp_path):
    Store(tmp_path / "store").commit(fitted(), window())
    today().to_parquet(tmp_path / "today.parquet")
    window().to_pandas().to_csv(tmp_path / "logs.csv", index=False)
    (tmp_path / "mine").write_text("years of work")
    (tmp_path / "mine.csv").write_text("years of work")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "1.jpg").write_text("summer")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("init", "logs.csv", "--out", "mine"),
        ("simulate", "--units", "9", "--out", "mine.csv"),
        ("recommend", "today.parquet", "--store", "store", "--out", "mine.csv"),
        ("report", "--store", "store", "--out", "mine"),
        ("evaluate", "logs.csv", "--store", "store", "--report", "mine"),
        ("update", "logs.csv", "--store", "store", "--report", "mine"),
        ("export", "--store", "store", "--out", "photos"),
        ("demo", "--out", "photos"),
    ],
    ids=lambda words: words[0],
)
def test_nothing_is_replaced_unasked(run, place, words):
    said = run(*words, cwd=place, code=2).stderr
    assert "exists already. Choose another one, or replace it with `--force`." in said
    assert (place / "mine").read_text() == "years of work"
    assert (place / "mine.csv").read_text() == "years of work"
    assert (place / "photos" / "1.jpg").read_text() == "summer"


def test_force_replaces_and_does_not_lift_the_limits(run, place):
    words = ("recommend", "today.parquet", "--store", "store", "--out", "mine.csv")
    said = run(*words, "--force", cwd=place, code=2).stderr
    assert "Nothing was published" in said
    assert "`--beyond-limits`" in said
    assert (place / "mine.csv").read_text() == "years of work"
    run(*words, "--force", "--beyond-limits", cwd=place)
    assert (place / "mine.csv").read_text().startswith('"item_id"')


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(Exception, match=r"a file for `--out`, got the folder"):
        check_free(tmp_path, force=True)
    check_free(tmp_path, force=False, folder=True)
    check_free(None, force=False)
