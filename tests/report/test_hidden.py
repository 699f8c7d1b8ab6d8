"""The table of hidden causes holds the model's own figures."""

from realloc.draw import DataTable
from realloc.report.hidden import SHOWN, hidden_pieces
from tests.small import fitted, window


def test_the_table_names_the_strongest_features_with_what_is_left():
    found = fitted().sensitivity(window(99))
    _, table = hidden_pieces(found)
    assert isinstance(table, DataTable)
    assert [row[0] for row in table.rows] == [one.feature for one in found.features[:SHOWN]]
    assert len({row[3] for row in table.rows}) > 1
