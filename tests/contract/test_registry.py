"""Everything that there is, is in a registry of the contract: what is not, fails here."""

from collections.abc import Iterator

import pytest
from tests.contract import analyses, measures, tasks

import headscope as hs
from headscope.facts.description import PROBES
from headscope.measures import MEASURES, Measure
from headscope.probes.result import ProbeResult
from headscope.registry import Registry
from headscope.tasks import TASKS

LISTED = {
    "measure": (MEASURES, {entry.kind.name for entry in measures.ENTRIES.values()}),
    "task": (TASKS, set(tasks.ENTRIES)),
    "probe": (PROBES, set(analyses.ENTRIES)),
}


def unlisted(kind: str) -> set[str]:
    """What is registered and has no entry."""
    registry, listed = LISTED[kind]
    return set(registry.names()) - listed


def without_entry(names: list[str]) -> set[str]:
    """The public names that the registry of analyses does not know."""
    known = {entry.public for entry in analyses.ENTRIES.values()}
    return set(names) - known - analyses.OF_ATLAS.keys() - analyses.NO_RESULT.keys()


def kinds_of(base: type) -> Iterator[type]:
    """All subclasses that have no subclasses themselves, of headscope itself."""
    for kind in base.__subclasses__():
        if kind.__subclasses__():
            yield from kinds_of(kind)
        elif kind.__module__.startswith("headscope."):
            yield kind


@pytest.mark.parametrize("kind", LISTED)
def test_what_is_registered_has_an_entry(kind: str) -> None:
    assert not unlisted(kind)


def test_a_public_name_is_an_analysis_or_says_what_it_is() -> None:
    assert not without_entry(hs.__all__)


def test_no_entry_is_of_something_that_is_gone() -> None:
    names = {entry.public for entry in analyses.ENTRIES.values()} | analyses.OF_ATLAS.keys()
    assert names | analyses.NO_RESULT.keys() <= set(hs.__all__)
    assert not names & analyses.NO_RESULT.keys()


def test_every_kind_of_result_comes_out_of_an_entry() -> None:
    made = {type(analyses.found(name)) for name, entry in analyses.ENTRIES.items() if not entry.slow}
    assert set(kinds_of(ProbeResult)) <= made


@pytest.mark.parametrize("kind", LISTED)
def test_a_new_one_without_an_entry_fails(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry of this kind with one more, as a colleague would add it."""
    registry, listed = LISTED[kind]
    longer: Registry[object] = Registry(kind)
    for name in registry.names():
        longer.register(name)(registry.get(name))
    longer.register("made_up")(object())
    monkeypatch.setitem(LISTED, kind, (longer, listed))  # type: ignore[arg-type]
    assert unlisted(kind) == {"made_up"}


def test_a_new_function_without_an_entry_fails() -> None:
    assert without_entry([*hs.__all__, "made_up"]) == {"made_up"}


def test_a_new_kind_of_result_without_an_entry_fails() -> None:
    kind = type("MadeUp", (ProbeResult,), {"__module__": "headscope.made_up", "probe": "made_up"})
    assert kind in set(kinds_of(ProbeResult))


def test_measures_of_a_notebook_are_in_no_registry() -> None:
    for kind in measures.NOTEBOOK:
        assert issubclass(kind, Measure)
        assert kind.__module__ == "__main__"
        assert kind.name not in MEASURES.names()
