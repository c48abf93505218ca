"""The five patterns over a corpus: what share of a model's attention maps shows each (Kovaleva et al. 2019)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from headscope.atlas import Atlas, Results
from headscope.atlas.files import labelled
from headscope.kinds.patterns import PATTERNS, PatternShares
from headscope.models import ModelName, loaded
from headscope.probes.result import ProbeResult, Row, Source
from headscope.run import analyze
from headscope.text.corpus import Corpus, Text
from headscope.text.items import TextPair

WHOLE = "all"
"""The row of a table that is about all layers."""


@dataclass(frozen=True)
class PatternsResult(ProbeResult):
    """The shares of the five patterns: for every head, every layer, and the model."""

    probe: ClassVar[str] = "patterns"

    measured: Atlas

    def arrays(self) -> Results:
        """`pattern_share` of heads, layers and the whole, by stack."""
        stacks = {stack: self.measured.stack(stack) for stack in self.measured.stacks}
        return {
            stack: {name: labelled(array) for name, array in arrays.items()}
            for stack, arrays in stacks.items()
            if arrays
        }

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for all layers, then one for each; shares of maps, with standard errors over texts."""
        arrays = self.measured.stack(self.stack_of(self.measured.stacks, stack))
        values = {
            key: np.vstack([arrays[f"pattern_share_whole{ending}"], arrays[f"pattern_share_layer{ending}"]])
            for key, ending in (("share", ""), ("stderr", "_stderr"))
        }  # (row, pattern) each
        layers = [int(layer) for layer in arrays["pattern_share_layer"]["layer"].values]
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
    progress: bool = False,
) -> PatternsResult:
    """Classify every attention map of a model on texts, and count.

    The options are those of `analyze`.
    """
    model = loaded(model)
    measured = analyze(
        model,
        texts,
        measures=[PatternShares],
        max_length=max_length,
        limit=limit,
        batch_size=batch_size,
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
    return PatternsResult(model, source, measured)
