"""What the heads of a decoder write into its output, over texts and from the weights."""

from collections.abc import Iterable
from time import perf_counter

import numpy as np
import torch

from headscope.errors import ModelError
from headscope.models import ModelName, loaded
from headscope.passes.options import BatchSize, check_run_options
from headscope.passes.provenance import Source
from headscope.passes.reader import Reader, ReadText
from headscope.tasks import with_head
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.trace import surveyed
from headscope.trace.watch import Watch
from headscope.types import HeadGrid
from headscope.writing.effects import WrittenSums, count
from headscope.writing.readout import StraightPaths
from headscope.writing.result import FromWeights, WritesResult
from headscope.writing.weights import READS, composition, copying, head_matrices


def writes(
    model: ModelName,
    texts: Corpus | TextPair | Iterable[Text],
    *,
    max_length: int = 128,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> WritesResult:
    """What every head of a decoder writes into its output scores (Elhage et al. 2021).

    Over `texts` (those of `analyze`): the direct effect on the token it looks at most, on the token that really
    follows and on the token itself, each less that of its output at another position of the same text; and the tokens
    that it raises and lowers most. From the weights: whether it copies, and which earlier heads it reads. Models whose
    stream is rescaled on its way to the output (BERT) are refused: what a head adds there does not arrive as it was.
    """
    started = perf_counter()
    model = loaded(model)
    grids = surveyed(model).stacks.grids
    if len(grids) > 1 or not grids[0].causal:
        raise ModelError(
            f"{model.name} ({model.architecture}) is not a decoder: in an encoder a norm or a transform after each "
            "layer rescales what its heads write, so they have no direct effect on the output; use headscope ablate"
        )
    model = with_head(model, "next-token")
    capture = surveyed(model)
    grid = capture.stacks.grids[0]
    check_run_options(model, max_length=max_length, limit=limit, batch_size=batch_size)
    paths = StraightPaths.of(capture)
    watch = Watch(capture, holds_all=True)
    reader = Reader(as_corpus(texts), watch.encoder(max_length), limit)

    def add(part: WrittenSums, some: list[ReadText]) -> None:
        count(part, paths, watch.batch([text.encoded for text in some]))

    batches, directions = watch.batches(batch_size, max_length), paths.readout.directions
    empty = WrittenSums.zeros(grid, directions.shape[1])
    sums = reader.through(empty, add, batches=batches, who=model.name if progress else None)
    weights = _from_weights(paths, grid)
    form = (
        f"{model.architecture} keeps its attention weights in an unknown form; scores from them are left out"
    )
    note = () if weights.copying is not None else (form,)
    options = {"max_length": max_length, "limit": limit}
    source = Source.of_corpus(reader, options=options, duration=perf_counter() - started, notes=note)
    return WritesResult(model, source, grid, sums, directions, weights)


def _from_weights(paths: StraightPaths, grid: HeadGrid) -> FromWeights:
    """Copying and composition of all heads; without either where a layer's matrices are not known."""
    layers, embedding = list(head_matrices(paths).values()), paths.embedding
    if len(layers) < grid.layers or embedding is None:
        return FromWeights(None, None)
    with torch.inference_mode():
        copies = torch.stack([copying(layer, embedding, paths.readout) for layer in layers])
        reads = np.full((len(READS), *grid.shape, *grid.shape), np.nan, np.float32)
        for later in range(grid.layers):
            for earlier in range(later):
                reads[:, later, :, earlier] = composition(layers[earlier], layers[later]).cpu().numpy()
    return FromWeights(copies.numpy(), reads)
