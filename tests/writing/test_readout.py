"""Direct effects add up to the scores; where nothing reaches them on a straight path, the model is refused in words."""

import pytest
import torch
from tests.helpers.tiny import tiny
from torch import Tensor
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.capture import AttentionCall, Capture, run_calls, surveyed
from headscope.errors import CaptureError, HeadscopeError
from headscope.models import Model, wrap
from headscope.models.stacks import Place
from headscope.writing.readout import find_readout, straight_paths, watching_streams


def headed(architecture: str) -> Model:
    """A tiny decoder with a language-modelling head and weights large enough to matter."""
    core = tiny(architecture)
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(core.config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return wrap(network, core.tokenizer, name=f"tiny-{architecture}")


def watched(capture: Capture, ids: Tensor) -> tuple[dict[Place, Tensor], dict[Place | None, Tensor]]:
    """The heads' outputs by layer, and the residual streams."""
    outputs: dict[Place, Tensor] = {}

    def see(place: Place, call: AttentionCall) -> None:
        outputs[place] = call.output

    readout = find_readout(capture)
    with watching_streams(straight_paths(capture, readout), readout) as streams:
        run_calls(capture, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, see)
    return outputs, streams


@pytest.mark.parametrize("name", ["gpt2", "llama", "demo-lm"])
def test_all_that_is_written_adds_up_to_the_scores(name: str) -> None:
    model = hs.with_head("demo-lm", "next-token") if name == "demo-lm" else headed(name)
    capture = surveyed(model)
    readout = find_readout(capture)
    paths = straight_paths(capture, readout)
    ids = torch.randint(5, 40, (2, 12), generator=torch.Generator().manual_seed(1))
    outputs, streams = watched(capture, ids)
    scale = readout.scale(streams[None])
    order = [*paths, None]
    total = (streams[order[0]] * scale) @ readout.directions.T  # what the embeddings write
    for place, after in zip(paths, order[1:], strict=True):
        heads, width = outputs[place].shape[2:]
        matrix, bias = paths[place].matrix(heads, width)
        by_head = torch.einsum("tqhd,hde->tqhe", outputs[place], matrix)
        rest = streams[after] - streams[place] - by_head.sum(2)  # feed-forward part and biases
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
    capture = surveyed(model)
    with pytest.raises(CaptureError, match="rescaled"):
        straight_paths(capture, find_readout(capture))
