import json
from dataclasses import replace

from tests.helpers.atlases import random_atlas

from headscope_papers.reproduce import Figure, Origin, Reproduction, Row, Section
from headscope_papers.reproduce.paper import difference_note
from headscope_papers.reproduce.table import Drawing, Verdict

VERDICT = Verdict("same", "a head beats an offset")
SECTION = Section(
    "one",
    "Table 1",
    Origin("bert-base", "texts"),
    Origin("tiny", "others"),
    (
        Row(
            "det",
            "share",
            Figure(0.943, detail="8-11"),
            Figure(0.9, 0.8, 0.95, "1.2", 12),
            "not the same",
            VERDICT,
        ),
    ),
)


def test_all_of_it_is_plain_data() -> None:
    left_out = Section("two", "Table 2", Origin("bert-base", "texts"), needs="table 2 needs more")
    result = Reproduction("clark2019", "Clark et al.", (SECTION, left_out), ("a note",), random_atlas())
    told = json.loads(json.dumps(result.facts()))
    assert (told["paper"], told["model"], told["notes"]) == ("clark2019", "tiny", ["a note"])
    assert told["sections"][0]["rows"] == [
        {
            "quantity": "det",
            "unit": "share",
            "published": {
                "value": 0.943,
                "low": None,
                "high": None,
                "detail": "8-11",
                "cases": None,
                "words": "",
            },
            "ours": {"value": 0.9, "low": 0.8, "high": 0.95, "detail": "1.2", "cases": 12, "words": ""},
            "note": "not the same",
            "verdict": {"agreement": "same", "finding": "a head beats an offset"},
        }
    ]
    assert told["sections"][0]["ours"] == {"model": "tiny", "data": "others", "source": ""}
    assert (told["sections"][1]["ours"], told["sections"][1]["needs"]) == (None, "table 2 needs more")
    assert result.section("two") is left_out


def test_a_drawing_is_told_and_not_made() -> None:
    section = replace(SECTION, drawings=(Drawing("Figure 6", "A map.", (4, 3), lambda ax: 1 / 0),))
    assert section.facts()["drawings"] == [{"title": "Figure 6", "caption": "A map."}]


def test_a_difference_between_models_is_no_failure() -> None:
    other = difference_note((24, 16), (12, 8), "demo")
    assert "24 layers x 16 heads, demo has 12 layers x 8 heads" in other
    assert "not a failure to reproduce" in other
    assert "same shape" in difference_note((24, 16), (24, 16), "bert-large")
