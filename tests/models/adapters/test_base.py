"""Which adapter a model has, what most of them answer, and that each is tested and documented."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tests.helpers.tiny import BUILDERS, tiny

from headscope.errors import OptionError
from headscope.models.adapters import ADAPTERS, Adapter, adapter_for

ROOT = Path(__file__).parents[3]
FAMILIES = sorted(
    {kind.__module__.rpartition(".")[2] for name in ADAPTERS.names() for kind in [ADAPTERS.get(name)]}
)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_test_and_a_docs_page(family: str) -> None:
    assert (Path(__file__).parent / f"test_{family}.py").is_file()
    page = (ROOT / "docs" / "adapters" / f"{family}.md").read_text()
    assert f"adapters/{family}.md" in (ROOT / "mkdocs.yml").read_text()
    for name in ADAPTERS.names():
        if ADAPTERS.get(name).__module__.endswith(f".{family}"):
            assert f"`{name}`" in page


def test_families_without_an_adapter_have_the_plain_one() -> None:
    assert type(adapter_for(tiny("bert").config)) is Adapter
    assert type(adapter_for(SimpleNamespace(model_type="unheard of"))) is Adapter
    assert type(adapter_for(None)) is Adapter


def test_every_tiny_model_says_how_it_takes_pairs() -> None:
    for architecture in BUILDERS:
        model = tiny(architecture)
        layout = model.adapter.layout(model.config, causal=False)
        assert layout == ("source-target" if model.is_encoder_decoder else "pair")
    assert Adapter().layout(tiny("gpt2").config, causal=True) == "joined"


@pytest.mark.parametrize(
    ("architecture", "rotates"), [("llama", True), ("gpt2", False), ("bert", False), ("t5", False)]
)
def test_rotation_is_known_by_its_modules(architecture: str, rotates: bool) -> None:
    assert tiny(architecture).is_rotated == rotates


def test_roberta_loses_the_positions_up_to_its_padding_index() -> None:
    model = tiny("roberta")
    assert model.adapter.lost_positions(model.core) == model.config.pad_token_id + 1
    assert Adapter().lost_positions(tiny("bert").core) == 0


def test_a_mask_of_true_and_false_becomes_one_to_add() -> None:
    mask = torch.tensor([[True, False]])
    added = Adapter().additive_mask(mask, torch.float16)
    assert added is not None
    assert added.tolist() == [[0.0, torch.finfo(torch.float16).min]]
    assert Adapter().additive_mask(added, torch.float16) is added
    assert Adapter().additive_mask(None, torch.float16) is None


@pytest.fixture
def registered() -> Iterator[type[Adapter]]:
    @ADAPTERS.register("bert")
    class Backwards(Adapter):
        def layout(self, config: object, *, causal: bool) -> str:  # type: ignore[override]
            return "joined"

    yield Backwards
    del ADAPTERS._found["bert"]


def test_a_new_adapter_is_asked(registered: type[Adapter]) -> None:
    model = tiny("bert")
    assert isinstance(model.adapter, registered)
    assert model.adapter.layout(model.config, causal=False) == "joined"
    with pytest.raises(OptionError, match="two adapters are called 'bert'"):
        ADAPTERS.register("bert")(Adapter)
