import shutil

import pytest

from tests.serve.http.asking import make_store, open_app


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A store with two versions, made once."""
    return make_store(tmp_path_factory.mktemp("made") / "store").path


@pytest.fixture(scope="session")
def app(made):
    """A service that no test changes."""
    return open_app(made, constraints=True)


@pytest.fixture
def own(made, tmp_path):
    """A store of a test's own."""
    shutil.copytree(
        made, tmp_path / "store", symlinks=True, ignore=shutil.ignore_patterns("decisions")
    )
    return tmp_path / "store"
