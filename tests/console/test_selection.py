import pytest

from realloc.base.errors import ConfigError
from realloc.console.selection import RowSelection


def test_an_address_and_its_selection_say_the_same():
    address = "prefix=it%26em&reason=moved&order=gain&up=1&size=100&after=17"
    given = {
        "prefix": "it&em",
        "reason": "moved",
        "order": "gain",
        "up": "1",
        "size": "100",
        "after": "17",
    }
    selection = RowSelection.read(given, ())
    assert selection.address() == address
    assert selection.filtered
    assert selection.address(after=None, before=3).endswith("&before=3")
    assert RowSelection.read({}, ()) == RowSelection()
    assert RowSelection().address() == ""
    assert not RowSelection(order="gain").filtered


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reason", "movd"),
        ("sign", "sideways"),
        ("order", "row; drop table rows"),
        ("column", "region"),
        ("after", "-1"),
        ("size", "9999"),
        ("size", "٣"),
    ],
)
def test_what_does_not_exist_is_refused(name, value):
    with pytest.raises(ConfigError):
        RowSelection.read({name: value}, ("zone",))
