"""L-BFGS over softmax logits finds known maxima and never loses against the start."""

import numpy as np
import torch

from realloc.baselines.lbfgs import search_lbfgs, starts

TARGETS = torch.tensor(
    [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.34, 0.33, 0.33], [0.05, 0.9, 0.05]],
    dtype=torch.float64,
)
START = np.array([[0.2, 0.2, 0.6], [0.9, 0.1, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.0, 1.0]])


def near_targets(rows, p):
    return -(p - TARGETS[rows][:, None]).square().sum(-1)


def test_the_maximum_of_a_known_response_is_found():
    assert np.allclose(search_lbfgs(near_targets, START), TARGETS.numpy(), atol=1e-4)


def test_the_higher_of_two_maxima_is_found_from_the_lower_one():
    peaks = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], dtype=torch.float64)

    def two(rows, p):
        off = (p.unsqueeze(-2) - peaks).square().sum(-1)
        return (torch.tensor([1.0, 2.0], dtype=torch.float64) * torch.exp(-off / 0.02)).sum(
            -1
        )

    found = search_lbfgs(two, np.array([[0.8, 0.1, 0.1]]))
    assert np.allclose(found, peaks[1:].numpy(), atol=1e-3)


def test_a_linear_response_ends_in_a_corner():
    slopes = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
    found = search_lbfgs(lambda rows, p: (p * slopes).sum(-1), START[:1])
    assert found[0, 2] > 0.99


def test_no_row_ends_below_its_start():
    random = torch.Generator().manual_seed(0)
    waves = torch.randn(40, 3, generator=random, dtype=torch.float64) * 20

    def rough(rows, p):
        return torch.sin(p @ waves.T).sum(-1)

    start = np.random.default_rng(1).dirichlet(np.ones(3), 50)
    end = search_lbfgs(rough, start)
    before, after = (rough(None, torch.from_numpy(p)[:, None])[:, 0] for p in (start, end))
    assert bool((after >= before).all())
    assert float((after - before).mean()) > 1


def test_a_start_that_is_best_stays_to_the_last_bit():
    start = np.array([[0.0, 0.4, 0.6]])
    target = torch.from_numpy(start)
    assert np.array_equal(
        search_lbfgs(lambda rows, p: -(p - target).abs().sum(-1), start), start
    )


def test_rows_do_not_depend_on_each_other():
    alone = np.concatenate(
        [
            search_lbfgs(lambda _, p, i=i: near_targets(torch.tensor([i]), p), START[[i]])
            for i in range(len(START))
        ]
    )
    assert np.allclose(search_lbfgs(near_targets, START), alone, atol=1e-10)


def test_starts_are_the_factual_the_uniform_and_one_for_each_channel():
    found = starts(torch.from_numpy(START)).numpy()
    assert found.shape == (4, 5, 3)
    assert np.allclose(found.sum(axis=-1), 1)
    assert found.min() > 0
    assert np.array_equal(found[0, 2:].argmax(axis=-1), [0, 1, 2])
