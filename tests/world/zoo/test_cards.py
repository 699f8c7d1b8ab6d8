"""The zoo is as large and as different as it is meant to be, and its page names every world."""

from pathlib import Path

from realloc.world.zoo import CARDS

PAGE = Path(__file__).parents[3] / "docs" / "zoo.md"


def test_half_of_the_worlds_are_for_tuning():
    tuning = [card for card in CARDS.values() if card.half == "tuning"]
    assert len(CARDS) >= 16
    assert len(tuning) * 2 == len(CARDS)


def test_the_page_lists_every_world_as_its_card_says():
    page = PAGE.read_text(encoding="utf-8")
    for card in CARDS.values():
        rows = f"{card.units:,} × {card.periods}"
        assert f"| `{card.name}` | {card.story} | {card.channels} | {rows} |" in page
