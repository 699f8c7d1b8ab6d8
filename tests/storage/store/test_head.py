import pytest

from realloc.base.errors import StoreError
from realloc.storage.store.head import Head, read_head, write_head

LINE = Head(42, "ab" * 32).line()


def test_a_pointer_comes_back_as_it_was(tmp_path):
    assert read_head(tmp_path) is None
    (tmp_path / "HEAD").write_bytes(LINE)
    assert read_head(tmp_path) == Head(42, "ab" * 32)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        LINE[:-1],
        LINE + b"\n",
        LINE.replace(b"42 ", b"042 "),
        LINE.replace(b"42 ", b"43 "),
        LINE.upper(),
        LINE.replace(b" ", b"  "),
        bytes(len(LINE)),
        b"\xff" * len(LINE),
        b"0 " + LINE[3:],
    ],
)
def test_any_other_spelling_is_refused_and_says_what_to_do(tmp_path, content):
    (tmp_path / "HEAD").write_bytes(content)
    with pytest.raises(
        StoreError,
        match=r"HEAD', but the file was changed\. Name the version .* `realloc rollback --to N`",
    ):
        read_head(tmp_path)


def test_a_pointer_is_replaced_in_one_step(tmp_path):
    write_head(tmp_path, Head(1, "cd" * 32))
    write_head(tmp_path, Head(42, "ab" * 32))
    assert [path.name for path in tmp_path.iterdir()] == ["HEAD"]
    assert (tmp_path / "HEAD").read_bytes() == LINE


def test_a_pointer_that_cannot_be_read_says_what_to_do(tmp_path):
    (tmp_path / "HEAD").mkdir()
    with pytest.raises(StoreError, match="name the version to go back to"):
        read_head(tmp_path)
