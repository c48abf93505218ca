"""The measures: one file each, all reached through MEASURES; and what the author of one needs, in one import."""

from collections.abc import Mapping

from headscope.attention import AttentionBatch, LayerAttention, reads_values
from headscope.measures.base import MEASURES, Measure, PerTextMeasure, TextMean
from headscope.measures.distance_features import DistanceFeatures
from headscope.measures.entropy import Entropy, PublishedEntropy
from headscope.measures.example_map import ExampleMap
from headscope.measures.explained import Explained
from headscope.measures.head_distance import HeadDistance, PublishedHeadDistance, SampledHeadDistance
from headscope.measures.loudness import Loudness
from headscope.measures.named_patterns import NamedPatterns
from headscope.measures.offset_attention import OffsetAttention
from headscope.measures.role_attention import RoleAttention
from headscope.reductions import QueryGroup, class_mass, mean_entropy, mean_over_groups

PUBLISHED: Mapping[str, type[Measure]] = {"entropy": PublishedEntropy, "head_distance": PublishedHeadDistance}
"""By the name of a measure, the form that its paper's own code computes, where that is another one."""

__all__ = [
    "MEASURES",
    "PUBLISHED",
    "AttentionBatch",
    "DistanceFeatures",
    "Entropy",
    "ExampleMap",
    "Explained",
    "HeadDistance",
    "LayerAttention",
    "Loudness",
    "Measure",
    "NamedPatterns",
    "OffsetAttention",
    "PerTextMeasure",
    "PublishedEntropy",
    "PublishedHeadDistance",
    "QueryGroup",
    "RoleAttention",
    "SampledHeadDistance",
    "TextMean",
    "class_mass",
    "mean_entropy",
    "mean_over_groups",
    "reads_values",
]
