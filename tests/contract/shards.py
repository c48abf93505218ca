"""Passes cut into small shards: stopped and gone on with, dealt out in any order, counted twice, read by nobody."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.passes import checkpoint as module
from headscope.passes.checkpoint import checkpoint
from headscope.passes.run_pass import Job, Shard

TEXTS = [f"the cat saw {number} dogs, and the red mat was on it." for number in range(24)]
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


def arrays_of(atlas: hs.Atlas) -> dict[str, "np.ndarray[Any, Any]"]:
    """Every array of an atlas, by stack and name."""
    return {
        f"{stack}/{name}": array.values
        for stack in atlas.stacks
        for name, array in atlas.stack(stack).plain.items()
    }


def assert_same_bits(found: Arrays, expected: Arrays) -> None:
    """The same arrays, bit for bit; names are compared as names."""
    assert found.keys() == expected.keys()
    for name, values in found.items():
        assert values.shape == expected[name].shape, name
        if values.dtype.kind in "OSU":  # a file has names in a form of its own
            assert values.tolist() == expected[name].tolist(), name
            continue
        assert values.dtype == expected[name].dtype, name
        assert values.tobytes() == expected[name].tobytes(), name


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few texts, or a batch or two of a task, make a shard."""
    make_shards_small(monkeypatch)


def make_shards_small(patch: pytest.MonkeyPatch) -> None:
    """The same for who has a patch already."""
    patch.setattr("headscope.passes.run_pass.TEXTS_A_SHARD", 4)
    patch.setattr("headscope.text.batching.READ_AHEAD", 5)
    patch.setattr("headscope.tasks.base.BATCHES_A_SHARD", 8)
    patch.setattr("headscope.importance.importance.BATCHES_A_SHARD", 8)
    patch.setattr("headscope.probes.features.probe.MOST_HELD", 8)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of shards that a model was run for."""
    return note_counted(monkeypatch)


def note_counted(patch: pytest.MonkeyPatch) -> list[str]:
    """The same for who has a patch already."""
    ids: list[str] = []
    run, inside = Job.run, False

    def noted(self: Job, shard, told=lambda batch: None):  # type: ignore[no-untyped-def]
        nonlocal inside
        if inside:  # a pass inside a shard
            return run(self, shard, told)
        ids.append(shard.id)
        inside = True
        try:
            return run(self, shard, told)
        finally:
            inside = False

    patch.setattr(Job, "run", noted)
    return ids


def stop_after(shards: int, patch: pytest.MonkeyPatch) -> None:
    """Ctrl-C once so many shards were kept."""
    put, done = module._Pass.put, 0

    def stopping(self, shard, state):  # type: ignore[no-untyped-def]
        nonlocal done
        if done == shards:
            raise KeyboardInterrupt
        done += 1
        put(self, shard, state)

    patch.setattr(module._Pass, "put", stopping)


def stopped(analysis: Callable[[Path], object], folder: Path, shards: int = 2) -> None:
    """An analysis that kept so many shards when it was stopped."""
    with pytest.MonkeyPatch.context() as patch:
        stop_after(shards, patch)
        with pytest.raises(KeyboardInterrupt), checkpoint(folder / "kept"):
            analysis(folder)


def check_goes_on(analysis: Callable[[Path], Arrays], tmp_path: Path, counted: list[str]) -> None:
    """An analysis that is stopped takes what was kept of it, and gives what it gives at one go."""
    check_goes_on_to(analysis(tmp_path), list(counted), analysis, tmp_path, counted)


def check_goes_on_to(
    expected: Arrays,
    whole: list[str],
    analysis: Callable[[Path], Arrays],
    tmp_path: Path,
    counted: list[str],
) -> None:
    """The same where it is known what it gives, and of which shards."""
    assert len(whole) > 2
    stopped(analysis, tmp_path)
    counted.clear()
    with checkpoint(tmp_path / "kept") as kept:
        found = analysis(tmp_path)
    assert len(counted) == len(whole) - 2
    assert kept.kept >= len(whole) - 2  # the others were in passes that a checkpoint need not keep
    assert_same_bits(found, expected)


class Shuffling:
    """An engine that counts shards in an order of its own and some twice, and merges each with one without texts."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.shards = 0
        """How many of a pass there were at most."""

    def model(self, model: hs.Model) -> None:
        """It is here."""

    def run(self, parts: Any, job: Any, accept: Any, told: Any, *, keep: bool) -> None:
        """Count all."""
        shards = list(parts)
        self.shards = max(self.shards, len(shards))
        self.random.shuffle(shards)
        for shard in shards:
            job.run(shard)
            state, empty = job.nothing.empty(), job.run(Shard(shard.place, []))
            state.merge(empty)
            state.merge(job.run(shard))
            accept(shard, state)


class Reading:
    """What is read of texts or annotated data: the places, and by `most` how much there is of it at all."""

    def __init__(self) -> None:
        self.places: list[int] = []

    def of(self, data: Any, most: int | None = None) -> Any:
        """The same data, whose reading is noted; only the first `most` items of it."""
        kind, places = type(data), self.places

        class Noted(kind):  # type: ignore[misc, valid-type]
            def __iter__(self) -> Iterator[Any]:
                for place, item in enumerate(super().__iter__()):
                    if most is not None and place >= most:
                        return
                    places.append(place)
                    yield item

        noted: Any = Noted.__new__(Noted)
        if isinstance(data, list):
            noted.extend(data)
        else:
            vars(noted).update(vars(data))
        return noted
