"""The kernels' road against the model's own, end to end: compiled for a CPU, and those of a GPU interpreted."""

import gc
import weakref
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tinier, tiny
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert import modeling_bert

from headscope.capture import kernels, observe, survey
from headscope.capture.call import AttentionInputs
from headscope.capture.follow import replacing
from headscope.capture.kernels.batch import FusedStack, WholeBatch
from headscope.capture.projection import Carrier
from headscope.errors import CaptureError
from headscope.measures import MEASURES
from headscope.measures.reductions import near_diagonals
from headscope.models import Model
from headscope.models.stacks import Place
from headscope.run.kernels import _out_of_reach, kernels_note
from headscope.run.measured import Measures
from headscope.run.watch import USED, Watch
from headscope.run.weighing import choose_weighing
from headscope.text.encode import EncodedInput
from headscope.text.items import TextPair

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*encountered in.*:RuntimeWarning"
)  # numpy, of minus infinity

PAIRS = [
    TextPair("The cat sat, the cat was red.", "A dog, the cat."),
    TextPair("A dog!", "It."),
]


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.slow)])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Kernels for a CPU, or those for a GPU, which are interpreted on a CPU."""
    if request.param == "gpu":
        pytest.importorskip("triton")
        from headscope.capture.kernels.gpu import TritonStack

        monkeypatch.setattr("headscope.capture.kernels.stack_for", lambda device: TritonStack)
    return str(request.param)


@dataclass(frozen=True)
class Encoded:
    """A text as a run reads it."""

    encoded: EncodedInput


CAP = 2e3
"""So much that the scores of a tiny model do not come near it."""
KINDS = [MEASURES.get(name) for name in MEASURES.names()]


def counted(model: Model, *, kernels: bool) -> Measures:
    capture = survey(model)
    weighing = choose_weighing(capture, KINDS, None)
    states = Measures.of(capture, weighing.kinds, weigh=weighing.weigh)
    watch = Watch(capture, carrier=weighing.carrier)
    watch.kernels = kernels_note(watch, wanted=kernels, faithful=False)
    assert watch.by_kernels == kernels, watch.kernels
    encoder = watch.encoder(48)
    states.update(watch, watch.batch([encoder.encode(pair) for pair in PAIRS]))
    return states


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_every_measure_is_the_same_by_both_roads(architecture: str, road: str) -> None:
    model = tinier(architecture)
    own, fused = (counted(model, kernels=kernels).result() for kernels in (False, True))
    assert own.keys() == fused.keys()
    for stack, arrays in own.items():
        assert arrays.keys() == fused[stack].keys()
        for name, array in arrays.items():
            np.testing.assert_allclose(
                fused[stack][name].values, array.values, atol=2e-5, rtol=1e-4, err_msg=f"{stack} {name}"
            )


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_what_is_derived_beforehand_changes_nothing(
    architecture: str, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No accelerator here: the batch is made as for one, and looked at before it would be copied there.
    pytest.importorskip("triton")
    capture = survey(tinier(architecture))
    weighing = choose_weighing(capture, KINDS, None)
    states = Measures.of(capture, weighing.kinds, weigh=weighing.weigh)
    watch = Watch(capture, derives=states.derives(), carrier=weighing.carrier)
    watch.kernels = USED
    encoder = watch.encoder(48)
    texts = [Encoded(encoder.encode(pair)) for pair in PAIRS]
    with monkeypatch.context() as away:
        away.setattr(Model, "device", torch.device("meta"))
        ready = watch.ready(texts).held
    expected = {*kernels.stack_for(torch.device("meta")).derives, *states.derives()}
    for tokens in (ready.source, ready.target):
        assert tokens is None or set(tokens._derived) == expected
    plain, known = states.empty(), states.empty()
    plain.update(watch, watch.batch([text.encoded for text in texts]))
    known.update(watch, ready.to(torch.device("cpu")))
    for stack, arrays in plain.result().items():
        for name, array in arrays.items():
            np.testing.assert_array_equal(known.result()[stack][name].values, array.values, err_msg=name)


def test_a_kernel_that_differs_is_not_used_and_the_layer_is_named(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(survey(tinier("bert")))
    fuse = Watch.fuse

    def wrong(self: Watch, *given: object) -> object:
        batch = fuse(self, *given)
        if batch.layer == 1:
            batch.reduce(near_diagonals).mul_(1.1)
        return batch

    monkeypatch.setattr(Watch, "fuse", wrong)
    note = kernels_note(watch, wanted=True, faithful=False)
    assert note.startswith("not used: near_diagonals of layer 1 of the encoder differs by")


def test_a_cap_that_nobody_tells_of_shows_where_scores_are_large(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modeling_bert, "eager_attention_forward", _capped)
    note = kernels_note(Watch(survey(tinier("bert"))), wanted=True, faithful=False)
    assert note.startswith("not used: sharper output of layer 0 of the encoder differs by")


def _capped(module, query, key, value, mask, **options):
    scores = CAP * torch.tanh(query @ key.mT * options["scaling"] / CAP)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


def test_an_option_that_kernels_do_not_know_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    own = observe._attend
    monkeypatch.setitem(
        ALL_ATTENTION_FUNCTIONS,
        observe.NAME,
        lambda *given, **options: own(*given, **options, turned=0.5, held=None),
    )
    note = kernels_note(Watch(survey(tinier("bert"))), wanted=True, faithful=False)
    assert note == "not used: layer 0 of the encoder is given turned, which kernels do not know"


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


@pytest.mark.parametrize(
    ("device", "dtype", "why"),
    [
        ("cpu", torch.bfloat16, "the model runs in bfloat16 on cpu"),
        ("cuda", torch.float64, "the model runs in float64 on cuda"),
        ("mps", torch.float32, "the model runs on mps"),
    ],
)
def test_where_kernels_do_not_reach(device: str, dtype: torch.dtype, why: str) -> None:
    assert _out_of_reach(torch.device(device), dtype) == why


@pytest.mark.parametrize(
    ("package", "why"), [("triton", "Triton is not installed (pip install triton)"), ("another", None)]
)
def test_a_gpu_needs_triton(package: str, why: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the model's own function computes attention, and the note says why."""
    missing = {package: None}
    monkeypatch.setattr("headscope.run.kernels.find_spec", lambda name: missing.get(name, object()))
    assert _out_of_reach(torch.device("cuda"), torch.bfloat16) == why


def test_a_nan_is_told_of_when_the_batches_are_through(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(survey(tiny("bert")))
    watch.kernels = USED
    whole = FusedStack.whole

    def broken(self: FusedStack) -> WholeBatch:
        batch = whole(self)
        sums = batch.left.sums(0)
        sums.entropies[:, self.grid.heads + 1] = np.nan
        monkeypatch.setattr(type(batch.left), "sums", lambda left, way: sums)
        return batch

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


def test_rows_may_be_summed_up_a_layer_at_a_time(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are of long texts, whose rows of all layers would take gigabytes."""
    monkeypatch.setattr("headscope.capture.kernels.cpu.KEPT", 0)
    if road == "gpu":
        monkeypatch.setattr("headscope.capture.kernels.gpu._SUMMED_BYTES", 0)
    model = tinier("bert")
    own, fused = (counted(model, kernels=kernels).result() for kernels in (False, True))
    for name in ("example_map", "example_map_moved", "explained_weight"):
        mine, theirs = (found["encoder"][name].values for found in (fused, own))
        assert np.isfinite(theirs).any()
        np.testing.assert_allclose(mine, theirs, atol=2e-5, rtol=1e-4, err_msg=name)


def test_what_a_batch_leaves_is_let_go_of_without_a_look_for_cycles(road: str) -> None:
    """On a GPU it would else stay beside that of the next batches, gigabytes of it."""
    model = tinier("bert")
    capture = survey(model)
    watch = Watch(capture, carrier=Carrier(capture))
    watch.kernels = USED
    encoder, states = watch.encoder(48), Measures.of(capture, KINDS, weigh="both")
    gc.collect()
    gc.disable()
    try:
        left = []
        with watch.running():
            for _ in range(2):
                batch = watch.batch([encoder.encode(pair) for pair in PAIRS])
                left.append(weakref.ref(batch.source))
                states.update(watch, batch)
            del batch
        assert [reference() for reference in left] == [None, None]
    finally:
        gc.enable()


def test_a_layer_that_has_passed_leaves_no_queries_keys_and_values(road: str) -> None:
    """They are as large as what a layer gives, and a GPU would hold them until the last layer."""
    watch = Watch(survey(tinier("bert")))
    watch.kernels = USED
    encoder = watch.encoder(48)
    batch = watch.batch([encoder.encode(pair) for pair in PAIRS])
    stack = watch.fused_stack("encoder", batch)
    left: list[weakref.ref[torch.Tensor]] = []

    def attend(place: Place, inputs: AttentionInputs, forward: object) -> torch.Tensor:
        left.extend(weakref.ref(each) for each in (inputs.query, inputs.key, inputs.value))
        return stack.attend(place.layer, inputs).output

    with torch.inference_mode(), replacing(watch.capture, attend) as run:
        run(batch.inputs)
    assert len(left) == 3 * stack.grid.layers
    assert [reference() for reference in left[:-3]] == [None] * (len(left) - 3)
