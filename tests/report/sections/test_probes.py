"""What probes found, in the report: the right rows, heads and verdicts, for any probe and any text."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.browser.material import with_rules
from tests.helpers.atlases import (
    DEPENDENCY_ROWS,
    atlas_of,
    dependency_row,
    empty_atlas,
    example,
    per_head,
    probe_facts,
    random_atlas,
    with_dependency,
)
from tests.planted import PRONOUN, feature_row, no_syntax, role_row
from tests.report.test_page import Reader

from headscope.atlas import Atlas, Example
from headscope.facts.findings.know import tally
from headscope.facts.scores import HeadScore, row_score
from headscope.probes.pointing.relations import DESCRIPTION
from headscope.report import Finding, findings, page
from headscope.types import HeadId, LabelledArray

GRID = {"layer": range(2), "head": range(2)}


def read(atlas: Atlas) -> tuple[str, Reader, str]:
    """The page, what a parser makes of it, and its words."""
    html = page.render(atlas)
    reader = Reader(html)
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.places <= set(reader.ids)
    headings = reader.headings
    assert all(after - before <= 1 for before, after in itertools.pairwise(headings))
    words = "".join(reader.words).replace("\N{NO-BREAK SPACE}", " ")
    assert not re.search(r"\bnan\b|\bNone\b", words)
    return html, reader, words


def measured() -> Atlas:
    """An atlas with one measure."""
    return atlas_of(per_head("entropy", np.ones((3, 4, 1)), {"query_role": ("all",)}, units="nats"))


def about(atlas: Atlas, topic: str) -> list[Finding]:
    return [finding for finding in findings(atlas) if finding.topic == topic]


def numbers(text: str) -> list[float]:
    """Those of a sentence, in their order."""
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\.?\d*", text)]


def with_table(
    probe: str,
    rows: Sequence[dict[str, Any]],
    arrays: dict[str, LabelledArray] | None = None,
    examples: Sequence[Example] = (),
    **facts: Any,
) -> Atlas:
    return empty_atlas().with_probe(
        probe,
        {"encoder": arrays or {}},
        facts=probe_facts(**facts),
        table={"encoder": rows},
        examples={"encoder": examples},
    )


def per_cell(name: str, values: np.ndarray[Any, Any], **coords: Sequence[str]) -> dict[str, LabelledArray]:
    labels = {**coords, **GRID}
    return {name: LabelledArray(values, tuple(labels), labels, name)}


def test_only_what_is_clearly_above_its_baseline_is_a_finding() -> None:
    found = about(with_dependency(empty_atlas()), "Syntax")
    assert [finding.heads for finding in found] == [(HeadId(1, 2),)] * 3 + [()]
    assert [(finding.value, finding.interval, finding.verdict) for finding in found[1:3]] == [
        (0.91, (pytest.approx(0.89), pytest.approx(0.93)), "above"),
        (0.8, (pytest.approx(0.78), pytest.approx(0.82)), "above"),
    ]
    assert [finding.control.value for finding in found[1:3] if finding.control] == [0.58, 0.35]
    assert numbers(str(found[1])) == [1.2, 91, 95, 89, 93, 900, 58, 2]
    assert numbers(str(found[3])) == [3, 30, 2]


@pytest.mark.parametrize(("accuracy", "named"), [(0.63, True), (0.61, False), (0.5, False)])
def test_intervals_that_touch_are_not_clear(accuracy: float, named: bool) -> None:
    atlas = with_dependency(empty_atlas(), rows=[dependency_row("det", 900, accuracy, 0.58)])
    assert bool(about(atlas, "Syntax")) == named


def test_a_model_that_knows_no_syntax_is_said_to_know_none() -> None:
    overall, counted = about(no_syntax(), "Syntax")
    assert (overall.value, overall.verdict) == (0.1, "below")
    assert numbers(str(overall)) == [1.2, 10, 95, 8, 12, 90, 40, 2]
    assert numbers(str(counted)) == [2, 30]


def test_few_cases_are_no_finding_and_are_folded_away() -> None:
    atlas = with_dependency(empty_atlas(), rows=[dependency_row("dep", 29, 0.9, 0.1)])
    assert about(atlas, "Syntax") == []
    html, _, _ = read(atlas)
    folded = re.findall(r"<details>.*?</details>", html, flags=re.DOTALL)
    assert len(folded) == 1
    assert "90.0%" in folded[0]


def test_the_section_has_its_table_pictures_and_facts() -> None:
    html, reader, words = read(with_dependency(measured()))
    section = html[html.index('<details class="section" id="encoder-probe-dependency"') :]
    row = re.search(r'<tr><th scope="row">det</th>.*?</tr>', section)
    assert row is not None
    assert "layer=1&amp;heads=2" in row[0]
    cells = re.findall(r"<td>(.*?)</td>", re.sub(r"</?a\b.*?>", "", row[0]))
    assert cells == [
        "900", "1.2", "dependent to head", "91.0%", "89.0 to 93.0%", "−2", "58.0%", "56.0 to 60.0%", "clearly",
    ]  # fmt: skip
    for fact in ("dev.conllu", "120", "2,400", "24 candidates (12 heads"):
        assert fact in words
    assert any("70%" in str(image["aria-label"]) for image in reader.images)


def test_folders_are_not_told() -> None:
    notes = [
        r"a: /home/me/data/dev.conllu:12: no",
        r"b (C:\data\x.conllu:3), c ./y.conllu:4: d/e",
        "5 of 6 and/or 7",
    ]
    _, _, words = read(with_dependency(empty_atlas(), notes=notes))
    assert "A: dev.conllu:12: no." in words
    assert "B (x.conllu:3), c y.conllu:4: d/e." in words
    assert "5 of 6 and/or 7." in words
    assert "/home/me" not in words


def test_automatic_annotation_and_choosing_on_the_same_texts_are_said() -> None:
    _, _, plain = read(with_dependency(empty_atlas()))
    _, _, by = read(with_dependency(empty_atlas(), annotated_by="spacy:en_core_web_sm"))
    assert "spacy:en_core_web_sm" in by
    _, _, same = read(with_dependency(empty_atlas(), options={"chosen_on": "dev.conllu"}))
    _, _, unknown = read(with_dependency(empty_atlas(), options={}))
    assert len({plain, same, unknown}) == 3
    assert ("inflates" in plain, "inflates" in same) == (False, True)


def test_without_measures_nothing_is_claimed_about_them() -> None:
    _, _, words = read(with_dependency(empty_atlas()))
    assert "probed on dev.conllu" in words
    assert "from corpus.txt" not in words
    assert "means over" not in words
    assert "head map" not in words
    _, _, both = read(with_dependency(measured()))
    assert "64 texts (7,036 tokens) from corpus.txt · probed on dev.conllu" in both
    assert "means over 64 texts" in both
    _, _, plain = read(measured())
    assert "means over 64 texts" in plain
    assert "95% interval" not in plain


def test_examples_are_pictures_first_and_then_a_list() -> None:
    rows = [dependency_row(f"r{number}", 100 + number, 0.9, 0.1) for number in range(12)]
    examples = [example(label=f"r{number}", name=f"text-{number}") for number in range(12)]
    html, _, words = read(with_dependency(empty_atlas(), rows=rows, examples=examples))
    first, section = html.split('<details class="section"', 1)
    drawn = re.findall(r'aria-label="(\w+): [^"]*which is right', section)
    shown = re.findall(
        r'aria-label="Head 1.2 finds the head of a word that is r\d+[^"]*which is right', first
    )
    assert drawn == [f"r{number}" for number in range(11, 3, -1)]
    assert len(shown) == 2  # on the first screen
    assert "4 more examples" in words
    listed = html[html.index("<summary>4 more examples") :]
    assert re.findall(r'<th scope="row">(r\d+)</th>', listed) == [f"r{number}" for number in range(4)]


def test_words_from_outside_are_text() -> None:
    evil = (
        "<script>alert(1)</script>",
        "$x$",
        '"><b>',
        "3.14159265",
        "#2f6db5",
        "👩\u200d🚀",
        "\u202eevil\ud800",
    )
    weights = (0.1, 0.2, 0.5, 0.1, 0.05, 0.03, 0.02)
    bad = example(words=evil, weights=weights, label="<i>", name="</svg><script>")
    rows = [dependency_row("<i>", 100, 0.9, 0.1), dependency_row("&amp;", 100, 0.9, 0.1)]
    html, reader, words = read(with_dependency(empty_atlas(), rows=rows, examples=[bad], data="<script>"))
    assert reader.tags["script"] == 3  # the atlas's data and the page's own two
    assert reader.tags["b"] == reader.tags["i"] == 0
    assert "3.14159265" in words
    assert "#2f6db5" in words
    assert "&amp;amp;" in html
    assert "\u202e" not in html
    html.encode("utf-8")


def test_every_colour_of_the_pictures_is_the_themes() -> None:
    html, _, _ = read(with_dependency(empty_atlas(), examples=[example(guess=1)]))
    assert re.findall(r"(?:fill|stroke): ?#[0-9a-f]+", html) == []
    assert "var(--series-1)" in html  # a wrong guess


def test_coreference_names_every_rule() -> None:
    ways = ("mention_to_antecedent", "antecedent_to_mention")
    arrays = per_cell(
        "coreference_accuracy", np.full((1, 2, 2, 2), 0.3), mention_class=("pronoun",), direction=ways
    )
    shown = example(probe="coreference", label="pronoun", direction="mention_to_antecedent")
    atlas = with_table("coreference", [PRONOUN], arrays, [shown])
    first = about(atlas, "Coreference")[0]
    assert (first.value, first.verdict, first.interval) == (0.65, "below", (0.6, 0.7))
    assert numbers(str(first)) == [1.1, 65, 95, 60, 70, 400, 27, 52, 80]
    _, reader, words = read(atlas)
    assert "clearly not" in words
    assert len(reader.images) == 3  # all heads on the first screen, the best ones, and one at work


def test_roles_are_a_finding_where_the_difference_is_above_0() -> None:
    ways = ("predicate_to_argument", "argument_to_predicate")
    values = np.linspace(-0.1, 0.27, 16).reshape(2, 2, 2, 2)
    arrays = per_cell("relation_difference", values, role=("ARG1", "ARG2"), direction=ways)
    atlas = with_table("relations", [role_row("ARG1", 0.21), role_row("ARG2", -0.01)], arrays)
    found = about(atlas, "Roles")
    assert [(finding.heads, finding.value, finding.verdict) for finding in found] == [
        ((HeadId(0, 1),), 0.27, "above")
    ]
    assert "ARG1" in str(found[0])
    _, _, words = read(atlas)
    assert "45.00%18.00%27.00%21.00 to 33.00%clearly" in words


def test_the_summary_counts_only_what_findings_name() -> None:
    def row(role: str, difference: float) -> HeadScore | None:
        ends = {"low": difference - 0.02, "high": difference + 0.02}
        return row_score(
            {"role": role, "cases": 50, "head": "0.1", "difference": difference, **ends}, DESCRIPTION
        )

    rows = [score for score in (row("ARG1", 0.27), row("ARG2", 0.05)) if score is not None]
    assert [(score.is_above, score.stands_out) for score in rows] == [(True, True), (True, False)]
    counted = tally(DESCRIPTION, rows)
    assert numbers(counted.replace("ARG2", "")) == [2, 30, 1, 15]
    assert "ARG2" in counted


def test_features_of_one_model_and_of_two() -> None:
    arrays = per_cell("feature_attention", np.full((2, 2, 2), 0.2), feature=("noun", "cls"))
    one = with_table("features", [feature_row("noun", "all"), feature_row("cls", "cls")], arrays)
    _, _, words = read(one)
    assert "nouns901.019.00% ± 0.5012.00%4.00%1.12.06 ± 0.05" in words
    assert "−7.00" not in words
    change = {
        "change_head": "0.1",
        "change": -0.07,
        "change_low": -0.09,
        "change_high": -0.05,
        "change_sure": True,
    }
    second = {"head_against": "0.0", "attention_against": 0.1, "attention_stderr_against": 0.004}
    _, _, words = read(with_table("features", [feature_row("noun", "all", **change, **second)], arrays))
    assert "nounsall1.019.00% ± 0.500.010.00% ± 0.400.1−7.00−9.00 to −5.00yes" in words


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "another package"),
        (
            [{"thing": "a<b", "share": 0.25, "share_stderr": 0.01, "many": 1200, "sure": True, "gone": None}],
            "0.250 ± 0.010",
        ),
        ([{"a": 1}, {"b": [1, 2], "b_low": 3}], "[1, 2]"),
    ],
)
def test_a_probe_from_elsewhere_is_shown_as_it_is(rows: list[dict[str, Any]], says: str) -> None:
    arrays = per_cell("strange_number", np.full((2, 2, 2), 0.4), kind=("x", '"><i>'))
    _, reader, words = read(with_table('my "<probe>', rows, arrays, [example(probe="mine", label="z")]))
    assert says in words
    assert reader.tags["figure"] == 2  # all heads, and the example
    assert reader.tags["probe"] == reader.tags["i"] == 0


@pytest.mark.parametrize("probe", ["dependency", "coreference", "relations", "features"])
def test_a_known_name_with_a_foreign_table(probe: str) -> None:
    for rows in (
        [],
        [{"x": "y"}],
        [{"relation": "det", "accuracy": "much", "head": "first", "cases": "many"}],
    ):
        read(
            with_table(probe, rows, {}, [example(weights=(1.0,)), example(guess=99)], notes="x", options=None)
        )
    missing = [dependency_row("ghost", 99, 0.9, 0.1, direction="sideways")]
    read(with_dependency(empty_atlas(), rows=missing))


def test_every_stack_has_its_own_section() -> None:
    atlas = with_dependency(empty_atlas(stacks=("encoder", "decoder")), rows=DEPENDENCY_ROWS)
    _, reader, _ = read(atlas)
    assert {"encoder-probe-dependency", "decoder-probe-dependency"} <= set(reader.ids)
    assert {finding.stack for finding in about(atlas, "Syntax")} == {"encoder", "decoder"}
    assert len(findings(atlas, stack="decoder")) * 2 == len(findings(atlas))


def test_arrays_of_probes_are_not_measures_from_elsewhere() -> None:
    _, _, words = read(with_dependency(measured()))
    assert "Other measures" not in words


def test_cards_say_over_which_cases_they_score_a_head() -> None:
    _, _, words = read(with_rules(with_dependency(random_atlas())))
    assert "91.0% of all 900 cases" in words
    _, _, plain = read(random_atlas())
    assert ("A card scores" in words, "A card scores" in plain) == (True, False)
