"""Members in one stack are as good as alone."""

import torch

from realloc.learn.networks.stack import Shape, Stack

SHAPE = Shape(inputs=3, outputs=2, width=8, depth=2)


def random_stack(members=4, shape=SHAPE, seed=0):
    """A stack whose heads are not zero."""
    stack = Stack(members, shape, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for p in stack.parameters():
            p.add_(torch.randn(p.shape, generator=generator) * 0.5)
    return stack.double()


def one_of(stack, member):
    """One member as a stack of its own."""
    alone = Stack(1, SHAPE, 99).double()
    with torch.no_grad():
        for mine, theirs in zip(alone.parameters(), stack.parameters(), strict=True):
            mine.copy_(theirs[member : member + 1])
    return alone


def states(members=4, n=7, d=3, seed=5):
    return torch.randn(
        members, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def test_members_together_equal_the_same_members_one_by_one():
    stack, x = random_stack(), states()
    together = stack(x)
    for i in range(stack.members):
        assert torch.allclose(together[i], one_of(stack, i)(x[i : i + 1])[0], atol=1e-12)
    assert not torch.allclose(together[0], one_of(stack, 1)(x[0:1])[0], atol=0.1)


def test_a_new_stack_gives_zero_everywhere():
    shape = Shape(inputs=3, outputs=2, width=8)
    stack = Stack(2, shape, 0)
    assert torch.equal(stack(states(2).float()), torch.zeros(2, 7, 2))
    assert (
        stack.hidden(states(2).float()).abs().min() > 0
    )  # the head is zero, the rest is not


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    a, b, c = (list(Stack(2, SHAPE, seed).weights) for seed in (3, 3, 4))
    assert all(torch.equal(v, w) for v, w in zip(a, b, strict=True))
    assert not any(torch.equal(v, w) for v, w in zip(a, c, strict=True))


def test_members_start_different_from_each_other():
    first = Stack(3, SHAPE, 0).weights[0]
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[1], first[2])


def test_the_global_random_state_is_neither_read_nor_moved():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    Stack(2, SHAPE, 0)
    assert torch.equal(before, torch.get_rng_state())


def test_changing_one_member_leaves_the_others_to_the_last_bit():
    stack, x = random_stack(), states()
    before = stack(x)
    with torch.no_grad():
        for p in stack.parameters():
            p[2] += 1.0
    after = stack(x)
    others = [0, 1, 3]
    assert torch.equal(before[others], after[others])
    assert not torch.allclose(before[2], after[2])


def test_the_linear_path_alone_is_a_linear_function():
    stack, x = Stack(4, SHAPE, 0).double(), states()
    with torch.no_grad():
        stack.path.copy_(random_stack().path)
    assert torch.allclose(stack(x), x @ stack.path, atol=1e-12)
