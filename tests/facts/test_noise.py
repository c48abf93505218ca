"""Random weights do nothing: of such models nothing is found, whatever their heads happen to differ by."""

from pathlib import Path

import pytest
import torch
import transformers
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.atlas import Atlas
from headscope.facts.headlines import headlines
from headscope.models import Model

SIZES = {
    "bert": {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64},
    "gpt2": {
        "n_embd": 64,
        "n_layer": 3,
        "n_head": 4,
        "n_positions": 512,
        "bos_token_id": 0,
        "eos_token_id": 0,
    },
    "t5": {
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 64,
        "num_layers": 2,
        "num_heads": 4,
        "decoder_start_token_id": 0,
    },
}
SENTENCES = 36
"""How many of the treebank are enough for the frequent relations to have cases."""

of_many_models = pytest.mark.parametrize(
    ("family", "seed"), [(family, seed) for family in SIZES for seed in range(5)]
)


def random_model(family: str, seed: int) -> Model:
    known = tiny(family)
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(family, vocab_size=len(known.tokenizer), **SIZES[family])
    return hs.wrap(transformers.AutoModel.from_config(config).eval(), known.tokenizer)


def claims(atlas: Atlas) -> list[str]:
    """All that cards say of heads."""
    shapes = {stack: atlas.shape(stack) or (0, 0) for stack in atlas.stacks}
    return [
        claim.text
        for stack, (layers, heads) in shapes.items()
        for layer in range(layers)
        for head in range(heads)
        for claim in hs.card(atlas, f"{layer}.{head}", stack=stack).claims
    ]


@of_many_models
def test_no_positive_finding(family: str, seed: int) -> None:
    texts = hs.read_text(hs.sample_path("articles"))
    atlas = hs.analyze(random_model(family, seed), texts, limit=16, max_length=64, sentences=0)
    found = atlas.findings()
    assert len(found) > 10
    assert {finding.verdict for finding in found} == {"unclear"}, [
        finding.text for finding in found if finding.verdict != "unclear"
    ]
    assert not headlines(found)
    assert not claims(atlas)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first sentences of the sample treebank."""
    path = tmp_path_factory.mktemp("noise") / "few.conllu"
    blocks = hs.sample_path("treebank").read_text(encoding="utf-8").split("\n\n")
    path.write_text("\n\n".join(blocks[:SENTENCES]) + "\n\n", encoding="utf-8")
    return path


@of_many_models
def test_no_probe_finds_anything(family: str, seed: int, treebank: Path) -> None:
    """Words that are split into more pieces get more of even attention, and first words more of causal attention."""
    model = random_model(family, seed)
    longest = 512 if family == "gpt2" else 128  # its tokens are bytes
    mentions = hs.read_coreference(hs.sample_path("treebank"))
    atlas = hs.DependencyProbe(model).fit_score(hs.read_treebank(treebank)).to_atlas()
    atlas = hs.CoreferenceProbe(model, max_length=longest).fit_score(mentions).to_atlas(atlas)
    roles = hs.read_roles(hs.sample_path("roles"))
    atlas = hs.RelationsProbe(model).fit_score(roles).to_atlas(atlas)
    atlas = hs.FeaturesProbe(model).score(hs.read_treebank(treebank)).to_atlas(atlas)
    found = atlas.findings()
    assert {"Syntax", "Coreference", "Roles"} <= {finding.topic for finding in found}
    assert [finding.text for finding in found if finding.verdict == "above"] == []
    assert not headlines(found)
    assert not claims(atlas)
