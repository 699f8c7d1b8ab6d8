from realloc.draw import Figure
from realloc.report.learned import effect_pieces, learned_pieces
from tests.small import fitted, window


def test_what_was_learned_is_said_in_numbers_and_sentences():
    parts = learned_pieces(fitted(), rows=window(1))
    said = "\n".join(part.markdown() for part in parts)
    assert "The logs hold enough evidence to move budget." in said
    assert "300 rows" in said
    assert isinstance(parts[1].pieces[0], Figure)


def test_effects_without_rows_are_missing_not_empty():
    pieces = effect_pieces(fitted(), None)
    assert pieces[0].look == "missing"
    assert "realloc recommend" in pieces[0].text
