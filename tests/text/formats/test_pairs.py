import gzip
from pathlib import Path

import pytest

from headscope.errors import TextError
from headscope.text.files import open_text
from headscope.text.formats.pairs import read_pairs
from headscope.text.items import TextPair


def read(path: Path, text: str | bytes) -> list[TextPair]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with open_text(path) as stream:
        return list(read_pairs(stream))


def test_two_columns_are_a_pair_used_as_it_is(tmp_path: Path) -> None:
    text = '\ufeffOne. Two.\tThree \n\n \nHe said "no\tYes" , he did\r\n'
    expected = [TextPair("One. Two.", "Three "), TextPair('He said "no', 'Yes" , he did')]
    assert read(tmp_path / "a.tsv", text) == expected
    assert read(tmp_path / "a.tsv.gz", gzip.compress(text.encode())) == expected


def test_an_empty_second_column_means_a_single_text(tmp_path: Path) -> None:
    assert read(tmp_path / "a.tsv", "One.\t\nTwo.\t \n") == [TextPair("One."), TextPair("Two.")]


def test_an_empty_first_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.tsv:2: the first column is empty"):
        read(tmp_path / "a.tsv", "a\tb\n \tb\n")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1\t2\t3\ta\tb", "expected 2 columns, found 5; keep only the two text columns, e.g. with cut -f4,5"),
        ("only one", "expected 2 columns, found 1; put a tab between"),
    ],
)
def test_another_number_of_columns_is_an_error(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(TextError) as caught:
        read(tmp_path / "a.tsv", f"a\tb\n\n{line}\n")
    assert f"a.tsv:3: {problem}" in str(caught.value)


def test_odd_characters(tmp_path: Path) -> None:
    text = "bell\x07 👩‍👧\tשלום\u2028e\u0301\x85\n"
    assert read(tmp_path / "a.tsv", text) == [TextPair("bell  👩‍👧", "שלום\u2028e\u0301 ")]
