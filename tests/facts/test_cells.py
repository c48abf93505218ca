"""Numbers in tables and sentences, as they are written."""

from headscope.facts.cells import table_cells
from headscope.facts.description import Column
from headscope.facts.wording import amount, interval


def test_what_rounds_to_nothing_has_no_minus() -> None:
    columns = [
        Column("effect"),
        Column("logits", format="number", digits=2, low="low", high="high"),
        Column("share", format="percent"),
        Column("change", format="points"),
    ]
    row = {"effect": "lowers", "logits": -0.001, "low": -0.004, "high": 0.0, "share": -1e-5, "change": -1e-5}
    assert table_cells(columns, [row])[1] == [["lowers", "0.00", "0.00 to 0.00", "0.0%", "+0.0"]]
    assert amount(-0.001, units="logits") == "0.00 logits"
    assert interval(-1e-5, 0.5) == "0.0 to 50.0%"
