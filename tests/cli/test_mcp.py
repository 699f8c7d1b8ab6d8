"""`realloc mcp` needs a store; tests/report/test_mcp.py talks to the server itself."""


def test_a_store_that_is_not_there_is_one_message(run, tmp_path):
    said = run("mcp", "--store", tmp_path / "absent", cwd=tmp_path, code=2).stderr
    assert "Expected a store" in said
