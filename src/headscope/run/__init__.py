"""Running the main job."""

from headscope.run.local import analyze

__all__ = ["analyze"]
