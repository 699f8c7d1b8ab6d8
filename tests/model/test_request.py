"""What a user asks about: rows that can all be read, and constraints of one kind."""

import numpy as np
import pytest

from realloc import Config, ConfigError, LogError
from realloc.decide.constraints.constraints import Constraints
from realloc.model.request import read_constraints, read_today
from tests.small import today, window

SCHEMA = window().pinned_schema


def test_rows_come_back_in_the_order_they_were_handed_in():
    frame = today(20).iloc[::-1]
    logs, places = read_today(frame, SCHEMA)
    assert sorted(places.tolist()) == list(range(20))
    assert logs.take(places).to_pandas()["item_id"].tolist() == frame["item_id"].tolist()
    assert logs.take(places).to_pandas()["ads"].tolist() == frame["ads"].tolist()


def test_logs_are_taken_as_they_are():
    logs, places = read_today(window(1), SCHEMA)
    assert logs is window(1)
    assert np.array_equal(places, np.arange(len(logs)))


def test_a_row_that_cannot_be_read_stops_the_question_and_is_counted():
    frame = today(20)
    frame.iloc[3, frame.columns.get_loc("ads")] = -1.0
    with pytest.raises(
        LogError, match=r"Expected 20 rows that can be read, but 1 cannot: .*ads"
    ):
        read_today(frame, SCHEMA)


def test_constraints_are_those_of_the_config_unless_others_are_given():
    config = Config(constraints=Constraints(frozen=("ads",)))
    assert read_constraints(None, config) is config.constraints
    given = Constraints(largest_move=0.1)
    assert read_constraints(given, config) is given
    assert read_constraints({"largest_move": 0.1}, config) == given
    with pytest.raises(ConfigError, match="Unknown key `largest_mov` in `constraints`"):
        read_constraints({"largest_mov": 0.1}, config)
