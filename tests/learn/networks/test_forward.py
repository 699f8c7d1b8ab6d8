import numpy as np
import pytest
import torch

from realloc.learn.networks.forward import read_network
from realloc.learn.networks.stack import Shape, Stack


def random_weights():
    stack = Stack(3, Shape(inputs=7, outputs=5, width=16, depth=2), 0)
    torch.nn.init.normal_(stack.head, generator=torch.Generator().manual_seed(1))
    return stack, {
        name: values.detach().numpy() for name, values in stack.state_dict().items()
    }


def test_a_network_answers_as_it_does_with_torch():
    stack, weights = random_weights()
    x = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    with torch.no_grad():
        wanted = stack(torch.from_numpy(x).expand(3, -1, -1)).numpy().transpose(1, 0, 2)
    np.testing.assert_allclose(read_network(weights, 7, 5)(x), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: weights.pop("head"),
        lambda weights: weights.pop("gains.1"),
        lambda weights: weights.update(more=np.zeros(3, np.float32)),
        lambda weights: weights.update(head=weights["head"].astype(np.float64)),
        lambda weights: weights.update({"weights.0": weights["weights.0"][:, 1:]}),
    ],
    ids=["no head", "no gain", "a part too many", "another dtype", "fewer inputs"],
)
def test_weights_that_do_not_fit_together_are_refused(change):
    _, weights = random_weights()
    change(weights)
    with pytest.raises((ValueError, KeyError)):
        read_network(weights, 7, 5)
