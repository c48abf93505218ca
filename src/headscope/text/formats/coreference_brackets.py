"""Brackets that mark mentions: matched inside each sentence, the broken ones told and left out."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

WHOLE = (1, 1)
"""The part of a mention that is in one piece: the first of one."""


@dataclass(frozen=True)
class MentionSpan:
    """The words of a sentence that stand for an entity."""

    entity: str
    words: tuple[int, ...]


@dataclass(frozen=True)
class _Piece:
    entity: str
    part: tuple[int, int]  # number from 1, and how many there are
    start: int
    end: int
    where: str


class Brackets:
    """The brackets of one document, sentence by sentence.

    A closing bracket belongs to the latest open one of its entity. A mention must open and close in one sentence;
    one that does not is told and dropped, and the others stay.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """`tell` is called with `file:line: reason` for every mention that is dropped."""
        self._tell = tell
        self._open: list[_Piece] = []
        self._pieces: list[_Piece] = []
        # Told when their sentence ended: a later closing bracket of theirs is not told a second time.
        self._never_closed: Counter[str] = Counter()

    def open(self, entity: str, start: int, where: str, *, part: tuple[int, int] = WHOLE) -> None:
        """A mention begins at word `start`."""
        self._open.append(_Piece(entity, part, start, start, where))

    def close(self, entity: str, end: int, where: str, *, part: tuple[int, int] = WHOLE) -> None:
        """A mention ends before word `end`."""
        for place in reversed(range(len(self._open))):
            piece = self._open[place]
            if (piece.entity, piece.part) == (entity, part):
                del self._open[place]
                self._pieces.append(_Piece(entity, part, piece.start, end, piece.where))
                return
        if self._never_closed[entity]:
            self._never_closed[entity] -= 1
        else:
            self._tell(
                f"{where}: closes a mention of entity {entity[:20]!r} that was not opened in this sentence; "
                "add its opening bracket"
            )

    def end_sentence(self) -> list[MentionSpan]:
        """The mentions of the sentence that ends here."""
        for piece in self._open:
            self._tell(
                f"{piece.where}: opens a mention of entity {piece.entity[:20]!r} that is not closed in this "
                "sentence; add its closing bracket"
            )
            self._never_closed[piece.entity] += 1
        pieces = sorted(self._pieces, key=lambda one: (one.start, -one.end))
        self._open, self._pieces = [], []
        return [span for parts in self._joined(pieces) if (span := self._span(parts)) is not None]

    def _joined(self, pieces: list[_Piece]) -> list[list[_Piece]]:
        """Pieces by mention: a further part belongs to the latest mention that waits for it."""
        mentions: list[list[_Piece]] = []
        for piece in pieces:
            number, total = piece.part
            waiting = (
                one
                for one in reversed(mentions)
                if one[0].entity == piece.entity and one[-1].part == (number - 1, total)
            )
            if (mention := next(waiting, None)) is not None:
                mention.append(piece)
            else:
                mentions.append([piece])
        return mentions

    def _span(self, parts: list[_Piece]) -> MentionSpan | None:
        first, last = parts[0], parts[-1]
        if first.part[0] != 1 or last.part[0] != last.part[1]:
            self._tell(
                f"{first.where}: part {first.part[0]} of {first.part[1]} of a mention of entity "
                f"{first.entity[:20]!r} without the other parts in this sentence; add them"
            )
            return None
        words = sorted({word for part in parts for word in range(part.start, part.end)})
        if not words:
            self._tell(f"{first.where}: a mention of entity {first.entity[:20]!r} that holds no word")
            return None
        return MentionSpan(first.entity, tuple(words))
