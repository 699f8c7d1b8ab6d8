"""`realloc console`: what is refused before it listens."""


def test_a_folder_that_is_no_store_is_refused(run, tmp_path):
    done = run("console", "--store", tmp_path / "none", code=2)
    assert "but there is no folder. `realloc fit` makes one." in done.stderr


def test_an_unknown_role_is_refused(run, tmp_path):
    done = run("console", "--store", tmp_path, "--role", "king", code=2)
    assert "king" in done.stderr
    assert "review" in done.stderr
