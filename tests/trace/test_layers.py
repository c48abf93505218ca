"""The numbers that layers have in the network, beside their order."""

import json
from pathlib import Path

import pytest
import torch
import transformers as tf
from tests.helpers.tiny import sentencepiece_tokenizer, tiny
from typer.testing import CliRunner

import headscope as hs
from headscope.cli.main import app
from headscope.pages.atlas import embedded_atlas
from headscope.pages.seen import observe
from headscope.report.page import render

TEXTS = ["The cat sat on the mat.", "It was red, and the dog saw it.", "The blue house."]


def hybrid(period: int = 2, offset: int = 1) -> hs.Model:
    """A Jamba of four layers, of which only some attend: by default 1 and 3."""
    torch.manual_seed(0)
    config = tf.JambaConfig(
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        vocab_size=128,
        attn_layer_period=period,
        attn_layer_offset=offset,
        expert_layer_period=2,
        expert_layer_offset=1,
        num_experts=2,
        mamba_d_state=4,
        mamba_dt_rank=4,
        use_mamba_kernels=False,
    )
    return hs.wrap(tf.JambaModel(config).eval(), sentencepiece_tokenizer(bos=True), name="tiny-jamba")


def numbers(model: hs.Model) -> object:
    """Those that an atlas says its layers have in the network, by stack."""
    atlas = hs.analyze(model, TEXTS, measures=["entropy"], max_length=32, sentences=0)
    return atlas.provenance.get("module_layers")


@pytest.mark.parametrize("architecture", ["bert", "albert", "t5", "mpnet"])
def test_where_all_layers_attend_nothing_is_said(architecture: str) -> None:
    assert not numbers(tiny(architecture))


@pytest.mark.parametrize(("period", "offset", "expected"), [(2, 1, [1, 3]), (2, 0, [0, 2]), (4, 2, [2])])
def test_numbers_are_those_of_the_modules(period: int, offset: int, expected: list[int]) -> None:
    assert numbers(hybrid(period, offset)) == {"decoder": expected}


def test_a_hybrid_is_told_with_its_own_numbers(tmp_path: Path) -> None:
    model = hybrid()
    words = "Layers 0, 1 of the decoder are layers 1, 3 of the network."
    hs.analyze(model, TEXTS, measures=["entropy", "role_attention"], max_length=32).save(tmp_path / "a.nc")
    atlas = hs.open(tmp_path / "a.nc")
    assert atlas["entropy"]["layer"].values.tolist() == [0, 1]
    assert atlas["entropy"]["module_layer"].values.tolist() == [1, 3]
    assert words in [str(finding) for finding in hs.findings(atlas)]
    assert "Its layer is layer 3 of the network." in hs.card(atlas, "1.2").text
    observed = observe(model, TEXTS[0])
    assert words in observed.note
    assert observed.stacks[0].module_layers == [1, 3]
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "a.nc"), "entropy", "--json"])
    rows = json.loads(shown.stdout)["rows"]
    assert {(row["layer"], row["module_layer"]) for row in rows} == {(0, 1), (1, 3)}
    table = CliRunner().invoke(app, ["show", str(tmp_path / "a.nc"), "entropy"]).stdout.splitlines()
    assert table[1].startswith("head  layer of the network"), "and the table for readers"
    assert table[-1].split()[:2] == ["1.3", "3"]
    assert "2 layers (layers 1, 3 of the network) × 4 heads" in render(atlas)
    embedded = embedded_atlas(atlas)
    assert embedded.atlas is not None
    assert words in embedded.atlas.about
    assert embedded.atlas.stacks[0].module_layers == [1, 3]
    assert embedded.head_pages["decoder/1/2"].card[-1].text == "Its layer is layer 3 of the network."
    ticks = hs.figures.head_grid(atlas, "entropy", select={"query_role": "all"}).get_yticklabels()
    assert [tick.get_text() for tick in ticks] == ["0 (1)", "1 (3)"]
    ticks = hs.figures.entropy_by_layer(atlas).get_xticklabels()
    assert [tick.get_text() for tick in ticks] == ["0 (1)", "1 (3)"]
