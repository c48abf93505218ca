"""What all tests share."""

import math
from pathlib import Path

import pytest
from tests.helpers.tiny import tiny


@pytest.fixture
def no_log_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a run would tell how far it is, between the lines that tests look at."""
    monkeypatch.setattr("headscope.run.progress.FIRST_LINE_AFTER", math.inf)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of 3 x 4 heads that takes 64 tokens, as save_pretrained writes it."""
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    tiny("bert").network.save_pretrained(folder)
    tiny("bert").tokenizer.save_pretrained(folder)
    return folder
