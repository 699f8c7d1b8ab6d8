import numpy as np

from realloc.world.draws import stream


def test_the_same_name_gives_the_same_draws():
    assert np.array_equal(stream(1, "noise", 2).random(5), stream(1, "noise", 2).random(5))


def test_every_part_of_the_name_matters():
    keys = [
        (1, "noise"),
        (2, "noise"),
        (1, "items"),
        (1, "noise", 0),
        (1, "noise", "0"),
        (11, "noise"),
        ("1", "noise"),
    ]
    firsts = {stream(*key).random() for key in keys}
    assert len(firsts) == len(keys)
