"""The numbers of attention maps by loops that numba compiles (`headscope[fast]`), each map while it is in cache.

What they are stands in `pattern_numbers` and `pattern_blocks`, which give the same in torch, to rounding.
"""

from headscope.kinds.compiled.blocks import Blocks
from headscope.kinds.compiled.maps import map_numbers

__all__ = ["Blocks", "map_numbers"]
