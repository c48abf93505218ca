"""Taking heads out of an attention module, where its adapter knows where the weights of each head are."""

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.errors import InterventionError
from headscope.models.adapters import Adapter, Projections

_HEAD_COUNTS = ("num_attention_heads", "num_heads", "n_heads")
_WIDTHS = ("all_head_size", "inner_dim", "split_size")


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
    width = _inputs(output)
    size = width // count
    if parts["query"] is parts["key"]:
        rows = _spread(kept, size)
        _keep_outputs(parts["query"], torch.cat([rows, rows + width, rows + 2 * width]))
    else:
        kept_groups = _kept_groups(heads, count, _outputs(parts["key"]) // size, name)
        for kind, numbers in (("query", kept), ("key", kept_groups), ("value", kept_groups)):
            _keep_outputs(parts[kind], _spread(numbers, size))
    _keep_inputs(output, _spread(kept, size))
    _keep_by_head(module, adapter, kept)
    for attribute in _HEAD_COUNTS:
        if getattr(module, attribute, None) == count:
            setattr(module, attribute, len(kept))
    for attribute in _WIDTHS:
        if getattr(module, attribute, None) == width:
            setattr(module, attribute, len(kept) * size)


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


def _inputs(module: Any) -> int:
    return int(module.weight.shape[0 if isinstance(module, Conv1D) else 1])


def _outputs(module: Any) -> int:
    return int(module.weight.shape[1 if isinstance(module, Conv1D) else 0])


def _keep_outputs(module: nn.Module, rows: Tensor) -> None:
    _keep(module, "weight", rows, 1 if isinstance(module, Conv1D) else 0)
    if getattr(module, "bias", None) is not None:
        _keep(module, "bias", rows, 0)
    setattr(module, "nf" if isinstance(module, Conv1D) else "out_features", len(rows))


def _keep_inputs(module: nn.Module, columns: Tensor) -> None:
    _keep(module, "weight", columns, 0 if isinstance(module, Conv1D) else 1)
    setattr(module, "nx" if isinstance(module, Conv1D) else "in_features", len(columns))


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
