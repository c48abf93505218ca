from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_fits() -> Iterator[None]:
    """Fewer rounds and draws than users get: what is tested here is where the numbers go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headscope.kinds.stability.ROUNDS", 2)
        patch.setattr("headscope.kinds.stability.STARTS", 1)
        patch.setattr("headscope.kinds.clusters.NULL_DRAWS", 19)
        patch.setattr("headscope.kinds.likeness.PERMUTATIONS", 99)
        yield
