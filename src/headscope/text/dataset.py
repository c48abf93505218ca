"""Data sets of the Hugging Face hub as texts, through the `datasets` library, streamed."""

from collections.abc import Iterator

from headscope.errors import TextError, first_line
from headscope.text.corpus import Corpus, items_of
from headscope.text.files import FileReading
from headscope.text.formats.columns import COLUMN, library, no_column, text_of
from headscope.text.items import Item


def read_dataset(
    name: str, *, split: str = "train", column: str = COLUMN, config: str | None = None
) -> Corpus:
    """A corpus from a data set on the hub, or a folder that holds one; rows are read as they are needed.

    Each row's `column` is a document. `config` is one of the data set's configurations, which `name` may also have
    after a colon: "wikitext:wikitext-2-raw-v1".
    """
    datasets = library("datasets", f"--dataset {name}")
    repository, _, named = name.partition(":")

    def rows() -> Iterator[str]:
        try:
            for row in datasets.load_dataset(
                repository, config or named or None, split=split, streaming=True
            ):
                if column not in row:
                    raise no_column(f"the data set {name}", column, row)
                if text := text_of(row[column], column, f"the data set {name}"):
                    yield text
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            raise TextError(
                f"the data set {name}, split {split}, cannot be read: {first_line(error)}"
            ) from error

    def read(_: FileReading, faithful: bool) -> Iterator[Item]:
        return items_of(rows())

    return Corpus(name=f"{name}, {split}", paths=(), read=read)
