"""Keys of [read] are checked, and written as the config file has them."""

import pytest

from realloc import ConfigError, ReadOptions, Schema, read_config


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"delimiter": ";;"}, "one sign such as ';'"),
        ({"decimal": ";"}, "'.' or ','"),
        ({"decimal": ",", "thousands": ","}, "another sign as `thousands`"),
        ({"thousands": "_"}, "as `thousands`"),
        ({"encoding": "klingon"}, "an encoding such as"),
        ({"date_format": "DD/MM"}, "a form such as 'DD/MM/YYYY'"),
        ({"date_format": "DD/DD/YYYY"}, "a form such as"),
        ({"sheet": 3}, "`sheet` of \\[read\\] to be text"),
    ],
)
def test_what_cannot_be_is_refused(keys, text):
    with pytest.raises(ConfigError, match=text):
        ReadOptions(**keys)


def test_the_table_of_the_config_is_kept_with_the_schema(tmp_path):
    options = ReadOptions(
        delimiter="\t", decimal=",", date_format="DD.MM.YYYY", sheet='a"b'
    )
    (tmp_path / "c.toml").write_text(
        '[schema]\nunit = "u"\ntime = "t"\noutcome = "y"\nchannels = ["a", "b"]\n'
        "[read]\n" + options.to_toml("\n")
    )
    schema = read_config(tmp_path / "c.toml")[0]
    assert schema.read == options
    assert schema == Schema(
        unit="u", time="t", outcome="y", channels=["a", "b"], read=options
    )
    (tmp_path / "c.toml").write_text((tmp_path / "c.toml").read_text() + '\ndecimals = ","')
    with pytest.raises(
        ConfigError, match=r"`decimals` in \[read\]. Did you mean 'decimal'"
    ):
        read_config(tmp_path / "c.toml")
