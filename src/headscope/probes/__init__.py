"""Probes: what heads know of syntax, coreference, roles and linguistic features."""

from headscope.probes.features.probe import FeaturesProbe
from headscope.probes.pointing.coreference import CoreferenceProbe
from headscope.probes.pointing.dependency import DependencyProbe
from headscope.probes.pointing.relations import RelationsProbe

__all__ = [
    "CoreferenceProbe",
    "DependencyProbe",
    "FeaturesProbe",
    "RelationsProbe",
]
