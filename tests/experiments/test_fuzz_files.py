"""A few of the random exports, with fixed numbers; `experiments/fuzz_files.py` tries thousands."""

from collections import Counter

import pytest

import fuzz_files

FIRST = range(12)


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """How each of the first exports ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("here"))
        return [fuzz_files.walk(k, tmp_path_factory.mktemp("export")) for k in FIRST]


def test_an_export_ends_in_an_answer_or_in_one_clear_refusal(ends):
    who = Counter(end.split(":")[0] for end in ends)
    assert who["decided"] >= 2
    assert who.keys() <= {
        "decided",
        "refused by init",
        "refused by check and fit",
        "refused by recommend",
    }


def test_a_refusal_names_what_was_expected(ends):
    for end in ends:
        if end != "decided":
            assert any(word in end for word in ("Expected", "problems", "published")), end


def test_a_number_makes_its_export_again():
    one, other = (fuzz_files.draw_export(3) for _ in range(2))
    assert one.frame.equals(other.frame)
    assert one.written == other.written


def test_a_crash_is_no_refusal(monkeypatch, tmp_path):
    def crash() -> None:
        raise SystemExit(1)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fuzz_files, "realloc", crash)
    with pytest.raises(AssertionError, match="init ended with 1"):
        fuzz_files.walk(0, tmp_path)
