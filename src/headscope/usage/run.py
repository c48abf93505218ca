"""Testing whether the model uses the relations that its heads find."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import ModelError, OptionError, TextError, choices
from headscope.facts.analyses.uses import USES
from headscope.models import Model, ModelName, loaded
from headscope.passes.options import BatchSize, longest_text
from headscope.passes.progress import progress_bar
from headscope.passes.provenance import Source
from headscope.probes.halves import SCORE, Turns
from headscope.probes.observe import Account
from headscope.tasks import with_head
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.annotated.minimal_pairs import MinimalPairs, read_minimal_pairs
from headscope.text.annotated.treebank import ParsedSentence, Treebank, base_relation, read_treebank
from headscope.text.skipped import Skipped
from headscope.trace import Capture, surveyed
from headscope.trace.watch import Watch
from headscope.types import Array, HeadGrid, HeadId
from headscope.usage.edges import control_edge, relation_edge
from headscope.usage.examples import Case, Score, pair_cases, relation_cases
from headscope.usage.finders import finders
from headscope.usage.passes import Cut, Network
from headscope.usage.result import Found, Lost, UsesResult
from headscope.usage.rows import encode

BEST = 3
"""How many heads of a relation are tested by default: the best of the dependency probe."""
FEWEST_SENTENCES = 5


def uses(
    model: ModelName,
    treebank: Treebank | str | Path,
    relation: str | Sequence[str],
    *,
    pairs: MinimalPairs | str | Path | None = None,
    heads: Sequence[HeadId | str] = (),
    best: int = BEST,
    atlas: Atlas | None = None,
    limit: int | None = None,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    progress: bool = False,
) -> UsesResult:
    """Does the model use a relation that its heads find: what it loses without that one edge.

    The `best` heads of the dependency probe, chosen on half of the treebank (or the best one of an `atlas` that holds
    the probe), or these `heads`. On the other half, the edge between dependent and governor is removed in the head and
    the fall of the model's score compared with that of another edge as far and as strong. The score is the log
    probability of the masked dependent, in decoders of the words after the edge; with `pairs` that of the right against
    the wrong sentence of minimal pairs. `limit` stops after so many sentences; `seed` is that of the random heads.
    """
    started = perf_counter()
    score: Score = "word" if pairs is None else "pairs"
    names = [relation] if isinstance(relation, str) else list(relation)
    bank = treebank if isinstance(treebank, Treebank) else read_treebank(treebank)
    pairs = pairs if pairs is None or isinstance(pairs, MinimalPairs) else read_minimal_pairs(pairs)
    capture = _scoring(loaded(model))
    sentences = list(islice(bank, limit))
    _check_relations(sentences, names, bank.name)
    found = finders(
        capture.model,
        sentences,
        names,
        heads=heads,
        best=best,
        atlas=atlas,
        progress=progress,
        name=bank.name,
    )
    tested = list(Turns(sentences, kind="sentence").of(SCORE))
    runner = _Runner(capture, score, max_length, batch_size, seed, progress)
    for name in names:
        cases = relation_cases(tested, name) if pairs is None else pair_cases(pairs)
        runner.test(found[name], cases)
    options = {"relation": names, "score": score, "limit": limit, "seed": seed, "best": best}
    files: list[AnnotatedFiles] = [bank] if pairs is None else [bank, pairs]
    source = runner.source(files, options=options, duration=perf_counter() - started)
    return UsesResult(capture.model, source, runner.grid, runner.lost)


def _scoring(model: Model) -> Capture:
    """The model with the head that scores words."""
    grids = surveyed(model).stacks.grids
    if len(grids) > 1:
        raise ModelError(
            f"{model.name} is an encoder-decoder, whose words are not scored one by one; {USES} is for encoders with a "
            "masked-language-model head and for decoders"
        )
    headed = with_head(model, "next-token" if grids[0].causal else "masked-lm")
    if not grids[0].causal and headed.tokenizer.mask_token_id is None:
        raise ModelError(f"the tokenizer of {model.name} has no mask token")
    return surveyed(headed)


def _check_relations(sentences: Sequence[ParsedSentence], names: Sequence[str], data: str) -> None:
    known = {name for sentence in sentences for name in sentence.relations}
    known |= {base_relation(name) for name in known}
    for name in names:
        if name not in known:
            raise OptionError(f"{data} has no relation {name!r}; {choices(name, sorted(known))}")


_SCORED: Mapping[Score, str] = {
    "word": "the masked word",
    "pairs": "the right sentence against the wrong",
}
"""What is scored, in words; in a decoder, which sees no word to come, instead of a word the text after it."""
_HINTS: Mapping[Score, str] = {"word": "", "pairs": "; a pair is two sentences that differ in one word"}


@dataclass
class _Runner:
    """One model, scored with and without edges."""

    capture: Capture
    score: Score
    max_length: int | None
    batch_size: BatchSize
    seed: int
    progress: bool
    tokens: int = 0
    alone: int = 0
    """Cases of heads without another edge of the same distance."""
    lost: list[Lost] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    skipped: Skipped = field(default_factory=lambda: Skipped("cases"))

    @property
    def grid(self) -> HeadGrid:
        """The only stack of the model."""
        return self.capture.stacks.grids[0]

    def source(
        self, files: Sequence[AnnotatedFiles], *, options: Mapping[str, object], duration: float
    ) -> Source:
        """Where the numbers come from: the last of the files, of which the first is the treebank."""
        notes = [left_out.note() for left_out in (*(file.skipped for file in files), self.skipped)]
        if self.alone:
            notes.append(
                f"{self.alone:,} edges have no other of the same distance in their sentence and are left out"
            )
        return Source(
            data=files[-1].name,
            data_hash=self.account.data_hash,
            texts=len({(lost.found.relation, at) for lost in self.lost for at in lost.sentence.tolist()}),
            documents=len(self.account.documents),
            tokens=self.tokens,
            texts_cut=0,
            annotator=files[0].annotator,
            skipped=self.skipped.count + files[0].skipped.count,
            options=options,
            duration=duration,
            notes=tuple(note for note in notes if note is not None),
        )

    def test(self, found: Sequence[Found], cases: Iterable[Case]) -> None:
        """What is lost without the edges of these heads, which are of one relation."""
        model, causal = self.capture.model, self.grid.causal
        encoder = Watch(self.capture).encoder(longest_text(model, self.max_length))
        rows = encode(list(self.account.of(cases)), model, encoder, causal=causal, skipped=self.skipped)
        relation = found[0].relation
        if len({case.sentence for case in rows.cases}) < FEWEST_SENTENCES:
            left = f" ({note})" if (note := self.skipped.note()) else ""
            raise TextError(
                f"{len(rows.cases)} cases of {relation!r} can be scored in the half that is tested, and at least "
                f"{FEWEST_SENTENCES} sentences are needed{left}; give more sentences{_HINTS[self.score]}"
            )
        self.tokens += sum(map(len, rows.rows))
        sentence, heads = np.array([case.sentence for case in rows.cases]), [each.head for each in found]
        scored = "the text after it" if causal and self.score == "word" else _SCORED[self.score]
        passes = len(rows.rows) * (1 + 3 * len(found))
        with progress_bar(f"{model.name}, {relation} without edges" if self.progress else None) as tell:
            network = Network(self.capture, rows, tell, passes, self.batch_size)
            base, maps = network.untouched(heads)
            for each in found:
                cuts = self._cuts(each, heads, rows.cases, maps)
                self.lost.append(
                    Lost(each, scored, sentence, *(base - network.without(part) for part in cuts))
                )

    def _cuts(
        self,
        found: Found,
        tested: Sequence[HeadId],
        cases: Sequence[Case],
        maps: Sequence[Mapping[HeadId, Array]],
    ) -> tuple[dict[int, Cut], dict[int, Cut], dict[int, Cut]]:
        """By case: the edge itself, another as far and as strong, and the same edge in a random head of the layer."""
        head, inward = found.head, found.direction.startswith("head")
        heads = [HeadId(head.layer, number) for number in range(self.grid.heads) if number != head.head]
        others = [other for other in heads if other not in tested] or heads
        chance = np.random.default_rng([self.seed, head.layer, head.head])
        own, control, random = dict[int, Cut](), dict[int, Cut](), dict[int, Cut]()
        for number, case in enumerate(cases):
            weights = maps[number][head]
            edge = relation_edge(case, weights, inward=inward, causal=self.grid.causal)
            beside = None if edge is None else control_edge(weights, edge, case)
            self.alone += edge is not None and beside is None
            if edge is None or beside is None:
                continue
            own[number], control[number] = Cut(head, *edge), Cut(head, *beside)
            random[number] = Cut(others[int(chance.integers(len(others)))] if others else head, *edge)
        return own, control, random
