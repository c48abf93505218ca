"""Shared passes give what full ones do, on every architecture, and the network is left as it was."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny
from torch import Tensor, nn

from headscope.ablation.passes import Changes, Passes, find_blocks, passes_for
from headscope.ablation.plan import PlannedEdit, each_head, each_layer
from headscope.edits import HeadSet, How, edit, mean_outputs
from headscope.edits.changes import Change
from headscope.edits.prune import probe_states
from headscope.errors import CaptureError
from headscope.models import Model
from headscope.tasks import task_for
from headscope.trace import Capture, surveyed
from headscope.trace.architecture import Place
from headscope.types import HeadId

SHARING = ("bert", "distilbert", "roberta", "electra", "gpt2", "llama", "gemma2", "gptoss", "t5", "bart")


def changes_of(model: Model, *hows: How) -> Changes:
    means = mean_outputs(model, ["the cat sat on the mat"]) if "mean" in hows else None
    return {how: Change(model, how, means=means if how == "mean" else None) for how in hows}


def states(capture: Capture) -> Tensor:
    return probe_states(capture.model)


@pytest.mark.parametrize("architecture", SHARING)
@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_every_head_gives_what_a_full_pass_gives(architecture: str, how: How) -> None:
    model = tiny(architecture)
    capture = surveyed(model)
    changes = changes_of(model, how)
    passes = passes_for(capture, changes)
    assert passes.blocks
    plain = passes.untouched(lambda: states(capture))
    found = [
        passes.edited(lambda: states(capture), one)
        for one in [*each_head(capture.stacks, how), *each_layer(capture.stacks, how)]
    ]
    torch.testing.assert_close(plain, states(capture), rtol=0, atol=1e-6)
    for one, ours in zip(
        [*each_head(capture.stacks, how), *each_layer(capture.stacks, how)], found, strict=True
    ):
        with edit(capture, one.heads, how=how, means=changes[how].means):
            expected = states(capture)
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-5)
        assert not torch.allclose(ours, plain, rtol=0, atol=1e-6) or architecture == "t5"


EDITS: list[tuple[list[tuple[int, int]], How]] = [
    ([(2, 1)], "zero"),
    ([(0, 0), (2, 3)], "uniform"),
    ([(1, 0)], "zero"),
    ([(1, 2), (2, 2)], "uniform"),
    ([(2, 1)], "zero"),
]


def test_edits_in_any_order_and_over_several_layers() -> None:
    model = tiny("bert")
    capture = surveyed(model)
    changes = changes_of(model, "zero", "uniform")
    planned = [
        PlannedEdit("", HeadSet.of([("encoder", HeadId(layer, head)) for layer, head in heads]), how)
        for heads, how in EDITS
    ]
    shared, full = passes_for(capture, changes), Passes(capture, changes)
    shared.untouched(lambda: states(capture))
    found = [shared.edited(lambda: states(capture), one) for one in planned]
    expected = [full.edited(lambda: states(capture), one) for one in planned]
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_layers_below_do_not_run_and_projections_run_once() -> None:
    model = tiny("bert")
    capture = surveyed(model)
    passes = passes_for(capture, changes_of(model, "zero"))
    ran: list[nn.Module] = []
    passes.untouched(lambda: states(capture))
    changed: list[Any] = []
    blocks = find_blocks(capture)
    for block in blocks:
        for part in block.module.modules():
            if isinstance(part, nn.Linear):
                original = part.forward
                changed.append(part)
                part.forward = lambda *given, _part=part, _own=original: (
                    ran.append(_part),
                    _own(*given),
                )[1]
    try:
        passes.edited(lambda: states(capture), each_head(capture.stacks, "zero")[8])  # 2.0
        first = len(ran)
        passes.edited(lambda: states(capture), each_head(capture.stacks, "zero")[9])  # 2.1
        second = len(ran) - first
    finally:
        for part in changed:
            del part.forward  # what the class has is in force again
    assert first == 6  # query, key, value, output and two of the feed-forward part, of the last layer alone
    assert second == 3


def test_the_network_is_as_it_was() -> None:
    model = tiny("gpt2")
    capture = surveyed(model)
    before = states(capture)
    names = {name: set(vars(module)) for name, module in model.core.named_modules()}
    passes = passes_for(capture, changes_of(model, "zero"))
    passes.untouched(lambda: states(capture))
    passes.edited(lambda: states(capture), each_head(capture.stacks, "zero")[-1])

    def fail() -> Tensor:
        states(capture)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        passes.edited(fail, each_head(capture.stacks, "zero")[-1])
    assert torch.equal(states(capture), before)
    assert {name: set(vars(module)) for name, module in model.core.named_modules()} == names
    assert not any(module._forward_hooks for module in model.core.modules())


def test_shared_layers_fall_back_to_full_passes() -> None:
    assert not find_blocks(surveyed(tiny("albert")))
    assert not passes_for(surveyed(tiny("albert")), {}).blocks


def test_a_network_that_is_edited_already_falls_back_too() -> None:
    model = tiny("bert")
    with edit(model, "0.0"):
        assert not passes_for(surveyed(model), {}).blocks
        states(surveyed(model))


def test_layers_that_look_elsewhere_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer that uses more than what the layer below gave: the probe tells, and passes are full."""
    model = tiny("distilbert")
    capture = surveyed(model)
    blocks = find_blocks(capture)
    seen: list[Tensor] = []
    own = type(blocks[0].module).forward

    def first(self: nn.Module, hidden: Tensor, *given: Any, **named: Any) -> Any:
        seen[:] = [hidden]
        return own(self, hidden, *given, **named)

    def last(self: nn.Module, hidden: Tensor, *given: Any, **named: Any) -> Any:
        given_now = seen.pop() if seen else torch.zeros_like(hidden)
        return own(self, hidden + given_now, *given, **named)

    monkeypatch.setattr(blocks[0].module, "forward", first.__get__(blocks[0].module), raising=False)
    monkeypatch.setattr(blocks[-1].module, "forward", last.__get__(blocks[-1].module), raising=False)
    assert not passes_for(capture, {}).blocks


def test_an_edit_that_does_not_happen_is_an_error() -> None:
    model = tiny("bert")
    capture = surveyed(model)
    passes = passes_for(capture, changes_of(model, "zero"))
    passes.untouched(lambda: states(capture))
    with pytest.raises(CaptureError, match="was applied at no layer"):
        passes.edited(lambda: torch.zeros(1), each_head(capture.stacks, "zero")[0])


def test_blocks_have_their_places_and_early_parts() -> None:
    blocks = find_blocks(surveyed(tiny("t5")))
    assert [len(block.places) for block in blocks] == [1, 1, 1, 2, 2]
    assert blocks[3].places == (Place("decoder", 0), Place("cross", 0))
    llama = find_blocks(surveyed(tiny("llama")))
    names = {id(module): name for name, module in tiny("llama").core.named_modules()}
    early = [names[id(module)].removeprefix("layers.1.") for module in llama[1].early]
    assert early == ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]


@pytest.mark.parametrize("how", ["intra", "inter"])
def test_sentence_masks_are_the_same_too(tmp_path: Path, how: How) -> None:
    model = headed("bert", "qa")
    capture = surveyed(model)
    task = task_for("qa", questions_file(tmp_path / "q.json"), model)
    changes = changes_of(model, how)
    shared, full = passes_for(capture, changes), Passes(capture, changes)
    (batch, *_) = task.batches(model)
    planned = PlannedEdit("", HeadSet.of([("encoder", HeadId(1, 2)), ("encoder", HeadId(2, 0))]), how)

    def run() -> Tensor:
        with torch.inference_mode():
            logits: Tensor = model.network(**batch.inputs).start_logits
        return logits

    plain = shared.untouched(run)
    ours = shared.edited(run, planned)
    torch.testing.assert_close(ours, full.edited(run, planned), rtol=0, atol=1e-5)
    assert not torch.allclose(ours, plain)


def test_nothing_of_one_batch_is_left_in_the_next(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    capture = surveyed(model)
    task = task_for("qa", questions_file(tmp_path / "q.json"), model)
    changes = changes_of(model, "zero")
    shared, full = passes_for(capture, changes), Passes(capture, changes)
    planned = each_head(capture.stacks, "zero")[0]
    batches = task.batches(model, batch_size=1)
    assert len(batches) > 2
    with torch.inference_mode():
        for batch in batches:

            def run(inputs: dict[str, Tensor] = batch.inputs) -> Tensor:
                logits: Tensor = model.network(**inputs).start_logits
                return logits

            shared.untouched(run)
            ours = [shared.edited(run, planned) for _ in range(2)]
            expected = full.edited(run, planned)
            for one in ours:
                torch.testing.assert_close(one, expected, rtol=0, atol=1e-5)
