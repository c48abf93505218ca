"""Sums that merge themselves: whatever the parts and their order, as if all had been counted at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations

import pytest
import torch
from torch import Tensor

from headscope import accumulator
from headscope.accumulator import Accumulator, Counted, Sums, merge_together, nothing, settled


@dataclass
class Inner(Sums):
    total: Tensor
    texts: int = 0


@dataclass
class Outer(Sums):
    name: str
    exact: bool
    most: float
    by_layer: Mapping[int, Inner]
    sides: tuple[Inner, Tensor]
    seen: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    none: None = None


def inner(value: float, texts: int) -> Inner:
    return Inner(torch.full((2, 3), value, dtype=torch.float64), texts)


def part(number: int) -> Outer:
    """Layer `number` is seen by this part alone, layer 9 by all."""
    return Outer(
        "x",
        True,
        0.5,
        {number: inner(number, 1), 9: inner(10.0**number, 2)},
        (inner(1, 1), torch.tensor([float(number), 1.0])),
        {number, 7},
        [f"line {number}"],
    )


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_parts_merge_as_if_counted_at_once(order: tuple[int, ...]) -> None:
    merged = part(0).empty()
    for number in order:
        merged.merge(part(number))
    assert (merged.name, merged.exact, merged.none) == ("x", True, None)
    assert merged.most == 1.5
    assert {layer: own.texts for layer, own in merged.by_layer.items()} == {0: 1, 1: 1, 2: 1, 9: 6}
    assert merged.by_layer[9].total.unique().tolist() == [111.0]
    assert merged.by_layer[2].total.unique().tolist() == [2.0]
    assert merged.sides[0].texts == 3
    assert merged.sides[1].tolist() == [3.0, 3.0]
    assert merged.seen == {0, 1, 2, 7}
    assert merged.lines == [f"line {number}" for number in order]


def test_an_empty_one_is_of_the_same_kind_and_shares_nothing() -> None:
    full = part(3)
    none = full.empty()
    assert isinstance(none, Outer)
    assert isinstance(none, Accumulator)
    assert (none.name, none.exact, none.most, none.seen, none.lines) == ("x", True, 0, set(), [])
    assert none.by_layer[9].total.shape == (2, 3)
    assert none.by_layer[9].total.dtype == torch.float64
    assert not none.by_layer[9].total.any()
    none.merge(part(3))
    assert full.by_layer[9].texts == 2
    assert full.lines == ["line 3"]


def test_what_was_counted_in_inference_mode_merges_outside_of_it() -> None:
    with torch.inference_mode():
        first, second = inner(1, 1), inner(2, 1)
    whole = inner(0, 0)
    for seen in (first, second):
        whole.merge(seen)
    first.merge(second)
    assert whole.total.unique().tolist() == first.total.unique().tolist() == [3.0]


def test_what_merges_with_another_leaves_that_one_as_it_was() -> None:
    whole, other = inner(1, 1), inner(2, 1)
    whole.merge(other)
    whole.merge(inner(5, 1))
    assert other.total.unique().tolist() == [2.0]
    entries = part(0)
    entries.merge(part(1))
    given = part(2)
    entries.merge(given)
    entries.merge(part(2))
    assert (entries.by_layer[2].texts, given.by_layer[2].texts) == (2, 1)


def test_one_value_merges_as_a_field_does() -> None:
    whole = Counted({"a": 1, "b": 2})
    part = whole.empty()
    assert part.value == {"a": 0, "b": 0}
    part.value["b"] = 5
    whole.merge(part)
    assert whole.value == {"a": 1, "b": 7}
    lines: Counted[list[str]] = Counted(["first"])
    lines.merge(Counted(["second"]))
    assert lines.value == ["first", "second"]


def test_nothing_of_one_number_may_be_written_into() -> None:
    one, other = nothing(1), nothing(1)
    one += 1
    assert float(other) == 0
    assert nothing(2, 3).untyped_storage().nbytes() == 8
    torch.testing.assert_close(
        settled(nothing(2, 3, value=2.0), torch.device("cpu")), torch.full((2, 3), 2.0).double()
    )


@dataclass
class Odd(Sums):
    """Merges in a way of its own."""

    total: Tensor

    def merge(self, other: "Odd", /) -> None:
        self.total = torch.maximum(self.total, other.total)


@dataclass
class Several(Sums):
    inner: Inner
    odd: Odd
    half: Tensor


def test_what_lies_on_a_gpu_is_added_in_one_step_and_as_it_would_be_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(value: float) -> Several:
        return Several(
            inner(value, 1), Odd(torch.tensor([value])), torch.tensor([value], dtype=torch.float16)
        )

    steps: list[int] = []
    add = torch._foreach_add

    def noted(mine: list[Tensor], theirs: list[Tensor]) -> tuple[Tensor, ...]:
        steps.append(len(mine))
        return tuple(add(mine, theirs))

    pairs = [(made(1), made(2)), (made(3), made(-4))]
    before = [pair[0].inner.total for pair in pairs]
    monkeypatch.setattr(torch, "_foreach_add", noted)
    merge_together(pairs)
    assert steps == []
    alone = pairs
    # No GPU here: all tensors are taken for such.
    monkeypatch.setattr(accumulator, "_adds_up", lambda mine, _: isinstance(mine, Tensor))
    pairs = [(made(1), made(2)), (made(3), made(-4))]
    merge_together(pairs)
    assert steps == [4]
    for (one, _), (other, _) in zip(pairs, alone, strict=True):
        assert torch.equal(one.inner.total, other.inner.total)
        assert torch.equal(one.odd.total, other.odd.total)
        assert torch.equal(one.half, other.half)
        assert one.inner.texts == other.inner.texts == 2
    assert [mine.inner.total[0, 0].item() for mine, _ in pairs] == [3, -1]
    assert [mine.odd.total.item() for mine, _ in pairs] == [2, 3]
    assert [total[0, 0].item() for total in before] == [1, 3]  # not in place
