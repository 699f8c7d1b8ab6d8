"""Faults of processes, not of the power supply: bytes need not reach the disk, so hundreds of
commits take seconds.
"""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)
