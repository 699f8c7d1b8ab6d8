"""Labels made by hand."""

import numpy as np

from realloc.learn.memory.moves import Labels


def make_labels(n, window=0, seed=0, members=2, channels=3, places=2):
    """Random labels of one window; `x[:, 0]` numbers the rows."""
    random = np.random.default_rng([seed, window])
    x = random.normal(size=(n, 3)).astype(np.float32)
    x[:, 0] = np.arange(n)
    source = random.integers(0, channels, (n, places))
    return Labels(
        x=x,
        shares=random.dirichlet(np.ones(channels), (n, places)).astype(np.float32),
        source=source.astype(np.int16),
        target=((source + 1) % channels).astype(np.int16),
        step=random.choice([0.01, 0.05], (n, places)).astype(np.float32),
        pair=random.normal(size=(members, n, places)).astype(np.float32),
        field=random.normal(size=(members, n, places, channels)).astype(np.float32),
        window=np.full(n, window),
        rank=random.random(n),
    )
