"""Watching and changing attention in the real model."""

from headscope.capture.call import AttentionCall
from headscope.capture.capture import Capture, survey, surveyed
from headscope.capture.follow import Follower, Forward, following
from headscope.capture.retain import retained

__all__ = ["AttentionCall", "Capture", "Follower", "Forward", "following", "retained", "survey", "surveyed"]
