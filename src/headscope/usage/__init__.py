"""Does the model use what a head finds? One edge removed, beside an edge as far and as strong."""

from headscope.usage.result import UsesResult
from headscope.usage.run import uses

__all__ = ["UsesResult", "uses"]
