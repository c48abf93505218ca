"""Queries and keys of the real model, and what else makes up a head's scores."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from headscope.models import Model
from headscope.pages.seen import Between, place_of, prepare
from headscope.pages.shapes.views import Neurons
from headscope.trace import AttentionCall, TextScores, run_calls, surveyed
from headscope.trace.architecture import Place
from headscope.trace.scores import softmax
from headscope.types import Array, HeadId

NeuronReader = Callable[[Collection[tuple[str, int, int]] | None], Iterable[Neurons]]
"""Gives the neurons of these heads (stack, layer, head), or of all."""

MOST_MOVED = 0.0005
"""What rounding the numbers that are sent moves no weight by more than."""
_DIGITS = range(4, 18)
"""Significant digits of a number: the fewest that move no weight further. 17 are all there are."""


def has_neurons(model: Model) -> bool:
    """Whether queries and keys can be had, and scores are made of them; not where attention is only returned."""
    return surveyed(model).shows_scores


def read_neurons(
    model: Model,
    text_a: str,
    text_b: str | None = None,
    *,
    heads: Collection[tuple[str, int, int]] | None = None,
    max_length: int | None = None,
    between: Between | None = None,
) -> Iterator[Neurons]:
    """The neurons of `heads` (stack, layer, head), or of all, on a text as `observe` takes it; layer by layer."""
    capture = surveyed(model)
    if heads is None:
        grids = capture.stacks.grids
        heads = [
            (g.stack, layer, head) for g in grids for layer in range(g.layers) for head in range(g.heads)
        ]
    wanted: dict[Place, set[int]] = {}
    for stack, layer, head in heads:
        wanted.setdefault(place_of(model, stack, layer, head), set()).add(head)
    seen: list[tuple[Place, int, TextScores]] = []

    def see(place: Place, call: AttentionCall) -> None:
        if between is not None:
            between()
        for head in sorted(wanted.get(place, ())):
            scores = call.scores(0, [head])
            seen.append((place, head, scores))

    run_calls(capture, prepare(model, text_a, text_b, max_length=max_length).batch.inputs, see)
    for place, head, scores in seen:
        yield _neurons(model, place, head, scores)


def neuron_reader(
    model: Model, text_a: str, text_b: str | None = None, *, max_length: int | None = None
) -> NeuronReader | None:
    """What reads the neurons of any heads on this text; None where the model does not let them be read."""
    if not has_neurons(model):
        return None
    return lambda heads: read_neurons(model, text_a, text_b, heads=heads, max_length=max_length)


def _neurons(model: Model, place: Place, head: int, exact: TextScores) -> Neurons:
    scores, queries = shortened(exact)  # what is said below is said of the numbers that are sent
    sink = None if scores.sink is None else float(scores.sink)
    rotated = model.is_rotated and place.stack != "cross"
    said = []
    if rotated:
        said.append("Queries and keys are those after rotation by position (RoPE).")
    if scores.bias is not None:
        said.append("A number that depends on position only is added to each score.")
    if scores.soft_cap is not None:
        said.append(f"A soft cap keeps scores between -{scores.soft_cap:g} and {scores.soft_cap:g}.")
    if sink is not None:
        said.append(f"The softmax includes a sink that is not a token, with the score {sink:.3g}.")
    visible = _ranges(scores.visible.cpu().numpy())
    if visible is None:
        said.append(
            "The keys that a query may see are not in one piece, so scores of hidden keys are shown too."
        )
    agrees = scores.agree
    if not agrees:
        said.append(
            f"The softmax of the scores is not the weights of {HeadId(place.layer, head)} (off by up to "
            f"{scores.apart:.2g}): it is edited, or this architecture does more than is known here."
        )
    return Neurons(
        stack=place.stack,
        layer=place.layer,
        head=head,
        scale=scores.scale,
        queries=queries[0].tolist(),
        keys=scores.key[0].tolist(),
        bias=None if scores.bias is None else scores.bias[0].tolist(),
        soft_cap=scores.soft_cap,
        sink=sink,
        visible=None if bool(scores.visible.all()) else visible,
        agrees=agrees and visible is not None,
        rotated=rotated,
        note=" ".join(said),
    )


def _ranges(visible: Array) -> list[tuple[int, int]] | None:
    """For each query, the first visible key and the one after the last; None when there are gaps."""
    first = visible.argmax(-1)
    count = visible.sum(-1)
    keys = np.arange(visible.shape[1])
    whole = (keys >= first[:, None]) & (keys < (first + count)[:, None])
    if (whole != visible).any():
        return None
    return [(int(start), int(start + length)) for start, length in zip(first, count, strict=True)]


def shortened(scores: TextScores) -> tuple[TextScores, Tensor]:
    """With queries, keys and bias in the fewest digits that leave every weight where it is, or nearly.

    Also (head, query, neuron) the queries before they are scaled.

    A weight follows from differences of scores, so that four digits are too few where scores are large: where queries
    and keys are, or where all keys have much in common.
    """
    exact = softmax(scores.scores, scores.visible, scores.sink)
    allowed = min(MOST_MOVED, scores.rounding / 2)
    for digits in _DIGITS:
        queries = _rounded(scores.query / scores.scale, digits)
        bias = None if scores.bias is None else _rounded(scores.bias, digits)
        short = replace(scores, query=queries * scores.scale, key=_rounded(scores.key, digits), bias=bias)
        moved = (softmax(short.scores, short.visible, short.sink) - exact).abs()
        if not moved.numel() or float(moved.amax()) <= allowed:
            break
    return short, queries


def _rounded(tensor: Tensor, digits: int) -> Tensor:
    """To so many significant digits, so that the numbers take less room as text."""
    values = tensor.cpu().numpy()
    sizes = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros_like(values)))
    unit = 10.0 ** (digits - 1 - sizes)
    return torch.from_numpy(np.round(values * unit) / unit).to(tensor.device)
