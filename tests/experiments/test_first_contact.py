"""The six walks of docs/six-logs.md at a small size: no command ends as the user cannot
expect, and every recommended row has an answer.
"""

import pytest

import first_contact


@pytest.mark.parametrize("name", first_contact.WALKS)
def test_a_walk_ends_without_a_stumble(name, tmp_path):
    walk = first_contact.take(name, tmp_path, small=True)
    typed = [step.typed.split()[2] for step in walk.steps if step.typed.startswith("$")]
    assert [verb for verb in ("init", "check", "fit", "recommend") if verb in typed] == [
        "init",
        "check",
        "fit",
        "recommend",
    ]
    assert any(step.typed.startswith("The truth: ") for step in walk.steps)


def test_the_page_has_every_walk():
    page = first_contact.PAGE.read_text()
    for name in first_contact.WALKS:
        assert f"## {name.capitalize()}\n" in page
    assert page.count("$ realloc recommend ") == len(first_contact.WALKS)


def test_a_command_that_ends_otherwise_stops_the_walk(tmp_path):
    walk = first_contact.Walk(tmp_path, small=True)
    with pytest.raises(AssertionError, match="ended with 2"):
        walk.run("realloc check nothing.csv")
    with pytest.raises(AssertionError, match="Expected 'word'"):
        first_contact.expect("word", "other")
