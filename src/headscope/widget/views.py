"""The notebook widgets: data in two traits, and the front end's module that draws it."""

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import anywidget
import traitlets
from markupsafe import Markup
from matplotlib import pyplot
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.pages.atlas import packed_atlas, write_atlas_view
from headscope.pages.looking import Looked
from headscope.pages.page import Packed, asset, budget_for, modules, pack, page_html, write_view
from headscope.pages.pictures import PictureKind, draw
from headscope.pages.shapes.views import Chunk, Embedded
from headscope.pages.start import Start
from headscope.pages.start_checks import check_place

ROOM = 8_000_000
"""Bytes that a text may take in a notebook, however short it is."""
TALLEST = 100
"""Tokens of a text up to which a saved notebook also holds a picture of it."""


class Widget(anywidget.AnyWidget):
    """Data that shows itself as one of the views; needs no network and, once shown, no kernel."""

    about = traitlets.Unicode().tag(sync=True)
    blob = traitlets.Bytes().tag(sync=True)

    def __init__(self, embedded: Embedded, chunks: Mapping[str, bytes], *, title: str) -> None:
        self._esm = "\n".join(modules(view.name for view in embedded.about.views))
        self._css = asset("headscope.css")
        self._title = title
        index, start = [], 0
        for key, chunk in chunks.items():
            index.append(Chunk(key=key, start=start, length=len(chunk)))
            start += len(chunk)
        self._embedded = embedded.model_copy(update={"chunks": index})
        about = self._embedded.model_dump_json(exclude_defaults=True)
        super().__init__(about=about, blob=b"".join(chunks.values()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._title}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """For notebooks: the widget, and HTML for where a saved notebook is read without a kernel."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, "text/html": stored(self._page(), self._instead())}, metadata

    def save(self, path: str | os.PathLike[str]) -> Any:
        """Write the view as one self-contained HTML file."""
        raise NotImplementedError

    def _page(self) -> str:
        """The view as one self-contained HTML page."""
        raise NotImplementedError

    def _instead(self) -> Markup:
        """What stands where a saved notebook is shown without frames."""
        return Markup("<code>{}</code>").format(repr(self))


class AtlasView(Widget):
    """What is known of every head; atlases show themselves as one."""

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas
        self._packed = packed_atlas(atlas)
        super().__init__(*self._packed, title=f"atlas of {atlas.provenance.get('model', '')}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the view as one self-contained HTML file."""
        write_atlas_view(path, self.atlas)

    def _page(self) -> str:
        return page_html(*self._packed, title=self._title)


class TextView(Widget):
    """What every head does on one text; `hs.view` makes it."""

    def __init__(self, looked: Looked, *, start: Start, beside: Looked | None = None) -> None:
        self.observed, self.beside = looked.observed, beside
        check_place(self.observed, start)
        self._start, self._looked = start, looked
        room = max(ROOM, budget_for(self.observed))
        packed = pack(looked, start=start, beside=beside, budget=room)
        title = f"{self.observed.model}, {len(self.observed.source.pieces)} tokens"
        super().__init__(packed.embedded, packed.chunks, title=title)

    def save(self, path: str | os.PathLike[str]) -> Packed:
        """Write the view as one self-contained HTML file."""
        return write_view(path, self._looked, start=self._start, beside=self.beside)

    def draw(
        self,
        kind: PictureKind = "head",
        *,
        layer: int | None = None,
        heads: Sequence[int] | None = None,
        stack: str | None = None,
        threshold: float = 0.01,
        ax: Axes | None = None,
    ) -> Axes:
        """The head view or matrix view as a vector picture, for `hs.figures.save`; where not told, as shown first."""
        start = self._start.on(self.observed)
        return draw(
            self.observed,
            kind,
            stack=stack or start.stack,
            layer=(start.layer or 0) if layer is None else layer,
            heads=start.heads if heads is None else heads,
            threshold=threshold,
            ax=ax,
        )

    def _page(self) -> str:
        # No neurons, which take most of the room.
        looked, beside = replace(self._looked, neurons=None), self.beside
        packed = pack(looked, start=self._start, beside=beside and replace(beside, neurons=None))
        return page_html(packed.embedded, packed.chunks, title=self._title)

    def _instead(self) -> Markup:
        if len(self.observed.source.pieces) > TALLEST:
            return super()._instead()
        kind: PictureKind = "matrix" if self._start.view == "matrix" else "head"
        return picture(self.draw(kind), repr(self))


HEIGHT = 620
"""Pixels of the frame: the head view of a sentence or two."""
MOST = 4_000_000
"""Characters from which on a view is too large to be stored a second time; the picture then stands alone."""


def stored(page: str, instead: Markup) -> str:
    """A page as the output of a cell, and what is shown instead where frames are not."""
    if len(page) > MOST:
        return str(instead)
    frame = Markup(
        '<style>.headscope-instead {{ display: none }}</style><div class="headscope-instead">{instead}</div>'
        '<iframe srcdoc="{page}" width="100%" height="{height}" frameborder="0" title="headscope"></iframe>'
    ).format(instead=instead, page=page, height=HEIGHT)
    return str(frame)


def picture(axes: Axes, words: str) -> Markup:
    """The figure of these axes as an image inside the HTML; it is closed, lest a notebook shows it a second time."""
    figure, pixels = axes.figure.canvas.figure, BytesIO()
    figure.savefig(pixels, format="png", dpi=110, bbox_inches="tight")
    pyplot.close(figure)
    encoded = base64.b64encode(pixels.getvalue()).decode()
    return Markup('<img src="data:image/png;base64,{}" alt="{}">').format(encoded, words)
