"""Annotated files: what treebanks, coreference and role corpora have in common."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from headscope.errors import TextError
from headscope.text.files import FileReading, TextStream, joined_names, shown
from headscope.text.skipped import Skipped


class AnnotatedFiles:
    """Files that can be read lazily and as often as wanted.

    What cannot be used is skipped and told in `skipped`, and the rest still counts.
    """

    kind: ClassVar[str]
    """What is counted when it is skipped, in the plural."""

    annotator: str | None = None
    """What annotated the texts, when it was a program that ran just now; None for what the files say."""

    def __init__(self, paths: Sequence[Path], *, name: str | None = None) -> None:
        for path in paths:
            if path.exists() and not path.is_file():
                raise TextError(
                    f"{shown(path)} is not a regular file, and probes read their data twice; save it to a file first"
                )
        self.paths = tuple(paths)
        self.name = name or joined_names([path.name for path in paths])
        self.skipped = Skipped(self.kind)
        """What the iteration begun last left out so far."""
        self._reading = FileReading(self.paths)

    def __repr__(self) -> str:
        """The corpus by its name."""
        return f"{type(self).__name__}({self.name!r})"

    @property
    def progress(self) -> float | None:
        """Share of the file bytes read so far; None when unknown."""
        return self._reading.progress

    def _streams(self) -> Iterator[TextStream]:
        """The files one after the other, each open while it is looked at; begins all counts anew."""
        self.skipped = Skipped(self.kind)
        self._reading = FileReading(self.paths)
        return iter(self._reading)
