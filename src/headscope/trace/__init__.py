"""Watching and changing attention in the real model."""

from headscope.trace.call import AttentionCall
from headscope.trace.finite import FiniteCheck, nan_advice
from headscope.trace.follow import (
    Capture,
    Follower,
    Forward,
    check_reachable,
    check_single,
    following,
    retained,
    run_calls,
)
from headscope.trace.inspection import attention_modules, survey, surveyed
from headscope.trace.output_projection import Carrier, OutputProjection, output_projections
from headscope.trace.scores import TextScores
