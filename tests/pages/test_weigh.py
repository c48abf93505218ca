"""What heads move on one text, and signed shares of their output, against a slow loop over the model's own tensors."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny

from headscope.attention import Carried
from headscope.errors import OptionError
from headscope.pages.looking import Looked, look
from headscope.pages.page import pack, write_view
from headscope.pages.quantise import SignedCode, quantise_signed
from headscope.pages.seen import Observed, observe, observe_as, prepare
from headscope.trace import output_projections, run_calls, surveyed
from headscope.trace.architecture import Place
from headscope.trace.call import AttentionCall
from headscope.types import Array

TEXT = "The cat's dogs sat on it."
ARCHITECTURES = ("bert", "gpt2", "llama", "t5")


def texts(architecture: str) -> tuple[str, ...]:
    """What a model reads, and what one writes that writes."""
    return (TEXT, TEXT) if architecture == "t5" else (TEXT,)


def slow_shares(architecture: str) -> dict[str, tuple[Array, Array]]:
    """For each layer (head, query, key) moved and signed shares, number by number through the whole projection."""
    model = tiny(architecture)
    capture = surveyed(model)
    found = output_projections(capture)
    shares = {}

    def see(place: Place, call: AttentionCall) -> None:
        heads, width = call.weights.shape[1], call.value.shape[-1]
        matrix = found[place].matrix(heads, width)[0].double().numpy()
        weights, value = call.weights[0].double().numpy(), call.value[0].double().numpy()
        per_group = heads // len(value)
        moved, signed = np.zeros_like(weights), np.zeros_like(weights)
        for head in range(heads):
            fetched = [vector @ matrix[head] for vector in value[head // per_group]]
            for query, row in enumerate(weights[head]):
                parts = [weight * vector for weight, vector in zip(row, fetched, strict=True)]
                given = sum(parts)
                lengths = [np.sqrt((part**2).sum()) for part in parts]
                for key, part in enumerate(parts):
                    moved[head, query, key] = lengths[key] / sum(lengths)
                    signed[head, query, key] = (part * given).sum() / (given**2).sum()
        shares[f"maps/{place.stack}/{place.layer}"] = (moved, signed)

    with torch.no_grad():
        run_calls(capture, prepare(model, *texts(architecture)).batch.inputs, see)
    return shares


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_one_pass_gives_what_a_slow_loop_gives(architecture: str) -> None:
    looked, moved, signed = observe_as(
        ["looked", "moved", "signed"], tiny(architecture), *texts(architecture)
    )
    assert [looked.weigh, moved.weigh, signed.weigh] == ["looked", "moved", "signed"]
    slow = slow_shares(architecture)
    assert set(slow) == set(moved.maps)
    for key, (expected, expected_signed) in slow.items():
        np.testing.assert_allclose(moved.maps[key], expected, atol=1e-5)
        np.testing.assert_allclose(
            signed.maps[key], expected_signed, atol=2e-4 * max(1, abs(expected_signed).max())
        )
        np.testing.assert_allclose(signed.maps[key].sum(-1), 1, atol=1e-3)
    assert min(part.min() for part in signed.maps.values()) < 0
    np.testing.assert_array_equal(
        looked.maps[next(iter(slow))],
        observe(tiny(architecture), *texts(architecture)).maps[next(iter(slow))],
    )


def test_a_head_that_gives_nothing_has_no_shares() -> None:
    model = tiny("bert")
    value = model.core.encoder.layer[0].attention.self.value
    kept = value.weight.detach().clone(), value.bias.detach().clone()
    try:
        width = value.weight.shape[0] // model.config.num_attention_heads
        with torch.no_grad():
            value.weight[:width], value.bias[:width] = 0, 0
        signed = observe(model, TEXT, weigh="signed").layer("encoder", 0)
        moved = observe(model, TEXT, weigh="moved").layer("encoder", 0)
    finally:
        with torch.no_grad():
            value.weight.copy_(kept[0])
            value.bias.copy_(kept[1])
    assert np.isnan(signed[0]).all()
    assert np.isfinite(signed[1:]).all()
    assert (moved[0] == 0).all()


@pytest.mark.parametrize("many", [False, True])
def test_numbers_with_a_sign_are_stored_with_their_error(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if many:
        monkeypatch.setattr("headscope.pages.quantise.FINE_WEIGHTS", 10)
    values = np.random.default_rng(0).normal(0, 0.6, (2, 9, 12)).astype(np.float32)
    values[1, 3] = np.nan
    stored = quantise_signed({"maps/encoder/0": values})
    assert stored.signed
    assert stored.fine is not many
    assert stored.levels[-1] is None
    assert stored.levels[127] == 0
    code = SignedCode.for_maps({"only": values})
    codes = code.encode(values)
    again = code.levels[codes] if many else code.refined(codes, code.refine(values, codes))
    np.testing.assert_array_equal(np.isnan(again), np.isnan(values))
    assert np.nanmax(abs(again - values)) == pytest.approx(stored.max_error, abs=1e-6)
    assert stored.max_error < (0.02 if many else 1e-4)


def test_a_file_holds_what_is_asked_for_and_the_others_where_there_is_room(tmp_path: Path) -> None:
    looked = look(tiny("bert"), TEXT, weigh="moved")
    assert looked.observed.weigh == "moved"
    assert [other.weigh for other in looked.also] == ["looked", "signed"]
    packed = write_view(tmp_path / "v.html", Looked(looked.observed, also=looked.also))
    seen = packed.embedded.seen
    assert seen is not None
    assert (seen.weigh, [other.weigh for other in seen.also]) == ("moved", ["looked", "signed"])
    assert {"maps/encoder/0", "looked/maps/encoder/0", "signed/maps/encoder/0"} <= set(packed.chunks)
    assert json.loads(seen.also[1].model_dump_json())["levels"][-1] is None
    tight = pack(Looked(looked.observed, also=looked.also), budget=2_000).embedded.seen
    assert tight is not None
    assert (tight.weigh, tight.also) == ("moved", [])


def test_a_model_whose_projection_is_not_found_is_shown_by_where_it_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(capture: object) -> tuple[None, str]:
        return None, "tiny: its attention output is given to no linear map"

    monkeypatch.setattr("headscope.pages.seen.carrier_of", refused)
    looked = look(tiny("bert"), TEXT)
    assert (looked.observed.weigh, looked.also) == ("looked", ())
    assert "no linear map" in looked.observed.weigh_note
    with pytest.raises(OptionError, match="no linear map; give --weigh looked"):
        look(tiny("bert"), TEXT, weigh="moved")


def test_the_sharpest_head_is_known_though_some_rows_are_no_numbers() -> None:
    signed = observe(tiny("bert"), TEXT, weigh="signed")
    maps = {key: part.copy() for key, part in signed.maps.items()}
    maps["maps/encoder/0"][0, 1] = np.nan
    assert Observed(**{**dict(signed), "maps": maps}).sharpest().layer in (0, 1)


def test_vectors_that_cancel_to_rounding_have_no_shares() -> None:
    value = torch.tensor([[[[1.0, 0.0], [-1.0, 1e-7], [0.0, 2.0]]]])  # (text, group, key, dim)
    carried = Carried(value, output=torch.zeros(1, 2, 1, 2), root=torch.eye(2)[None])
    weights = torch.tensor([[[[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]]]])
    cancelled, other = carried.signed_shares(weights)[0, 0]
    assert cancelled.isnan().all()
    np.testing.assert_allclose(other, [0.4, -0.2, 0.8], atol=1e-6)
