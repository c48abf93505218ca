"""A sentence on which a head is most like itself: what an analysis keeps so that a head can be shown at work."""

import json
from dataclasses import dataclass
from typing import Any

from headscope.types import HeadId


@dataclass(frozen=True)
class Typical:
    """Where each word of a sentence looks most, in a head that is typical there."""

    head: HeadId
    words: tuple[str, ...]  # those that look; special tokens in their place
    keys: tuple[str, ...] | None  # what is looked at; None where it is the words themselves
    looks_at: tuple[int, ...]  # (word,) the place, in keys or words, that a word looks at most
    weights: tuple[float, ...]  # (word,) the attention that goes there
    likeness: float  # cosine of what the head does here with what it does on the whole

    @property
    def targets(self) -> tuple[str, ...]:
        """(word,) what each word looks at most."""
        seen = self.words if self.keys is None else self.keys
        return tuple(seen[place] for place in self.looks_at)

    @property
    def is_whole(self) -> bool:
        """Whether the places and numbers fit the words; an atlas from elsewhere may hold anything."""
        count = len(self.words if self.keys is None else self.keys)
        return len(self.words) == len(self.looks_at) == len(self.weights) and all(
            0 <= place < count for place in self.looks_at
        )


def typical_as_text(one: Typical) -> str:
    """One line of JSON, weights to three decimals."""
    return json.dumps(
        {
            "head": str(one.head),
            "likeness": round(one.likeness, 4),
            "words": one.words,
            "keys": one.keys,
            "looks_at": one.looks_at,
            "weights": [round(weight, 3) for weight in one.weights],
        },
        ensure_ascii=False,
    )


def typical_from_text(line: str) -> Typical:
    """What a line of JSON stands for."""
    found: dict[str, Any] = json.loads(line)
    return Typical(
        head=HeadId.parse(found["head"]),
        words=tuple(found["words"]),
        keys=None if found["keys"] is None else tuple(found["keys"]),
        looks_at=tuple(found["looks_at"]),
        weights=tuple(found["weights"]),
        likeness=found["likeness"],
    )
