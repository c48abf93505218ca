"""Measures of all stacks: what a batch leaves behind."""

import gc
import weakref

import pytest
from tests.helpers.tiny import tiny

from headscope.batches import AttentionBatch
from headscope.capture import survey
from headscope.kinds.patterns import PatternShares
from headscope.measures import MEASURES
from headscope.measures.fast import cpu
from headscope.run.kernels import kernels_note
from headscope.run.measured import Measures
from headscope.run.watch import Watch
from headscope.run.weighing import choose_weighing
from headscope.text.items import TextPair


@pytest.mark.parametrize(("names", "alone"), [(["entropy"], False), ([], True)], ids=["sums", "maps"])
def test_maps_are_summed_up_where_a_measure_asks_for_it(
    names: list[str], alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    sum_up = cpu.map_sums

    def noted(*given: object, alone: bool = False) -> None:
        seen.append(alone)
        sum_up(*given, alone=alone)

    capture = survey(tiny("bert"))
    watch = Watch(capture)
    watch.kernels = kernels_note(watch, wanted=True, faithful=False)
    assert watch.by_kernels, watch.kernels
    states = Measures.of(capture, [PatternShares, *map(MEASURES.get, names)])
    monkeypatch.setattr(cpu, "map_sums", noted)
    states.update(watch, watch.batch([watch.encoder(16).encode(TextPair("The cat sat.", "A dog."))]))
    layers = capture.stacks.grids[0].layers
    assert seen[:layers] == [alone] * layers


def test_a_batch_leaves_no_map_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches that know each other would stay in memory until Python looks for cycles, many layers later."""
    capture = survey(tiny("bert"))
    weighing = choose_weighing(capture, [MEASURES.get(name) for name in MEASURES.names()], "both")
    states = Measures.of(capture, weighing.kinds, weigh="both")
    watch = Watch(capture, carrier=weighing.carrier)
    observed, maps = AttentionBatch.observed, []

    def noted(*given: object) -> AttentionBatch:
        batch = observed(*given)
        maps.append(weakref.ref(batch.attention))
        return batch

    monkeypatch.setattr(AttentionBatch, "observed", noted)
    gc.disable()
    try:
        states.update(watch, watch.batch([watch.encoder(16).encode(TextPair("The cat sat.", "A dog."))]))
        assert maps
        assert [layer for layer, held in enumerate(maps) if held() is not None] == []
    finally:
        gc.enable()
