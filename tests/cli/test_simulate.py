"""`realloc simulate`: logs of both worlds, with cards that rebuild them."""

import json

import pyarrow.parquet as pq

from realloc import World, read_config, read_logs


def test_simulate_init_check_go_together(run, tmp_path):
    run(
        "simulate",
        "--regime",
        "hard",
        "--units",
        60,
        "--periods",
        5,
        "--seed",
        3,
        "--out",
        "logs.parquet",
        cwd=tmp_path,
    )
    assert "300 rows" not in run("init", "logs.parquet", cwd=tmp_path).stderr
    report = json.loads(
        run(
            "check", "logs.parquet", "--config", "realloc.toml", "--json", cwd=tmp_path
        ).stdout
    )
    assert report["ok"]
    assert report["variation"]["rows"] == 300
    schema, _ = read_config(tmp_path / "realloc.toml")
    assert len(read_logs(tmp_path / "logs.parquet", schema)) == 300


def test_the_card_rebuilds_the_world_bit_for_bit(run, tmp_path):
    run(
        "simulate",
        "--units",
        20,
        "--periods",
        3,
        "--seed",
        5,
        "--sample-seed",
        2,
        "--out",
        tmp_path / "logs.parquet",
    )
    card = json.loads((tmp_path / "world.json").read_text())
    size = card.pop("sample")
    again = World.from_card(card).sample(
        units=size["units"], periods=size["periods"], seed=size["sample_seed"]
    )
    assert pq.read_table(tmp_path / "logs.parquet").equals(again.to_arrow())


def test_simulating_the_marketplace(run, tmp_path):
    run(
        "simulate",
        "--world",
        "platform",
        "--units",
        50,
        "--periods",
        6,
        "--channels",
        2,
        "--out",
        tmp_path / "market",
    )
    assert json.loads((tmp_path / "world.json").read_text())["sample"]["units"] == 50
    assert len(list((tmp_path / "market").rglob("*.parquet"))) >= 6
    run(
        "simulate",
        "--world",
        "platform",
        "--units",
        50,
        "--periods",
        6,
        "--channels",
        2,
        "--out",
        tmp_path / "m.csv",
    )
    run("init", tmp_path / "market", "--out", tmp_path / "a.toml")
    run("init", tmp_path / "m.csv", "--out", tmp_path / "b.toml")
    a, b = read_config(tmp_path / "a.toml")[0], read_config(tmp_path / "b.toml")[0]
    assert (a.unit, a.time, a.channels, a.outcome, set(a.features)) == (
        b.unit,
        b.time,
        b.channels,
        b.outcome,
        set(b.features),
    )


def test_every_output_has_a_card_of_its_own(run, tmp_path):
    for name, seed in (("train", 1), ("test", 2), ("train", 3)):
        run(
            "simulate",
            "--units",
            5,
            "--periods",
            2,
            "--seed",
            seed,
            "--out",
            tmp_path / f"{name}.parquet",
            "--force",
        )
    cards = {
        path.name: json.loads(path.read_text()) for path in tmp_path.glob("*world.json")
    }
    assert {
        name: (card["sample"]["file"], card["seed"]) for name, card in cards.items()
    } == {
        "world.json": ("train.parquet", 3),
        "test.world.json": ("test.parquet", 2),
    }


def test_simulate_never_overwrites_a_file_of_yours(run, tmp_path):
    mine = tmp_path / "logs.parquet"
    mine.write_bytes(b"years of work")
    failed = run("simulate", "--units", 5, "--out", mine, code=2)
    assert "exists already" in failed.stderr
    assert mine.read_bytes() == b"years of work"
    assert list(tmp_path.iterdir()) == [mine]
    other = tmp_path / "photos"
    other.mkdir()
    (other / "1.jpg").write_bytes(b"summer")
    lake = ("simulate", "--world", "platform", "--units", 5, "--out", other)
    assert "exists already" in run(*lake, code=2).stderr
    assert "it may be yours" in run(*lake, "--force", code=2).stderr
    assert (other / "1.jpg").read_bytes() == b"summer"


def test_an_interrupted_simulation_leaves_nothing(run, tmp_path, monkeypatch):
    def cut(self, folder, *_):
        folder.mkdir()
        (folder / "half.parquet").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("realloc.world.platform.Marketplace.write", cut)
    said = run(
        "simulate",
        "--world",
        "platform",
        "--units",
        5,
        "--out",
        tmp_path / "lake",
        code=130,
    ).stderr
    assert "interrupted" in said
    assert list(tmp_path.iterdir()) == []
