"""Probes: what heads know of syntax, coreference, roles and linguistic features."""

from headscope.probes.coreference import CoreferenceProbe
from headscope.probes.dependency import DependencyProbe
from headscope.probes.features import FeaturesProbe
from headscope.probes.parser import ParserProbe
from headscope.probes.parser_table import parser_table
from headscope.probes.relations import RelationsProbe

__all__ = [
    "CoreferenceProbe",
    "DependencyProbe",
    "FeaturesProbe",
    "ParserProbe",
    "RelationsProbe",
    "parser_table",
]
