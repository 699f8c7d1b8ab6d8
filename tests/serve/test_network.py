import numpy as np
import torch

from realloc.base.numerics.row_stable import cut, in_tiles, join
from realloc.learn.networks.stack import Shape, Stack
from realloc.learn.support import correction
from realloc.serve.network import read_network
from realloc.serve.support import build_correction


def test_a_network_answers_as_it_does_with_torch():
    for path in (True, False):
        stack = Stack(3, Shape(inputs=7, outputs=5, width=16, depth=2, linear_path=path), 0)
        torch.nn.init.normal_(stack.head, generator=torch.Generator().manual_seed(1))
        x = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
        weights = {name: values.detach().numpy() for name, values in stack.state_dict().items()}
        network = read_network(weights, 7, 5)
        found = in_tiles(lambda tiles, network=network: network(tiles).transpose(0, 2, 1, 3), x)
        with torch.no_grad():
            wanted = stack(torch.from_numpy(x).expand(3, -1, -1)).numpy().transpose(1, 0, 2)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_supports_network_answers_as_it_does_with_torch():
    stack = Stack(4, correction.shape(6, 2), 3)
    torch.nn.init.normal_(stack.head, generator=torch.Generator().manual_seed(1))
    stack.requires_grad_(False)
    x = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    wanted = correction.Correction(stack, 0.7).at(x)
    found = build_correction(
        0.7, {name: values.numpy() for name, values in stack.state_dict().items()}, 6, 2
    ).at(x)
    for name in ("centre", "log_scale", "centre_variance", "scale_variance"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), rtol=1e-4, atol=1e-6
        )


def test_tiles_hold_all_rows_whatever_their_number():
    for n in (0, 1, 15, 16, 17, 2000):
        rows = np.arange(2.0 * n).reshape(n, 2)
        assert np.array_equal(join(cut(rows, 16), n), rows)
        assert np.array_equal(in_tiles(lambda tiles: tiles + 1, rows), rows + 1)
