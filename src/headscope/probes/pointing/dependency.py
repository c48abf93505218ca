"""Heads as dependency parsers: does a word look most at its syntactic head, or the head at the word?"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from headscope.models import Model
from headscope.probes.halves import SCORE, SELECT, Halves, Placed, all_for
from headscope.probes.pointing.accuracy import Accuracy
from headscope.probes.pointing.probe import PointingProbe
from headscope.probes.pointing.result import PointingResult, share_columns
from headscope.probes.pointing.scoring import Case, Pointing, PointingTally
from headscope.probes.result import Row
from headscope.run.options import BatchSize
from headscope.text.annotated.treebank import ROOT, ParsedSentence, Treebank
from headscope.text.words import WordText

FARTHEST = 10
OFFSETS = tuple(offset for offset in range(-FARTHEST, FARTHEST + 1) if offset)
"""The fixed offsets a head is measured against: the head is always so many words before or after."""

_HITS = {offset: tuple(offset == one for one in OFFSETS) for offset in OFFSETS}
_MISS = (False,) * len(OFFSETS)


@dataclass(frozen=True)
class _Sentence:
    """A sentence whose words ask for their syntactic heads; punctuation and the root do not ask."""

    placed: Placed
    base_relations: bool

    @property
    def content(self) -> WordText:
        return self.placed.sentence.content

    @property
    def half(self) -> int:
        return self.placed.half

    @property
    def number(self) -> int:
        return self.placed.number

    @property
    def document(self) -> int:
        return self.placed.sentence.document

    @property
    def name(self) -> str:
        return self.placed.sentence.name or self.placed.sentence.where()

    def where(self, word: int) -> str:
        return self.placed.sentence.where(word)

    @cached_property
    def cases(self) -> list[Case]:
        return list(_cases(self.placed.sentence, base_relations=self.base_relations))


def _cases(sentence: ParsedSentence, *, base_relations: bool) -> Iterator[Case]:
    for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        base = relation.partition(":")[0]
        if head == ROOT or base == "punct" or sentence.upos[word] == "PUNCT":
            continue
        label = base if base_relations else relation
        yield Case(label, word, (head,), baselines=_HITS.get(head - word, _MISS))


@dataclass(frozen=True)
class DependencyResult(PointingResult):
    """Every head's accuracy by relation and direction, and the best head of each relation."""

    probe = "dependency"
    label_name = "relation"
    directions = ("dependent_to_head", "head_to_dependent")
    baseline_dim = "offset"

    def baseline_columns(self, tally: PointingTally, label: str) -> Row:
        """The best fixed offset, chosen where the head was chosen and scored where the head was scored."""
        chosen_on: Accuracy = tally.baseline[SELECT]
        if not chosen_on.count(label):
            return dict.fromkeys(("offset", "offset_accuracy", "offset_low", "offset_high"), None)
        place = int(chosen_on.shares(label).argmax())
        found = share_columns("offset", tally.baseline[SCORE], label, place)
        return {
            "offset": OFFSETS[place],
            "offset_accuracy": found["offset"],
            "offset_low": found["offset_low"],
            "offset_high": found["offset_high"],
        }


class DependencyProbe(PointingProbe[Treebank]):
    """Which head finds the syntactic head of a word, relation by relation.

    A head's guess for a word's syntactic head is the word it attends to most (`dependent_to_head`), or the word
    that attends to it most (`head_to_dependent`), among all other words of the sentence.

        probe = DependencyProbe("demo").fit(read_treebank("train.conllu"))
        result = probe.score(read_treebank("dev.conllu"))
        result.table()
    """

    probe = "dependency"
    label_name = "relation"
    directions = DependencyResult.directions
    chosen_things = "best heads and offsets"
    baseline_labels = OFFSETS
    result_kind = DependencyResult

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        base_relations: bool = False,
        max_length: int | None = None,
        batch_size: BatchSize = "auto",
        faithful: bool = False,
        progress: bool = False,
    ) -> None:
        """`base_relations` counts subtypes (nmod:poss) as their base relation (nmod); else see PointingProbe."""
        super().__init__(
            model, max_length=max_length, batch_size=batch_size, faithful=faithful, progress=progress
        )
        self.base_relations = base_relations
        self._halves = Halves([])

    @property
    def dealt(self) -> str:
        """What the halves of the treebank read last were made of."""
        return self._halves.unit

    def items(self, data: Treebank, half: int | None) -> Iterable[Pointing]:
        """The sentences with their cases."""
        placed: Iterable[Placed]
        if half is None:
            placed = self._halves = Halves(data)
        else:
            placed = all_for(data, half)
        return (_Sentence(one, self.base_relations) for one in placed)

    def options(self) -> dict[str, object]:
        """What else was asked for."""
        return {"base_relations": self.base_relations}
