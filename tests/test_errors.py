"""What is passed on of the errors of other libraries."""

import pytest

from headscope.errors import first_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no such file", "no such file"),
        ("\n\n  it is broken  \nTraceback, and much more\nat the end", "it is broken"),
        ("", "ValueError"),
        (" \n ", "ValueError"),
    ],
)
def test_the_first_line_with_something_in_it(text: str, line: str) -> None:
    assert first_line(ValueError(text)) == line
