import json
from dataclasses import asdict, fields

import pytest

from realloc import Config, ConfigError, read_config
from realloc.learn.features.encode import FeatureConfig
from realloc.learn.memory.config import MemoryConfig, MoveConfig
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.student.config import StudentConfig
from realloc.learn.teacher.config import (
    FactualConfig,
    KernelConfig,
    NetworkConfig,
    TeacherConfig,
)
from realloc.logs import CheckConfig
from realloc.model.config import STAGES, parse_config

SCHEMA = """[schema]
unit = "item"
time = "date"
outcome = "orders"
channels = ["ads", "coupon"]
"""


def write(tmp_path, text):
    path = tmp_path / "realloc.toml"
    path.write_text(text)
    return path


def test_schema_and_config_live_in_one_file(tmp_path):
    schema, config = read_config(
        write(tmp_path, f"seed = 7\n{SCHEMA}\n[check]\nfew_rows = 10\n")
    )
    assert (schema.unit, schema.channels) == ("item", ("ads", "coupon"))
    assert config == Config(seed=7, check=CheckConfig(few_rows=10))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"Expected a table \[schema\]"),
        (
            SCHEMA.replace("outcome", "outcom"),
            r"Unknown key `outcom` in \[schema\].* Did you mean 'outcome'\?",
        ),
        (SCHEMA.replace('unit = "item"\n', ""), r"Expected `unit` in \[schema\]"),
        (
            SCHEMA.replace('["ads", "coupon"]', '"ads"'),
            "list of column names, got the text 'ads'",
        ),
        (SCHEMA.replace('["ads", "coupon"]', '["ads"]'), "at least 2 channels"),
        (
            SCHEMA.replace('"orders"', "3"),
            "Expected `outcome` of the schema to be text, got 3",
        ),
        (SCHEMA + 'features = ["ads"]\n', "not also a channel.*'ads'"),
        (SCHEMA + 'budget = "item"\n', "'item' is named twice"),
        (SCHEMA + 'features = ["price", "price"]\n', "'price' is listed twice"),
        (SCHEMA + 'features = ["price"]\ncategorical = ["shop"]\n', "'shop' is not"),
        (
            SCHEMA + 'channel_column = "channel"\n',
            "both `channel_column` and `spend_column`",
        ),
        (f"seeds = 3\n{SCHEMA}", r"Unknown key `seeds` in .* Did you mean 'seed'\?"),
        (f"seed = -3\n{SCHEMA}", "`seed` of at least 0"),
        (
            f"{SCHEMA}[checks]\nfew_rows = 3\n",
            r"Unknown table `checks` in .* Did you mean 'check'\?",
        ),
        (
            f"{SCHEMA}[check]\nfew_row = 3\n",
            r"Unknown key `few_row` in \[check\].* Did you mean 'few_rows'\?",
        ),
        (f"{SCHEMA}[check]\nfewest_rows = 1\n", "at least 2"),
        (f"check = 3\n{SCHEMA}", "to be a table of keys, got 3"),
        ("schema = 3\n", "to be a table of keys, got 3"),
        ("[schema\n", "Expected TOML in"),
        ("money_digits = 9\n" + SCHEMA, "`money_digits` from 0 to 6"),
        (
            SCHEMA + "seed = 3\n",
            r"Expected `seed` above the first table .* stands below \[schema\]",
        ),
        (
            f"{SCHEMA}[nuisance]\nfolds = 3\n",
            r"Unknown table `nuisance` in .* Did you mean 'nuisances'\?",
        ),
        (
            f"{SCHEMA}[nuisances]\nfold = 3\n",
            r"Unknown key `fold` in \[nuisances\].* Did you mean 'folds'\?",
        ),
        (f"{SCHEMA}[nuisances]\nfolds = 1\n", "`folds` of at least 2"),
        (
            f'{SCHEMA}[nuisances]\nmodels = ["rigde"]\n',
            r"Unknown model 'rigde' .* Did you mean 'ridge'\?",
        ),
        (
            f"{SCHEMA}[features]\nlag = 3\n",
            r"Unknown key `lag` in \[features\].* Did you mean 'lags'\?",
        ),
        (f"{SCHEMA}[features]\nlags = 99\n", "`lags` from 0 to 28"),
        (
            f"{SCHEMA}[teachers]\nmembers = 3\n",
            r"Unknown table `teachers` in .* Did you mean 'teacher'\?",
        ),
        (
            f"{SCHEMA}[teacher]\nmember = 3\n",
            r"Unknown key `member` in \[teacher\].* Did you mean 'members'\?",
        ),
        (
            f'{SCHEMA}[teacher]\nsurfaces = ["kernal"]\n',
            r"Unknown surface 'kernal' .* Did you mean 'kernel'\?",
        ),
        (
            f"{SCHEMA}[teacher]\nmembers = 0\n",
            "`members` of \\[teacher\\] from 1 to 100, got 0",
        ),
        (
            f"{SCHEMA}[kernel]\ninducting = 3\n",
            r"Unknown key `inducting` in \[kernel\].* Did you mean 'inducing'\?",
        ),
        (
            f"{SCHEMA}[kernel]\nrows = 3\n",
            r"`inducing` and `rows` of \[kernel\] of at least 10",
        ),
        (
            f"{SCHEMA}[network]\nepoch = 3\n",
            r"Unknown key `epoch` in \[network\].* Did you mean 'epochs'\?",
        ),
        (f"{SCHEMA}[network]\nwidth = 0\n", r"`width` of \[network\] of at least 1"),
        (
            f"{SCHEMA}[moves]\nstep = [0.1]\n",
            r"Unknown key `step` in \[moves\].* Did you mean 'steps'\?",
        ),
        (
            f"{SCHEMA}[moves]\nsteps = [2.0]\n",
            r"`steps` of \[moves\] between 0 and 1, got \[2.0\]",
        ),
        (
            f"{SCHEMA}[memorys]\ncapacity = 300\n",
            r"Unknown table `memorys` in .* Did you mean 'memory'\?",
        ),
        (
            f"{SCHEMA}[memory]\ncapasity = 300\n",
            r"Unknown key `capasity` in \[memory\].* Did you mean 'capacity'\?",
        ),
        (f"{SCHEMA}[memory]\ncapacity = 3\n", "at least 100 rows, got 3"),
        (
            f"{SCHEMA}[student]\nemma = 0.5\n",
            r"Unknown key `emma` in \[student\].* Did you mean 'ema'\?",
        ),
        (f"{SCHEMA}[student]\nema = 1.0\n", "`ema` from 0 to below 1"),
        (
            f'{SCHEMA}[student]\npair = "sloop"\n',
            r"Unknown `pair` 'sloop' .* Did you mean 'slope'\?",
        ),
        (
            f'{SCHEMA}[student]\nema = "half"\n',
            r"Expected `ema` of \[student\] to be a number, got 'half'",
        ),
        (f"student = 3\n{SCHEMA}", r"\[student\] of .* to be a table of keys, got 3"),
    ],
)
def test_every_key_is_checked(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        read_config(write(tmp_path, text))


TABLES = """
[features]
lags = 3
[nuisances]
folds = 4
models = ["ridge"]
[teacher]
surfaces = ["kernel"]
members = 3
[kernel]
inducing = 50
[network]
epochs = 3
[factual]
width = 32
[moves]
steps = [0.02, 0.04]
[memory]
capacity = 500
[student]
ema = 0.9
pair = "slope"
"""


def test_every_stage_has_a_table_of_its_own(tmp_path):
    _, config = read_config(write(tmp_path, SCHEMA + TABLES))
    assert config == Config(
        features=FeatureConfig(lags=3),
        nuisances=NuisanceConfig(folds=4, models=("ridge",)),
        teacher=TeacherConfig(surfaces=("kernel",), members=3),
        kernel=KernelConfig(inducing=50),
        network=NetworkConfig(epochs=3),
        factual=FactualConfig(width=32),
        moves=MoveConfig(steps=(0.02, 0.04)),
        memory=MemoryConfig(capacity=500),
        student=StudentConfig(ema=0.9, pair="slope"),
    )


def test_every_table_of_the_config_is_known_to_its_reader():
    tables = {
        spec.name for spec in fields(Config) if spec.name not in ("seed", "money_digits")
    }
    assert tables == set(STAGES)
    assert all(type(getattr(Config(), name)) is STAGES[name] for name in tables)


def test_a_schema_may_name_its_features_beside_the_table_of_the_same_name(tmp_path):
    schema, config = read_config(
        write(tmp_path, f'{SCHEMA}features = ["price"]\n[features]\nlags = 2\n')
    )
    assert schema.features == ("price",)
    assert config.features.lags == 2


def test_a_config_as_plain_values_reads_back_the_same(tmp_path):
    _, config = read_config(write(tmp_path, SCHEMA + TABLES))
    assert parse_config(json.loads(json.dumps(asdict(config))), "a model") == config


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match="realloc init"):
        read_config(tmp_path / "nothing.toml")


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "realloc.toml"
    path.write_bytes("seed = 1 # größe".encode("latin-1"))
    with pytest.raises(ConfigError, match="UTF-8"):
        read_config(path)
