"""Heads as dependency parsers: does a word look most at its syntactic head, or the head at the word?"""

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.facts.description import PROBES, described_in
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.cases import Case, Pointing
from headscope.probes.pointing.describe import pointing_description
from headscope.probes.pointing.probe import PointingProbe
from headscope.probes.pointing.result import PointingResult
from headscope.probes.pointing.tally import PointingTally
from headscope.probes.result import Row
from headscope.text.annotated.treebank import ROOT, ParsedSentence, Treebank, base_relation

FARTHEST = 10
OFFSETS = tuple(offset for offset in range(-FARTHEST, FARTHEST + 1) if offset)
"""The fixed offsets a head is measured against: the head is always so many words before or after."""

DESCRIPTION = described_in(__file__, pointing_description)

_HITS = {offset: tuple(offset == other for other in OFFSETS) for offset in OFFSETS}
_MISS = (False,) * len(OFFSETS)


def _cases(sentence: ParsedSentence, *, base_relations: bool) -> Iterator[Case]:
    """Every word asks for its syntactic head, but for punctuation and the root."""
    for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        if head == ROOT or sentence.is_punctuation(word):
            continue
        label = base_relation(relation) if base_relations else relation
        yield Case(label, word, (head,), baselines=_HITS.get(head - word, _MISS))


@dataclass(frozen=True)
class DependencyResult(PointingResult):
    """Every head's accuracy by relation and direction, and the best head of each relation."""

    description = DESCRIPTION
    baseline_dim = "offset"

    def baseline_columns(self, tally: PointingTally, label: str) -> Row:
        """The best fixed offset, chosen where the head was chosen and scored where the head was scored."""
        chosen_on = tally.baseline[SELECT]
        place = int(chosen_on.mean(label).argmax()) if chosen_on.count(label) else None
        return {
            "offset": None if place is None else OFFSETS[place],
            **self.value_columns(
                tally.baseline[SCORE],
                label,
                None if place is None else (place,),
                names=("offset_accuracy", "offset_low", "offset_high"),
            ),
        }


@PROBES.register("dependency")
@dataclass(kw_only=True, eq=False)
class DependencyProbe(PointingProbe[Treebank]):
    """Which head finds the syntactic head of a word, relation by relation.

    A head's guess for a word's syntactic head is the word it attends to most (`dependent_to_head`), or the word
    that attends to it most (`head_to_dependent`), among all other words of the sentence.

        probe = DependencyProbe("demo").fit(read_treebank("train.conllu"))
        result = probe.score(read_treebank("dev.conllu"))
        result.table()

    `base_relations` counts subtypes (nmod:poss) as their base relation (nmod).
    """

    description = DESCRIPTION
    chosen_things = "best heads and offsets"
    baseline_labels = OFFSETS
    result_kind = DependencyResult

    base_relations: bool = False

    def texts(self, data: Treebank) -> Iterator[Pointing]:
        """The sentences with their cases."""
        for sentence in data:
            cases = tuple(_cases(sentence, base_relations=self.base_relations))
            name = sentence.name or sentence.where()
            yield Pointing(sentence.content, cases, sentence.document, name, sentence.where)

    def options(self) -> dict[str, object]:
        """What else was asked for."""
        return {"base_relations": self.base_relations}
