"""Which heads find a relation: the best of the dependency probe, by an atlas or by half of the treebank."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.analyses.probes import best_heads, head_scores
from headscope.models import Model
from headscope.probes import DependencyProbe
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.observe import check_head_in
from headscope.probes.pointing.result import PointingResult
from headscope.text.annotated.treebank import ParsedSentence, Treebank
from headscope.trace import surveyed
from headscope.types import HeadId
from headscope.usage.result import Found

_PROBE = "dependency"


class _Sentences(Treebank):
    """Sentences that were read already, as a treebank."""

    def __init__(self, sentences: Sequence[ParsedSentence], name: str) -> None:
        super().__init__((), name=name)
        self.sentences = sentences

    def __iter__(self) -> Iterator[ParsedSentence]:
        return iter(self.sentences)


def finders(
    model: Model,
    sentences: Sequence[ParsedSentence],
    relations: Sequence[str],
    *,
    heads: Sequence[HeadId | str],
    best: int,
    atlas: Atlas | None,
    progress: bool,
    name: str,
) -> dict[str, list[Found]]:
    """By relation the heads to test, and how well each finds it on texts that took no part in the choice.

    `name` is that of the treebank. The probe runs once, or once more where only some relations are subtypes.
    """
    if best < 1:
        raise OptionError(f"best must be at least 1, not {best}")
    grid = surveyed(model).stacks.grids[0]
    named = [HeadId.parse(str(head)) for head in heads]
    for head in named:
        check_head_in(grid, head, model.name)

    @cache
    def probed(*, base_relations: bool) -> PointingResult:
        probe = DependencyProbe(model, base_relations=base_relations, progress=progress)
        return probe.fit_score(_Sentences(sentences, name))

    return {
        relation: _of_atlas(atlas, grid.stack, relation, named)
        or _of_probe(probed(base_relations=":" not in relation), relation, named, best)
        for relation in relations
    }


def _of_probe(result: PointingResult, relation: str, named: Sequence[HeadId], best: int) -> list[Found]:
    tally = next(iter(result.tallies.values()))
    chosen_on = tally.scores[SELECT]
    if not chosen_on.count(relation) or not tally.scores[SCORE].count(relation):
        raise OptionError(
            f"{result.source.data} has {relation!r} in one of its halves only, and heads are chosen on one and tested "
            "on the other; give more sentences"
        )
    means = chosen_on.mean(relation)  # (direction, layer, head)
    direction = means.argmax(0)  # (layer, head)
    order = np.argsort(-means.max(0), axis=None, kind="stable")
    heads = named or [HeadId(*divmod(int(place), means.shape[2])) for place in order[:best]]
    rule = result.baseline_columns(tally, relation)
    highest = rule["offset_high"] if rule["offset_high"] is not None else rule["offset_accuracy"] or 0.0
    found = []
    for head in heads:
        way = int(direction[head.layer, head.head])
        own = result.value_columns(
            tally.scores[SCORE], relation, (way, head.layer, head.head), names=("accuracy", "low", "high")
        )
        finds = own["low"] is not None and own["low"] > highest
        found.append(Found(relation, head, result.directions[way], float(own["accuracy"] or 0), bool(finds)))
    return found


def _of_atlas(atlas: Atlas | None, stack: str, relation: str, named: Sequence[HeadId]) -> list[Found]:
    """The best head of the relation in an atlas, or the named ones; none where it does not hold the probe."""
    if atlas is None or _PROBE not in atlas.probes:
        return []
    rows = {row.label: row for row in best_heads(atlas, _PROBE, stack=stack)}
    row = rows.get(relation)
    if row is None or row.head is None:
        return []
    if not named:
        return [Found(relation, row.head, row.direction or "", row.score.value, row.is_above)]
    found = []
    for head in named:
        scores = [
            score
            for described, score in head_scores(atlas, stack, head)
            if described.name == _PROBE and score.label == relation
        ]
        if not scores:
            return []
        own = row if head == row.head else scores[0]
        found.append(Found(relation, head, own.direction or "", own.score.value, own.is_above))
    return found
