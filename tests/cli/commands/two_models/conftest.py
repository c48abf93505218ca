"""What the commands on two models share: a second model."""

from pathlib import Path

import pytest
from tests.helpers.tiny import saved
from tests.helpers.two_models import moved


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny BERT with weights that moved."""
    return saved(moved("bert"), tmp_path_factory.mktemp("models") / "moved-bert")
