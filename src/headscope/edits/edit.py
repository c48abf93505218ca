"""Changing what heads do while the real model runs, for as long as a `with` lasts."""

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headscope.atlas import Atlas
from headscope.edits.changes import HOWS, Change, How, Means, Sentences, editable
from headscope.edits.heads import HeadSet
from headscope.edits.select import Heads, select_heads
from headscope.errors import HeadscopeWarning, OptionError
from headscope.models import Model
from headscope.trace import AttentionCall, Capture, Follower, Forward, following
from headscope.trace.architecture import Place, Stacks


@dataclass(eq=False)
class Edit:
    """An edit in force: which heads, how, and how often it has been applied."""

    heads: HeadSet
    how: How
    _follower: Follower = field(repr=False)

    @property
    def forwards(self) -> int:
        """How many forward passes were edited so far; in a model that reads and writes, those of either part."""
        return sum(section.forwards for section in self._follower.chosen)


@contextmanager
def edit(
    model: Model | Capture,
    heads: Heads | None = None,
    *,
    how: How = "zero",
    layers: int | Iterable[int] | None = None,
    renormalise: bool = False,
    means: Means | None = None,
    sentences: Sentences | None = None,
    atlas: Atlas | None = None,
) -> Iterator[Edit]:
    """Inside, every forward pass of the model, whoever runs it, has these heads changed.

    `how` is one of
    - "zero": the head's attention weights are 0, so it adds nothing;
    - "uniform": 1 / n on each of the n real tokens the query may see;
    - "mean": the head's output is its mean over a corpus, `means=mean_outputs(model, texts)`;
    - "intra", "inter": the weights between tokens of the same, or of different, sentences are 0 after the softmax, a
      token and itself being of the same; `renormalise` scales the rest up to what the row had, and rows with
      nothing left stay 0. Sentences are the input's segments (token_type_ids), or `sentences`: (text, token)
      numbers or a function of the inputs; for models that read and write, {"source": ..., "target": ...}.

    `heads` and `layers` are as in `select_heads`; `atlas` is where types, patterns and measures are looked up.
    The model's mode is left alone and gradients flow. Edits nest: an inner one works on what the outer ones have
    made of the model, so where both name a head "zero", "uniform" and "mean" of the inner one win, and a mask removes
    from what is left. Every forward pass is checked: CaptureError when a layer was passed by, and a warning at the end
    when nothing ran. What is computed inside and written to an atlas names the edit. What was computed before, such as
    a cache of keys and values, stays as it was.
    """
    capture = editable(model)
    chosen = select_heads(capture.stacks, heads, layers=layers, atlas=atlas)
    change = Change(capture.model, how, renormalise, means, sentences)
    _check(change, chosen, capture.stacks)
    numbers = {place: torch.tensor(heads) for place, heads in chosen.by_place.items()}

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        numbers[place] = here = numbers[place].to(call.weights.device)
        return change.apply(place, here, call, forward)

    with following(capture, numbers, handle, edit=_in_words(change, chosen, capture.stacks)) as follower:
        yield Edit(chosen, how, follower)
    _tell(follower, change)


def _in_words(change: Change, heads: HeadSet, stacks: Stacks) -> str:
    """The edit as it is named in what is computed under it."""
    options = ["renormalised"] if change.renormalise else []
    options += ["sentences given"] if change.sentences is not None else []
    if change.means is not None:
        content = b"".join(
            change.means[stack].cpu().float().numpy().tobytes() for stack in sorted(change.means)
        )
        options.append(f"means sha256:{hashlib.sha256(content).hexdigest()[:12]}")
    how = change.how + (f" ({', '.join(options)})" if options else "")
    if len(heads) == sum(grid.size for grid in stacks.grids):
        return f"{how}: all heads"
    several = len(stacks.grids) > 1
    return f"{how}: {', '.join(f'{stack} {head}' if several else str(head) for stack, head in heads)}"


def _check(change: Change, heads: HeadSet, stacks: Stacks) -> None:
    if change.how not in HOWS:
        raise OptionError(f"how={change.how!r} is not an edit; choose from {', '.join(HOWS)}")
    masks = change.how in ("intra", "inter")
    if change.renormalise and not masks:
        raise OptionError(
            f"renormalise is for how='intra' and 'inter'; {change.how!r} leaves nothing to scale"
        )
    if change.sentences is not None and not masks:
        raise OptionError(f"sentences is for how='intra' and 'inter'; {change.how!r} does not use it")
    if (change.means is not None) != (change.how == "mean"):
        raise OptionError(
            "how='mean' needs means=mean_outputs(model, texts)"
            if change.how == "mean"
            else f"means is for how='mean'; {change.how!r} does not use it"
        )
    for stack in {stack for stack, _ in heads} if change.means is not None else ():
        grid = stacks.grid(stack)
        vectors: Tensor | None = (change.means or {}).get(stack)
        if vectors is None or tuple(vectors.shape[:2]) != grid.shape:
            shape = "nothing" if vectors is None else " x ".join(map(str, vectors.shape[:2]))
            raise OptionError(
                f"means has {shape} for the {stack}, which has {grid.layers} x {grid.heads} heads; compute them with "
                "mean_outputs on this model"
            )


def _tell(follower: Follower, change: Change) -> None:
    """Warn of an edit that was left without having changed anything."""
    idle = [section.places[0].stack for section in follower.chosen if not section.begun]
    if idle:
        warnings.warn(
            f"no forward pass of the {' or the '.join(idle)} of {follower.name} ran inside the edit",
            HeadscopeWarning,
            stacklevel=4,
        )
    elif change.how == "inter" and not change.masked:
        warnings.warn(
            "no text had a second sentence, so there was no attention between sentences to remove",
            HeadscopeWarning,
            stacklevel=4,
        )
