"""Texts in the column of a table: Parquet files, and rows of data sets."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from headscope.errors import OptionError, TextError, choices, first_line
from headscope.text.files import shown

COLUMN = "text"
"""The column that texts are in unless told otherwise."""

ENDING = ".parquet"

_ROWS = 1024  # at a time


def read_parquet(path: Path, column: str) -> Iterator[str]:
    """The texts of a Parquet file, some rows at a time; rows without text are left out."""
    parquet = library("pyarrow.parquet", "a Parquet file")
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if column not in names:
                raise no_column(shown(path), column, names)
            for batch in file.iter_batches(_ROWS, columns=[column]):
                for value in batch.column(0).to_pylist():
                    if text := text_of(value, column, shown(path)):
                        yield text
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own are among these
        raise TextError(f"{shown(path)} cannot be read as Parquet: {first_line(error)}") from error


def text_of(value: object, column: str, name: str) -> str | None:
    """The text in a cell; None where it is empty, TextError where it is something else."""
    if value is None or isinstance(value, str):
        return value
    kind = type(value).__name__
    raise TextError(
        f"{name}: the column {column!r} holds {kind}, text is expected; name another with --column"
    )


def no_column(name: str, column: str, names: list[str] | Mapping[str, object]) -> TextError:
    """The error for a table that has no such column."""
    return TextError(f"{name} has no column {column!r} (--column); {choices(column, names)}")


def library(module: str, what: str) -> Any:
    """A package of the extra `datasets`."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise OptionError(f"{what} needs the package {package}: pip install 'headscope[datasets]'") from error
