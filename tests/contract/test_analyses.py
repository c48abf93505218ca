"""What every analysis does, whoever wrote it: one test a clause, over the registry in analyses.py."""

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contract.analyses import (
    ENTRIES,
    OF_ATLAS,
    AnalysisEntry,
    atlas_of,
    found,
    found_in_shards,
    found_in_stacks,
    found_on_copy,
    numbers,
)
from tests.contract.broken import NAN, broken
from tests.contract.lanes import lanes
from tests.contract.shards import (
    Arrays,
    Reading,
    Shuffling,
    assert_same_bits,
    check_goes_on_to,
    counted,
    small_shards,
)

import headscope as hs
from headscope.errors import AtlasError, CaptureError, HeadscopeError
from headscope.passes.run_pass import running_on
from headscope.probes.result import ProbeResult

__all__ = ["counted", "small_shards"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning"),
    pytest.mark.filterwarnings("ignore:.*(kinds|automatic).*"),
]


def every_analysis(*reasons: str) -> pytest.MarkDecorator:
    """All entries but those that have one of these reasons why the clause does not hold for them."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=[pytest.mark.slow] if entry.slow else [])
            for name, entry in ENTRIES.items()
            if not any(getattr(entry, reason) for reason in reasons)
        ],
    )


def assert_close(some: Arrays, expected: Arrays, entry: AnalysisEntry) -> None:
    assert some.keys() == expected.keys()
    for name, values in expected.items():
        if values.dtype.kind in "fc":
            np.testing.assert_allclose(
                some[name], values, rtol=entry.tolerance, atol=entry.tolerance, err_msg=name
            )
        else:
            np.testing.assert_array_equal(some[name], values, err_msg=name)


@every_analysis()
def test_options_are_those_that_the_registry_says(name: str) -> None:
    entry = ENTRIES[name]
    options = inspect.signature(getattr(hs, entry.public)).parameters
    assert ("batch_size" in options) == (not entry.no_batch_size)
    assert ("limit" in options) == (not entry.no_limit)


@every_analysis("no_batch_size")
def test_batch_size_does_not_matter(name: str) -> None:
    entry = ENTRIES[name]
    for batch_size in (1, 4):
        result = entry.run(batch_size=batch_size)
        assert_close(numbers(result), numbers(found(name)), entry)
        assert read_and_shown(result) == read_and_shown(found(name))


def read_and_shown(result: Any) -> list[object]:
    """What was read, and of which labels best heads are shown at work; where several are as sure, rounding decides."""
    if not isinstance(result, ProbeResult):
        return []
    source, examples = result.source, [one for own in result.examples.values() for one in own]
    return [
        (source.data_hash, source.texts, source.documents, source.tokens, source.texts_cut),
        *sorted(one.label for one in examples),
    ]


@every_analysis("no_batch_size")
def test_batch_size_does_not_matter_in_several_stacks(name: str) -> None:
    entry = ENTRIES[name]
    if entry.several is None:
        pytest.skip("models of several stacks are refused")
    one_by_one = numbers(entry.run(entry.several(), batch_size=1))
    assert_close(one_by_one, numbers(found_in_stacks(name)), entry)


@every_analysis("no_batch_size", "no_padding")
def test_what_padding_holds_does_not_matter(name: str) -> None:
    assert_close(found_on_copy(name).numbers, numbers(found(name)), ENTRIES[name])


@every_analysis("no_atlas")
def test_it_is_of_the_weights_that_there_were(name: str) -> None:
    """Who trains the model on before the result goes into an atlas does not change what it is of."""
    copy = found_on_copy(name)
    atlas = atlas_of(copy.result)
    assert atlas.provenance["weights_hash"] == f"sha256:{copy.weights_hash}"
    assert copy.result is atlas or copy.result.model.weights_hash != copy.weights_hash
    if copy.result is not atlas:
        with pytest.raises(AtlasError, match="whose weights differ"):
            copy.result.to_atlas(atlas_of(found(name)))


@every_analysis("no_limit")
def test_a_limit_takes_the_first_and_reads_no_further(name: str) -> None:
    entry = ENTRIES[name]
    data = entry.data()
    if isinstance(data, hs.tasks.Task):
        assert_same_bits(
            numbers(entry.run(limit=entry.limit)), numbers(entry.run(data=data.limited(entry.limit)))
        )
        return
    first, limited = Reading(), Reading()
    result = entry.run(data=limited.of(data), limit=entry.limit)
    used = max(limited.places)  # texts are read some at a time, and what is left of them is let go
    used = entry.limit if isinstance(data, list) else used + (entry.items_a_text == 1)
    assert used < len(list(data))
    assert used == entry.limit or entry.items_a_text > 1
    expected = entry.run(data=first.of(data, most=used))
    assert_same_bits(numbers(result), numbers(expected))
    assert atlas_of(result).provenance.get("corpus_hash") == atlas_of(expected).provenance.get("corpus_hash")


@every_analysis()
def test_every_stack_has_its_numbers_or_the_model_is_refused(name: str) -> None:
    entry = ENTRIES[name]
    if entry.several is None:
        with pytest.raises(HeadscopeError, match=entry.refused().name):
            entry.run(entry.refused())
        return
    result = found_in_stacks(name)
    if entry.no_atlas:
        assert {stack for stack in entry.stacks if any(stack in key for key in numbers(result))} == set(
            entry.stacks
        )
        return
    atlas = atlas_of(result)
    assert tuple(atlas.stacks) == entry.stacks
    for stack in entry.stacks:
        values = [
            array.values for array in atlas.stack(stack).plain.values() if array.values.dtype.kind == "f"
        ]
        assert any(np.isfinite(own).any() for own in values), stack
        if isinstance(result, ProbeResult):
            assert result.table(stack=stack)
    shapes = {stack: atlas.shape(stack) for stack in entry.stacks}
    assert shapes.get("decoder") in (None, (2, 4), (2, 2))  # the encoder has three layers


@every_analysis()
def test_attention_that_is_nan_is_refused(name: str) -> None:
    entry = ENTRIES[name]
    with pytest.raises(CaptureError, match=NAN):
        entry.run(broken(entry.model()))


@pytest.mark.parametrize("of", [found, found_in_stacks], ids=["one stack", "several"])
@every_analysis("no_atlas")
def test_rows_are_json(name: str, of: Any) -> None:
    """They come back as they were, which neither nan nor a number of numpy does."""
    result = result_of(name, of)
    if not isinstance(result, ProbeResult):
        pytest.skip("an atlas has no rows but those of its probes")
    for stack in result.arrays():
        rows = result.rows(stack=stack)
        assert rows
        assert json.loads(json.dumps(rows, allow_nan=False)) == listed(rows)


def listed(value: Any) -> Any:
    """With lists in place of tuples, which JSON does not know."""
    if isinstance(value, dict):
        return {key: listed(entry) for key, entry in value.items()}
    return [listed(entry) for entry in value] if isinstance(value, list | tuple) else value


def result_of(name: str, of: Any) -> Any:
    if of is found_in_stacks and ENTRIES[name].several is None:
        pytest.skip("models of several stacks are refused")
    return of(name)


@pytest.mark.parametrize("of", [found, found_in_stacks], ids=["one stack", "several"])
@every_analysis("no_atlas")
def test_it_goes_into_an_atlas_and_comes_back(name: str, of: Any, tmp_path: Path) -> None:
    result = result_of(name, of)
    atlas = atlas_of(result)
    atlas.save(tmp_path / "kept.nc")
    again = hs.open(tmp_path / "kept.nc")
    assert_same_bits(numbers(again), numbers(atlas))
    assert again.provenance == atlas.provenance
    assert again.measures == atlas.measures
    for stack in atlas.stacks:
        before, after = atlas.stack(stack).plain, again.stack(stack).plain
        for key, array in before.items():
            assert after[key].dims == array.dims
            assert (after[key].units, after[key].description) == (array.units, array.description)
            for dim in array.dims:
                assert list(after[key].coords[dim]) == list(array.coords[dim])
        assert [str(one) for one in again.findings(stack=stack)] == [
            str(one) for one in atlas.findings(stack=stack)
        ]
        assert [one.verdict for one in again.findings(stack=stack)] == [
            one.verdict for one in atlas.findings(stack=stack)
        ]
        for probe in atlas.probes:
            assert again.examples(probe, stack=stack) == atlas.examples(probe, stack=stack)
            assert again.table(probe, stack=stack) == atlas.table(probe, stack=stack)
            table = again.table(probe, stack=stack)
            if table and probe == result.probe:  # an ablation has one table, in the first stack
                assert table == listed(result.table(stack=stack))


@every_analysis("no_edit")
def test_an_edit_in_force_acts_and_is_named(name: str) -> None:
    entry = ENTRIES[name]
    before = numbers(found(name))
    with hs.edit(entry.model(), entry.edit):
        result = entry.run()
    after = numbers(result)
    assert any((values != after[key]).any() for key, values in before.items() if key in after)
    if entry.no_atlas:
        return
    atlas, plain = atlas_of(result), atlas_of(found(name))
    assert atlas.edits == (f"zero: {entry.edit.replace(':', ' ')}",)
    assert plain.edits == ()
    if isinstance(result, ProbeResult):
        with pytest.raises(
            AtlasError, match="as it is, without edits, and the new numbers are of it with edits"
        ):
            result.to_atlas(plain)
        with pytest.raises(
            AtlasError, match=r"with edits in force .* and the new numbers are of it as it is"
        ):
            found(name).to_atlas(atlas)
        assert f"edited (zero: {entry.edit})" in repr(result)


@every_analysis("no_shards")
@pytest.mark.usefixtures("small_shards")
def test_parts_merge_in_any_order(name: str) -> None:
    """Each part is merged with an empty one, and counted twice."""
    engine = Shuffling(1)
    with running_on(engine):
        result = ENTRIES[name].one_by_one()
    assert_same_bits(numbers(result), found_in_shards(name)[0])
    assert engine.shards > 2


@every_analysis("no_shards")
@pytest.mark.usefixtures("small_shards")
def test_a_stopped_run_goes_on_and_gives_the_same_bits(name: str, tmp_path: Path, counted: list[str]) -> None:
    expected, whole = found_in_shards(name)

    def analysis(folder: Path) -> Arrays:
        return numbers(ENTRIES[name].one_by_one())

    check_goes_on_to(expected, whole, analysis, tmp_path, counted)


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.lanes])
def test_two_lanes_give_the_same_bits(name: str) -> None:
    results = {}
    for number in (1, 2):
        with lanes(number) as opened:
            results[number] = numbers(ENTRIES[name].run(batch_size=1))
        assert opened == {number}
    assert_same_bits(results[2], results[1])


# What is made of an atlas


@pytest.mark.parametrize("name", OF_ATLAS)
@pytest.mark.parametrize("of", [found, found_in_stacks], ids=["one stack", "several"])
def test_what_is_made_of_an_atlas_is_made_of_its_file(name: str, of: Any, tmp_path: Path) -> None:
    atlas = of("analyze")
    atlas.save(tmp_path / "kept.nc")
    again = hs.open(tmp_path / "kept.nc")
    results = []
    for stack in atlas.stacks:
        if stack == "cross" and name in ("head_types", "feature_map"):
            continue  # where a text ends and distances begin is not the same in two texts
        results.append(OF_ATLAS[name](atlas, stack))
        assert_same_bits(OF_ATLAS[name](again, stack), results[-1])
    assert len({repr(sorted(result.items())) for result in results}) == len(results)
