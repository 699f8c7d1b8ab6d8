"""Hidden causes as pieces of a page: how strong one must be, beside recorded features."""

from realloc.base.numbers import percent, signed
from realloc.draw import Bullets, DataTable, PagePiece
from realloc.model.sensitivity import FARTHEST, Sensitivity

SHOWN = 6


def hidden_pieces(found: Sensitivity) -> list[PagePiece]:
    """What a batch withstands, then the strongest recorded features."""
    pieces: list[PagePiece] = [Bullets(found.lines())]
    if found.moved and found.features:
        cells = [
            (
                one.feature,
                percent(one.of_outcome),
                percent(one.of_moves),
                signed(one.gain_left),
                percent(one.moves_left),
                f"{one.times:.1f}" if one.times < FARTHEST else "more than 100",
            )
            for one in found.features[:SHOWN]
        ]
        heads = (
            "feature",
            "explains of the outcome",
            "of the mix",
            "gain left",
            "moves that still gain",
            "times as strong to undo all",
        )
        note = (
            "Beyond all other features. Gain left: what remains for certain if a cause that nobody "
            "recorded is as strong as this feature."
        )
        pieces.append(DataTable(heads, cells, "A hidden cause as strong as …", note))
    return pieces
