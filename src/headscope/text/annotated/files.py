"""Annotated files: what treebanks, coreference and role corpora have in common."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from headscope.errors import TextError
from headscope.text.files import TextStream, joined_names, open_text, shown
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
        self._stream: TextStream | None = None
        self._bytes_done = 0

    def __repr__(self) -> str:
        """The corpus by its name."""
        return f"{type(self).__name__}({self.name!r})"

    @property
    def progress(self) -> float | None:
        """Share of the file bytes read so far; None when unknown."""
        if self._bytes is None:
            return None
        current = self._stream.bytes_read if self._stream else 0
        return min(1.0, (self._bytes_done + current) / self._bytes)

    @cached_property
    def _bytes(self) -> int | None:
        regular = all(path.is_file() for path in self.paths)
        return sum(path.stat().st_size for path in self.paths) or None if regular else None

    def _streams(self) -> Iterator[TextStream]:
        """The files one after the other, each open while it is looked at; begins all counts anew."""
        self.skipped = Skipped(self.kind)
        self._bytes_done = 0
        for path in self.paths:
            with open_text(path) as stream:
                self._stream = stream
                yield stream
                self._bytes_done += stream.size
            self._stream = None
