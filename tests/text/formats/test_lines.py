"""Texts and pairs in lines: JSON objects and tab-separated columns."""

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import TextError
from headscope.text.items import Item, Sentence, TextPair


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path: Path, text: str | bytes) -> list[Item]:
    return list(hs.read_text(write(path, text)))


def test_an_object_with_text_is_one_document(tmp_path: Path) -> None:
    text = '{"text": "One. Two.\\n\\nThree."}\n\n  \n{"id": 5, "text": "Four."}'
    expected = [Sentence("One.", 0), Sentence("Two.", 0), Sentence("Three.", 0), Sentence("Four.", 1)]
    assert read(tmp_path / "a.jsonl", text) == expected


def test_an_object_with_text_a_is_a_pair(tmp_path: Path) -> None:
    lines = [
        '{"text_a": "One. Two.", "text_b": "Three."}',
        '{"text_a": "Four."}',
        '{"text_a": "Five.", "text_b": null}',
        '{"text_a": "Six.", "text_b": " "}',
    ]
    expected = [TextPair("One. Two.", "Three."), TextPair("Four."), TextPair("Five."), TextPair("Six.")]
    assert read(tmp_path / "a.jsonl", "\n".join(lines)) == expected
    assert list(hs.read_pairs(tmp_path / "a.jsonl")) == expected


def test_two_columns_are_a_pair_used_as_it_is(tmp_path: Path) -> None:
    text = '\ufeffOne. Two.\tThree \n\n \nHe said "no\tYes" , he did\r\nFour.\t\nFive.\t \n'
    expected = [
        TextPair("One. Two.", "Three "),
        TextPair('He said "no', 'Yes" , he did'),
        TextPair("Four."),
        TextPair("Five."),
    ]
    assert read(tmp_path / "a.tsv", text) == expected
    assert read(tmp_path / "a.tsv.gz", gzip.compress(text.encode())) == expected


def test_gzip_and_a_byte_order_mark(tmp_path: Path) -> None:
    data = '\ufeff{"text": "One."}\r\n'.encode()
    assert read(tmp_path / "a.jsonl", data) == [Sentence("One.", 0)]
    assert read(tmp_path / "a.jsonl.gz", gzip.compress(data)) == [Sentence("One.", 0)]


def test_odd_characters(tmp_path: Path) -> None:
    escaped = (
        "\\ud83d\\udc4d\\u0000\\u2028x\\ud800y"  # an emoji as two halves, NUL, a separator, half an emoji
    )
    text = f'{{"text": "{escaped}"}}\n{{"text_a": "a\u2028{escaped}", "text_b": "שלום\\u0007"}}'
    sentences = [Sentence("👍", 0), Sentence("x y", 0)]
    assert read(tmp_path / "a.jsonl", text) == [*sentences, TextPair("a\u2028👍 \u2028x y", "שלום ")]
    columns = "bell\x07 👩‍👧\tשלום\u2028e\u0301\x85\n"
    assert read(tmp_path / "a.tsv", columns) == [TextPair("bell  👩‍👧", "שלום\u2028e\u0301 ")]


JSON, COLUMNS = "a.jsonl", "a.tsv"


@pytest.mark.parametrize(
    ("reader", "name", "line", "problem"),
    [
        (hs.read_text, JSON, '{"text": "a"', "column 13"),
        (hs.read_text, JSON, "plain text", "not JSON"),
        (hs.read_text, JSON, "[" * 100_000, "cannot be read"),
        (hs.read_text, JSON, '{"text": "a", "n": ' + "1" * 5000 + "}", "cannot be read"),
        (hs.read_text, JSON, "[1]", "an array, not an object"),
        (hs.read_text, JSON, '"text"', "a string, not an object"),
        (hs.read_text, JSON, "null", "null, not an object"),
        (hs.read_text, JSON, "{}", "keys: none"),
        (hs.read_text, JSON, '{"sentence": "a", "b": 1}', "keys: 'sentence', 'b'"),
        (hs.read_text, JSON, '{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}', "'e' ..."),
        (hs.read_text, JSON, '{"text_b": "a"}', "no text"),
        (hs.read_text, JSON, '{"text": 5}', "text is a number"),
        (hs.read_text, JSON, '{"text": null}', "text is null"),
        (hs.read_text, JSON, '{"text": {}}', "text is an object"),
        (hs.read_text, JSON, '{"text_a": ["a"]}', "text_a is an array"),
        (hs.read_text, JSON, '{"text_a": "a", "text_b": true}', "text_b is a boolean"),
        (hs.read_text, JSON, '{"text_a": " "}', "text_a is empty"),
        (hs.read_text, JSON, '{"text": "a", "text_b": "b"}', "both text and text_a or text_b"),
        (hs.read_pairs, JSON, '{"text": "b"}', '{"text_a": "..."'),
        (hs.read_text, COLUMNS, " \tb", "first column is empty"),
        (hs.read_text, COLUMNS, "1\t2\t3\ta\tb", "2 columns, found 5"),
        (hs.read_text, COLUMNS, "1\t2\t3\ta\tb", "cut -f4,5"),
        (hs.read_text, COLUMNS, "only one", "2 columns, found 1"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)  # fmt: skip
def test_errors_name_file_line_and_problem(
    tmp_path: Path, reader: Callable[..., Iterable[Item]], name: str, line: str, problem: str
) -> None:
    good = '{"text_a": "fine"}' if name == JSON else "a\tb"
    path = write(tmp_path / name, f"{good}\n\n{line}\n")
    with pytest.raises(TextError) as caught:
        list(reader(path))
    assert f"{name}:3: " in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(tmp_path))
