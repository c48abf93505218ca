"""Measures of all stacks: what a batch leaves behind."""

import gc
import weakref

import pytest
from tests.helpers.tiny import tiny

from headscope.batches import AttentionBatch
from headscope.capture import survey
from headscope.measures import MEASURES
from headscope.run.measured import Measures
from headscope.run.watch import Watch
from headscope.run.weighing import choose_weighing
from headscope.text.items import TextPair


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
