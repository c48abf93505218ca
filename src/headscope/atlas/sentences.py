"""Sentences with a head at work on them, kept as lines of JSON so that they can be shown without the model."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, TypeVar

from headscope.errors import AtlasError, OptionError
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
    looked_at: bool | None = None  # whether the asking word is looked at, and does not look itself

    decimals: ClassVar[int] = 4

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

    @property
    def is_whole(self) -> bool:
        """Whether the places and weights fit the words; an atlas from elsewhere may hold anything."""
        places = (self.asking, self.guess, *self.right)
        return len(self.weights) == len(self.words) and all(0 <= place < len(self.words) for place in places)


@dataclass(frozen=True)
class Typical:
    """Where each word of a sentence looks most, in a head that is most like itself there."""

    head: HeadId
    words: tuple[str, ...]  # those that look; special tokens in their place
    keys: tuple[str, ...] | None  # what is looked at; None where it is the words themselves
    looks_at: tuple[int, ...]  # (word,) the place, in keys or words, that a word looks at most
    weights: tuple[float, ...]  # (word,) the attention that goes there
    likeness: float  # cosine of what the head does here with what it does on the whole
    takes_from: tuple[int, ...] | None = (
        None  # (word,) the place that most is moved from; None where not known
    )
    moved: tuple[float, ...] | None = None  # (word,) the share of what is moved that comes from there

    decimals: ClassVar[int] = 3

    @property
    def by_moved(self) -> "Typical | None":
        """The same by what is moved, as if that were attention; None where it is not known."""
        if self.takes_from is None or self.moved is None:
            return None
        return replace(self, looks_at=self.takes_from, weights=self.moved, takes_from=None, moved=None)

    @property
    def targets(self) -> tuple[str, ...]:
        """(word,) what each word looks at most."""
        seen = self.words if self.keys is None else self.keys
        return tuple(seen[place] for place in self.looks_at)

    @property
    def is_whole(self) -> bool:
        """Whether the places and numbers fit the words; an atlas from elsewhere may hold anything."""
        count = len(self.words if self.keys is None else self.keys)
        fits = len(self.words) == len(self.looks_at) == len(self.weights)
        moved = self.by_moved
        return (
            fits and all(0 <= place < count for place in self.looks_at) and (moved is None or moved.is_whole)
        )


Kept = TypeVar("Kept", Example, Typical)


def as_line(sentence: Example | Typical) -> str:
    """One line of JSON, weights to so many `decimals`, how typical it is to four."""
    fields = asdict(sentence) | {
        "head": str(sentence.head),
        "weights": [round(weight, sentence.decimals) for weight in sentence.weights],
    }
    if isinstance(sentence, Typical):
        first = {"head": fields.pop("head"), "likeness": round(fields.pop("likeness"), 4)}
        fields = first | fields
        if sentence.moved is None:
            del fields["takes_from"], fields["moved"]
        else:
            fields["moved"] = [round(share, sentence.decimals) for share in sentence.moved]
    return json.dumps(fields, ensure_ascii=False)


def from_line(kind: type[Kept], line: str) -> Kept:
    """What a line of JSON stands for; an AtlasError where it is none of this kind."""
    try:
        fields: dict[str, Any] = json.loads(line)
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
        sentence = kind(**fields | {"head": HeadId.parse(fields["head"])})
        _check_types(fields)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OptionError) as error:
        name = kind.__name__.lower()
        raise AtlasError(
            f"the atlas holds a damaged sentence ({name}: {line[:40]!r}); make it again with: headscope analyze"
        ) from error
    return sentence


_PLACES, _WORDS, _SHARES = ("right", "looks_at", "takes_from"), ("words", "keys"), ("weights", "moved")


def _check_types(fields: Mapping[str, Any]) -> None:
    """Raise TypeError where a list does not hold what it should, or a place is no number."""
    for names, kinds in ((_PLACES, int), (_WORDS, str), (_SHARES, (int, float))):
        for name in names:
            values = fields.get(name)
            if values is not None and not (
                isinstance(values, tuple) and all(isinstance(value, kinds) for value in values)
            ):
                raise TypeError(name)
    for name, kinds in (("asking", int), ("guess", int), ("likeness", (int, float)), ("label", str)):
        if not isinstance(fields.get(name, kinds() if isinstance(kinds, type) else 0.0), kinds):
            raise TypeError(name)
