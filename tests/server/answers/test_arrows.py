"""Arrows drawn in the page: lines become words, and the search is `headscope find`'s."""

from tests.helpers.tiny import tiny
from tests.server.conftest import MakeClient

import headscope as hs

TEXTS = [f"the {word} saw a mat on it" for word in ("cat", "dog", "mat", "cats", "dogs", "red dog")]


def test_lines_are_sentences_or_json_and_good_ones_still_count(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    lines = [
        "The cat’s dog sat.",
        "",
        '{"text": "She read it.", "arrows": [[2, 1], [2, 9], [[0, 3], [4, 8]]]}',
        '{"text": "She read it."}',
        '{"text": ',
        '{"arrows": [[0, 1]]}',
    ]
    answer = client.post("/api/arrows", json={"lines": "\n".join(lines)}).json()
    first, second, third = answer["texts"]
    assert first["words"] == ["The", "cat", "’", "s", "dog", "sat", "."]
    assert first["arrows"] == third["arrows"] == []
    assert second["arrows"] == [[[9, 11], [4, 8]], [[0, 3], [4, 8]]]
    assert "line 3: arrow 1: there is no word 9; the text has words 0 to 3" in answer["note"]
    assert "line 5 is no JSON" in answer["note"]
    assert "line 6: no text" in answer["note"]


def test_the_search_is_the_commands(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    drawn = client.post("/api/arrows", json={"lines": "\n".join(TEXTS)}).json()["texts"]
    asked = [
        {"text": text["text"], "arrows": [[text["spans"][-1], text["spans"][1]]] if number else []}
        for number, text in enumerate(drawn)
    ]
    found = client.post("/api/find", json={"model": "tiny-bert", "texts": asked}).json()
    expected = hs.find(tiny("bert"), asked[1:])
    (stack,) = found["stacks"]
    assert stack["sentences"] == list(expected.answer().sentences)
    assert stack["heads"] == [row["head"] for row in expected.table()]
    assert stack["rows"][0][0] == stack["heads"][0]
    assert len(stack["headings"]) == len(stack["rows"][0])
    assert not any("skipped" in note for note in found["notes"])


def test_too_few_texts_are_refused_in_one_line(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    asked = [{"text": text, "arrows": [[[4, 7], [0, 3]]]} for text in TEXTS[:3]]
    few = client.post("/api/find", json={"model": "tiny-bert", "texts": asked})
    assert few.status_code == 400
    assert "3 texts with usable arrows, and at least 5 are needed" in few.json()["error"]
    none = client.post("/api/find", json={"model": "tiny-bert", "texts": [asked[0] | {"arrows": []}]})
    assert none.status_code == 400
    assert "no arrows are drawn" in none.json()["error"]


def test_lines_that_mean_harm_are_told(serving: MakeClient) -> None:
    lines = ['{"a":' * 20_000, f'{{"text": {"9" * 5_000}}}', "The cat sat."]
    answer = serving(tiny("bert")).post("/api/arrows", json={"lines": "\n".join(lines)}).json()
    assert [text["text"] for text in answer["texts"]] == ["The cat sat."]
    assert "line 1 cannot be read" in answer["note"]
    assert "line 2 cannot be read" in answer["note"]


def test_a_search_that_others_would_wait_for_is_refused(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    for texts in (["the cat"] * 201, ["the cat " * 600] * 5):
        asked = [{"text": text, "arrows": [[[4, 7], [0, 3]]]} for text in texts]
        answer = client.post("/api/find", json={"model": "tiny-bert", "texts": asked})
        assert answer.status_code == 400
        assert "headscope find --arrows" in answer.json()["error"]
