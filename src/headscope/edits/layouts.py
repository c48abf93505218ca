"""Taking heads out of an attention module, where its adapter knows where the weights of each head are."""

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
    layout = _layout(network, adapter, name)
    kept = [head for head in range(count) if head not in heads]
    output = network.get_submodule(_resolve(name, layout.output))
    width = _inputs(output)
    size = width // count
    groups = _outputs(network.get_submodule(_resolve(name, layout.key))) // size
    if layout.query == layout.key:
        rows = _spread(kept, size)
        fused = torch.cat([rows, rows + width, rows + 2 * width])
        _keep_outputs(network.get_submodule(_resolve(name, layout.query)), fused)
    else:
        kept_groups = _kept_groups(heads, count, groups, name)
        for projection, numbers in (
            (layout.query, kept),
            (layout.key, kept_groups),
            (layout.value, kept_groups),
        ):
            _keep_outputs(network.get_submodule(_resolve(name, projection)), _spread(numbers, size))
    _keep_inputs(output, _spread(kept, size))
    _keep_by_head(module, adapter, kept)
    for attribute in _HEAD_COUNTS:
        if getattr(module, attribute, None) == count:
            setattr(module, attribute, len(kept))
    for attribute in _WIDTHS:
        if getattr(module, attribute, None) == width:
            setattr(module, attribute, len(kept) * size)


def _layout(network: nn.Module, adapter: Adapter, name: str) -> Projections:
    modules = dict(network.named_modules())
    for layout in adapter.projections:
        names = {_resolve(name, part) for part in (layout.query, layout.key, layout.value, layout.output)}
        if all(isinstance(modules.get(one), nn.Linear | Conv1D) for one in names):
            return layout
    raise InterventionError(
        f"headscope does not know where {type(modules[name]).__name__} keeps its heads, so it cannot take any out; "
        "use edit(how='zero'), which gives the same output"
    )


def _resolve(name: str, part: str) -> str:
    if part.startswith("../"):
        return f"{name.rpartition('.')[0]}.{part.removeprefix('../')}"
    return f"{name}.{part}"


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
