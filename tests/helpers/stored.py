"""What pages store, read back as the front end does it."""

import zlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inflated(chunk: bytes) -> bytes:
    """What `deflated` was given."""
    return zlib.decompress(chunk, wbits=-zlib.MAX_WBITS)


def read_maps(chunk: bytes, table: list[float], *, heads: int, queries: int, keys: int) -> Array:
    """(head, query, key) the weights of a stored layer, of one byte each or two."""
    planes = np.frombuffer(inflated(chunk), dtype=np.uint8).reshape(-1, heads, queries, keys)
    levels, codes = np.asarray(table), planes[0].astype(np.intp)
    found: Array = levels[codes]
    if len(planes) > 1:
        middles = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2, [1.0]])
        low, high = middles[codes], middles[codes + 1]
        found = low + (high - low) * planes[1] / (255)
    return found
