"""What a command prints: the answer in at most 25 lines, then how to see more."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from headscope.cli.console import print_notes, print_wrapped, stdout
from headscope.cli.tables.text import print_table

if TYPE_CHECKING:
    from headscope.facts.description import Column

MOST_LINES = 25
LONG_NOTE = 200
"""Characters after which a note is cut; --full and --json have the rest."""
MOST_NOTES = 3
FEWEST_ROWS = 3
"""Lines of a table, its heading included, below which it is left out rather than cut."""


@dataclass(frozen=True)
class _Block:
    """Some lines that belong together."""

    lines: list[str]
    detail: bool
    """Whether only --full prints it."""
    can_cut: bool
    """Whether its first lines say something without the last ones, as those of a table do."""


class Page:
    """The answer of a command, the most telling lines first; printed when it is finished."""

    def __init__(self, console: Console | None = None, *, full: bool = False) -> None:
        """`full` prints everything; on standard output by default."""
        self.console = stdout() if console is None else console
        self.full = full
        self._blocks: list[_Block] = []

    @contextmanager
    def block(self, *, detail: bool = False, can_cut: bool = False) -> Iterator[Console]:
        """Lines that belong together, as they are printed to the console inside."""
        with self.console.capture() as capture:
            yield self.console
        self._blocks.append(_Block(capture.get().removesuffix("\n").split("\n"), detail, can_cut))

    def say(self, *lines: str, bold: bool = False, detail: bool = False) -> None:
        """Lines of text."""
        with self.block(detail=detail) as console:
            for line in lines:
                console.print(line, style="bold" if bold else None, soft_wrap=True)

    def wrapped(self, start: str, text: str, *, detail: bool = False) -> None:
        """A paragraph that goes on below its own beginning."""
        with self.block(detail=detail) as console:
            print_wrapped(console, start, text)

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        title: str = "",
        detail: bool = False,
        telling: Sequence[bool] | None = None,
    ) -> None:
        """A table below an empty line and its title; rows that are not `telling` are left to --full."""
        said = [row for row, tells in zip(rows, telling or [True] * len(rows), strict=True) if tells]
        shown = rows if self.full else said
        with self.block(detail=detail or not shown, can_cut=True) as console:
            console.print()
            if title:
                console.print(title, style="bold", soft_wrap=True)
            print_table(console, header, shown)
        if len(shown) < len(rows):
            self._blocks.append(_Block([""] * (len(rows) - len(shown)), detail=True, can_cut=False))

    def rows(
        self,
        columns: "Sequence[Column]",
        rows: Sequence[Mapping[str, Any]],
        *,
        title: str = "",
        detail: bool = False,
        telling: Sequence[bool] | None = None,
        name: Callable[[str], str] = str,
    ) -> None:
        """A table of rows, as their columns describe them; `name` is for the first column, the labels."""
        from headscope.facts.cells import table_cells  # loads torch, which most pages do without

        header, cells = table_cells(columns, rows, nothing="-", name=name)
        self.table(header, cells, title=title, detail=detail, telling=telling)

    def finish(self, notes: Sequence[str], ending: Sequence[str] = ()) -> None:
        """Print it with the notes and, last, how to see more and the lines of the `ending`.

        A note that the printed answer has in it already is not printed a second time.
        """
        notes = list(dict.fromkeys(notes))
        answer, _ = self._fitting(self._room(notes, ending))
        notes = [note for note in notes if not any(note in line for line in answer)]
        short = self._shortened(notes)
        lines, hidden = self._fitting(self._room(notes, ending))
        self.console.file.write("".join(f"{line}\n" for line in lines))
        self.console.file.flush()
        print_notes(short)
        more = [
            f"{number:,} {what}{'' if number == 1 else 's'}"
            for number, what in ((hidden, "line"), (len(set(notes) - set(short)), "note"))
            if number
        ]
        last = [*([f"--full prints {' and '.join(more)} more."] if more else []), *ending]
        for number, line in enumerate(last):
            self.console.print(f"{'' if number or not lines else chr(10)}{line}", soft_wrap=True)

    def _shortened(self, notes: Sequence[str]) -> Sequence[str]:
        """The notes as they are printed."""
        if self.full:
            return notes
        return [shorten(note, LONG_NOTE, placeholder=" …") for note in notes][:MOST_NOTES]

    def _room(self, notes: Sequence[str], ending: Sequence[str]) -> int:
        """How many lines are left for the answer beside the notes and the ending."""
        beside = [*(f"note: {note}" for note in self._shortened(notes)), "", "how to see more", *ending]
        return MOST_LINES - sum(map(self._height, beside))

    def _fitting(self, room: int) -> tuple[list[str], int]:
        """The lines that are printed, and how many are not."""
        lines: list[str] = []
        hidden = 0
        for block in self._blocks:
            if self.full:
                lines += block.lines
                continue
            heights = [self._height(line) for line in block.lines]
            fits = room >= sum(heights)
            if block.detail or room <= 0 or not (fits or (block.can_cut and room >= FEWEST_ROWS)):
                hidden += len(block.lines)
                room = room if block.detail else 0
                continue
            kept = (
                len(block.lines) if fits else max(n for n in range(len(heights)) if sum(heights[:n]) <= room)
            )
            lines += block.lines[:kept]
            hidden += len(block.lines) - kept
            room = room - sum(heights) if fits else 0
        return lines, hidden

    def _height(self, line: str) -> int:
        """How many lines of the terminal a line takes."""
        return max(1, -(-Text.from_ansi(line).cell_len // self.console.width))
