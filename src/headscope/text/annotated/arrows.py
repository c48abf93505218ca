"""Arrows between words of texts: what `find` is shown, by file, one text a line.

    {"text": "She read the book.", "arrows": [[3, 1]]}
    {"text": "She read the book.", "arrows": [[[13, 17], [4, 8]]]}

An arrow goes from the word that looks to the word that is looked at. A word is named by its index from 0 (words are
runs of letters and digits, other characters count one by one) or by its characters, [start, end], end excluded.
Characters make a word of their own: [4, 12] may span several words, or a part of one.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headscope.errors import TextError
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.files import given_files
from headscope.text.formats.lines import brief, check_keys, filled_string, json_object, read_records
from headscope.text.words import Span, WordText, word_spans

EXPECTED = '{"text": "...", "arrows": [[from, to], ...]}'
_WORD = "an index or [start, end] in characters"


class Arrow(NamedTuple):
    """From the word that looks to the word that is looked at, both by number."""

    source: int
    target: int


@dataclass(frozen=True)
class ArrowText:
    """A text with at least one arrow."""

    content: WordText
    arrows: tuple[Arrow, ...]
    document: int  # its number: each text is a document of its own
    where: str  # file:line

    @property
    def signature(self) -> str:
        """All of it that matters, in writing."""
        return json.dumps([self.content.text, self.content.spans, self.arrows]) + "\n"


class Arrows(AnnotatedFiles):
    """Texts with arrows, from files or from memory; can be iterated over as often as wanted.

    Lines and arrows that cannot be used are skipped and told in `skipped`; the others still count.
    """

    kind = "annotations"

    def __init__(self, paths: Sequence[Path] = (), records: Sequence[Mapping[str, object]] = ()) -> None:
        super().__init__(paths, name=None if paths else "arrows")
        self.records = tuple(records)

    def __iter__(self) -> Iterator[ArrowText]:
        """The texts from the beginning; raises TextError when none can be used."""
        number = 0
        for text in self.usable():
            yield ArrowText(text.content, text.arrows, number, text.where)
            number += 1
        if not number:
            raise self.skipped.nothing_left(self.name, why=f"holds no arrows; expected lines of {EXPECTED}")

    def usable(self) -> Iterator[ArrowText]:
        """The texts that can be used, be there none; all have the number 0."""
        for stream in self._streams():
            for record in read_records(stream, lambda line: json_object(line, EXPECTED), self.skipped):
                yield from self._usable(record, stream.where)
        for place, entry in enumerate(self.records):
            yield from self._usable(entry, f"{self.name}[{place}]")

    def _usable(self, record: Mapping[str, object], where: str) -> Iterator[ArrowText]:
        try:
            check_keys(record, ("text", "arrows"), EXPECTED)
            text, listed = filled_string(record, "text"), record["arrows"]
            if not isinstance(listed, list | tuple) or not listed:
                raise TextError(f"arrows is {brief(listed)}; expected [[from, to], ...]")
        except TextError as error:
            self.skipped.add(f"{where}: {error}")
            return
        words = word_spans(text)
        spans: dict[tuple[Span, Span], None] = {}
        for number, entry in enumerate(listed):
            try:
                spans[_arrow(entry, text, words, {span for pair in spans for span in pair})] = None
            except TextError as error:
                self.skipped.add(f"{where}: arrow {number}: {error}")
        if spans:
            content = WordText(text, tuple(_cut(words, {span for pair in spans for span in pair})))
            place = {span: word for word, span in enumerate(content.spans)}
            arrows = tuple(Arrow(place[source], place[target]) for source, target in spans)
            yield ArrowText(content, arrows, 0, where)


def read_arrows(*paths: str | Path) -> Arrows:
    """Texts with arrows from JSON lines; missing files raise TextError right away."""
    return Arrows(given_files("read_arrows", "arrows.jsonl", paths))


def as_arrows(arrows: Arrows | str | Path | Iterable[Mapping[str, object]]) -> Arrows:
    """Arrows as they are, of a file, or of records such as the lines of a file hold."""
    if isinstance(arrows, Arrows):
        return arrows
    return read_arrows(arrows) if isinstance(arrows, str | Path) else Arrows(records=list(arrows))


def _arrow(entry: object, text: str, words: Sequence[Span], used: set[Span]) -> tuple[Span, Span]:
    if not isinstance(entry, list | tuple) or len(entry) != 2:
        raise TextError(f"{brief(entry)} is no arrow; expected [from, to], each {_WORD}")
    source, target = (_span(word, text, words) for word in entry)
    for span, others in ((source, used), (target, {*used, source})):
        for other in others:
            if span != other and span[0] < other[1] and other[0] < span[1]:
                raise TextError(
                    f"the words {list(span)} and {list(other)} overlap; name each word in one way"
                )
    return source, target


def _span(word: object, text: str, words: Sequence[Span]) -> Span:
    """The characters of a word, named by its index or by its characters."""
    if isinstance(word, int) and not isinstance(word, bool):
        if not 0 <= word < len(words):
            raise TextError(f"there is no word {word}; the text has words 0 to {len(words) - 1}")
        return words[word]
    ends = word if isinstance(word, list | tuple) else ()
    if len(ends) != 2 or not all(isinstance(end, int) and not isinstance(end, bool) for end in ends):
        raise TextError(f"{brief(word)} is no word; expected {_WORD}")
    start, end = ends
    if not 0 <= start < end <= len(text):
        raise TextError(f"there are no characters {[start, end]}; the text has 0 to {len(text)}")
    if not text[start:end].strip():
        raise TextError(f"the characters {[start, end]} are white space")
    return start, end


def _cut(words: Iterable[Span], named: set[Span]) -> list[Span]:
    """The words of a text, those that were named by characters cut out of the others."""
    ends = sorted(named)
    left = []
    for begin, last in words:
        place = begin
        for start, end in ends:
            if end > place and start < last:
                left += [(place, start)] if start > place else []
                place = max(place, end)
        left += [(place, last)] if place < last else []
    return sorted([*left, *named])
