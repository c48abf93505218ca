"""The guide's architecture adapter, word by word: from another package it is asked about every model of its type."""

import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest
from tests.docs.test_docs import DOCS, FENCE
from tests.helpers.tiny import tiny

import headscope as hs
from headscope import registry
from headscope.errors import InterventionError
from headscope.models import Model, wrap
from headscope.models.adapters import ADAPTERS, Adapter, Projections
from headscope.trace import surveyed
from headscope.trace.watch import Watch


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Adapter]]:
    """The code under "An architecture adapter" as a module, and its entry point; taken back at the end."""
    guide = (DOCS / "guide/extending.md").read_text()
    section = guide.partition("\n## An architecture adapter\n")[2].partition("\n## ")[0]
    blocks = {language: code for _, language, code in FENCE.findall(section)}
    name, _, value = blocks["toml"].strip().splitlines()[-1].partition(" = ")
    point = EntryPoint(name, value.strip('"'), "headscope.adapters")
    module = ModuleType(point.module)
    monkeypatch.setitem(sys.modules, point.module, module)
    exec(compile(blocks["python"], "extending.md", "exec"), vars(module))
    ADAPTERS._found.pop(name)  # only the entry point is left
    own = registry.entry_points

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [point] if group == "headscope.adapters" else list(own(group=group))

    monkeypatch.setattr(registry, "entry_points", entry_points)
    monkeypatch.setattr(ADAPTERS, "_entry_points_loaded", False)
    yield getattr(module, point.attr)
    ADAPTERS._found.pop(name)


def my_bert() -> Model:
    """A BERT whose projections have the names of the guide."""
    network: Any = deepcopy(tiny("bert").network)
    network.config.model_type = "my_bert"
    for layer in network.encoder.layer:
        attention = layer.attention
        inner, output = attention.self, attention.output
        attention.mix = output._modules.pop("dense")
        for name in ("query", "key", "value"):
            inner.add_module(f"to_{name[0]}", inner._modules.pop(name))
        names = {
            name: property(lambda self, name=name: getattr(self, f"to_{name[0]}"))
            for name in ("query", "key", "value")
        }
        inner.__class__ = type("OwnNames", (type(inner),), {"__module__": type(inner).__module__, **names})
        output.__dict__["owner"] = attention
        dense = property(lambda self: self.__dict__["owner"].mix)
        output.__class__ = type("OwnOutput", (type(output),), {"dense": dense})
    return wrap(network, tiny("bert").tokenizer, name="my-bert")


def test_its_heads_are_found_and_pairs_are_read_as_it_says(package: type[Adapter]) -> None:
    model = my_bert()
    assert isinstance(model.adapter, package)
    assert Watch(surveyed(model)).layout == "joined"
    smaller = hs.prune(model, ["1.2"])  # proved on a probe
    attention: Any = smaller.core.encoder.layer[1].attention
    assert attention.mix.in_features == attention.self.to_q.out_features == 24


def test_without_it_pairs_are_marked_and_heads_are_not_found() -> None:
    model = my_bert()
    assert Watch(surveyed(model)).layout == "pair"
    with pytest.raises(InterventionError, match="does not know where OwnNames keeps its heads"):
        hs.prune(model, ["1.2"])


def test_a_wrong_answer_is_an_error_and_never_a_wrong_number(
    package: type[Adapter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "projections", (Projections("to_q", "to_k", "to_v", "to_v"),))
    with pytest.raises(InterventionError, match="does not run with heads taken out"):
        hs.prune(my_bert(), ["1.2"])
