"""Batches side by side: in order, each by one core, and nothing left behind when something goes wrong."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from threading import Barrier, current_thread
from threading import enumerate as threads

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import CaptureError
from headscope.kernels.verify import choose_kernels
from headscope.passes.lanes import in_lanes
from headscope.trace import survey
from headscope.trace.watch import USED, Watch

TEXTS = [
    f"The {word} sat on the mat. A {word} was there, and it was red."
    for word in ["cat", "dog", "bird", "cow"]
]


@pytest.fixture(params=[1, 2, 3])
def cores(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    assert torch.get_num_threads() == request.param
    torch.set_num_threads(before)


@contextmanager
def squaring() -> Iterator[Callable[[int], int]]:
    yield lambda number: number**2


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_everything_comes_in_order(count: int, cores: int) -> None:
    assert list(in_lanes(range(count), squaring)) == [(number, number**2) for number in range(count)]


def test_lanes_run_at_the_same_time_with_a_core_each() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    together = Barrier(3, timeout=20)
    seen: set[tuple[str, int]] = set()

    @contextmanager
    def lane() -> Iterator[Callable[[int], None]]:
        def work(number: int) -> None:
            seen.add((str(current_thread().ident), torch.get_num_threads()))
            together.wait()

        yield work

    try:
        assert len(list(in_lanes(range(3), lane))) == 3
    finally:
        torch.set_num_threads(before)
    assert len(seen) == 3
    assert {count for _, count in seen} == {1}


def test_an_error_comes_in_its_place_and_ends_all_lanes(cores: int) -> None:
    @contextmanager
    def lane() -> Iterator[Callable[[int], float]]:
        yield lambda number: 1 / (number - 4)

    stream = in_lanes(range(100), lane)
    assert [thing for thing, _ in (next(stream) for _ in range(4))] == [0, 1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        next(stream)
    assert not any(thread.name == "headscope lane" for thread in threads())


@pytest.mark.parametrize("opens", [True, False])
def test_a_lane_that_cannot_be_opened_or_closed_is_told_of(opens: bool, cores: int) -> None:
    @contextmanager
    def lane() -> Iterator[Callable[[int], int]]:
        if not opens:
            raise OSError("closed for good")
        yield lambda number: number
        raise OSError("closed for good")

    with pytest.raises(OSError, match="closed for good"):
        list(in_lanes(range(5), lane))


def test_who_stops_early_leaves_no_thread(cores: int) -> None:
    stream = in_lanes(range(100), squaring)
    next(stream)
    stream.close()
    assert not any(thread.name == "headscope lane" for thread in threads())


def arrays(model: hs.Model) -> dict[str, np.ndarray]:
    atlas = hs.analyze(model, TEXTS, max_length=64, batch_size=1, sentences=0)
    assert atlas.provenance["options"]["kernels"] == USED
    return {name: array.values for name, array in atlas.stack("encoder").items()}


def watch_of(model: hs.Model) -> Watch:
    watch = Watch(survey(model))
    choose_kernels(watch, wanted=True, faithful=False)
    return watch


def test_a_watch_beside_another_shares_weights_and_nothing_else() -> None:
    watch = watch_of(tiny("bert"))
    twin = watch.beside()
    own, others = watch.model.network, twin.model.network
    for mine, theirs in zip(own.parameters(), others.parameters(), strict=True):
        assert mine is theirs
    assert not set(own.modules()) & set(others.modules())
    assert own.config is not others.config
    assert twin.capture.model is twin.model
    assert twin.model.tokenizer is watch.model.tokenizer


def test_a_network_that_somebody_changed_has_no_lanes() -> None:
    model = tiny.__wrapped__("bert")  # on which no other test has hung anything
    watch = watch_of(model)
    model.network.set_attn_implementation("eager")
    model.network(**model.tokenizer("The cat", return_tensors="pt"), output_attentions=True)
    model.network.set_attn_implementation("sdpa")
    assert any(module._forward_hooks for module in model.network.modules()), "left there by transformers"
    assert watch.has_lanes
    layer = model.network.encoder.layer[0]
    handle = layer.register_forward_hook(lambda *given: None)
    assert not watch.has_lanes
    handle.remove()
    layer.forward = layer.forward
    assert not watch.has_lanes


def test_a_nan_ends_the_run(cores: int) -> None:
    model = deepcopy(tiny("bert"))
    word = model.tokenizer.convert_tokens_to_ids("house")  # nothing that a model is surveyed with
    with torch.no_grad():
        model.network.embeddings.word_embeddings.weight[word] = torch.nan
    with pytest.raises(CaptureError, match="the attention of layer 0 holds nan"):
        hs.analyze(model, [*TEXTS, "A house was blue."], max_length=64, batch_size=1, sentences=0)
