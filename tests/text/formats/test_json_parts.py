"""Reading a large JSON object part by part takes time that grows with its length, not with its square."""

import json
from pathlib import Path
from typing import Any

import pytest

from headscope.text.files import open_text
from headscope.text.formats.json_parts import read_parts


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters each try to read a value had before it."""
    found: list[int] = []
    decode = json.JSONDecoder.raw_decode

    def noted(self: json.JSONDecoder, text: str, place: int = 0) -> tuple[Any, int]:
        found.append(len(text) - place)
        return decode(self, text, place)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", noted)
    return found


def test_a_long_value_is_tried_with_twice_as_much_each_time(tmp_path: Path, tries: list[int]) -> None:
    value = "a" * 3_000_000
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"data": [value, 1]}))
    with open_text(path) as stream:
        parts = list(read_parts(stream, "data", "an object"))
    assert parts == [("data", [], False), ("data", value, True), ("data", 1, True)]
    assert sum(tries) < 4 * len(value)
