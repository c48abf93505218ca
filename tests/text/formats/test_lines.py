import gzip
from pathlib import Path

import pytest

from headscope.errors import TextError
from headscope.text.files import open_text
from headscope.text.formats.lines import read_column_pairs, read_object_pairs, read_objects
from headscope.text.items import Item, Sentence, TextPair


def read(path: Path, text: str | bytes, *, first_document: int = 0) -> list[Item]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with open_text(path) as stream:
        return list(read_objects(stream, first_document=first_document))


def test_an_object_with_text_is_one_document(tmp_path: Path) -> None:
    text = '{"text": "One. Two.\\n\\nThree."}\n\n  \n{"id": 5, "text": "Four."}'
    expected = [Sentence("One.", 3), Sentence("Two.", 3), Sentence("Three.", 3), Sentence("Four.", 4)]
    assert read(tmp_path / "a.jsonl", text, first_document=3) == expected


def test_an_object_with_text_a_is_a_pair(tmp_path: Path) -> None:
    lines = [
        '{"text_a": "One. Two.", "text_b": "Three."}',
        '{"text_a": "Four."}',
        '{"text_a": "Five.", "text_b": null}',
        '{"text_a": "Six.", "text_b": " "}',
    ]
    expected = [TextPair("One. Two.", "Three."), TextPair("Four."), TextPair("Five."), TextPair("Six.")]
    assert read(tmp_path / "a.jsonl", "\n".join(lines)) == expected
    with open_text(tmp_path / "a.jsonl") as stream:
        assert list(read_object_pairs(stream)) == expected


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


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "a"', "not JSON .*column 13"),
        ("plain text", "not JSON"),
        ("[" * 100_000, "cannot be read"),
        ('{"text": "a", "n": ' + "1" * 5000 + "}", "cannot be read"),
        ("[1]", "an array, not an object"),
        ('"text"', "a string, not an object"),
        ("null", "null, not an object"),
        ("{}", "no text found .keys: none"),
        ('{"sentence": "a", "b": 1}', "no text found .keys: 'sentence', 'b'.; expected"),
        ('{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}', "'e' \\.\\.\\."),
        ('{"text_b": "a"}', "no text found"),
        ('{"text": 5}', "text is a number"),
        ('{"text": null}', "text is null"),
        ('{"text": {}}', "text is an object"),
        ('{"text_a": ["a"]}', "text_a is an array"),
        ('{"text_a": "a", "text_b": true}', "text_b is a boolean"),
        ('{"text_a": " "}', "text_a is empty"),
        ('{"text": "a", "text_b": "b"}', "both text and text_a or text_b"),
    ],
)
def test_errors_name_file_line_and_problem(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(TextError, match=rf"a\.jsonl:3: .*{problem}") as caught:
        read(tmp_path / "a.jsonl", '{"text": "fine"}\n\n' + line)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(tmp_path))


def test_read_pairs_takes_pairs_only(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text_a": "a"}\n{"text": "b"}\n')
    with open_text(tmp_path / "a.jsonl") as stream, pytest.raises(TextError, match=r':2: .*{"text_a": "..."'):
        list(read_object_pairs(stream))


def read_columns(path: Path, text: str | bytes) -> list[TextPair]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with open_text(path) as stream:
        return list(read_column_pairs(stream))


def test_two_columns_are_a_pair_used_as_it_is(tmp_path: Path) -> None:
    text = '\ufeffOne. Two.\tThree \n\n \nHe said "no\tYes" , he did\r\n'
    expected = [TextPair("One. Two.", "Three "), TextPair('He said "no', 'Yes" , he did')]
    assert read_columns(tmp_path / "a.tsv", text) == expected
    assert read_columns(tmp_path / "a.tsv.gz", gzip.compress(text.encode())) == expected


def test_an_empty_second_column_means_a_single_text(tmp_path: Path) -> None:
    assert read_columns(tmp_path / "a.tsv", "One.\t\nTwo.\t \n") == [TextPair("One."), TextPair("Two.")]


def test_an_empty_first_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.tsv:2: the first column is empty"):
        read_columns(tmp_path / "a.tsv", "a\tb\n \tb\n")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1\t2\t3\ta\tb", "expected 2 columns, found 5; keep only the two text columns, e.g. with cut -f4,5"),
        ("only one", "expected 2 columns, found 1; put a tab between"),
    ],
)
def test_another_number_of_columns_is_an_error(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(TextError) as caught:
        read_columns(tmp_path / "a.tsv", f"a\tb\n\n{line}\n")
    assert f"a.tsv:3: {problem}" in str(caught.value)


def test_odd_characters_in_columns(tmp_path: Path) -> None:
    text = "bell\x07 👩‍👧\tשלום\u2028e\u0301\x85\n"
    assert read_columns(tmp_path / "a.tsv", text) == [TextPair("bell  👩‍👧", "שלום\u2028e\u0301 ")]
