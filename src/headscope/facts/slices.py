"""Taking one number per head out of an atlas: which stack, which slice, and what it is called."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.description import ArrayText, array_text
from headscope.facts.head_arrays import Choice, HeadArray, stack_arrays
from headscope.types import Array, HeadChoice, HeadId

Select = Mapping[str, Choice | Sequence[Choice]]


@dataclass(frozen=True)
class HeadValues:
    """One number for every head of a stack."""

    values: Array  # (layer, head) nan where nothing was measured
    stderr: Array | None  # (layer, head) None where the atlas has none
    measure: str
    select: dict[str, tuple[Choice, ...]]
    stack: str
    units: str
    sample_size: int | None = None
    """How many independent texts or documents the standard errors are over, where that is known."""
    text: ArrayText | None = None
    """What the probe that found them says of them."""

    @property
    def is_share(self) -> bool:
        """True for shares, False for nats, ratios, weights and the like."""
        return self.units == "1" and (self.text is None or self.text.kind != "number")

    @property
    def is_signed(self) -> bool:
        """True when a value may be on either side of 0: a difference, a change, a learned weight."""
        return bool((self.values[np.isfinite(self.values)] < 0).any())

    def order(self, most: int | None = None) -> list[HeadId]:
        """The heads that have a value, or at most so many of them, largest first."""
        flat = self.values.ravel()
        ranked = np.argsort(-flat, kind="stable")
        heads = self.values.shape[1]
        return [HeadId(*divmod(index, heads)) for index in ranked[np.isfinite(flat[ranked])][:most].tolist()]

    def at(self, head: HeadId) -> tuple[float, float | None]:
        """The value of one head, and its standard error where there is one."""
        value = float(self.values[head.layer, head.head])
        error = None if self.stderr is None else float(self.stderr[head.layer, head.head])
        return value, error if error is not None and np.isfinite(error) else None


_HOW = dict.fromkeys(("head_importance", "gradient_layer"), "importance MODEL --task mlm --data FILE")
"""The commands that make what an atlas of texts does not have."""


def stack_with(atlas: Atlas, measure: str, stack: str | None) -> str:
    """The stack to look in: the one named, or the first that has the measure."""
    if stack is not None:
        if measure not in atlas.stack(stack):
            has = ", ".join(name for name in atlas.measures if name in atlas.stack(stack)) or "nothing"
            raise AtlasError(f"the {stack} of this atlas has no {measure!r}; it has {has}")
        return stack
    for candidate in atlas.stacks:
        if measure in atlas.stack(candidate):
            return candidate
    how = f"; add it with: headscope {_HOW[measure]} -o ATLAS" if measure in _HOW else ""
    raise AtlasError(f"this atlas has no {measure!r}; it has {', '.join(atlas.measures)}{how}")


def head_values(
    atlas: Atlas, measure: str, *, select: Select | None = None, stack: str | None = None
) -> HeadValues:
    """One number for every head: `measure` at one label of each of its other dimensions.

    Several labels of a dimension are added up, which only shares allow; their sum has no standard error.
    """
    name = stack_with(atlas, measure, stack)
    arrays = stack_arrays(atlas, name)
    array = arrays[measure]
    if not {"layer", "head"} <= set(array.dims):
        dims = ", ".join(array.dims) or "none"
        raise OptionError(
            f"{measure!r} is not a number per head: its dimensions are {dims}, not layer and head"
        )
    text = array_text(atlas, measure)
    chosen = _chosen(array, measure, select or {}, text)
    added = any(len(labels) > 1 for labels in chosen.values())
    error = arrays.get(f"{measure}_stderr")
    return HeadValues(
        _taken(array, chosen),
        None if error is None or added else _taken(error, chosen),
        measure,
        chosen,
        name,
        array.units,
        atlas.sample_size(measure),
        text,
    )


def known_values(atlas: Atlas, stack: str, measure: str, select: Select) -> HeadValues | None:
    """The same; None where the stack has no number there, such as for [SEP] of a model that has none."""
    array = stack_arrays(atlas, stack).get(measure)
    if array is None or any(
        not set(_listed(some)) <= set(array.choices(dim)) for dim, some in select.items()
    ):
        return None
    return head_values(atlas, measure, select=select, stack=stack)


def _chosen(
    array: HeadArray, measure: str, select: Select, text: ArrayText | None
) -> dict[str, tuple[Choice, ...]]:
    dims = [str(dim) for dim in array.dims if dim not in ("layer", "head")]
    unknown = [dim for dim in select if dim not in dims]
    if unknown:
        takes = f"select takes {', '.join(dims)}" if dims else "it has nothing to select"
        raise OptionError(f"{measure!r} has no dimension {unknown[0]!r}; {takes}")
    chosen: dict[str, tuple[Choice, ...]] = {}
    for dim in dims:
        known = array.choices(dim)
        listed = ", ".join(map(str, known)) or "nothing, every value is missing"
        if dim not in select:
            if len(known) != 1:
                raise OptionError(f"{measure!r} needs select={{{dim!r}: ...}}; choose from {listed}")
            chosen[dim] = (known[0],)
            continue
        chosen[dim] = tuple(_known(label, known, dim, listed) for label in _listed(select[dim]))
        if len(chosen[dim]) > 1 and (array.units != "1" or (text is not None and text.kind != "share")):
            what = "a ratio" if array.units == "1" else f"in {array.units}"
            raise OptionError(f"{measure!r} is {what}, which cannot be added up; select one {dim}: {listed}")
        if not chosen[dim]:
            raise OptionError(f"select={{{dim!r}: ...}} is empty; choose from {listed}")
    return chosen


def _listed(wanted: Choice | Sequence[Choice]) -> Sequence[Choice]:
    return [wanted] if isinstance(wanted, str) or not isinstance(wanted, Sequence) else wanted


def _known(wanted: Choice, known: list[Choice], dim: str, listed: str) -> Choice:
    for label in known:
        if str(label) == str(wanted):
            return label
    raise OptionError(f"there is no {dim} {wanted!r}; choose from {listed}")


def _taken(array: HeadArray, chosen: Mapping[str, tuple[Choice, ...]]) -> Array:
    """(layer, head)."""
    part = array.sel(**chosen).transpose("layer", "head", *chosen).values
    return np.asarray(part.sum(tuple(range(2, part.ndim))) if chosen else part, dtype=float)


def as_heads(heads: Iterable[str | HeadId], *, layers: int, per_layer: int) -> list[HeadId]:
    """The heads, read and checked against the grid; `3.*` and `layer 3` are all heads of a layer."""
    chosen: list[HeadId] = []
    for head in heads:
        if not isinstance(head, str | HeadId):
            raise OptionError(f"{head!r} is not a head; write it as layer.head, such as '3.2'")
        choice = HeadChoice.parse(head) if isinstance(head, str) else HeadChoice.of(head)
        if choice.stack is not None:
            raise OptionError(f"{head!r} names a stack; name it with stack={choice.stack!r} instead")
        chosen += choice.within(layers, per_layer)
    if not chosen:
        raise OptionError("no heads were given; name at least one as layer.head, such as 3.2")
    return chosen
