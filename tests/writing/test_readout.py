"""Direct effects add up to the scores; where nothing reaches them on a straight path, the model is refused in words."""

from itertools import pairwise

import pytest
import torch
from tests.helpers.tiny import tiny
from torch import Tensor
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.errors import CaptureError, HeadscopeError
from headscope.models import Model, wrap
from headscope.trace import AttentionCall, run_calls, surveyed
from headscope.trace.architecture import Place
from headscope.trace.hooks import hooked
from headscope.writing.readout import StraightPaths


def headed(architecture: str) -> Model:
    """A tiny decoder with a language-modelling head and weights large enough to matter."""
    core = tiny(architecture)
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(core.config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return wrap(network, core.tokenizer, name=f"tiny-{architecture}")


def watched(paths: StraightPaths, ids: Tensor) -> tuple[dict[Place, Tensor], list[Tensor]]:
    """The heads' outputs by layer, and the residual streams before each layer and before the final norm."""
    outputs: dict[Place, Tensor] = {}
    streams: list[Tensor] = []

    def see(place: Place, call: AttentionCall) -> None:
        outputs[place] = call.output

    modules = [*(path.residual for path in paths.projections.values()), paths.readout.norm]
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with hooked(m.register_forward_pre_hook(lambda _, given: streams.append(given[0])) for m in modules if m):
        run_calls(paths.capture, inputs, see)
    return outputs, streams


@pytest.mark.parametrize("name", ["gpt2", "llama", "demo-lm"])
def test_all_that_is_written_adds_up_to_the_scores(name: str) -> None:
    model = hs.with_head("demo-lm", "next-token") if name == "demo-lm" else headed(name)
    paths = StraightPaths.of(surveyed(model))
    readout = paths.readout
    ids = torch.randint(5, 40, (2, 12), generator=torch.Generator().manual_seed(1))
    outputs, streams = watched(paths, ids)
    scale = readout.scale(streams[-1])
    total = (streams[0] * scale) @ readout.directions.T  # what the embeddings write
    for (place, path), (before, after) in zip(paths.projections.items(), pairwise(streams), strict=True):
        heads, width = outputs[place].shape[2:]
        matrix, bias = path.matrix(heads, width)
        by_head = torch.einsum("tqhd,hde->tqhe", outputs[place], matrix)
        rest = after - before - by_head.sum(2)  # feed-forward part and biases
        if bias is not None:
            assert bias.abs().max() > 0
        for part in [*by_head.unbind(2), rest]:
            total = total + (part * scale) @ readout.directions.T
    constant = torch.zeros(len(readout.unembedding))
    if readout.shift is not None:
        constant = constant + readout.unembedding @ readout.shift
    if readout.bias is not None:
        constant = constant + readout.bias
    with torch.inference_mode():
        logits = model.network(ids).logits
    expected = logits - logits.mean(-1, keepdim=True) - (constant - constant.mean())
    assert float(expected.abs().max()) > 0.1
    torch.testing.assert_close(total, expected, atol=1e-4 * float(expected.abs().max()), rtol=0)


def test_capped_scores_are_refused() -> None:
    model = headed("gemma2")
    with pytest.raises(CaptureError, match="changes its logits"):
        hs.writes(model, ["the cat sat on the mat"], max_length=32)


def test_an_encoder_is_refused() -> None:
    with pytest.raises(HeadscopeError, match=r"not a decoder.*ablate"):
        hs.writes("demo", ["some text here"])


def test_a_norm_after_the_attention_is_refused() -> None:
    """Gemma 2 without its cap on scores still rescales what a layer writes."""
    model = headed("gemma2")
    model.network.config.final_logit_softcapping = None
    with pytest.raises(CaptureError, match="rescaled"):
        StraightPaths.of(surveyed(model))
