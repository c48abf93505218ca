from pathlib import Path
from typing import Any

import pytest
from papers.tests.reproduce.sweeps import facts, row, with_sweeps
from tests.helpers.atlases import empty_atlas
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import OptionError
from headscope.types import HeadId
from headscope_papers.reproduce import Figure, Reproduction, Row, Section, guan2020

WITHIN, BETWEEN = "no attention within sentences", "no attention between sentences"
TYPES = {"dense": 5, "diagonal": 3, "near": 1}


def swept(
    edit: str,
    changes: dict[str, float] | None = None,
    *,
    sweep: str = "types",
    probe: str = "ablation",
    atlas: hs.Atlas | None = None,
    **about: Any,
) -> hs.Atlas:
    """Kinds edited, give or take a point of F1 (of 40 %): dense costs 4 points, near (which no paper knows) 1."""
    changes = {"dense": -4.0, "near": -1.0} if changes is None else changes
    rows = [row(sweep, name, change, heads=size_of(name)) for name, change in changes.items()]
    sweeps = {sweep: (facts(sweep, edit, types={kind: [] for kind in TYPES}, **about), rows)}
    before = empty_atlas() if atlas is None else atlas
    if probe in before.provenance.get("probes", {}):
        table = before.table(probe, stack=before.stacks[0])
        for name, told in before.provenance["probes"][probe]["sweeps"].items():
            sweeps.setdefault(name, (told, [row for row in table if row["sweep"] == name]))
    return with_sweeps(before, sweeps, probe=probe)


def size_of(name: str) -> int:
    first = name.split(maxsplit=1)[0]
    return int(first) if first.isdigit() else TYPES.get(name.partition(":")[0], 1)


def rows_of(result: Reproduction, key: str = "effects") -> dict[str, Row]:
    return {row.quantity: row for row in result.section(key).rows}


def published(rows: dict[str, Row], ending: str) -> dict[str, float | None]:
    return {
        name.removesuffix(ending): row.published.value
        for name, row in rows.items()
        if row.published and name.endswith(ending) and "change" not in name
    }


def agreement(rows: dict[str, Row], quantity: str) -> str:
    verdict = rows[quantity].verdict
    assert verdict is not None
    return verdict.agreement


def test_table_2_of_a_sweep() -> None:
    result = guan2020(swept("zero"))
    section, rows = result.section("effects"), rows_of(result)
    assert (section.title[:7], section.published.source, section.covers) == (
        "Table 2",
        "table 2",
        ("table 2",),
    )
    assert rows["untouched: EM"] == Row("untouched: EM", "share", None, Figure(0.30, 0.25, 0.35))
    assert rows["untouched: F1"].published == Figure(0.8968)
    assert rows["untouched: F1"].ours == Figure(0.40, 0.35, 0.45)
    assert rows["dense, pruned: EM"].published == Figure(0.7992)
    assert rows["dense, pruned: EM"].ours == Figure(0.30, detail="5 heads")
    assert rows["dense, pruned: change of EM"].published is None  # the paper has no EM of the untouched model
    assert rows["dense, pruned: F1"].ours == Figure(0.36, detail="5 heads")
    change = rows["dense, pruned: change of F1"]
    assert (change.published, change.ours) == (Figure(-0.0206), Figure(-0.04, -0.05, -0.03))
    assert rows["near, pruned: change of F1"].ours == Figure(-0.01, -0.02, 0.0, "1 head, to 39.0 %")
    assert rows["near, pruned: change of F1"].published is None
    assert rows["diagonal, pruned: F1"].ours is None
    assert published(rows, ": F1") == {
        "untouched": 0.8968,
        "dense, pruned": 0.8762, "diagonal, pruned": 0.0755, "dense&vertical, pruned": 0.8192,
        "vertical, pruned": 0.8857, "dense, vertical, pruned": 0.8405, "dense&vertical, vertical, pruned": 0.6762,
        "dense, uniform": 0.8417, "diagonal, uniform": 0.0607, "dense&vertical, uniform": 0.1115,
        "vertical, uniform": 0.5909,
    }  # fmt: skip
    assert published(rows, ": EM") == {
        "dense, pruned": 0.7992, "diagonal, pruned": 0.0459, "dense&vertical, pruned": 0.7333,
        "vertical, pruned": 0.8142, "dense, vertical, pruned": 0.7531, "dense&vertical, vertical, pruned": 0.5687,
        "dense, uniform": 0.7468, "diagonal, uniform": 0.0127, "dense&vertical, uniform": 0.0913,
        "vertical, uniform": 0.5317,
    }  # fmt: skip
    notes = " ".join(section.notes)
    assert "no sweep with kinds uniform" in notes
    assert "no two kinds pruned together" in notes
    assert [section.key for section in result.sections if section.needs] == [
        "examples", "shares", "stability", "number", "map", "features", "layers", "masks",
    ]  # fmt: skip


def test_two_kinds_pruned_together_whatever_their_order() -> None:
    pairs = {"vertical, dense": -6.0, "dense, near": -5.0}
    result = guan2020(swept("zero", pairs, sweep="pairs-of-types", atlas=swept("zero"), data_hash="sha256:2"))
    rows = rows_of(result)
    assert rows["vertical, dense, pruned: F1"].published == Figure(0.8405)
    assert rows["vertical, dense, pruned: change of F1"].ours == Figure(-0.06, -0.07, -0.05)
    assert rows["dense&vertical, vertical, pruned: F1"].ours is None
    assert rows["dense, near, pruned: change of F1"].published is None
    assert "no two kinds" not in " ".join(result.section("effects").notes)
    assert "on different examples" in " ".join(result.section("effects").notes)


@pytest.mark.parametrize(
    ("change", "random", "expected"),
    [(-20.0, -5.0, "same"), (-20.0, -19.5, "unclear"), (-8.5, -5.0, "unclear"), (-4.0, -2.0, "different"),
     (-20.0, -30.0, "different")],
)  # fmt: skip
def test_a_large_loss_is_more_than_a_fifth_of_f1_and_more_than_random_heads_cost(
    change: float, random: float, expected: str
) -> None:
    """F1 is 40 %, so that a fifth is 8 points; intervals are a point wide to both sides."""
    draws = {f"3 random heads ({draw + 1})": random + draw / 10 for draw in range(3)}
    rows = rows_of(guan2020(swept("zero", {"diagonal": change, **draws})))
    verdict = rows["diagonal, pruned: change of F1"].verdict
    assert verdict is not None
    assert verdict.agreement == expected
    assert verdict.finding == "costs more than a fifth of F1, and more than as many random heads do"
    control = rows["diagonal, pruned: as many random heads"].ours
    assert control is not None
    assert (control.value, control.low, control.high) == pytest.approx(
        ((random + 0.1) / 100, (random - 1) / 100, (random + 1.2) / 100)
    )


@pytest.mark.parametrize(("change", "expected"), [(-4.0, "same"), (-7.5, "unclear"), (-20.0, "different")])
def test_a_small_loss_is_less_than_a_fifth_of_f1(change: float, expected: str) -> None:
    assert (
        agreement(rows_of(guan2020(swept("zero", {"dense": change}))), "dense, pruned: change of F1")
        == expected
    )


def test_without_an_interval_nothing_is_clear() -> None:
    sweep = [row("types", "dense", -4.0)]
    sweep[0]["interval"]["f1"] = [float("nan")] * 2
    atlas = with_sweeps(empty_atlas(), {"types": (facts("types", "zero", types={"dense": []}), sweep)})
    assert agreement(rows_of(guan2020(atlas)), "dense, pruned: change of F1") == "unclear"


def test_the_costliest_kind_is_compared_by_where_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "costliest kind, pruned: change of F1"
    local = {"dense": False, "diagonal": False, "near": True}

    def found(changes: dict[str, float]) -> str:
        rows = rows_of(guan2020(swept("zero", changes)))
        assert rows[name].published == Figure(-0.8213, detail="diagonal")
        return agreement(rows, name)

    assert found({"near": -20.0, "dense": -4.0}) == "unclear"  # the atlas has no kinds to look up
    monkeypatch.setattr("headscope_papers.reproduce.guan.effects._local", lambda sweep: local)
    assert found({"near": -20.0, "dense": -4.0, "diagonal": -3.0}) == "same"
    assert found({"near": -4.0, "dense": -20.0, "diagonal": -19.5}) == "different"
    assert found({"near": -20.0, "dense": -19.0}) == "unclear"


def test_a_kind_that_looks_nearby_needs_attention_within_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"a kind that looks nearby: {WITHIN}: change of F1"

    def found(within: float, between: float) -> dict[str, Row]:
        changes = {f"near: {WITHIN}": within, f"near: {BETWEEN}": between, f"dense: {WITHIN}": -30.0}
        return rows_of(
            guan2020(swept("masked", changes, sweep="sentence-masks", atlas=swept("zero"))), "masks"
        )

    assert name not in found(-20.0, -4.0)  # the atlas has no kinds to look up
    local = {"dense": False, "diagonal": False, "near": True}
    monkeypatch.setattr("headscope_papers.reproduce.guan.effects._local", lambda sweep: local)
    row = found(-20.0, -4.0)[name]
    assert row.published == Figure(-0.6439, detail="diagonal")
    assert row.ours == Figure(-0.2, -0.21, -0.19, "near")
    assert [agreement(found(*pair), name) for pair in ((-20.0, -4.0), (-4.0, -20.0), (-4.0, -4.5))] == [
        "same", "different", "unclear",
    ]  # fmt: skip


def test_table_3_has_the_papers_rows_and_then_ours() -> None:
    changes = {
        f"diagonal: {WITHIN}": -20.0,
        f"diagonal: {BETWEEN}": -20.0,
        f"all but diagonal: {WITHIN}": -1.0,
        f"near: {WITHIN}": -2.0,
        **{f"3 random heads ({draw}): {WITHIN}": -3.0 for draw in (1, 2, 3)},
    }
    result = guan2020(swept("masked", changes, sweep="sentence-masks", atlas=swept("zero")))
    section, rows = result.section("masks"), rows_of(result, "masks")
    assert (section.title[:7], section.published.source, section.covers) == (
        "Table 3",
        "table 3",
        ("table 3",),
    )
    assert published(rows, ": EM") == {
        f"(12) diagonal: {WITHIN}": 0.1696, f"(13) diagonal: {BETWEEN}": 0.8229,
        f"(14) dense&vertical: {WITHIN}": 0.8028, f"(15) dense&vertical: {BETWEEN}": 0.7795,
        f"(16) all but diagonal: {WITHIN}": 0.7180, f"(17) all but diagonal: {BETWEEN}": 0.1011,
        f"(18) all but dense&vertical: {WITHIN}": 0.1483, f"(19) all but dense&vertical: {BETWEEN}": 0.7554,
    }  # fmt: skip
    assert list(published(rows, ": F1").values()) == [
        0.8968, 0.2529, 0.8991, 0.8776, 0.8586, 0.8022, 0.1557, 0.2355, 0.8410,
    ]  # fmt: skip
    first = rows[f"(12) diagonal: {WITHIN}: change of F1"]
    assert (first.published, first.ours) == (Figure(-0.6439), Figure(-0.2, -0.21, -0.19))
    assert agreement(rows, first.quantity) == "same"
    assert agreement(rows, f"(13) diagonal: {BETWEEN}: change of F1") == "different"
    assert agreement(rows, f"(16) all but diagonal: {WITHIN}: change of F1") == "same"
    assert rows[f"near: {WITHIN}: change of F1"].published is None
    control = rows[f"(12) diagonal: {WITHIN}: as many random heads"].ours
    assert control is not None
    assert (control.value, control.detail) == (pytest.approx(-0.03), "mean of 3 draws")
    assert f"(13) diagonal: {BETWEEN}: as many random heads" not in rows
    assert "16.96 in the paper's table and 19.96 in its text" in " ".join(section.notes)
    assert "not known" not in section.published.data


def without_verdict(section: Section) -> list[str]:
    """Rows with both columns on whose edit no row has a verdict."""
    judged = {row.quantity.rpartition(": ")[0] for row in section.rows if row.verdict}
    return [
        row.quantity
        for row in section.rows
        if row.published and row.ours and row.quantity.rpartition(": ")[0] not in judged
    ]


def test_every_edit_in_both_columns_has_a_verdict() -> None:
    masks = {
        f"{heads}{kind}: {mask}": -1.0
        for heads in ("", "all but ")
        for kind in TYPES
        for mask in (WITHIN, BETWEEN)
    }
    atlas = swept("masked", masks, sweep="sentence-masks", atlas=swept("zero"))
    for key in ("effects", "masks"):
        # How well the untouched models do is no finding.
        assert without_verdict(guan2020(atlas).section(key)) == ["untouched: F1"]


def test_another_task_has_no_published_figures_beside_it() -> None:
    atlas = swept(
        "masked",
        {f"diagonal: {WITHIN}": -2.0},
        sweep="sentence-masks",
        atlas=swept("zero"),
        task="classification",
    )
    result = guan2020(swept("zero", task="classification", atlas=atlas))
    for key in ("effects", "masks"):
        rows = rows_of(result, key)
        assert any(row.ours for row in rows.values())
        assert all(row.published is None and row.verdict is None for row in rows.values())
    assert rows_of(result)["dense, pruned: change of F1"].ours is not None


def test_both_sweeps_stand_in_their_own_rows() -> None:
    rows = rows_of(guan2020(swept("uniform")))
    assert rows["dense, pruned: F1"].ours is None
    assert rows["dense, uniform: F1"].ours == Figure(0.36, detail="5 heads")
    both = guan2020(swept("uniform", probe="ablation_uniform", atlas=swept("zero"), data_hash="sha256:2"))
    rows = rows_of(both)
    assert rows["dense, pruned: F1"].ours == rows["dense, uniform: F1"].ours == Figure(0.36, detail="5 heads")
    assert any("different examples" in note for note in both.section("effects").notes)
    with pytest.raises(OptionError, match="has no distance_features"):
        guan2020(swept("mean"))


def test_tables_are_read_from_the_model_that_answers_questions() -> None:
    plain, other = empty_atlas(), swept("zero", task="classification")
    result = guan2020(plain, against=[other, swept("zero")])
    assert rows_of(result)["dense, pruned: F1"].ours == Figure(0.36, detail="5 heads")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:. independent texts cannot make")
def test_kinds_of_a_model_are_pruned_made_uniform_and_masked(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    task = hs.task_for("qa", questions_file(tmp_path / "questions.json"), model)
    text = hs.read_text(hs.sample_path("articles"))
    result = guan2020(
        tiny("bert"), against=model, text=text, limit=6, max_length=48, k=2, task=task, examples=3
    )
    tested = result.others[0]
    assert "ablation" not in result.atlas.provenance["probes"]
    rows = rows_of(result)
    kinds = sorted(set(tested["head_type"].values.ravel().tolist()))
    heads = {
        kind: ", ".join(
            str(HeadId(*map(int, place)))
            for place in zip(*(tested["head_type"].values == kind).nonzero(), strict=True)
        )
        for kind in kinds
    }
    limited = task.limited(3)
    untouched = limited.evaluate(model).values
    for kind in kinds:
        for how, words in (("zero", "pruned"), ("uniform", "uniform")):
            with hs.edit(model, heads[kind], how=how):  # type: ignore[arg-type]
                expected = limited.evaluate(model).values
            for metric in ("em", "f1"):
                own = rows[f"{kind}, {words}: change of {metric.upper()}"].ours
                assert own is not None
                assert own.value == pytest.approx((expected[metric] - untouched[metric]) / 100)
        with hs.edit(model, f"all but {heads[kind]}", how="intra"):
            expected = limited.evaluate(model).values
        own = rows_of(result, "masks")[f"all but {kind}: {WITHIN}: change of F1"].ours
        assert own is not None
        assert own.value == pytest.approx((expected["f1"] - untouched["f1"]) / 100)
    assert any(
        name.startswith(f"{kinds[0]}, {kinds[1]}") or name.startswith(f"{kinds[1]}, {kinds[0]}")
        for name in rows
    )
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    result.atlas.save(paths[0])
    tested.save(paths[1])
    again = guan2020(paths[0], against=[paths[1]], k=2)
    for key in ("effects", "masks", "shares"):
        assert again.section(key) == result.section(key)
    with pytest.raises(OptionError, match="tasks cannot be read with an atlas"):
        guan2020(paths[0], task=task)


@pytest.mark.filterwarnings("ignore:. independent texts cannot make")
def test_single_texts_have_no_two_sentences(tmp_path: Path) -> None:
    lines = "".join(f"a text of number {number}\t{number % 2}\n" for number in range(4))
    (tmp_path / "single.tsv").write_text(lines, encoding="utf-8")
    classifier = headed("bert", "classification")
    single = hs.task_for("classification", tmp_path / "single.tsv", classifier)
    text = hs.read_text(hs.sample_path("articles"))
    alone = guan2020(classifier, text=text, limit=6, max_length=48, k=2, task=single)
    assert alone.section("masks").needs
    assert not alone.section("effects").needs
