"""The tests of kinds of heads take as many rounds and draws as users do."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def few_fits() -> None:
    """In place of the fixture that all other tests have."""
