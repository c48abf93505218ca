"""What an edit changes for a model that predicts nothing: how far the embedding of the text and its tokens moves."""

import torch
from torch import Tensor

from headscope.atlas import Atlas
from headscope.models import Model
from headscope.pages.seen import prepare, tokens_in
from headscope.server.answers.edited import edited, in_words
from headscope.server.shapes import EmbeddingChange, Predicted, PredictRequest, TokenChange
from headscope.trace.observe import evaluating

MOST_TOKENS = 10
STILL = 5e-6
"""Cosine distances up to this are rounding."""

_NOTE = (
    "This model has no prediction head. Instead you see how far the edit moves the text's embedding: the mean of the "
    "last layer's vectors over all tokens, special tokens included."
)


def embedding_change(
    model: Model, request: PredictRequest, *, atlas: Atlas | None = None, length: int
) -> Predicted:
    """The cosine distance between the text's embeddings without and with the edits, and those of its tokens."""
    if not request.edits:
        return Predicted(task="embedding", before=[], after=[], note=f"{_NOTE} Switch heads off to see it.")
    prepared = prepare(model, request.text_a, request.text_b, max_length=length)
    inputs = {**prepared.batch.inputs, **model.no_cache}

    def vectors() -> Tensor:
        """(token, dim) of the last layer; of what is written, in a model that reads and writes."""
        output: Tensor = model.core(**inputs).last_hidden_state[0]
        return output.double()

    with evaluating(model.core), torch.inference_mode():
        before = vectors()
        with edited(model, request.edits, atlas=atlas):
            after = vectors()
    source, target = tokens_in(prepared)
    pieces = (target or source).pieces
    apart = _distance(before, after)  # (token,)
    order = apart.argsort(descending=True, stable=True)[:MOST_TOKENS].tolist()
    whole = float(_distance(before.mean(0), after.mean(0)))
    change = EmbeddingChange(
        distance=whole,
        tokens=[
            TokenChange(token=pieces[place], place=place, distance=float(apart[place])) for place in order
        ],
    )
    moves = "stays where it is" if whole <= STILL else f"moves by a cosine distance of {whole:.3g}"
    said = f"The text's embedding {moves} with {in_words(request.edits)}."
    return Predicted(task="embedding", before=[], after=[], embedding=change, said=said, note=_NOTE)


def _distance(before: Tensor, after: Tensor) -> Tensor:
    """(...,) 1 minus the cosine of (..., dim) vectors; never below 0, as rounding would have it."""
    return (1 - torch.cosine_similarity(before, after, dim=-1)).clamp(min=0)
