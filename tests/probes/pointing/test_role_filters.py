"""Which pairs count, and that the predicates of a sentence come together."""

import json
from pathlib import Path

from tests.helpers.tiny import tiny

from headscope.probes.pointing.relations import Filters, RelationsProbe, Sifted, distance
from headscope.text.annotated.roles import Argument, Predicate, read_roles
from headscope.text.words import WordText

ARGUMENTS = [{"label": "ARG0", "start": 0, "end": 1}, {"label": "ARGM-LOC", "start": 0, "end": 1}]


def predicate_of(length: int, words: tuple[int, ...]) -> Predicate:
    return Predicate(WordText.of(["w"] * length), words, (), "", "", 0, "x", 1)


def test_distance() -> None:
    one = predicate_of(9, (4,))
    assert distance(one, Argument("X", 5, 7)) == 1
    assert distance(one, Argument("X", 0, 4)) == 1
    assert distance(one, Argument("X", 0, 2)) == 3
    assert distance(one, Argument("X", 7, 9)) == 3
    assert distance(predicate_of(9, (2, 6)), Argument("X", 4, 5)) == 2


def test_filters() -> None:
    one = predicate_of(12, (4,))
    near, far, long = Argument("X", 5, 6, True), Argument("X", 6, 9, True), Argument("X", 6, 10, True)
    keep = Filters(max_words=12, max_argument=3, min_distance=2).keep
    assert [keep(one, argument) for argument in (near, far, long)] == [False, True, False]
    assert not Filters(max_words=11).keep(one, far)
    assert Filters().keep(one, long)
    assert not Filters().keep(one, Argument("X", 6, 7, False))
    assert Filters().keep(one, Argument("X", 6, 7, None))
    assert Filters(core_only=False).keep(one, Argument("X", 6, 7, False))


def test_sentences_are_shown_once(tmp_path: Path) -> None:
    rows = [
        {"sent_id": "a-1", "tokens": ["the", "cat", "sat"], "predicate": 2},
        {"sent_id": "a-1", "tokens": ["the", "cat", "sat"], "predicate": 1},
        {"sent_id": "a-2", "tokens": ["the", "cat", "sat"], "predicate": 2},
        {"sent_id": "b-1", "tokens": ["a", "dog", "saw"], "predicate": 2},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({**row, "arguments": ARGUMENTS}) + "\n" for row in rows))
    sifted = Sifted(Filters())
    found = list(sifted.texts(read_roles(path)))
    assert [(one.name, len(one.cases), one.where(one.cases[0].asking)) for one in found] == [
        ("a-1", 2, f"{path}:1"),
        ("a-2", 1, f"{path}:3"),
        ("b-1", 1, f"{path}:4"),
    ]
    assert [pair.where for pair in found[0].cases]
    assert (
        [found[0].where(word) for word in (2, 1)] == [f"{path}:1", f"{path}:2"] == [f"{path}:1", f"{path}:2"]
    )
    assert (sifted.read, sifted.left_out) == (8, 4)
    result = RelationsProbe(tiny("bert")).fit_score(read_roles(path))
    assert (result.source.texts, result.source.documents) == (3, 2)
    assert any(
        "4 of 8 pairs are left out: what counts are core roles" in note for note in result.source.notes
    )
