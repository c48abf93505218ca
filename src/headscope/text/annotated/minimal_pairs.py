"""Minimal pairs: two sentences that differ in one word, of which one is right. BLiMP's files have one pair a line.

    {"sentence_good": "The keys on the table are old.", "sentence_bad": "The keys on the table is old."}

Where a line also has "dependent" and "governor", the words (by index from 0) that the relation is between, that edge is
tested; else each head's strongest edge at the word that differs. Other fields are passed over.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import TextError
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.files import given_files
from headscope.text.formats.lines import check_keys, filled_string, is_index, json_object, read_records
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
            for pair in read_records(stream, _pair, self.skipped):
                yield MinimalPair(*pair, number, stream.where)
                number += 1
        if not number:
            raise self.skipped.nothing_left(self.name, why=f"holds no pair; expected lines of {EXPECTED}")


def read_minimal_pairs(*paths: str | Path) -> MinimalPairs:
    """Minimal pairs of JSON lines, as BLiMP has them; missing files raise TextError right away."""
    return MinimalPairs(given_files("read_minimal_pairs", "pairs.jsonl", paths))


def _pair(line: str) -> tuple[WordText, WordText, int, tuple[int, int] | None]:
    """The sentences, the word in which they differ, and the edge."""
    record = json_object(line, EXPECTED)
    check_keys(record, (GOOD, BAD), EXPECTED)
    texts = (filled_string(record, key, "a sentence").strip() for key in (GOOD, BAD))
    good, bad = (WordText(text, tuple(word_spans(text))) for text in texts)
    if len(good) != len(bad):
        raise TextError(
            f"sentence_good has {len(good)} words and sentence_bad {len(bad)}; a minimal pair differs in one word"
        )
    differs = [
        word for word, pair in enumerate(zip(good.words, bad.words, strict=True)) if len(set(pair)) > 1
    ]
    if len(differs) != 1:
        raise TextError(f"the sentences differ in {len(differs)} words; a minimal pair differs in one")
    return good, bad, differs[0], _edge(record, len(good))


def _edge(record: Mapping[str, object], words: int) -> tuple[int, int] | None:
    dependent, governor = ends = [record.get(key) for key in ENDS]
    if ends == [None, None]:
        return None
    allowed = range(words)
    if is_index(dependent, allowed) and is_index(governor, allowed) and dependent != governor:
        return dependent, governor
    raise TextError(f"dependent and governor are {ends}; expected two different words from 0 to {words - 1}")
