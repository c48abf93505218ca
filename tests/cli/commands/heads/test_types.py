"""`headscope types`, `redundancy` and `map`, and how `show` and `report` speak of kinds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.helpers.kinds import kinds_atlas, kinds_of_heads

import headscope as hs


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An atlas of 48 heads of four kinds."""
    file = tmp_path / "atlas.nc"
    kinds_atlas().save(file)
    return file


@pytest.mark.slow
def test_types_writes_the_kinds_into_the_atlas(run: Run, path: Path) -> None:
    result = run("types", path, "--full")
    assert result.exit_code == 0, result.stderr
    assert (hs.open(path)["head_type"].values == kinds_of_heads(6, 8)).all()
    assert "100.0% on half of the heads (stable; 100.0 to 100.0% in nine of ten rounds" in result.stdout
    assert "recommended 4" in result.stdout
    assert "26.0" in result.stdout  # the published share of dense heads


def test_types_as_json(run: Run, path: Path, tmp_path: Path) -> None:
    told = json.loads(run("types", path, "--json", "-o", tmp_path / "other.nc").stdout)
    assert told["shares"] == dict.fromkeys(("dense", "diagonal", "dense&vertical", "vertical"), 0.25)
    assert (
        told["stability"] == told["stability_low"] == told["stability_high"] == {"heads": 1.0, "texts": 1.0}
    )
    assert told["stable"] == {"heads": True, "texts": True}
    assert told["recommended_k"] == 4
    assert list(told["silhouettes"]) == [str(k) for k in range(2, 9)]
    assert "head_type" not in hs.open(path)
    assert "head_type" in hs.open(tmp_path / "other.nc")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file_contents(run: Run, path: Path, tmp_path: Path) -> None:
    for name in ("a.nc", "b.nc"):
        assert run("types", path, "--seed", 7, "--method", "gmm", "-q", "-o", tmp_path / name).exit_code == 0
    first, second = (hs.open(tmp_path / name) for name in ("a.nc", "b.nc"))
    assert (first["head_type"].values == second["head_type"].values).all()
    np.testing.assert_array_equal(first["head_type_certainty"], second["head_type_certainty"])


def test_an_impossible_k_is_one_line(run: Run, path: Path) -> None:
    result = run("types", path, "--k", 48)
    assert result.exit_code == 2
    assert "k is 48" in result.stderr


def test_show_groups_heads_by_kind(run: Run, path: Path) -> None:
    run("types", path, "-q")
    overview = run("show", path, "--full").stdout
    assert "dense 12, diagonal 12, dense&vertical 12, vertical 12" in overview
    lines = run("show", path, "head_type").stdout.splitlines()
    diagonal = next(line for line in lines if line.startswith("diagonal"))
    assert diagonal.split()[:4] == ["diagonal", "12", "0.1", "0.5"], lines
    rows = json.loads(run("show", path, "head_type", "--layer", 2, "--json").stdout)["rows"]
    assert [row["value"] for row in rows] == kinds_of_heads(6, 8)[2].tolist()
    assert "a name, not a number" in run("show", path, "head_type", "--top", 3).stderr
    assert "counted from 0" in run("show", path, "head_type", "--layer", 9).stderr


@pytest.mark.slow
def test_the_report_has_the_kinds(run: Run, path: Path, tmp_path: Path) -> None:
    run("types", path, "-q")
    assert run("report", path, "-o", tmp_path / "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert 'id="encoder-kinds"' in page
    assert all(f"12 {name}" in page for name in ("dense", "diagonal", "dense&amp;vertical", "vertical"))
    assert "know of types" not in page


def test_redundancy_names_neighbours_groups_and_layers(run: Run, path: Path) -> None:
    result = run("redundancy", path, "--head", "0.0", "--threshold", 0.2)
    assert result.exit_code == 0, result.stderr
    nearest = hs.Likeness(hs.open(path)).neighbours("0.0", most=1)[0]
    assert f"{nearest.head} ({nearest.distance:.3f})" in result.stdout
    told = json.loads(run("redundancy", path, "--threshold", 0.1, "--json").stdout)
    assert len(told["neighbours"]) == 48
    kinds = kinds_of_heads(6, 8)
    for group in told["groups"]:  # heads of one kind, and of no other
        assert len({kinds[tuple(map(int, head.split(".")))] for head in group}) == 1
    assert sum(map(len, told["groups"])) == 48
    assert 0 < told["layers"]["p_value"] <= 1
    assert "no head 9.9" in run("redundancy", path, "--head", "9.9").stderr
    layer = json.loads(run("redundancy", path, "--head", "encoder:2.*", "--json").stdout)
    assert list(layer["neighbours"]) == [f"2.{head}" for head in range(8)]


@pytest.mark.parametrize("method", ["mds", "tsne"])
def test_map_draws_every_head(run: Run, path: Path, tmp_path: Path, method: str) -> None:
    run("types", path, "-q")
    picture = tmp_path / "map.svg"
    told = json.loads(run("map", path, "-o", picture, "--method", method, "--color", "type", "--json").stdout)
    assert len(told["heads"]) == 48
    assert (told["stress"] is not None) == (method == "mds")
    assert "coloured by type" in picture.read_text()


def test_map_colours_by_a_part_of_a_measure(run: Run, path: Path, tmp_path: Path) -> None:
    picture = tmp_path / "map.svg"
    result = run("map", path, "-o", picture, "--color", "distance_features", "--at", "feature=sep")
    assert result.exit_code == 0, result.stderr
    assert "[SEP]" in picture.read_text()
    assert "write DIM=LABEL" in run("map", path, "-o", picture, "--color", "entropy", "--at", "sep").stderr
    assert ".svg, .pdf or .png" in run("map", path, "-o", tmp_path / "map.jpg").stderr


def test_the_atlas_of_another_model_is_not_replaced(run: Run, path: Path, atlas_path: Path) -> None:
    before = atlas_path.read_bytes()
    assert "another model" in run("types", path, "-o", atlas_path).stderr
    assert atlas_path.read_bytes() == before


def test_a_report_has_no_section_of_companions(run: Run, path: Path, tmp_path: Path) -> None:
    assert run("report", path, "-o", tmp_path / "page.html").exit_code == 0
    assert "Measures added by other packages" not in (tmp_path / "page.html").read_text()


def test_a_missing_part_of_a_measure_is_asked_for_in_options(run: Run, path: Path, tmp_path: Path) -> None:
    result = run("map", path, "-o", tmp_path / "map.svg", "--color", "distance_features")
    assert "--at feature=LABEL" in result.stderr


def test_what_probes_found_in_the_file_at_o_is_kept(run: Run, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.nc"
    rows = {"encoder": [{"relation": "det", "score": 0.5}]}
    hs.open(path).with_probe("mine", {}, facts={"data": "x"}, table=rows, examples={}).save(other)
    assert run("types", path, "-o", other).exit_code == 0
    assert {"mine", "head_type"} <= {*hs.open(other).probes, *hs.open(other)}
    assert run("types", path, "-o", other).exit_code == 0  # what is replaced is head_type only


def test_numbers_in_the_file_at_o_are_not_lost(run: Run, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.nc"
    opened = hs.open(path)
    opened["distance_features"].values[0, 0, 0] += 1
    opened.save(other)
    before = other.read_bytes()
    result = run("types", path, "-o", other)
    assert result.exit_code == 2
    assert (
        "holds other numbers for distance_features, which would be lost; choose another name" in result.stderr
    )
    assert other.read_bytes() == before


def test_the_atlas_was_analysed_anew_meanwhile(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sort_slowly(atlas: hs.Atlas, **options: Any) -> Any:
        new = hs.open(path)
        new.tree.attrs["created"] = "later"
        new.save(path)
        return sort(atlas, **options)

    sort = hs.head_types
    monkeypatch.setattr(hs, "head_types", sort_slowly)
    assert "was analysed anew meanwhile" in run("types", path).stderr
    assert "head_type" not in hs.open(path)
