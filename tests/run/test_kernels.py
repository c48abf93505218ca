"""The kernels' road against the model's own, end to end: interpreted on a CPU, or on a GPU."""

import numpy as np
import pytest
from tests.helpers.tiny import tinier, tiny

from headscope.capture import survey
from headscope.errors import CaptureError
from headscope.measures import MEASURES
from headscope.models import Model
from headscope.run.kernels import kernels_note
from headscope.run.measured import Measures
from headscope.run.watch import USED, Watch
from headscope.run.weighing import choose_weighing
from headscope.text.items import TextPair

pytest.importorskip(
    "triton", reason="the kernels' tests were left out: triton is not installed (pip install triton)"
)
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*encountered in.*:RuntimeWarning"
)  # numpy, of minus infinity

PAIRS = [
    TextPair("The cat sat, the cat was red.", "A dog, the cat."),
    TextPair("A dog!", "It."),
]


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU kernels are interpreted, which is for tests."""
    monkeypatch.setattr("headscope.run.kernels._reaches", lambda device: True)


KINDS = [MEASURES.get(name) for name in MEASURES.names()]


def counted(model: Model, *, kernels: bool) -> Measures:
    capture = survey(model)
    weighing = choose_weighing(capture, KINDS, None)
    states = Measures.of(capture, weighing.kinds, weigh=weighing.weigh)
    watch = Watch(capture, carrier=weighing.carrier)
    watch.kernels = kernels_note(watch, wanted=kernels, faithful=False)
    assert (watch.kernels == USED) == kernels, watch.kernels
    encoder = watch.encoder(48)
    states.update(watch, watch.batch([encoder.encode(pair) for pair in PAIRS]))
    return states


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_every_measure_is_the_same_by_both_roads(architecture: str) -> None:
    model = tinier(architecture)
    own, fused = (counted(model, kernels=kernels).result() for kernels in (False, True))
    assert own.keys() == fused.keys()
    for stack, arrays in own.items():
        assert arrays.keys() == fused[stack].keys()
        for name, array in arrays.items():
            np.testing.assert_allclose(
                fused[stack][name].values, array.values, atol=2e-5, rtol=1e-4, err_msg=f"{stack} {name}"
            )


def test_a_kernel_that_differs_is_not_used_and_the_layer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(survey(tinier("bert")))
    fuse = Watch.fuse

    def wrong(self: Watch, *given: object) -> object:
        batch = fuse(self, *given)
        if batch.layer == 1:
            batch.left.diagonals.mul_(1.1)
        return batch

    monkeypatch.setattr(Watch, "fuse", wrong)
    note = kernels_note(watch, wanted=True, faithful=False)
    assert note.startswith("not used: near_diagonals of layer 1 of the encoder differs by")


def test_a_kernel_that_does_not_run_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Watch, *given: object) -> object:
        raise RuntimeError("out of resource: shared memory\nmore")

    monkeypatch.setattr(Watch, "fuse", broken)
    note = kernels_note(Watch(survey(tiny("bert"))), wanted=True, faithful=False)
    assert note == "not used: the kernel does not run here (RuntimeError: out of resource: shared memory)"


def test_why_kernels_are_not_used() -> None:
    watch = Watch(survey(tiny("bert")))
    assert kernels_note(watch, wanted=False, faithful=False) == "not used: switched off (--no-kernels)"
    assert "published forms" in kernels_note(watch, wanted=True, faithful=True)
    looked_at = Watch(survey(tiny("mpnet")))
    assert "out of the hook's reach" in kernels_note(looked_at, wanted=True, faithful=False)


def test_on_a_cpu_the_model_computes_its_own_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    note = kernels_note(Watch(survey(tiny("bert"))), wanted=True, faithful=False)
    assert note == "not used: the model runs on cpu"


def test_a_nan_is_told_of_when_the_batches_are_through(monkeypatch: pytest.MonkeyPatch) -> None:
    from headscope.capture.kernels.batch import FusedStack, WholeBatch

    watch = Watch(survey(tiny("bert")))
    watch.kernels = USED
    whole = FusedStack.whole

    def broken(self: FusedStack) -> WholeBatch:
        self.left.entropies[:, self.grid.heads + 1] = np.nan
        return whole(self)

    monkeypatch.setattr(FusedStack, "whole", broken)
    encoder = watch.encoder(16)
    batch = watch.batch([encoder.encode(PAIRS[1])])
    seen: list[str] = []
    with (
        pytest.raises(CaptureError, match=r"the attention of layer 1 holds nan \(head 1\)"),
        watch.running(),
    ):
        watch.run_reduced(batch, lambda stack, attention: seen.append(stack), layers=False)
    assert seen == ["encoder"]
