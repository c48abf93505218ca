"""Find a head by example: arrows between words in, the heads that look along them out."""

from headscope.search.find import find
from headscope.search.result import Search

__all__ = ["Search", "find"]
