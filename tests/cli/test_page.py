import io

import pytest
from rich.console import Console

from headscope.cli.page import MOST_LINES, Page


def printed(page: Page, notes: tuple[str, ...] = (), ending: tuple[str, ...] = ()) -> list[str]:
    page.finish(notes, ending)
    file = page.console.file
    assert isinstance(file, io.StringIO)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def page_of(*, width: int = 100, full: bool = False) -> Page:
    return Page(Console(file=io.StringIO(), width=width, highlight=False, markup=False), full=full)


def rows(count: int) -> list[list[str]]:
    return [[f"{row}", "x"] for row in range(count)]


def test_a_short_answer_is_printed_whole() -> None:
    page = page_of()
    page.say("The answer.")
    page.table(["a", "b"], rows(2))
    assert printed(page) == ["The answer.", "", "a  b", "0  x", "1  x"]


@pytest.mark.parametrize("notes", [(), ("one", "two")])
def test_a_long_answer_is_cut_at_a_row_and_says_how_to_see_the_rest(
    notes: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    page = page_of()
    page.say("The answer.")
    page.table(["a", "b"], rows(40))
    page.say("never seen")
    lines = printed(page, notes, ("the end",))
    shown = sum(line.endswith("x") for line in lines)
    assert len(lines) + len(capsys.readouterr().err.splitlines()) == MOST_LINES
    assert lines[-2:] == [f"--full prints {41 - shown} lines more.", "the end"]
    assert "never seen" not in lines


def test_full_prints_everything() -> None:
    page = page_of(full=True)
    page.table(["a", "b"], rows(40), telling=[row < 3 for row in range(40)])
    page.say("a detail", detail=True)
    lines = printed(page)
    assert sum(line.endswith("x") for line in lines) == 40
    assert lines[-1] == "a detail"


def test_details_and_rows_that_say_little_are_counted_and_left_out() -> None:
    page = page_of()
    page.table(["a", "b"], rows(5), telling=[row < 3 for row in range(5)])
    page.say("a detail", detail=True)
    page.say("seen")
    assert printed(page) == ["", "a  b", "0  x", "1  x", "2  x", "seen", "", "--full prints 3 lines more."]


def test_lines_that_a_narrow_terminal_wraps_count_as_several() -> None:
    page = page_of(width=20)
    for _ in range(20):
        page.say("x" * 60)
    lines = printed(page)
    assert sum(line == "x" * 60 for line in lines) == (MOST_LINES - 2) // 3


def test_a_note_that_the_answer_has_in_it_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of()
    page.say("Head 1.2 is best. 2 texts are too few.")
    page.say("of three stacks", detail=True)
    printed(page, ("2 texts are too few", "of three stacks"))
    assert capsys.readouterr().err == "note: of three stacks\n", "what only --full prints is still a note"
    page = page_of(full=True)
    page.say("of three stacks", detail=True)
    printed(page, ("of three stacks",))
    assert capsys.readouterr().err == ""


def test_long_notes_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of()
    page.say("The answer.")
    lines = printed(page, ("short", "word " * 200))
    short, long = capsys.readouterr().err.splitlines()
    assert short == "note: short"
    assert long.endswith(" …")
    assert len(long) < 220
    assert lines[-1] == "--full prints 1 note more."
