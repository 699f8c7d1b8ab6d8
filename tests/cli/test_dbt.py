"""`realloc dbt` writes the file once, and says where."""

import yaml

CONFIG = """[schema]
unit = "item"
time = "date"
outcome = "orders"
channels = ["ads", "coupon"]
"""


def test_the_file_is_written_and_not_overwritten(run, tmp_path):
    (tmp_path / "realloc.toml").write_text(CONFIG)
    names = ["--logs", "stg_logs", "--recommendations", "recs"]
    assert "schema.yml" in run("dbt", "realloc.toml", *names, cwd=tmp_path).stdout
    made = yaml.safe_load((tmp_path / "schema.yml").read_text(encoding="utf-8"))
    assert [model["name"] for model in made["models"]] == ["stg_logs", "recs"]
    assert "Expected no file" in run("dbt", "realloc.toml", cwd=tmp_path, code=2).stderr
    run("dbt", "realloc.toml", "--force", cwd=tmp_path)


def test_a_config_that_is_not_there_is_one_message(run, tmp_path):
    assert "there is none" in run("dbt", "absent.toml", cwd=tmp_path, code=2).stderr
