"""The five patterns over a corpus: what share of a model's attention maps shows each (Kovaleva et al. 2019)."""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from headscope.atlas import Atlas, Results
from headscope.atlas.files import MOVED
from headscope.kinds.patterns import PATTERNS, PatternShares
from headscope.models import ModelName, loaded
from headscope.passes.analyze import analyze
from headscope.passes.provenance import Source
from headscope.probes.result import ProbeResult, Row
from headscope.text.corpus import Corpus, Text
from headscope.text.items import TextPair
from headscope.types import LabelledArray, Weigh, weigh_option

WHOLE = "all"
"""The row of a table that is about all layers."""


@dataclass(frozen=True)
class PatternsResult(ProbeResult):
    """The shares of the five patterns: for every head, every layer, and the model."""

    probe: ClassVar[str] = "patterns"

    measured: Atlas
    moved: "PatternsResult | None" = None
    """The same by what heads move, where both were asked for."""

    def _with(self, **changes: object) -> "PatternsResult":
        """The same of the same model as it was: hashing its weights again takes a hundredth of a run."""
        other = copy(self)
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    def arrays(self) -> Results:
        """`pattern_share` of heads, layers and the whole, by stack."""
        stacks = {stack: self._measured(stack) for stack in self.measured.stacks}
        return {stack: arrays for stack, arrays in stacks.items() if arrays}

    def _measured(self, stack: str) -> dict[str, LabelledArray]:
        """The arrays of one stack by where heads look, or by what they move, all called alike."""
        arrays = self.measured.stack(stack).plain.items()
        return {name.replace(MOVED, ""): array for name, array in arrays if (MOVED in name) == self.is_moved}

    def to_atlas(self, atlas: Atlas | None = None) -> Atlas:
        """A new atlas of this result, or the given one with this result added; with both, one beside the other."""
        own = super().to_atlas(atlas)
        return own if self.moved is None else self.moved.to_atlas(own)

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for all layers, then one for each; shares of maps, with standard errors over texts."""
        arrays = self._measured(self.stack_of(self.measured.stacks, stack))
        values = {  # (row, pattern) each
            key: np.vstack([arrays[f"pattern_share_{of}{ending}"].values for of in ("whole", "layer")])
            for key, ending in (("share", ""), ("stderr", "_stderr"))
        }
        layers = [int(layer) for layer in arrays["pattern_share_layer"].coords["layer"]]
        return [
            {
                "layer": layer,
                **{
                    pattern: {key: float(values[key][row, place]) for key in values}
                    for place, pattern in enumerate(PATTERNS)
                },
            }
            for row, layer in enumerate([WHOLE, *layers])
        ]


def find_patterns(
    model: ModelName,
    texts: Corpus | TextPair | Iterable[Text],
    *,
    max_length: int = 128,
    limit: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    weigh: Weigh | None = None,
    progress: bool = False,
) -> PatternsResult:
    """Classify every attention map of a model on texts, and count.

    The options are those of `analyze`: `weigh` is both by default, for models whose output projections can be found.
    """
    model = loaded(model)
    measured = analyze(
        model,
        texts,
        measures=[PatternShares],
        max_length=max_length,
        limit=limit,
        batch_size=batch_size,
        weigh=weigh,
        sentences=0,  # typical ones would take another pass, and no one asks for them here
        progress=progress,
    )
    facts = measured.provenance
    source = Source(
        data=str(facts["corpus"]),
        data_hash=str(facts["corpus_hash"]).removeprefix("sha256:"),
        texts=int(facts["texts"]),
        documents=int(facts["documents"]),
        tokens=int(facts["tokens"]),
        texts_cut=int(facts["texts_cut"]),
        options={"max_length": max_length, "limit": limit},
        duration=float(facts["duration_s"]),
        annotator="the pattern networks of headscope",
    )
    chosen: str = facts["options"]["weigh"]
    looked = PatternsResult(model, source, measured)
    if chosen == "looked":
        return looked
    moved = looked._with(
        source=replace(source, options={**source.options, **weigh_option("moved")}),
    )
    return moved if chosen == "moved" else looked._with(moved=moved)
