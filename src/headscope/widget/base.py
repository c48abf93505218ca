"""The notebook widget itself: data in two traits, and the front end's module that draws it."""

import os
from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from headscope.pages.page import asset
from headscope.pages.shapes import Chunk, Embedded


class Widget(anywidget.AnyWidget):
    """Data that shows itself as one of the views; needs no network and, once shown, no kernel."""

    about = traitlets.Unicode().tag(sync=True)
    blob = traitlets.Bytes().tag(sync=True)

    def __init__(self, embedded: Embedded, chunks: Mapping[str, bytes], *, title: str) -> None:
        self._esm, self._css = asset("headscope.js"), asset("headscope.css")
        self._title = title
        index, start = [], 0
        for key, chunk in chunks.items():
            index.append(Chunk(key=key, start=start, length=len(chunk)))
            start += len(chunk)
        self._embedded = embedded.model_copy(update={"chunks": index})
        super().__init__(
            about=self._embedded.model_dump_json(exclude_defaults=True), blob=b"".join(chunks.values())
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._title}>"

    def save(self, path: str | os.PathLike[str]) -> Any:
        """Write the view as one self-contained HTML file."""
        raise NotImplementedError
