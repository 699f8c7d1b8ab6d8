"""What one test per pair of channels does for gains that a hidden cause has biased.

    python experiments/tests_as_evidence.py        # two worlds, two seeds; resumable

Worlds of the zoo with demand or quality that nobody recorded. A test moves 5 % of the budget of
every row of the log from one channel to another; its readout is the true mean effect plus noise,
with a standard error of a fifth of the mean size of such effects. `before` and `after` are root
mean squared errors of gains of moves towards other rows' shares (at most .2 long) on other units,
and `fell` is how much less the second is. `wrong`: one test of each log in turn comes out with its
sign turned and twice the size; how many of them are left out, and how many right ones with them.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

import realloc
from realloc.learn.tested import learn_from_tests
from realloc.model.experiments import ExperimentResult, apply_experiments, read_test
from realloc.world.zoo import ZooSample, ZooWorld
from runner import Figures, Study, arguments, conclude, describe, interval, markdown

WORLDS = ("unseen_demand", "unseen_quality")
SEEDS = (331, 332)
SHARE = 0.05
PRECISION = 0.2
LONGEST = 0.2


def cell(key: str, units: int | None = None) -> Figures:
    """One world of one seed."""
    name, number = key.split("/")
    seed = int(number)
    world = ZooWorld(name, seed)
    train = world.draw(units, seed=0)
    test = world.draw(400, 5, seed=1)
    config = realloc.Config.fast(seed=seed)
    model = realloc.ReAlloc(config, quiet=True).fit(train.logs)
    tests = draw_tests(train, seed)
    state = apply_experiments(model.fitted, train.logs, tests, config.decision)
    random = np.random.default_rng(seed)
    start = np.array(test.logs.shares)
    way = start[random.permutation(len(start))] - start
    length = np.linalg.norm(way, axis=1, keepdims=True)
    ends = start + way * np.minimum(1.0, LONGEST / np.maximum(length, 1e-9))
    true = test.gain(ends)
    before, after = (
        float(np.sqrt(np.square(one.gain(test.logs, ends).mean(axis=0) - true).mean()))
        for one in (model.fitted, state)
    )
    readings = tuple(
        read_test(model.fitted, train.logs, one, config.decision) for one in tests
    )
    hidden = model.fitted.main.hidden
    caught = mistaken = 0
    for number in range(len(readings)):
        turned = replace(readings[number], effect=-2 * readings[number].effect)
        mixed = (*readings[:number], turned, *readings[number + 1 :])
        found = [one.left_out for one in learn_from_tests(mixed, hidden).tests]
        caught += found[number]
        mistaken += sum(found) - found[number]
    learned = state.main.tested
    return {
        "tests": len(tests),
        "disagree": sum(abs(one.apart) > 3 for one in learned.tests),
        "left_out": sum(one.left_out for one in learned.tests),
        "before": before,
        "after": after,
        "caught": caught,
        "mistaken": mistaken,
    }


def draw_tests(sample: ZooSample, seed: int) -> tuple[ExperimentResult, ...]:
    """One test per pair of channels, of all rows that can give."""
    channels = sample.logs.schema.channels
    shares = np.array(sample.logs.shares)
    random = np.random.default_rng([seed, 1])
    effects: list[tuple[str, str, float]] = []
    for source, target in combinations(range(len(channels)), 2):
        able = shares[:, source] >= SHARE
        ends = shares.copy()
        ends[able, source] -= SHARE
        ends[able, target] += SHARE
        effects.append(
            (channels[source], channels[target], float(sample.gain(ends)[able].mean()))
        )
    error = PRECISION * float(np.mean([abs(effect) for *_, effect in effects]))
    return tuple(
        ExperimentResult(
            name=f"{source} to {target}",
            source=source,
            target=target,
            share=SHARE,
            effect=effect + error * random.standard_normal(),
            error=error,
        )
        for source, target, effect in effects
    )


def report(cells: dict[str, Figures]) -> str:
    """One row per log, then what was asked for."""
    rows = [
        [
            key,
            f"{one['disagree']} of {one['tests']}",
            f"{one['before']:.3f}",
            f"{one['after']:.3f}",
            f"{1 - one['after'] / one['before']:.0%}",
            f"{one['caught']} of {one['tests']} ({one['mistaken']})",
        ]
        for key, one in cells.items()
    ]
    heads = [
        "world / seed",
        "tests that disagree with the log",
        "before",
        "after",
        "fell",
        "wrong tests left out (right ones)",
    ]
    fell = np.array([1 - one["after"] / one["before"] for one in cells.values()])
    low, high = interval(fell)
    line = (
        f"- The error of gains falls by {fell.mean():.0%} [{low:.0%}, {high:.0%}] over {len(fell)} "
        "logs (40 % was asked for)"
    )
    return "\n".join([*markdown(heads, rows), line, "", describe(cells), ""])


def main() -> None:
    given = arguments(__doc__).parse_args()
    seeds = given.seeds or (SEEDS[:1] if given.quick else SEEDS)
    keys = tuple(f"{world}/{seed}" for seed in seeds for world in WORLDS)
    name = "tests_as_evidence_quick" if given.quick else "tests_as_evidence"
    conclude(Study(name, cell, keys), given, report)


if __name__ == "__main__":
    main()
