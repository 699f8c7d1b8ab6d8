"""Errors of users: one base for all, and Python's own kinds beside it."""

import pytest

from realloc.base import errors
from realloc.base.errors import (
    ArtifactError,
    ConfigError,
    LedgerError,
    LogError,
    MissingExtra,
    PublishError,
    ReallocError,
    StoreError,
)


def test_every_error_of_a_user_is_caught_by_the_base():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert len(kinds) >= 8
    assert all(issubclass(kind, ReallocError) for kind in kinds)


@pytest.mark.parametrize(
    "kind", [LogError, ConfigError, ArtifactError, StoreError, LedgerError]
)
def test_bad_input_is_a_value_error_with_its_message(kind):
    with pytest.raises(ValueError, match=r"^Expected 2 channels, got 1\.$"):
        raise kind("Expected 2 channels, got 1.")


def test_a_missing_package_is_an_import_error_and_a_limit_is_no_bad_value():
    assert issubclass(MissingExtra, ImportError)
    assert not issubclass(PublishError, ValueError)
