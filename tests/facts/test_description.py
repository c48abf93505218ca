"""Descriptions: as data and back, from the atlas or the registry, and the cells of the tables they describe."""

import json
from typing import Any

import pytest
from tests.helpers.atlases import empty_atlas, probe_facts, with_dependency

from headscope.atlas import Atlas
from headscope.facts.analyses.explanations import Carried, Cell
from headscope.facts.cells import plain_columns, table_cells
from headscope.facts.description import (
    PROBES,
    Baseline,
    Column,
    Description,
    Table,
    description_of,
    from_data,
)
from headscope.facts.scores import judged

OWN = Description(
    "mine",
    label="thing",
    names={"a_b": "a and b"},
    value="share",
    baselines=(Baseline("coin", "coin", "coin_low", "coin_high"),),
    tables=(Table((Column("thing"), Column("share", "right", "percent", low="low", high="high"))),),
    few_cases=10,
)


def atlas_with(probe: str, **facts: Any) -> Atlas:
    return empty_atlas().with_probe(
        probe, {"encoder": {}}, facts=probe_facts(**facts), table={"encoder": []}, examples={}
    )


@pytest.mark.parametrize("described", [OWN, *(PROBES.get(name).description for name in PROBES.names())])
def test_a_description_survives_as_data(described: Description) -> None:
    data = json.loads(json.dumps(described.to_data()))
    assert from_data(Description, data) == described
    assert from_data(Description, data | {"of a later version": 1}) == described


def test_whole_numbers_and_nothing_are_read_where_a_number_may_stand() -> None:
    row = from_data(Carried, {"neurons": 2, "score": {"value": 1, "stderr": None}, "isotropic": 1})
    assert row == Carried(2, Cell(1, None), isotropic=1)
    with pytest.raises(TypeError, match="is not int"):
        from_data(Carried, {"neurons": "2"})


def test_the_atlas_has_the_first_word_the_registry_the_second() -> None:
    changed = OWN.to_data() | {"name": "dependency", "title": "Ours"}
    assert description_of(atlas_with("dependency", description=changed), "dependency").title == "Ours"
    older = description_of(with_dependency(empty_atlas()), "dependency")
    assert older == PROBES.get("dependency").description
    assert description_of(atlas_with("nobodys"), "nobodys") == Description("nobodys")


@pytest.mark.parametrize(
    "data", ["x", 3, [], {}, {"name": 3}, {"name": "a", "tables": 3}, {"name": "a", "tables": [1]}]
)
def test_what_cannot_be_read_counts_as_none(data: object) -> None:
    assert description_of(atlas_with("nobodys", description=data), "nobodys") == Description("nobodys")


def test_rows_are_judged_by_what_the_description_holds_them_against() -> None:
    row = {"thing": "a_b", "cases": 12, "share": 0.9, "low": 0.8, "high": 0.95, "coin": 0.5, "coin_high": 0.7}
    below = row | {"low": 0.1, "high": 0.4}
    few = row | {"cases": 9}
    rows = judged([row, below, few, {"thing": "no score"}], OWN)
    assert [row["verdict"] for row in rows] == ["above", "below", "too few", None]
    assert judged([row], Description("plain")) == [row]


def test_cells_are_written_by_the_format_of_their_column() -> None:
    columns = [
        Column("thing", "thing"),
        Column("share", "right", "percent", low="low", high="high"),
        Column("change", "by", "points", digits=2, stderr="error"),
        Column("offset", "", "signed"),
        Column("way", "direction", "direction"),
        Column("verdict", "clear", "verdict"),
        Column("sure"),
        Column("absent"),
    ]
    rows: list[dict[str, Any]] = [
        {"thing": "a_b", "share": 0.125, "low": 0.1, "high": 0.2, "change": -0.01, "error": 0.002, "offset": -2,
         "way": "verb_to_subject", "verdict": "below", "sure": True},
        {"thing": "c", "share": None},
    ]  # fmt: skip
    headings, cells = table_cells(columns, rows, nothing="-", name=OWN.row_name)
    assert headings == ["thing", "right", "95% interval", "by", "offset", "direction", "clear", "sure"]
    assert cells == [
        ["a and b", "12.5%", "10.0 to 20.0%", "-1.00 ± 0.20", "−2", "verb to subject", "clearly not", "yes"],
        ["c", *["-"] * 7],
    ]


def test_rows_that_nobody_described_keep_errors_and_intervals_with_their_number() -> None:
    rows = [
        {"thing": "a", "share": 0.25, "share_stderr": 0.01, "share_low": 0.2, "share_high": 0.3, "many": 1200}
    ]
    headings, cells = table_cells(plain_columns(rows), rows)
    assert headings == ["thing", "share", "many"]
    assert cells == [["a", "0.250 ± 0.010 (0.200 to 0.300)", "1,200"]]
