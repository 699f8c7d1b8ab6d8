"""The training loop: it learns, each member from its own rows, and stops where its own held-out
rows say so.
"""

import pytest
import torch

from realloc.learn.networks.config import TrainConfig
from realloc.learn.networks.stack import Shape, Stack
from realloc.learn.networks.train import (
    TrainSplit,
    evaluate,
    losses_of_others,
    one_cycle,
    split_by_fold,
    train,
)

N, D = 600, 3
QUICK = TrainConfig(epochs=25, batch=64, rate=3e-2)


def rows(seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, D, generator=generator)
    return x, 2 * x[:, 0] - x[:, 1] + torch.sin(2 * x[:, 2])


def thirds(members=2):
    """Member i is judged by third i and learns from the others."""
    fold = torch.arange(N) % 3
    return TrainSplit(
        [torch.where(fold != i % 3)[0] for i in range(members)],
        [torch.where(fold == i % 3)[0] for i in range(members)],
    )


def fit(x, y, split, config=QUICK, seed=0, on_epoch=None):
    """A trained stack, the members' held-out losses, and what each epoch's held-out losses were."""
    members = len(split.train)
    stack = Stack(members, Shape(inputs=D, outputs=1, width=16, depth=2), 0)

    def loss(rows):
        return (stack(x[rows])[..., 0] - y[rows]).square().mean(1)

    found = train(
        stack, loss, split, config, seed, on_epoch and (lambda *_: on_epoch(stack, loss))
    )
    return stack, found, loss


def weights_of(stack, member):
    return torch.cat([p.detach()[member].flatten() for p in stack.parameters()])


def test_it_learns_a_function_with_a_linear_and_a_curved_part():
    x, y = rows()
    _, found, _ = fit(x, y, thirds())
    _, barely, _ = fit(x, y, thirds(), TrainConfig(epochs=1, batch=64, rate=1e-5))
    line = (y - x @ torch.linalg.lstsq(x, y[:, None]).solution[:, 0]).square().mean()
    assert (found < 0.5 * line).all()
    assert (barely > 0.8 * y.var()).all()


def test_training_twice_gives_the_same_bits_and_another_seed_does_not():
    x, y = rows()
    config = TrainConfig(epochs=3, batch=64)
    a, b, c = (weights_of(fit(x, y, thirds(), config, seed)[0], 0) for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_rows_that_a_member_neither_learns_from_nor_is_judged_by_leave_its_weights_alone():
    x, y = rows()
    fold = torch.arange(N) % 3
    split = TrainSplit(
        [torch.where(fold == 1)[0], torch.where(fold != 2)[0]],
        [torch.where(fold == 2)[0]] * 2,
    )
    config = TrainConfig(epochs=4, batch=64)
    wild = y.clone()
    wild[fold == 0] = 1e4  # member 0 never meets this third, member 1 learns from it
    clean, planted = fit(x, y, split, config)[0], fit(x, wild, split, config)[0]
    assert torch.equal(weights_of(clean, 0), weights_of(planted, 0))
    assert not torch.equal(weights_of(clean, 1), weights_of(planted, 1))


def test_held_out_rows_choose_the_epoch_but_give_no_gradient():
    x, y = rows()
    config = TrainConfig(epochs=6, batch=64, rate=1e-2, patience=6)
    wild = y.clone()
    wild[torch.arange(N) % 3 == 0] *= (
        1.5  # the held-out third of member 0; the last epoch stays the best one
    )

    def last(outcome):
        seen = []
        fit(
            x,
            outcome,
            thirds(),
            config,
            on_epoch=lambda stack, _: seen.append(weights_of(stack, 0)),
        )
        return seen[-1]

    assert torch.equal(last(y), last(wild))


def test_a_member_is_left_at_its_best_epoch():
    x, y = rows()
    y = y[
        torch.randperm(N, generator=torch.Generator().manual_seed(1))
    ]  # nothing to learn: it overfits
    config = TrainConfig(epochs=15, batch=64, rate=0.03, patience=15)
    split = thirds()
    losses = []
    _, found, loss = fit(
        x,
        y,
        split,
        config,
        on_epoch=lambda _, loss: losses.append(evaluate(loss, split.held_out, 64)),
    )
    best = torch.stack(losses).min(0).values
    assert torch.equal(found, best)
    assert torch.allclose(evaluate(loss, split.held_out, 64), best)
    assert (losses[-1] > best).any()  # else the last epoch would have done as well


def test_a_stale_member_is_over_even_if_it_would_improve_later_and_others_go_on():
    """Held-out losses are scripted: member 0 is stale from epoch 3 on and would be far better at
    epoch 5.
    """
    script = {0: [5.0, 6.0, 6.0, 6.0, 0.1, 6.0], 1: [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]}

    def run(other):
        module = Stack(2, Shape(inputs=D, outputs=1, width=4, depth=1), 0)
        x, y = rows()
        epoch, seen = [0], []

        def loss(rows):
            if torch.is_grad_enabled():
                return (module(x[rows])[..., 0] - y[rows]).square().mean(1)
            return torch.tensor([script[0][epoch[0]], other[epoch[0]]])

        def after(*_):
            epoch[0] += 1
            seen.append(weights_of(module, 0))

        best = train(
            module, loss, thirds(), TrainConfig(epochs=6, batch=64, patience=2), 0, after
        )
        return best, weights_of(module, 0), seen

    best, kept, seen = run(script[1])
    assert best.tolist() == [5.0, 1.0]
    assert torch.equal(kept, seen[0])
    assert len(seen) == 6
    alone, kept_alone, seen_alone = run(
        script[0]
    )  # the other goes stale as well: training ends early, member 0 is the same
    assert alone.tolist() == [5.0, 5.0]
    assert torch.equal(kept_alone, kept)
    assert len(seen_alone) == 3


def test_a_member_whose_loss_is_not_a_number_stays_where_it_started_and_hurts_nobody():
    x, y = rows()
    split = TrainSplit(
        [torch.arange(0, 200), torch.arange(200, 400)],
        [torch.arange(400, 500), torch.arange(500, 600)],
    )
    wild = y.clone()
    wild[:200] = float("nan")
    config = TrainConfig(epochs=3, batch=64)
    stack, found, _ = fit(x, wild, split, config)
    clean = fit(x, y, split, config)[0]
    assert torch.equal(
        weights_of(stack, 0),
        weights_of(Stack(2, Shape(inputs=D, outputs=1, width=16, depth=2), 0), 0),
    )
    assert torch.equal(weights_of(stack, 1), weights_of(clean, 1))
    assert found.isinf().tolist() == [True, False]


def test_fewer_rows_than_a_batch_are_one_batch():
    x, y = rows()
    split = TrainSplit([torch.arange(20)], [torch.arange(20, 40)])
    stack, found, _ = fit(x, y, split, TrainConfig(epochs=5, batch=512))
    assert found.isfinite().all()
    assert weights_of(stack, 0).isfinite().all()


def test_evaluation_in_parts_is_the_mean_over_all_rows():
    y = torch.arange(100.0)
    found = evaluate(
        lambda rows: y[rows].mean(1),
        [torch.arange(100), torch.arange(100).flip(0)],
        batch=3,
    )
    assert found.tolist() == pytest.approx([49.5, 49.5])


@pytest.mark.parametrize("warm", [0.1, 0.2])
@pytest.mark.parametrize("steps", [1, 2, 5, 9, 10, 11, 40])
def test_the_schedule_has_a_finite_rate_for_every_number_of_steps(steps, warm):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([parameter], lr=1.0)
    schedule = one_cycle(optimizer, 1.0, steps, warm)
    rates = []
    for _ in range(steps):
        rates.append(schedule.get_last_lr()[0])
        parameter.grad = torch.ones(1)
        optimizer.step()
        schedule.step()
    assert all(0 < rate <= 1 for rate in rates)
    assert steps == 1 or max(rates) > 0.3


@pytest.mark.parametrize(("least", "epochs"), [(0, 4), (7, 4), (12, 6), (13, 7)])
def test_where_rows_are_few_there_are_more_epochs(least, epochs):
    """400 rows of batches of 200 are two steps an epoch."""
    x, y = rows()
    seen = []
    config = TrainConfig(epochs=4, batch=200, patience=4, least_steps=least)
    fit(x, y, thirds(), config, on_epoch=lambda *_: seen.append(1))
    assert len(seen) == epochs


@pytest.mark.parametrize(("most", "epochs"), [(1, 1), (3, 1), (4, 2), (9, 4), (100, 4)])
def test_where_rows_are_many_there_are_fewer_epochs(most, epochs):
    """400 rows of batches of 200 are two steps an epoch."""
    x, y = rows()
    seen = []
    config = TrainConfig(epochs=4, batch=200, patience=4, most_steps=most)
    fit(x, y, thirds(), config, on_epoch=lambda *_: seen.append(1))
    assert len(seen) == epochs


def test_rows_that_judge_a_member_afterwards_do_not_choose_its_epoch():
    x, y = rows()
    fold = torch.arange(N) % 3
    config = TrainConfig(epochs=6, batch=64, rate=3e-2)
    wild = torch.where(fold == 0, -3 * y, y)  # what member 0 is judged by, and nobody else
    members = 3
    clean, _, _ = fit(x, y, split_by_fold(fold, members), config)
    stack = Stack(members, Shape(inputs=D, outputs=1, width=16, depth=2), 0)
    outcomes = torch.stack([wild, y, y])

    def loss(rows):
        return (stack(x[rows])[..., 0] - outcomes.gather(1, rows)).square().mean(1)

    train(stack, loss, split_by_fold(fold, members), config, 0)
    assert torch.equal(weights_of(stack, 0), weights_of(clean, 0))


def test_the_losses_of_others_leave_out_the_own_fold():
    losses = torch.tensor([1.0, 2.0, 6.0, 3.0])
    folds = torch.tensor([0, 1, 2, 0])
    found = losses_of_others(losses, folds).tolist()
    assert found == pytest.approx([4.0, 10 / 3, 2.0, 4.0])
    assert losses_of_others(losses, torch.zeros(4)).tolist() == losses.tolist()
