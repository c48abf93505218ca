import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.helpers.atlases import empty_atlas, random_atlas, with_dependency

import headscope as hs


def rows_of(text: str) -> dict[str, list[str]]:
    """The numbers of a printed table by the row's first word; `±` separates a mean from its error."""
    split = [line.split() for line in text.splitlines()]
    return {
        words[0]: [word for word in words[1:] if word != "±"] for words in split if words and "." in words[0]
    }


def test_overview_tells_what_the_atlas_holds(run: Run, atlas_path: Path) -> None:
    result = run("show", atlas_path, "--full")
    assert result.exit_code == 0, result.stderr
    atlas = hs.open(atlas_path)
    assert "tiny-bert (BertModel, weights sha256:" in result.stdout
    assert f"texts      {atlas.provenance['texts']}, {atlas.provenance['tokens']} tokens" in result.stdout
    assert "limit none, batch_size auto, faithful no" in result.stdout
    assert "encoder: 3 layers x 4 heads" in result.stdout
    lines = result.stdout.splitlines()
    for name in atlas.measures:
        line = next(line for line in lines if line.split()[:1] == [name])
        assert f"{float(atlas[name].max()):.3f}" in line
        assert lines[lines.index(line) + 1].strip() == atlas[name].attrs["long_name"]


def test_overview_as_json(run: Run, atlas_path: Path) -> None:
    told = json.loads(run("show", atlas_path, "--json").stdout)
    atlas = hs.open(atlas_path)
    assert told["provenance"]["weights_hash"] == atlas.provenance["weights_hash"]
    entropy = told["stacks"]["encoder"]["measures"]["entropy"]
    assert entropy["units"] == "nats"
    assert entropy["minimum"] == pytest.approx(float(atlas["entropy"].min()))


def test_a_table_has_a_row_a_head_with_its_numbers(run: Run, atlas_path: Path) -> None:
    result = run("show", atlas_path, "offset_attention")
    atlas = hs.open(atlas_path)
    rows = rows_of(result.stdout)
    assert list(rows) == [f"{layer}.{head}" for layer in range(3) for head in range(4)]
    for name, words in rows.items():
        layer, head = map(int, name.split("."))
        means = atlas["offset_attention"].sel(layer=layer, head=head)
        errors = atlas["offset_attention_stderr"].sel(layer=layer, head=head)
        printed = np.array(words, dtype=float).reshape(17, 2)
        assert printed[:, 0] == pytest.approx(means.values, abs=6e-4)
        assert printed[:, 1] == pytest.approx(errors.values, abs=6e-4)


def test_piped_tables_are_full_width_without_colour_or_trailing_space(run: Run, atlas_path: Path) -> None:
    text = run("show", atlas_path, "distance_features").stdout
    lines = text.splitlines()
    assert len(lines) == 2 + 12
    assert lines[1].split() == ["head", *hs.open(atlas_path)["distance_features"]["feature"].values]
    assert "\x1b" not in text
    assert not any(line.endswith(" ") for line in lines)


def test_two_other_dimensions_meet_in_one_column(run: Run, atlas_path: Path) -> None:
    header = run("show", atlas_path, "role_attention").stdout.splitlines()[1].split()
    assert "sep/period" in header
    assert len(header) == 1 + 3 * 5
    told = run(
        "show", atlas_path, "role_attention", "--at", "query_role=sep", "--layer", 1, "--head", 2
    ).stdout
    row = rows_of(told)["1.2"]
    expected = hs.open(atlas_path)["role_attention"].sel(layer=1, head=2, query_role="sep")
    assert [float(word) for word in row[::2]] == pytest.approx(expected.values, abs=6e-4)


def test_only_labels_the_measure_uses_are_shown(run: Run, atlas_path: Path) -> None:
    assert run("show", atlas_path, "entropy").stdout.splitlines()[1].split() == ["head", "all", "cls"]


@pytest.mark.parametrize(("option", "number"), [("--layer", 2), ("--head", 3)])
def test_layer_and_head_narrow_the_rows(run: Run, atlas_path: Path, option: str, number: int) -> None:
    rows = rows_of(run("show", atlas_path, "entropy", option, number).stdout)
    place = 0 if option == "--layer" else 1
    assert {int(name.split(".")[place]) for name in rows} == {number}
    assert len(rows) == (4 if place == 0 else 3)


@pytest.mark.parametrize(
    ("named", "same"),
    [
        (["--head", "1.2"], ["--layer", 1, "--head", 2]),
        (["--head", "1.*"], ["--layer", 1]),
        (["--head", "layer 1"], ["--layer", 1]),
        (["--head", "encoder:1.2"], ["--layer", 1, "--head", 2]),
        (["--head", "all"], []),
    ],
)
@pytest.mark.parametrize("measure", ["entropy", "head_distance"])
def test_heads_are_named_as_everywhere(
    run: Run, atlas_path: Path, measure: str, named: list[str], same: list[object]
) -> None:
    told = run("show", atlas_path, measure, *named)
    assert (told.exit_code, told.stdout) == (0, run("show", atlas_path, measure, *same).stdout)


def test_a_head_of_one_stack(run: Run, stacks_path: Path) -> None:
    told = json.loads(run("show", stacks_path, "entropy", "--head", "decoder:1.2", "--json").stdout)
    assert {(row["stack"], row["layer"], row["head"]) for row in told["rows"]} == {("decoder", 1, 2)}


@pytest.mark.parametrize("ascending", [False, True])
def test_top_ranks_by_the_named_column(run: Run, atlas_path: Path, ascending: bool) -> None:
    more = ["--ascending"] if ascending else []
    result = run("show", atlas_path, "offset_attention", "--top", 5, "--by", "-1", *more)
    values = hs.open(atlas_path)["offset_attention"].sel(offset=-1).stack(place=("layer", "head"))
    order = np.argsort(values.values if ascending else -values.values, kind="stable")[:5]
    expected = ["{}.{}".format(*values["place"].values[place]) for place in order]
    assert list(rows_of(result.stdout)) == expected
    assert f"by -1, {'lowest' if ascending else 'highest'} first" in result.stdout.splitlines()[0]


def test_top_alone_ranks_by_the_column_that_varies_most(run: Run, atlas_path: Path) -> None:
    title = run("show", atlas_path, "named_patterns", "--top", 2).stdout.splitlines()[0]
    spread = hs.open(atlas_path)["named_patterns"].std(("layer", "head"))
    assert f"by {spread['pattern'].values[np.argmax(spread.values)]}, highest first" in title


def test_rows_as_json_are_exact_and_flat(run: Run, atlas_path: Path) -> None:
    told = json.loads(run("show", atlas_path, "entropy", "--json", "--layer", 0).stdout)
    atlas = hs.open(atlas_path)
    assert (told["measure"], told["units"]) == ("entropy", "nats")
    assert len(told["rows"]) == 4 * 2
    for row in told["rows"]:
        assert row["stack"] == "encoder"
        place = {dim: row[dim] for dim in ("layer", "head", "query_role")}
        assert row["value"] == float(atlas["entropy"].sel(place))
        assert row["stderr"] == float(atlas["entropy_stderr"].sel(place))


def test_missing_numbers_are_null_in_json(run: Run, tmp_path: Path) -> None:
    from tests.helpers.tiny import tiny

    path = tmp_path / "one.nc"  # one text has no standard error
    hs.analyze(tiny("bert"), ["the cat sat"], measures=["entropy"], max_length=32).save(path)
    told = json.loads(run("show", path, "entropy", "--json").stdout, parse_constant=pytest.fail)
    assert {row["stderr"] for row in told["rows"]} == {None}
    assert "±" not in "".join(run("show", path, "entropy").stdout.splitlines()[1:])


def test_a_single_number_is_a_line(run: Run, atlas_path: Path) -> None:
    atlas = hs.open(atlas_path)
    value, error = float(atlas["entropy_uniform"]), float(atlas["entropy_uniform_stderr"])
    lines = run("show", atlas_path, "entropy_uniform").stdout.splitlines()
    assert lines[1] == f"{value:.3f} ± {error:.3f}"


def test_head_distance_lists_the_nearest_and_farthest_pairs(run: Run, atlas_path: Path) -> None:
    text = run("show", atlas_path, "head_distance", "--top", 2).stdout
    pairs = [line.split() for line in text.splitlines() if "±" in line and "." in line.split()[0]]
    distances = hs.open(atlas_path)["head_distance"]
    upper = distances.values[np.triu_indices(12, 1)]
    printed = [float(words[2]) for words in pairs]
    assert printed == pytest.approx([*np.sort(upper)[:2], *np.sort(upper)[::-1][:2]], abs=6e-4)
    for head_a, head_b, value, *_ in pairs:
        assert float(distances.sel(head_a=head_a, head_b=head_b)) == pytest.approx(float(value), abs=6e-4)


def test_head_distance_of_one_head_lists_its_neighbours(run: Run, atlas_path: Path) -> None:
    told = json.loads(run("show", atlas_path, "head_distance", "--layer", 1, "--head", 2, "--json").stdout)
    row = hs.open(atlas_path)["head_distance"].sel(head_a="1.2")
    assert {pair["head_a"] for pair in told["rows"]} == {"1.2"}
    assert [pair["value"] for pair in told["rows"]] == sorted(row.drop_sel(head_b="1.2").values.tolist())


def test_no_pair_is_listed_twice(run: Run, atlas_path: Path) -> None:
    told = json.loads(run("show", atlas_path, "head_distance", "--top", 1000, "--json").stdout)
    assert len(told["rows"]) == math.comb(12, 2)


def test_every_stack_that_has_the_measure_is_shown(run: Run, stacks_path: Path) -> None:
    overview = run("show", stacks_path, "--full").stdout
    assert "encoder: 3 layers x 4 heads" in overview
    assert "cross: 2 layers x 4 heads" in overview
    titles = [
        line
        for line in run("show", stacks_path, "entropy", "--full").stdout.splitlines()
        if line.startswith("entropy")
    ]
    assert [title.split()[1] for title in titles] == ["(encoder):", "(decoder):", "(cross):"]
    one = json.loads(run("show", stacks_path, "decoder/entropy", "--json").stdout)
    assert {row["stack"] for row in one["rows"]} == {"decoder"}
    expected = hs.open(stacks_path)["decoder/entropy"].sel(layer=1, head=0, query_role="all")
    found = [row for row in one["rows"] if (row["layer"], row["head"], row["query_role"]) == (1, 0, "all")]
    assert [row["value"] for row in found] == [float(expected)]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("nonsense",), "no 'nonsense'; choose from distance_features, entropy"),
        (("entropy", "--layer", 3), "entropy has no layer 3; choose from 0 to 2"),
        (("entropy", "--at", "query_role=comma"), "choose from all, cls"),
        (("entropy", "--at", "offset=1"), "entropy has no offset; choose from layer, head, query_role"),
        (("entropy", "--at", "sep"), "write DIM=LABEL"),
        (("entropy", "--by", "sep"), "there is no such column; choose from all, cls"),
        (("entropy", "--top", 0), "'--top'"),
        (("entropy_uniform", "--head", 1), "entropy_uniform has no head"),
        (("head_distance", "--by", "x"), "it takes --layer, --head and --top"),
        (("head_distance", "--layer", 7), "there is no head 7.*; heads go from 0.0 to 2.3"),
        (("--top", 3), "these options need a measure"),
        (("entropy", "--head", "x"), "'x' is not a head; write a head as 3.2"),
        (("entropy", "--layer", 1, "--head", "2.0"), "--layer 1 and --head 2.0 name different layers"),
        (("entropy", "--head", "decoder:1.2"), "decoder"),
        (("encoder/entropy", "--head", "cross:1.2"), "--head names the cross"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    run: Run, atlas_path: Path, args: tuple, says: str
) -> None:
    result = run("show", atlas_path, *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("headscope: error: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"not an atlas", b"\x89HDF\r\n\x1a\n cut short"])
def test_a_file_that_is_no_atlas(run: Run, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.nc"
    path.write_bytes(content)
    result = run("show", path)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "foreign.nc" in result.stderr


@pytest.fixture
def probed_path(tmp_path: Path) -> Path:
    """Measures, and what a dependency probe found beside them."""
    path = tmp_path / "probed.nc"
    with_dependency(random_atlas()).save(path)
    return path


def test_overview_tells_which_probes_were_run(run: Run, probed_path: Path, tmp_path: Path) -> None:
    told = run("show", probed_path, "--full").stdout
    assert "probes     dependency on dev.conllu, 120 texts, 2,400 tokens, heads chosen on half of the" in told
    assert "corpus     corpus.txt" in told
    assert "dependency_count " in told
    assert " 1 to 900\n" in told
    alone = tmp_path / "alone.nc"
    with_dependency(empty_atlas(), annotated_by="spacy:x").save(alone)
    told = run("show", alone, "--full").stdout
    assert "annotated by spacy:x" in told
    assert "corpus" not in told  # it is only that of the probe


def test_a_relation_of_a_probe_as_a_table_of_heads(run: Run, probed_path: Path) -> None:
    result = run("show", probed_path, "dependency_accuracy", "--at", "relation=det", "--top", 2)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["head", "dependent_to_head", "head_to_dependent"]
    assert lines[2].split() == ["1.2", "0.910", "0.100"]
    assert len(lines) == 4


def test_what_is_not_about_heads_is_a_plain_table(run: Run, probed_path: Path) -> None:
    lines = run("show", probed_path, "dependency_count").stdout.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["relation", "value"], ["det", "900"], ["nmod", "500"], ["obj", "80"], ["dep", "3"], ["orphan", "1"],
    ]  # fmt: skip
    lines = run("show", probed_path, "dependency_count", "--top", 1, "--ascending").stdout.splitlines()
    assert lines[2].split() == ["orphan", "1"]
    told = json.loads(run("show", probed_path, "dependency_count", "--json").stdout)
    assert told["rows"][0] == {"stack": "encoder", "relation": "det", "value": 900, "stderr": None}
    result = run("show", probed_path, "dependency_count", "--head", 1)
    assert result.exit_code == 2
    assert "dependency_count has no head; choose from relation" in result.stderr
