import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_fits(few_fits: None) -> None:
    """What is tested here is where the numbers go."""
