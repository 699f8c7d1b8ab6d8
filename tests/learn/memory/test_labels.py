"""Labels: rows are taken and joined whole."""

import numpy as np

from tests.learn.memory.labelled import make_labels


def test_labels_know_their_length_and_size():
    labels = make_labels(10)
    assert len(labels.join(labels)) == 20
    assert len(labels.take(np.array([1, 3]))) == 2
    assert labels.join(labels).nbytes == 2 * labels.nbytes
