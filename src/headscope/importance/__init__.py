"""Gradient importance: what a task's loss says of every attention weight, and of every head."""

from headscope.facts.analyses.importance import agreement
from headscope.importance.gradients import KEY_ROLES
from headscope.importance.importance import ImportanceResult, gradient_importance

__all__ = ["KEY_ROLES", "ImportanceResult", "agreement", "gradient_importance"]
