"""Known kinds of heads in decoders: previous token, duplicate, induction, sink, copying, retrieval."""

from headscope.known_heads.needle import Needle
from headscope.known_heads.result import KnownResult
from headscope.known_heads.run import known

__all__ = ["KnownResult", "Needle", "known"]
