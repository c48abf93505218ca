"""Opening a text file: UTF-8, plain or gzip, read a piece at a time so that memory stays bounded."""

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from headscope.errors import OptionError, TextError

LINE_LIMIT = 16 * 2**20
"""Longest line, in characters, that `TextStream.lines` hands out unless told otherwise."""

_NAMES_SHOWN = 3
_HEAD_BYTES = 64 * 2**10
_LINE_READ_BYTES = 8 * 2**10  # small, so that progress moves in small steps on small files
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = "\ufeff"


def shown(path: str | os.PathLike[str]) -> str:
    """The path as messages print it: on one line, whatever characters the name holds."""
    text = os.fspath(path)
    return text if text.isprintable() else repr(text)


def joined_names(names: Sequence[str]) -> str:
    """The names of files as one short name: the first three, and how many more there are."""
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more


def files_in(paths: Sequence[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """The paths, with a folder's files in its place, those of its folders too, by name; hidden ones are left out."""
    found: list[str | os.PathLike[str]] = []
    for path in paths:
        if not Path(path).is_dir():
            found.append(path)
            continue
        inside = sorted(
            file
            for file in Path(path).rglob("*")
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
        if not inside:
            raise TextError(
                f"{shown(path)} is a folder without files; name a folder that holds texts, or files"
            )
        found += inside
    return found


def given_files(reader: str, example: str, paths: Sequence[str | os.PathLike[str]]) -> tuple[Path, ...]:
    """The paths that the function called `reader` was given; TextError when there are none or one is missing."""
    if not paths:
        raise TextError(f'{reader} was given no file; name one or more, as in {reader}("{example}")')
    for path in paths:
        check_file(path)
    return tuple(map(Path, paths))


def nothing_found(path: str | os.PathLike[str]) -> TextError:
    """The error for a file that was read to its end without giving a single text."""
    return TextError(f"{shown(path)} is empty or holds only white space; give a file with text in it")


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise TextError unless `path` is there, is no directory and may be read; opens nothing."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        raise _cannot_read(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise _cannot_read(path, IsADirectoryError())
    if not os.access(path, os.R_OK):
        raise _cannot_read(path, PermissionError())


def open_text(path: str | os.PathLike[str]) -> "TextStream":
    """Open a text file for one reading; use it in a `with` statement.

    Gzip is told by the first two bytes, not by the name. Raises TextError when the file is missing, a
    directory, not readable, damaged gzip, or binary (a NUL in its first 64 KiB).
    """
    check_file(path)
    return TextStream(path)


class TextStream:
    """A text file that is being read, once, from its beginning: by `chunks` or by `lines`, not both."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file and look at its first bytes; `open_text` checks the path first."""
        self.path = Path(path)
        self.line_number = 0
        """Number of the line that `lines` handed out last, from 1."""
        try:
            self._file = _CountedFile(self.path)
        except (OSError, ValueError) as error:
            raise _cannot_read(path, error) from error
        try:
            status = os.fstat(self._file.fileno())
            self.is_regular = stat.S_ISREG(status.st_mode)
            """Whether this is a file on disk, which can be read again, and not a pipe or a terminal."""
            self.size = status.st_size if self.is_regular else 0
            """File bytes, compressed ones for gzip; 0 when unknown."""
            buffered = io.BufferedReader(self._file)
            self.is_gzip = buffered.peek(2)[:2] == _GZIP_MAGIC
            self._source: io.BufferedIOBase = (
                gzip.GzipFile(fileobj=buffered, mode="rb") if self.is_gzip else buffered
            )
            self._position = 0  # text bytes handed out so far
            self._head = self._read_source(_HEAD_BYTES)
            self._check_head()
        except OSError as error:
            self._file.close()
            raise _cannot_read(path, error) from error
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """The stream itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._source.close()
        self._file.close()

    @property
    def bytes_read(self) -> int:
        """How far into the *file* the reading is: for gzip the compressed position, about."""
        if not self.is_gzip:
            return self._position
        # The head was unpacked on opening: count only the share of it that was handed out.
        return self._file.count * self._position // max(self._position, len(self._head), 1)

    @property
    def where(self) -> str:
        """`file:line` of the line that `lines` handed out last, to begin a message with."""
        return f"{shown(self.path)}:{self.line_number}"

    def chunks(self, size: int = 65536) -> Iterator[str]:
        r"""The text in pieces of at most `size` bytes each; a piece may end in the middle of a line.

        Every line end (`\r\n`, `\r`, `\n`) comes out as `\n`, and a byte order mark is left out.
        """
        if size < 1:
            raise OptionError(f"size is {size}; give the number of bytes to read at a time, 1 or more")
        decoder = codecs.getincrementaldecoder("utf-8")()
        newlines = io.IncrementalNewlineDecoder(None, translate=True)
        at_start = True
        final = False
        while not final:
            start = self._position - len(decoder.getstate()[0])  # bytes of a split character come again
            data = self._read(size)
            final = not data
            try:
                text = decoder.decode(data, final)
            except UnicodeDecodeError as error:
                raise self._not_utf8(start + error.start, error) from error
            if at_start and text:
                text = text.removeprefix(_BYTE_ORDER_MARK)
                at_start = False
            text = newlines.decode(text, final)
            if text:
                yield text

    def lines(self, *, limit: int = LINE_LIMIT) -> Iterator[str]:
        r"""The lines, without their line ends. Only `\r\n`, `\r` and `\n` end a line here.

        A line of more than `limit` characters raises TextError as soon as that much of it was read.
        """
        if limit < 1:
            raise OptionError(f"limit is {limit}; give the longest line to accept in characters, 1 or more")
        pending: list[str] = []
        length = 0
        for chunk in self.chunks(_LINE_READ_BYTES):
            *ended, rest = chunk.split("\n")
            for piece in ended:
                pending.append(piece)
                self._check_line(length + len(piece), limit)
                self.line_number += 1
                yield "".join(pending)
                pending.clear()
                length = 0
            if rest:
                pending.append(rest)
                length += len(rest)
                self._check_line(length, limit)
        if pending:
            self.line_number += 1
            yield "".join(pending)

    def _check_line(self, length: int, limit: int) -> None:
        if length > limit:
            raise TextError(
                f"{shown(self.path)}:{self.line_number + 1}: line longer than {limit} characters; "
                "break it into shorter lines, or read running text from a .txt file, which has no such limit"
            )

    def _read(self, size: int) -> bytes:
        data = self._head[self._position : self._position + size] or self._read_source(size)
        self._position += len(data)
        return data

    def _read_source(self, size: int) -> bytes:
        try:
            return self._source.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise TextError(
                f"{shown(self.path)}: damaged gzip file ({error}); check it with gzip -t and fetch or "
                "compress it again"
            ) from error
        except OSError as error:
            raise _cannot_read(self.path, error) from error

    def _check_head(self) -> None:
        if self._head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise TextError(
                f"{shown(self.path)}: UTF-16 text (byte order mark at byte 0), UTF-8 text is expected; "
                "convert it with iconv -f UTF-16 -t UTF-8"
            )
        position = self._head.find(b"\0")
        if position >= 0:
            raise TextError(
                f"{shown(self.path)}: binary file (NUL at byte {position}), UTF-8 text is expected; "
                "give a text file, plain or gzip"
            )

    def _not_utf8(self, position: int, error: UnicodeDecodeError) -> TextError:
        byte = error.object[error.start]
        return TextError(
            f"{shown(self.path)}: invalid UTF-8 (0x{byte:02x} at byte {position}), UTF-8 text is expected; "
            "if it is text in another encoding convert it, for example with iconv -f LATIN1 -t UTF-8"
        )


class FileReading:
    """One reading of some files from the first to the last, which knows how far it has come."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._done = 0  # bytes of the files read to their end
        self._stream: TextStream | None = None
        try:
            regular = all(path.is_file() for path in paths)
            self._bytes = sum(path.stat().st_size for path in paths) if regular else 0
        except OSError:
            self._bytes = 0  # one is gone since; opening it says so

    def __iter__(self) -> Iterator[TextStream]:
        """The files one after the other, each open while it is looked at."""
        for path in self._paths:
            with open_text(path) as stream:
                self._stream = stream
                yield stream
                self._done += stream.size
            self._stream = None

    @property
    def path(self) -> Path | None:
        """The file that is being read; None before the first and after the last."""
        return self._stream.path if self._stream else None

    @property
    def progress(self) -> float | None:
        """Share of all files' bytes that were read; None when a size is unknown (a pipe)."""
        current = self._stream.bytes_read if self._stream else 0
        return min(1.0, (self._done + current) / self._bytes) if self._bytes else None


class _CountedFile(io.FileIO):
    """A file that counts the bytes taken from it: a pipe cannot tell its position, and gzip hides it."""

    count = 0

    def readinto(self, buffer: "bytearray | memoryview", /) -> int | None:  # type: ignore[override]  # typeshed's buffer type is private
        taken = super().readinto(buffer)
        self.count += taken or 0
        return taken


def _cannot_read(path: str | os.PathLike[str], error: Exception) -> TextError:
    """One line that says why the system would not open or read a file, and what to do."""
    name = shown(path)
    match error:
        case FileNotFoundError():
            return TextError(f"{name}: no such file; check the path and its spelling")
        case IsADirectoryError():
            return TextError(f"{name} is a directory, a file is expected; name the files in it one by one")
        case PermissionError():
            return TextError(f"{name}: not readable by this user; change its permissions with chmod +r")
        case OSError(strerror=str(reason)):
            return TextError(f"{name}: cannot be read ({reason}); check the path and the disk")
        case _:
            return TextError(f"{name}: cannot be read ({error}); check the path")
