"""Decisions of the first seed of the static table, written or compared: did a change alter them?

python experiments/same_decisions.py before.npz           # with the code before
python experiments/same_decisions.py after.npz            # with the code after it
python experiments/same_decisions.py --compare before.npz after.npz
"""

import argparse

import numpy as np

import realloc

REGIMES = ("benign", "medium", "hard", "extreme")
TRAIN = {"units": 2000, "periods": 10, "seed": 0}
TEST = {"units": 400, "periods": 5, "seed": 1}


def decide(regime: str) -> dict[str, np.ndarray]:
    """Fit the default model on seed 1 of a regime and decide on fresh rows."""
    world = realloc.World(regime, 1)
    model = realloc.ReAlloc(realloc.Config(seed=1), quiet=True).fit(world.sample(**TRAIN))
    answers = model.recommend(world.sample(**TEST))
    channels = [name for name in answers.column_names if name.startswith("share_")]
    shares = np.stack([answers[name].to_numpy() for name in channels], axis=1)
    reasons = np.array(answers["reason"].to_pylist())
    return {"shares": shares, "gain": answers["gain"].to_numpy(), "reason": reasons}


def write(path: str) -> None:
    """All regimes into one file."""
    arrays = {}
    for regime in REGIMES:
        for name, values in decide(regime).items():
            arrays[f"{regime}.{name}"] = values
        print(f"{regime} decided", flush=True)
    np.savez(path, **arrays)


def compare(before: str, after: str) -> None:
    """Reasons, shares and gains of two files."""
    one = np.load(before)
    other = np.load(after)
    for regime in REGIMES:
        same = one[f"{regime}.reason"] == other[f"{regime}.reason"]
        apart = np.abs(one[f"{regime}.shares"] - other[f"{regime}.shares"]).max(axis=1)
        gains = [file[f"{regime}.gain"].mean() for file in (one, other)]
        print(
            f"{regime}: same reason in {same.sum():,} of {len(same):,} rows; shares apart by more "
            f"than 1e-6 in {(apart > 1e-6).sum()}, 1e-3 in {(apart > 1e-3).sum()} "
            f"(most {apart.max():.1e}); mean gain {gains[0]:.6f} and {gains[1]:.6f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--compare", action="store_true")
    asked = parser.parse_args()
    if asked.compare:
        compare(*asked.paths)
    else:
        write(*asked.paths)
