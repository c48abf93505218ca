"""The registry: names, duplicates, and what other packages add."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from headscope.errors import OptionError
from headscope.facts.description import PROBES
from headscope.measures import MEASURES
from headscope.registry import BUILT_IN, Registry, known_names
from headscope.tasks import TASKS


class Thing:
    name = "thing"


def registry_with(monkeypatch: pytest.MonkeyPatch, value: str) -> Registry[type]:
    point = EntryPoint(name="thing", value=value, group="headscope.things")
    monkeypatch.setattr(
        "headscope.registry.entry_points", lambda group: [point] if group == "headscope.things" else []
    )
    return Registry("thing")


def test_other_packages_join_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry_with(monkeypatch, "tests.test_registry:Thing")
    assert found.names() == ["thing"]
    assert found.get("thing").__name__ == "Thing"


def test_a_broken_package_is_named_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry_with(monkeypatch, "no_such_package:Thing")
    for _ in range(2):
        with pytest.raises(
            OptionError, match="the thing 'thing' of the installed package no_such_package:Thing"
        ):
            found.names()


def test_unknown_names_list_the_known_ones() -> None:
    found: Registry[type] = Registry("thing")
    found.register("thing")(Thing)
    with pytest.raises(OptionError, match="no thing called 'other'; choose from thing"):
        found.get("other")


def test_two_of_one_name_and_one_of_two_names_are_refused() -> None:
    found: Registry[type] = Registry("thing")
    found.register("thing")(Thing)
    found.register("thing")(Thing)  # the same once more is no harm
    with pytest.raises(OptionError, match="two things are called 'thing'"):
        found.register("thing")(type("Other", (), {"name": "thing"}))
    with pytest.raises(OptionError, match="calls itself 'thing'"):
        found.register("other")(Thing)


@pytest.mark.parametrize("registry", [MEASURES, PROBES, TASKS], ids=["measures", "probes", "tasks"])
def test_the_names_known_without_loading_are_those_that_are_registered(registry: Registry[Any]) -> None:
    own = [name for name in registry.names() if registry.get(name).__module__.startswith("headscope.")]
    assert sorted(BUILT_IN[registry.kind]) == sorted(own)
    assert sorted(known_names(registry.kind)) == sorted(registry.names())


def test_names_of_other_packages_are_known_without_loading_them(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="chess", value="no_such_package:Chess", group="headscope.tasks")
    monkeypatch.setattr(
        "headscope.registry.entry_points", lambda group: [point] if group == "headscope.tasks" else []
    )
    assert known_names("task") == [*BUILT_IN["task"], "chess"]
