from realloc.draw import Figure, Paragraph, Part
from realloc.report.learned import effect_pieces, learned_pieces
from tests.small import fitted, window


def test_what_was_learned_is_said_in_numbers_and_sentences():
    parts = learned_pieces(fitted(), rows=window(1))
    said = "\n".join(part.markdown() for part in parts)
    assert "The logs hold enough evidence to move budget." in said
    assert "300 rows" in said
    effects = parts[1]
    assert isinstance(effects, Part)
    assert isinstance(effects.pieces[0], Figure)


def test_effects_without_rows_are_missing_not_empty():
    paragraph = effect_pieces(fitted(), None)[0]
    assert isinstance(paragraph, Paragraph)
    assert paragraph.look == "missing"
    assert "realloc recommend" in paragraph.text
