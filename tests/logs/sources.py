"""What several tests of logs need: sources, and what was found in them."""

from realloc import check_source
from tests.conftest import SPENDS


def same(a, b):
    return a.to_arrow().equals(b.to_arrow())


def to_csv(frame, path, **options):
    frame.to_csv(path, index=False, **options)
    return path


def codes(source, schema=SPENDS, level=None):
    check = check_source(source, schema)
    return {finding.code for finding in check.findings if level in (None, finding.level)}
