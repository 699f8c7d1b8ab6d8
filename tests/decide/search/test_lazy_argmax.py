import numpy as np

from realloc.decide.search.lazy_argmax import best_allowed


def test_the_best_allowed_column_is_that_of_asking_about_all():
    random = np.random.default_rng(0)
    for _ in range(50):
        n, C = random.integers(1, 20), random.integers(1, 70)
        score = np.round(random.normal(size=(n, C)), 1)  # ties are common
        score[random.random((n, C)) < random.random()] = -np.inf
        allowed = random.random((n, C)) < random.random()
        masked = np.where(allowed, score, -np.inf)
        wanted = np.where(np.isfinite(masked).any(axis=1), masked.argmax(axis=1), -1)
        loose = allowed | (random.random((n, C)) < 0.5)

        def about(mask):
            return lambda rows, columns: mask[rows[:, None], columns]

        for quick in (None, about(loose), about(allowed)):
            assert best_allowed(score, about(allowed), quick).tolist() == wanted.tolist()


def test_where_the_best_is_allowed_nothing_else_is_asked():
    asked = []
    score = np.tile(np.arange(60.0), (5, 1))
    best_allowed(
        score,
        lambda rows, columns: asked.append(columns.size) or np.ones(columns.shape, bool),
    )
    assert asked == [5]
