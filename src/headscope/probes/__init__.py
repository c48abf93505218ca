"""Probes: what heads know of syntax, coreference, roles and linguistic features."""

from headscope.probes.dependency import DependencyProbe

__all__ = ["DependencyProbe"]
