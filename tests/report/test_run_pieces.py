import numpy as np

from realloc.report.run import figures_of_run, newest_run
from realloc.report.run_pieces import describe_change, run_pieces


def test_every_rule_that_kept_a_row_is_in_words(ledger):
    pieces = run_pieces(figures_of_run(ledger, newest_run(ledger)))
    said = "\n".join(piece.markdown() for piece in pieces)
    assert "Rules that kept rows where they are" in said
    assert "budget was moved" in said
    assert "| start |" not in said


def test_only_channels_that_change_are_named():
    now = np.array([0.4, 0.35, 0.25])
    after = np.array([0.45, 0.35, 0.2])
    said = describe_change(("ads", "coupon", "rebate"), now, after)
    assert said == "ads 40 % → 45 %, rebate 25 % → 20 %"
