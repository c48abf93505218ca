"""A head at work on one text: what a probe keeps so that a picture can be drawn without the model."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headscope.types import HeadId

_INWARD = ("head_to_dependent", "antecedent_to_mention", "argument_to_predicate")


@dataclass(frozen=True)
class Example:
    """One case of a probe: the word that asks, where its head looks, and what would be right."""

    probe: str  # dependency, coreference, relations
    label: str  # the relation, mention class or role
    direction: str
    head: HeadId
    words: tuple[str, ...]
    asking: int  # index of the word the case is about
    right: tuple[int, ...]  # the words that would be right
    guess: int  # the word the head chose
    weights: tuple[float, ...]  # (word,) attention between the asking word and every word, in that direction
    name: str  # the sentence's id, or where it stands
    looked_at: bool | None = (
        None  # whether the asking word is looked at, and does not look itself; None: see below
    )

    @property
    def is_inward(self) -> bool:
        """Whether the asking word is looked at; an atlas of an older headscope tells it by the direction's name."""
        return self.direction in _INWARD if self.looked_at is None else self.looked_at

    @property
    def is_right(self) -> bool:
        """Whether the head chose a right word."""
        return self.guess in self.right

    @property
    def confidence(self) -> float:
        """The attention to the chosen word."""
        return self.weights[self.guess]


def as_text(example: Example) -> str:
    """One line of JSON, weights to four decimals."""
    return json.dumps(
        asdict(example) | {"head": str(example.head), "weights": [round(w, 4) for w in example.weights]},
        ensure_ascii=False,
    )


def from_text(line: str) -> Example:
    """The example a line of JSON stands for."""
    found: dict[str, Any] = json.loads(line)
    numbers: Sequence[str] = ("words", "right", "weights")
    found |= {key: tuple(found[key]) for key in numbers}
    return Example(**found | {"head": HeadId.parse(found["head"])})
