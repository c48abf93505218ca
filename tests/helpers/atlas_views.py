"""Atlases with results that are slow to compute put in by hand, for tests of the views."""

from typing import Any

import numpy as np
from tests.helpers.atlases import probe_facts

from headscope.atlas import Atlas
from headscope.pages.shapes.head import Bar, HeadPage, Section
from headscope.types import LabelledArray


def section_of(page: HeadPage, key: str) -> Section | None:
    """The section of one analysis on a head's page; None where there is none."""
    return next((section for section in page.sections if section.key == key), None)


def bars_of(page: HeadPage, key: str) -> list[Bar]:
    """All numbers of one analysis on a head's page."""
    section = section_of(page, key)
    return (
        [] if section is None else [bar for chart in (*section.charts, *section.folded) for bar in chart.bars]
    )


def with_kinds(atlas: Atlas, kinds: np.ndarray[Any, Any]) -> Atlas:
    """The atlas with a kind (layer, head) for every head."""
    grid = {"layer": range(kinds.shape[0]), "head": range(kinds.shape[1])}
    arrays = {"head_type": LabelledArray(kinds, ("layer", "head"), grid, "kind of each head")}
    return atlas.with_probe("types", {"encoder": arrays}, facts=probe_facts(), table={}, examples={})
