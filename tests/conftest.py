"""What all tests share."""

import math

import pytest


@pytest.fixture
def no_log_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a run would tell how far it is, between the lines that tests look at."""
    monkeypatch.setattr("headscope.run.progress.FIRST_LINE_AFTER", math.inf)
