"""Minimal pairs: two sentences that differ in one word, of which one is right. BLiMP's files have one pair a line.

    {"sentence_good": "The keys on the table are old.", "sentence_bad": "The keys on the table is old."}

Where a line also has "dependent" and "governor", the words (by index from 0) that the relation is between, that edge is
tested; else each head's strongest edge at the word that differs. Other fields are passed over.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import TextError
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.files import given_files, shown
from headscope.text.formats.lines import json_kind, json_object, read_records
from headscope.text.sentences import clean
from headscope.text.words import WordText, word_spans

EXPECTED = '{"sentence_good": "...", "sentence_bad": "..."}'
GOOD, BAD = "sentence_good", "sentence_bad"
ENDS = ("dependent", "governor")


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences of as many words that differ in one of them."""

    good: WordText
    bad: WordText
    changed: int
    """The word that differs."""
    edge: tuple[int, int] | None
    """Dependent and governor, where the file says them."""
    document: int
    where: str  # file:line

    @property
    def signature(self) -> str:
        """All of it that matters, in writing."""
        return f"{self.good.text}\0{self.bad.text}\0{self.edge}\n"


class MinimalPairs(AnnotatedFiles):
    """Minimal pairs of files; lines that cannot be used are skipped and told in `skipped`, the others still count."""

    kind = "pairs"

    def __iter__(self) -> Iterator[MinimalPair]:
        """The pairs from the beginning; raises TextError when none can be used."""
        number = 0
        for stream in self._streams():
            for record in read_records(stream, lambda line: json_object(line, EXPECTED), self.skipped):
                where = f"{shown(stream.path)}:{stream.line_number}"
                try:
                    pair = _pair(record, number, where)
                except TextError as error:
                    self.skipped.add(f"{where}: {error}")
                    continue
                number += 1
                yield pair
        if not number:
            raise self.skipped.nothing_left(self.name, why=f"holds no pair; expected lines of {EXPECTED}")


def read_minimal_pairs(*paths: str | Path) -> MinimalPairs:
    """Minimal pairs of JSON lines, as BLiMP has them; missing files raise TextError right away."""
    return MinimalPairs(given_files("read_minimal_pairs", "pairs.jsonl", paths))


def _pair(record: Mapping[str, object], number: int, where: str) -> MinimalPair:
    good, bad = (_sentence(record, key) for key in (GOOD, BAD))
    if len(good) != len(bad):
        raise TextError(
            f"sentence_good has {len(good)} words and sentence_bad {len(bad)}; a minimal pair differs in one word"
        )
    differs = [
        word for word, pair in enumerate(zip(good.words, bad.words, strict=True)) if len(set(pair)) > 1
    ]
    if len(differs) != 1:
        raise TextError(f"the sentences differ in {len(differs)} words; a minimal pair differs in one")
    return MinimalPair(good, bad, differs[0], _edge(record, len(good)), number, where)


def _sentence(record: Mapping[str, object], key: str) -> WordText:
    if key not in record:
        raise TextError(f"no {key}; expected {EXPECTED}")
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise TextError(
            f"{key} is {'empty' if isinstance(value, str) else json_kind(value)}; expected a sentence"
        )
    text = clean(value.strip())
    return WordText(text, tuple(word_spans(text)))


def _edge(record: Mapping[str, object], words: int) -> tuple[int, int] | None:
    ends: Sequence[object] = [record.get(key) for key in ENDS]
    if ends == [None, None]:
        return None
    dependent, governor = (
        end if isinstance(end, int) and not isinstance(end, bool) and 0 <= end < words else None
        for end in ends
    )
    if dependent is None or governor is None or dependent == governor:
        raise TextError(
            f"dependent and governor are {ends}; expected two different words from 0 to {words - 1}"
        )
    return dependent, governor
