import pytest

from realloc import Config, ConfigError, read_config
from realloc.logs import AuditConfig

SCHEMA = '[schema]\nunit = "item"\ntime = "date"\noutcome = "orders"\nchannels = ["ads", "coupon"]\n'


def write(tmp_path, text):
    path = tmp_path / "realloc.toml"
    path.write_text(text)
    return path


def test_schema_and_config_live_in_one_file(tmp_path):
    schema, config = read_config(write(tmp_path, f"seed = 7\n{SCHEMA}\n[audit]\nfew_rows = 10\n"))
    assert (schema.unit, schema.channels) == ("item", ("ads", "coupon"))
    assert config == Config(seed=7, audit=AuditConfig(few_rows=10))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"Expected a table \[schema\]"),
        (SCHEMA.replace("outcome", "outcom"), r"Unknown key `outcom` in \[schema\].* Did you mean 'outcome'\?"),
        (SCHEMA.replace('unit = "item"\n', ""), r"Expected `unit` in \[schema\]"),
        (SCHEMA.replace('["ads", "coupon"]', '"ads"'), "list of column names, got the text 'ads'"),
        (SCHEMA.replace('["ads", "coupon"]', '["ads"]'), "at least 2 channels"),
        (SCHEMA.replace('"orders"', "3"), "Expected `outcome` of the schema to be text, got 3"),
        (SCHEMA + 'features = ["ads"]\n', "not also a channel.*'ads'"),
        (SCHEMA + 'budget = "item"\n', "'item' is named twice"),
        (SCHEMA + 'features = ["price", "price"]\n', "'price' is listed twice"),
        (SCHEMA + 'features = ["price"]\ncategorical = ["shop"]\n', "'shop' is not"),
        (SCHEMA + 'channel_column = "channel"\n', "both `channel_column` and `spend_column`"),
        (f"seeds = 3\n{SCHEMA}", r"Unknown key `seeds` in .* Did you mean 'seed'\?"),
        (f"seed = -3\n{SCHEMA}", "`seed` of at least 0"),
        (f"{SCHEMA}[audits]\nfew_rows = 3\n", r"Unknown table `audits` in .* Did you mean 'audit'\?"),
        (f"{SCHEMA}[audit]\nfew_row = 3\n", r"Unknown key `few_row` in \[audit\].* Did you mean 'few_rows'\?"),
        (f"{SCHEMA}[audit]\nfewest_rows = 1\n", "at least 2"),
        (f"audit = 3\n{SCHEMA}", "to be a table of keys, got 3"),
        ("schema = 3\n", "to be a table of keys, got 3"),
        ("[schema\n", "Expected TOML in"),
        ("money_digits = 9\n" + SCHEMA, "`money_digits` from 0 to 6"),
    ],
)
def test_every_key_is_checked(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        read_config(write(tmp_path, text))


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match="realloc init"):
        read_config(tmp_path / "nothing.toml")


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "realloc.toml"
    path.write_bytes("seed = 1 # größe".encode("latin-1"))
    with pytest.raises(ConfigError, match="UTF-8"):
        read_config(path)
