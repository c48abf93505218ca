"""Watching and changing attention in the real model."""

from headscope.capture.call import AttentionCall
from headscope.capture.capture import Capture, survey, surveyed
from headscope.capture.finite import FiniteCheck, nan_advice
from headscope.capture.follow import Follower, Forward, check_reachable, following, run_calls
from headscope.capture.retain import retained
from headscope.capture.scores import TextScores

__all__ = [
    "AttentionCall",
    "Capture",
    "FiniteCheck",
    "Follower",
    "Forward",
    "TextScores",
    "check_reachable",
    "following",
    "nan_advice",
    "retained",
    "run_calls",
    "survey",
    "surveyed",
]
