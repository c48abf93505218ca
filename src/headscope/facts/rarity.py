"""How rare a thing is among the heads of a model: what every head does says nothing about one of them."""

import math


def rarity(doing: int, heads: int) -> float:
    """1 for what one head alone does, 0 for what all do; between them by the logarithm of their share."""
    return math.log(heads / doing) / math.log(heads) if heads > 1 and doing > 0 else 1.0
