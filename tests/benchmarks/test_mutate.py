"""The mutation run: every kind of change is made, once for each place, and nothing else changes."""

import ast
from pathlib import Path

import pytest
from benchmarks.mutate import MODULES, as_table, modules_in, mutants_of

from benchmarks import mutate

SOURCE = '''
def check(n: int) -> None:
    """Says 3 < 4."""
    if n < 10:
        raise ValueError("small")
    print(n)
'''


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("4:4 condition negated", "if not n < 10:"),
        ("4:7 comparison swapped", "if n <= 10:"),
        ("4:11 number changed", "if n < 11:"),
        ("5:8 raise left out", "pass"),
        ("6:4 call left out", "pass"),
    ],
)
def test_each_mutant_changes_one_place(name, line):
    mutants = {mutant.name: mutant.source for mutant in mutants_of(SOURCE)}
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    changed = mutants[name].splitlines()
    different = [new.strip() for old, new in zip(plain, changed, strict=True) if old != new]
    assert different == [line]


def test_there_are_no_other_mutants_of_that_source():
    assert len(mutants_of(SOURCE)) == 5


def test_conditions_of_expressions_and_words_are_changed_too():
    sources = [mutant.source for mutant in mutants_of("x = 'a' if y and z in w else 'b'")]
    assert sources == [
        "x = 'a' if not (y and z in w) else 'b'",
        "x = 'a' if y or z in w else 'b'",
        "x = 'a' if y and z not in w else 'b'",
    ]


def test_what_is_mutated_by_default_is_there_and_has_tests():
    modules = modules_in(list(MODULES))
    assert len(modules) > 30
    assert all(mutate.tests_of(module) for module in modules)


def test_an_unknown_module_is_named():
    with pytest.raises(SystemExit, match="got 'storage/nothing'"):
        modules_in(["storage/nothing"])


def test_a_module_is_tested_by_the_file_that_mirrors_it():
    assert mutate.tests_of(Path("base/simplex.py")) == ["tests/base/test_simplex.py"]


def test_the_table_counts_and_names_survivors():
    mutants = {"not mutated": "passes", "1:2 raise left out": "survived", "3:4 x": "killed"}
    table = as_table({"a.py": {"mutants": mutants}, "b.py": {"mutants": {}}})
    assert "| a.py | 2 | 1 | 1 |" in table
    assert "| all | 2 | 1 | 1 |" in table
    assert "a.py:1:2 raise left out" in table
    assert "b.py: its tests fail, or there are none" in table
