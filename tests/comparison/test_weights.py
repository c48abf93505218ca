"""The right matrix of the right layer, whatever an architecture calls it."""

import numpy as np
import pytest
from tests.helpers.tiny import tiny
from tests.helpers.two_models import changed, moved

from headscope.comparison.weights import MATRICES, weight_change
from headscope.trace import survey

PLACES = {
    "bert": ("encoder.layer.1.attention.self.query.weight", "encoder", 1, "query"),
    "roberta": ("encoder.layer.2.attention.output.dense.weight", "encoder", 2, "output"),
    "electra": ("encoder.layer.0.attention.self.value.weight", "encoder", 0, "value"),
    "distilbert": ("transformer.layer.1.attention.v_lin.weight", "encoder", 1, "value"),
    "llama": ("layers.2.self_attn.k_proj.weight", "decoder", 2, "key"),
    "gemma2": ("layers.0.self_attn.o_proj.weight", "decoder", 0, "output"),
    "t5": ("decoder.block.1.layer.1.EncDecAttention.k.weight", "cross", 1, "key"),
    "bart": ("decoder.layers.1.self_attn.q_proj.weight", "decoder", 1, "query"),
    "mpnet": ("encoder.layer.1.attention.attn.o.weight", "encoder", 1, "output"),
    "deberta": ("encoder.layer.2.attention.self.key_proj.weight", "encoder", 2, "key"),
}


def check(architecture: str, place: tuple[str, str, int, str], *, columns: slice = slice(None)) -> None:
    name, stack, layer, matrix = place
    first, second = survey(tiny(architecture)), survey(changed(architecture, name, 1.25, columns))
    found = weight_change(first, second)
    assert not found.notes
    for one, values in found.by_stack.items():
        expected = np.zeros(values.shape)
        if one == stack:
            expected[layer, MATRICES.index(matrix)] = 0.25
        np.testing.assert_allclose(values[:, :4], expected[:, :4], atol=1e-6)
        assert (values[:, 4] > 0).tolist() == [one == stack and at == layer for at in range(len(values))]


@pytest.mark.parametrize("architecture", PLACES)
def test_one_matrix_that_grew_by_a_quarter(architecture: str) -> None:
    check(architecture, PLACES[architecture])


@pytest.mark.parametrize(("number", "matrix"), [(0, "query"), (1, "key"), (2, "value")])
def test_gpt2_keeps_three_in_one(number: int, matrix: str) -> None:
    columns = slice(32 * number, 32 * (number + 1))
    check("gpt2", ("h.1.attn.c_attn.weight", "decoder", 1, matrix), columns=columns)


def test_all_is_the_four_as_one_vector() -> None:
    first, second = survey(tiny("bert")), survey(moved("bert"))
    values = weight_change(first, second).by_stack["encoder"]
    np.testing.assert_allclose(values, 0.5, atol=1e-5)  # every matrix moved by half its size
    layer = tiny("bert").network.encoder.layer[0].attention
    sizes = [
        float(part.weight.detach().norm())
        for part in (layer.self.query, layer.self.key, layer.self.value, layer.output.dense)
    ]
    changed_one = weight_change(first, survey(changed("bert", PLACES["bert"][0].replace("1", "0"), 1.25)))
    expected = 0.25 * sizes[0] / np.sqrt(np.square(sizes).sum())
    assert changed_one.by_stack["encoder"][0, 4] == pytest.approx(expected, rel=1e-4)


def test_layers_that_share_weights_move_together() -> None:
    values = weight_change(survey(tiny("albert")), survey(moved("albert"))).by_stack["encoder"]
    assert (values == values[0]).all()
    assert (values > 0).all()
