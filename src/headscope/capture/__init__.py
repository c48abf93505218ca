"""Watching and changing attention in the real model."""

from headscope.capture.call import AttentionCall
from headscope.capture.finite import FiniteCheck, nan_advice
from headscope.capture.follow import (
    Capture,
    Follower,
    Forward,
    check_reachable,
    check_single,
    following,
    retained,
    run_calls,
)
from headscope.capture.projection import Carrier, OutputProjection, output_projections
from headscope.capture.scores import TextScores
from headscope.capture.surveying import attention_modules, survey, surveyed
