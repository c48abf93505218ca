"""A smaller real model: heads taken out for good, and proved to be the same as zeroing them."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import fields, replace
from functools import partial
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.atlas import Atlas
from headscope.edits.changes import editable
from headscope.edits.edit import edit
from headscope.edits.heads import HeadSet
from headscope.edits.select import Heads, select_heads
from headscope.errors import InterventionError, first_line
from headscope.models import Model
from headscope.models.adapters import Adapter, Projections
from headscope.trace import Capture, attention_modules
from headscope.trace.architecture import Place
from headscope.trace.observe import evaluating, is_edited
from headscope.trace.probing import probe_inputs

PROBE_LENGTHS = [(9, 6), (7, 4)]
"""Source and target tokens of the two texts that show whether two networks do the same."""
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4}
_ROUNDING_IN_HALF = 5e-2


def prune(
    model: Model | Capture,
    heads: Heads | None = None,
    *,
    layers: int | Iterable[int] | None = None,
    atlas: Atlas | None = None,
) -> Model:
    """A copy of the model without these heads: fewer parameters, and the same output as zeroing them.

    Both are run on a probe, and InterventionError is raised if they differ by more than rounding. The original is
    left alone. Not every architecture allows it, and then the error says so and `edit(how="zero")` does the same to
    the output: heads that share keys and values go together, so do layers that share their weights (ALBERT) or their
    position bias (T5), and a layer keeps at least one head.

    What is smaller is the network in memory and its state dict. transformers builds all layers of a network alike, so
    it could not load the pruned one again: `save_pretrained` is refused. Save `network.state_dict()` and load it into
    `prune` of the same model and heads. headscope's atlas needs layers of equal width too; prune as many heads
    in each layer for that.
    """
    unproved = "does not let its heads be switched off, so pruning it could not be proved right"
    capture = editable(model, unproved)
    original = capture.model
    if is_edited(original.network):
        raise InterventionError(f"{original.name} is being edited; leave the edit before pruning")
    chosen = select_heads(capture.stacks, heads, layers=layers, atlas=atlas)
    names = attention_modules(capture)
    _check_sharing(capture, chosen, names)
    name = f"{original.name} without {len(chosen)} heads"
    smaller = replace(original, name=name, network=deepcopy(original.network))
    _take_out(capture, smaller, chosen, names)
    _prove(capture, smaller, chosen)
    # On this one network only: what it would write could not be loaded again.
    smaller.network.save_pretrained = partial(_refuse_saving, smaller.name)  # type: ignore[method-assign]
    return smaller


def _take_out(capture: Capture, smaller: Model, heads: HeadSet, names: Mapping[Place, str]) -> None:
    done: set[str] = set()
    for place, numbers in heads.by_place.items():
        grid = capture.stacks.grid(place.stack)
        if len(numbers) == grid.heads:
            raise InterventionError(
                f"layer {place.layer} of the {place.stack} would have no head left, which transformers cannot run; use "
                "edit(how='zero'), which gives the same output"
            )
        if names[place] not in done:
            remove_heads(smaller.core, smaller.adapter, names[place], set(numbers), count=grid.heads)
            done.add(names[place])


def _check_sharing(capture: Capture, heads: HeadSet, names: Mapping[Place, str]) -> None:
    """Layers that share weights, or a position bias, can only lose the same heads."""
    chosen = heads.by_place
    for place in chosen:
        stack = [other for other in capture.stacks.places if other.stack == place.stack]
        if capture.model.adapter.shares_position_bias:
            tied, what = stack, "position bias"
        else:
            tied, what = [other for other in stack if names[other] == names[place]], "weights"
        if any(chosen.get(other) != chosen[place] for other in tied):
            raise InterventionError(
                f"the layers of the {place.stack} share their {what}, so only the same heads can be taken out of all "
                "of them; use edit(how='zero') for single ones"
            )


def _prove(capture: Capture, smaller: Model, heads: HeadSet) -> None:
    try:
        ours = probe_states(smaller)
    except Exception as error:
        raise InterventionError(
            f"{capture.model.name} ({capture.model.architecture}) does not run with heads taken out: "
            f"{first_line(error)}; use edit(how='zero'), which gives the same output"
        ) from error
    with edit(capture, heads, how="zero"):
        expected = probe_states(capture.model)
    rounding = _ROUNDING.get(smaller.dtype, _ROUNDING_IN_HALF)
    if not torch.allclose(ours, expected, rtol=0, atol=rounding * float(expected.abs().amax())):
        raise InterventionError(
            f"{capture.model.name} ({capture.model.architecture}) without {len(heads)} heads differs by "
            f"{float((ours - expected).abs().amax()):.2g} from the same with them zeroed, so it is not given out; use "
            "edit(how='zero')"
        )


def probe_states(model: Model) -> Tensor:
    """(text, token, width) the last hidden states of a short probe, real tokens only."""
    inputs = probe_inputs(model, PROBE_LENGTHS)
    with evaluating(model.core), torch.inference_mode():
        output = model.core(**inputs, **model.no_cache, return_dict=True)
    states: Tensor = output[0]
    real = inputs.get("decoder_attention_mask", inputs["attention_mask"])
    return states * real[:, :, None]


def _refuse_saving(name: str, *arguments: object, **options: object) -> NoReturn:
    raise InterventionError(
        f"{name} cannot be saved as a model, because transformers could not load layers of different width again; save "
        "its network.state_dict() and load that into prune of the same model and heads"
    )


_HEAD_COUNTS = ("num_attention_heads", "num_heads", "n_heads")
_WIDTHS = ("all_head_size", "inner_dim", "split_size", "embed_dim")


def remove_heads(network: nn.Module, adapter: Adapter, name: str, heads: set[int], *, count: int) -> None:
    """Take `heads` out of the attention module `name`, which has `count` of them."""
    module = network.get_submodule(name)
    parts = adapter.projections_of(name, dict(network.named_modules()))
    if len(parts) < len(fields(Projections)):
        raise InterventionError(
            f"headscope does not know where {type(module).__name__} keeps its heads, so it cannot take any out; "
            "use edit(how='zero'), which gives the same output"
        )
    kept = [head for head in range(count) if head not in heads]
    output = parts["output"]
    width = _width(output, inputs=True)
    size = width // count
    if parts["query"] is parts["key"]:
        joined = parts["query"]
        rows = adapter.joined_rows(kept, width=width, size=size, rows=_width(joined))
        if _width(joined) == width + 2 * size:
            _serve_all(module, len(kept))
        _keep_part(joined, torch.tensor(rows))
    else:
        groups = _width(parts["key"]) // size
        kept_groups = [0] if groups == 1 else _kept_groups(heads, count, groups, name)
        if groups == 1:
            _serve_all(module, len(kept))
        for kind, numbers in (("query", kept), ("key", kept_groups), ("value", kept_groups)):
            _keep_part(parts[kind], _spread(numbers, size))
    _keep_part(output, _spread(kept, size), inputs=True)
    _keep_by_head(module, adapter, kept)
    for attribute in _HEAD_COUNTS:
        if getattr(module, attribute, None) == count:
            setattr(module, attribute, len(kept))
    for attribute in _WIDTHS:
        if getattr(module, attribute, None) == width:
            setattr(module, attribute, len(kept) * size)


def _serve_all(module: Any, kept: int) -> None:
    """The one group of keys and values that there is serves the heads that are left."""
    if hasattr(module, "num_key_value_groups"):
        module.num_key_value_groups = kept


def _kept_groups(heads: set[int], count: int, groups: int, name: str) -> list[int]:
    """The groups of keys and values that stay: a group serves several heads and goes with all of them."""
    per_group = count // groups
    members = [set(range(group * per_group, (group + 1) * per_group)) for group in range(groups)]
    for group in members:
        if 0 < len(group & heads) < per_group:
            raise InterventionError(
                f"{name}: heads {', '.join(map(str, sorted(group)))} share their keys and values, so all or none of "
                "them can be taken out; use edit(how='zero') for single ones"
            )
    return [number for number, group in enumerate(members) if not group & heads]


def _spread(numbers: list[int], size: int) -> Tensor:
    """The rows of blocks of `size`."""
    return (torch.tensor(numbers)[:, None] * size + torch.arange(size)).flatten()


def _dim(module: nn.Module, *, inputs: bool) -> int:
    """Which dimension of the weights is that of the inputs, or of the outputs; Conv1D has them the other way round."""
    return int(inputs != isinstance(module, Conv1D))


def _width(module: Any, *, inputs: bool = False) -> int:
    return int(module.weight.shape[_dim(module, inputs=inputs)])


def _keep_part(module: nn.Module, numbers: Tensor, *, inputs: bool = False) -> None:
    """Keep these outputs, or inputs, of a projection."""
    _keep(module, "weight", numbers, _dim(module, inputs=inputs))
    if not inputs and getattr(module, "bias", None) is not None:
        _keep(module, "bias", numbers, 0)
    names = ("nf", "nx") if isinstance(module, Conv1D) else ("out_features", "in_features")
    setattr(module, names[inputs], len(numbers))


def _keep_by_head(module: nn.Module, adapter: Adapter, kept: list[int]) -> None:
    for name in adapter.by_head:
        part = getattr(module, name, None)
        if isinstance(part, nn.Embedding):
            _keep(part, "weight", torch.tensor(kept), 1)
            part.embedding_dim = len(kept)
        elif isinstance(part, nn.Parameter):
            _keep(module, name, torch.tensor(kept), 0)


def _keep(module: nn.Module, name: str, numbers: Tensor, dim: int) -> None:
    old = getattr(module, name)
    new = old.detach().index_select(dim, numbers.to(old.device)).clone()
    setattr(module, name, nn.Parameter(new, requires_grad=old.requires_grad))
