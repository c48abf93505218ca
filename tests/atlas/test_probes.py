"""Probes in the atlas: what they found comes back, and what was there before stays as it was."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.helpers.atlases import empty_atlas
from tests.helpers.tiny import BUILDERS, tiny
from tests.helpers.treebanks import as_file, random_sentences

import headscope as hs
from headscope.atlas import Atlas, Example, Results
from headscope.atlas.sentences import as_line, from_line
from headscope.errors import AtlasError
from headscope.models import wrap
from headscope.probes.pointing.dependency import DependencyProbe
from headscope.probes.result import ProbeResult, without_folders
from headscope.text.annotated.treebank import Treebank, read_treebank
from headscope.types import HeadId, LabelledArray

TEXTS = ["The cat sat on the mat. It was red.", "A dog saw the house, and it was blue."]

EXAMPLE = Example(
    probe="dependency",
    label="nmod:poss",
    direction="head_to_dependent",
    head=HeadId(1, 2),
    words=("né", "👩‍👧", '"quoted"', "a\\b"),
    asking=1,
    right=(0, 2),
    guess=2,
    weights=(0.125, 0.0, 0.75, 0.123456),
    name="s-1",
)


@pytest.fixture
def treebank(tmp_path: Path) -> Treebank:
    path = tmp_path / "a.conllu"
    path.write_text(as_file(random_sentences(12, seed=3, documents=3)), encoding="utf-8")
    return read_treebank(path)


def probed(architecture: str, treebank: Treebank) -> ProbeResult:
    return DependencyProbe(tiny(architecture)).fit_score(treebank)


def arrays(size: int, *names: str) -> dict[str, LabelledArray]:
    values = np.random.default_rng(size).random((size, 4))
    return {
        name: LabelledArray(values, ("layer", "head"), {"layer": range(size), "head": range(4)}, name)
        for name in names
    }


def add(
    atlas: Atlas,
    probe: str,
    results: Results,
    *,
    rows: int = 1,
    examples: tuple[Example, ...] = (),
) -> Atlas:
    return atlas.with_probe(
        probe,
        results,
        facts={"data": "a.conllu"},
        table={stack: [{"row": number} for number in range(rows)] for stack in results},
        examples=dict.fromkeys(results, examples),
    )


@pytest.fixture
def plain() -> Atlas:
    """What `analyze` leaves: one stack, two measures."""
    return Atlas.build(
        {"encoder": arrays(2, "entropy", "entropy_stderr", "other")},
        provenance={"model": "m", "texts": 5, "options": '{"limit": null}'},
    )


@pytest.fixture
def stacked() -> Atlas:
    return Atlas.build(
        {"encoder": arrays(2, "entropy"), "decoder": arrays(3, "entropy"), "cross": arrays(3, "entropy")},
        provenance={"model": "m"},
    )


# Examples as lines


def test_an_example_comes_back_from_its_line() -> None:
    line = as_line(EXAMPLE)
    assert "\n" not in line
    back = from_line(Example, line)
    assert back.weights == (0.125, 0.0, 0.75, 0.1235)  # to four decimals
    assert as_line(back) == line
    assert {**vars(back), "weights": ()} == {**vars(EXAMPLE), "weights": ()}
    assert json.loads(line)["head"] == "1.2"
    assert "né" in line  # to be read by people too


def test_what_an_example_knows() -> None:
    assert EXAMPLE.is_right
    assert EXAMPLE.confidence == 0.75
    assert not from_line(Example, as_line(EXAMPLE).replace('"guess": 2', '"guess": 1')).is_right


# A real probe


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
def test_tables_arrays_and_examples_come_back_from_disk(
    architecture: str, treebank: Treebank, tmp_path: Path
) -> None:
    result = probed(architecture, treebank)
    atlas = result.to_atlas()
    atlas.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    assert back.stacks == atlas.stacks == list(result.arrays())
    for stack, found in result.arrays().items():
        assert back.table("dependency", stack=stack) == result.table(stack=stack)
        shown = back.examples("dependency", stack=stack)
        assert shown == [from_line(Example, as_line(one)) for one in result.examples[stack]]
        assert shown
        stored = back.stack(stack)
        assert set(stored) == set(found)
        for name, array in found.items():
            np.testing.assert_array_equal(stored[name].values, array.values)
            assert stored[name].dims == array.dims
            assert stored[name].attrs["long_name"] == array.description
            for dim in array.dims:
                assert stored[name][dim].values.tolist() == list(array.coords[dim])
    first = back.stacks[0]
    assert back.table("dependency") == back.table("dependency", stack=first)
    assert back.examples("dependency") == back.examples("dependency", stack=first)
    assert back.provenance == atlas.provenance
    assert repr(back) == repr(atlas)


def test_what_is_known_about_a_probe(treebank: Treebank) -> None:
    result = probed("bert", treebank)
    atlas = result.to_atlas()
    facts = atlas.provenance["probes"]["dependency"]
    assert facts["data"] == "a.conllu"
    assert facts["data_hash"] == f"sha256:{result.source.data_hash}"
    assert facts["annotated_by"] == "the files"
    assert (facts["texts"], facts["documents"], facts["texts_cut"], facts["skipped"]) == (12, 3, 0, 0)
    assert facts["tokens"] == result.source.tokens
    assert facts["notes"] == [without_folders(note) for note in result.source.notes]
    assert facts["options"] == result.source.options
    assert facts["duration_s"] >= 0
    assert {"dependency_accuracy", "dependency_table", "dependency_examples"} <= set(facts["arrays"])
    assert atlas.provenance["weights_hash"] == f"sha256:{tiny('bert').weights_hash}"
    assert atlas.provenance["corpus"] == "a.conllu"
    assert (atlas.provenance["texts"], atlas.provenance["documents"]) == (12, 3)


def test_lines_of_text_are_no_measures(treebank: Treebank) -> None:
    atlas = probed("bert", treebank).to_atlas()
    assert atlas.measures == [
        "dependency_accuracy",
        "dependency_count",
        "dependency_documents",
        "dependency_units",
        "dependency_overall",
        "dependency_baseline",
    ]
    assert "dependency_accuracy_stderr" in atlas
    assert "dependency_table" not in atlas
    assert "dependency_examples" not in atlas
    assert atlas.shape("encoder") == (3, 4)


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_an_analysed_atlas_keeps_its_arrays_bit_for_bit(
    architecture: str, treebank: Treebank, tmp_path: Path
) -> None:
    before = hs.analyze(
        tiny(architecture), TEXTS, max_length=32, measures=["entropy", "offset_attention"], sentences=0
    )
    before.save(tmp_path / "a.nc")
    result = probed(architecture, treebank)
    result.to_atlas(hs.open(tmp_path / "a.nc")).save(tmp_path / "a.nc")
    after = hs.open(tmp_path / "a.nc")
    assert after.stacks == before.stacks
    assert set(before.measures) < set(after.measures)
    for stack in before.stacks:
        for name, array in before.stack(stack).items():
            xr.testing.assert_identical(after.stack(stack)[name], array)
    assert (
        after.provenance.pop("headscope_format") > before.provenance["headscope_format"]
    )  # for older readers
    own = {"probes", "headscope_format"}
    assert {key: value for key, value in after.provenance.items() if key not in own} == {
        key: value for key, value in before.provenance.items() if key not in own
    }
    assert after.table("dependency") == result.table()
    assert "probes" not in before.provenance  # the one added to is not changed


def test_the_same_probe_again_replaces_what_it_found(treebank: Treebank, tmp_path: Path) -> None:
    atlas = probed("bert", treebank).to_atlas(
        hs.analyze(tiny("bert"), TEXTS, max_length=32, measures=["entropy", "offset_attention"])
    )
    path = tmp_path / "b.conllu"
    path.write_text(as_file(random_sentences(8, seed=4)), encoding="utf-8")
    again = DependencyProbe(tiny("bert"), base_relations=True).fit_score(read_treebank(path))
    replaced = again.to_atlas(atlas)
    assert replaced.table("dependency") == again.table()
    assert replaced.provenance["probes"]["dependency"]["data"] == "b.conllu"
    assert replaced.measures == atlas.measures
    alone = again.to_atlas()
    for name, array in alone.stack("encoder").items():
        xr.testing.assert_identical(replaced[name], array)


def test_another_model_is_refused(treebank: Treebank) -> None:
    network, tokenizer = BUILDERS["bert"]()  # new weights
    atlas = hs.analyze(
        wrap(network.eval(), tokenizer, name="stranger"),
        TEXTS,
        max_length=32,
        measures=["entropy", "offset_attention"],
    )
    with pytest.raises(
        AtlasError,
        match="the atlas is of 'stranger', whose weights differ from those of 'tiny-bert'; give an atlas of the same",
    ):
        probed("bert", treebank).to_atlas(atlas)


def test_an_atlas_that_does_not_say_whose_it_is_is_refused(treebank: Treebank, plain: Atlas) -> None:
    with pytest.raises(AtlasError, match="the atlas is of 'm', whose weights differ"):
        probed("bert", treebank).to_atlas(plain)


# Adding by hand


def test_a_probe_takes_only_its_own_away(plain: Atlas, tmp_path: Path) -> None:
    first = add(plain, "one", {"encoder": arrays(2, "one_a", "one_a_stderr", "one_b")}, examples=(EXAMPLE,))
    both = add(first, "two", {"encoder": arrays(2, "two_a")})
    assert set(both.stack("encoder")) == {
        "entropy", "entropy_stderr", "other", "one_a", "one_a_stderr", "one_b", "two_a",
    }  # fmt: skip
    again = add(both, "one", {"encoder": arrays(2, "one_c")}, rows=2)
    assert set(again.stack("encoder")) == {"entropy", "entropy_stderr", "other", "two_a", "one_c"}
    assert again.table("one") == [{"row": 0}, {"row": 1}]
    assert again.examples("one") == []
    assert again.table("two") == [{"row": 0}]
    assert set(again.provenance["probes"]) == {"one", "two"}
    again.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    assert set(back.stack("encoder")) == set(again.stack("encoder"))
    assert (back.table("one"), back.examples("one")) == (again.table("one"), [])
    # What was added to is as it was.
    assert set(plain.stack("encoder")) == {"entropy", "entropy_stderr", "other"}
    assert first.examples("one") == [from_line(Example, as_line(EXAMPLE))]


def test_a_name_that_is_taken_is_refused(plain: Atlas) -> None:
    """Rather than that one result silently takes the place of another."""
    first = add(plain, "one", {"encoder": arrays(2, "a", "a_stderr")})
    with pytest.raises(
        AtlasError, match="'two' gives an array called 'a', which is what the probe 'one' found"
    ):
        add(first, "two", {"encoder": arrays(2, "a", "b")})
    with pytest.raises(
        AtlasError, match="'two' gives an array called 'other', which is a measure of this atlas"
    ):
        add(first, "two", {"encoder": arrays(2, "other")})
    with pytest.raises(AtlasError, match="'a', which is what the probe 'one' found"):
        add(first, "two", {"encoder": arrays(2, "b"), "decoder": arrays(2, "a")})  # in another stack too
    assert set(add(first, "one", {"encoder": arrays(2, "a")}).measures) == {"entropy", "other", "a"}


def test_an_analysis_that_takes_a_probes_name_does_not_take_the_probe_along(plain: Atlas) -> None:
    old = add(plain, "one", {"encoder": arrays(2, "a")})
    new = Atlas.build({"encoder": arrays(2, "a")}, provenance={"model": "m"})
    with pytest.raises(AtlasError, match="the probe 'one' gives an array called 'a', which is a measure"):
        new.with_probes_of(old)


def test_patterns_and_an_explanation_stand_side_by_side() -> None:
    model = tiny("bert")
    patterns = hs.find_patterns(model, TEXTS, max_length=32).to_atlas()
    both = hs.explain(model, ["0.0", "1.2"], TEXTS, max_length=32).to_atlas(patterns)
    for name, array in patterns.stack("encoder").items():
        xr.testing.assert_identical(both.stack("encoder")[name], array)
    assert len(both.table("explanation")) == 2
    again = hs.find_patterns(model, TEXTS, max_length=32).to_atlas(both)
    assert set(again.stack("encoder")) == set(both.stack("encoder"))


def test_stacks_of_a_model_keep_their_own(stacked: Atlas, tmp_path: Path) -> None:
    found = {"encoder": arrays(2, "one_a"), "decoder": arrays(3, "one_a")}
    atlas = stacked.with_probe(
        "one",
        found,
        facts={},
        table={"encoder": [{"stack": "encoder"}], "decoder": []},
        examples={"decoder": [EXAMPLE], "encoder": []},
    )
    atlas.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    assert back["encoder/one_a"].shape == (2, 4)
    assert back["decoder/one_a"].shape == (3, 4)
    assert set(back.stack("cross")) == {"entropy"}
    assert back.table("one") == [{"stack": "encoder"}]
    assert back.table("one", stack="decoder") == back.table("one", stack="cross") == []
    assert back.examples("one") == []
    assert len(back.examples("one", stack="decoder")) == 1
    again = add(back, "one", {"encoder": arrays(2, "one_b")})
    assert "one_a" not in again  # gone from the other stack too
    assert again.stacks == ["encoder", "decoder", "cross"]


def test_a_probe_may_look_at_more_stacks_than_the_atlas_has(plain: Atlas, tmp_path: Path) -> None:
    first = add(plain, "one", {"encoder": arrays(2, "a")}, examples=(EXAMPLE,))
    both = add(first, "two", {"encoder": arrays(2, "b"), "decoder": arrays(2, "b")})
    both.save(tmp_path / "a.nc")
    opened = hs.open(tmp_path / "a.nc")
    assert opened.stacks == ["encoder", "decoder"]
    for name, array in first.stack("encoder").items():
        xr.testing.assert_identical(opened.stack("encoder")[name], array)
    assert opened.examples("one") == first.examples("one") != []
    assert set(opened.stack("decoder")) == set(arrays(2, "b"))
    back = add(opened, "two", {"encoder": arrays(2, "c")})
    assert set(back.stack("decoder")) == set()


def test_a_new_analysis_keeps_what_probes_found(plain: Atlas) -> None:
    old = add(plain, "one", {"encoder": arrays(2, "a")}, examples=(EXAMPLE,))
    kept = plain.with_probes_of(old)
    assert kept.examples("one") == old.examples("one") != []
    assert set(kept.measures) == set(old.measures)
    assert plain.with_probes_of(plain) is plain
    several = add(plain, "one", {"encoder": arrays(2, "a"), "decoder": arrays(2, "a")})
    with pytest.raises(AtlasError, match="encoder, decoder"):
        plain.with_probes_of(several)


def test_a_probe_that_was_not_run_has_nothing(plain: Atlas) -> None:
    assert plain.table("dependency") == []
    assert plain.examples("dependency") == []
    with pytest.raises(AtlasError, match="no stack 'decoder'; it has encoder"):
        plain.table("dependency", stack="decoder")


def test_any_netcdf_tool_can_read_the_lines(plain: Atlas, tmp_path: Path) -> None:
    add(plain, "one", {"encoder": arrays(2, "a")}, examples=(EXAMPLE,)).save(tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf", group="one_examples") as lines:
        assert [str(line) for line in lines["one_examples"].values] == [as_line(EXAMPLE)]


def test_an_atlas_names_files_without_their_folders() -> None:
    note = "2 sentences skipped: /home/me/a.conllu:7: HEAD is 'x/y'; ../b c/d.conllu:12: no HEAD; C:\\e.conllu:3: x"
    assert without_folders(note) == (
        "2 sentences skipped: a.conllu:7: HEAD is 'x/y'; ../b d.conllu:12: no HEAD; e.conllu:3: x"
    )


def test_errors_are_over_texts_or_over_groups_of_documents(plain: Atlas) -> None:
    """Student's t needs to know how many; a probe whose errors know documents says so by `intervals`."""
    assert plain.sample_size("entropy") == plain.provenance["texts"]
    cells = LabelledArray(
        np.zeros((2, 3)), ("layer", "head"), {"layer": range(2), "head": range(3)}, "a score"
    )

    def size(**facts: object) -> int | None:
        atlas = plain.with_probe("p", {"encoder": {"score": cells}}, facts=facts, table={}, examples={})
        return atlas.sample_size("score")

    assert size() is None
    assert size(texts=500, documents=30) == 500
    assert size(texts=500, documents=30, intervals="over 30 documents") == 30
    assert size(texts=500, documents=9, intervals="over 500 sentences") == 500
    assert (
        size(texts=500, documents=90, intervals="over 90 documents") == 41
    )  # groups that documents are dealt out to


def test_what_probes_say_of_themselves_is_read_in_one_place() -> None:
    atlas = empty_atlas()
    assert atlas.probes == {}
    for entries in ("3", '["dependency"]', '{"dependency": 3}'):  # from elsewhere
        atlas.tree.attrs["probes"] = entries
        assert atlas.probes == {}
    atlas.tree.attrs["probes"] = '{"dependency": {"data": "dev.conllu"}, "coreference": null}'
    assert atlas.probes == {"dependency": {"data": "dev.conllu"}}
