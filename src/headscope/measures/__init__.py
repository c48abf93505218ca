"""The measures: one file each, all reached through MEASURES."""

from headscope.measures.base import MEASURES, Measure
from headscope.measures.distance_features import DistanceFeatures
from headscope.measures.entropy import Entropy
from headscope.measures.example_map import ExampleMap
from headscope.measures.explained import Explained
from headscope.measures.head_distance import HeadDistance, SampledHeadDistance
from headscope.measures.loudness import Loudness
from headscope.measures.named_patterns import NamedPatterns
from headscope.measures.offset_attention import OffsetAttention
from headscope.measures.role_attention import RoleAttention

__all__ = [
    "MEASURES",
    "DistanceFeatures",
    "Entropy",
    "ExampleMap",
    "Explained",
    "HeadDistance",
    "Loudness",
    "Measure",
    "NamedPatterns",
    "OffsetAttention",
    "RoleAttention",
    "SampledHeadDistance",
]
