"""Watching attention in the real model."""

from headscope.capture.capture import Capture, survey

__all__ = ["Capture", "survey"]
