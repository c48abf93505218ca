"""Atlases with results that are slow to compute put in by hand, for tests of the views."""

from typing import Any

import numpy as np
from tests.helpers.atlases import probe_facts

from headscope.atlas import Atlas
from headscope.types import LabelledArray


def with_kinds(atlas: Atlas, kinds: np.ndarray[Any, Any]) -> Atlas:
    """The atlas with a kind (layer, head) for every head."""
    grid = {"layer": range(kinds.shape[0]), "head": range(kinds.shape[1])}
    arrays = {"head_type": LabelledArray(kinds, ("layer", "head"), grid, "kind of each head")}
    return atlas.with_probe("types", {"encoder": arrays}, facts=probe_facts(), table={}, examples={})
