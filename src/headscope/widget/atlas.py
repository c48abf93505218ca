"""An atlas in a notebook."""

import os

from headscope.atlas import Atlas
from headscope.pages.atlas import embedded_atlas, write_atlas_view
from headscope.widget.base import Widget


class AtlasView(Widget):
    """What is known of every head; atlases show themselves as one."""

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas
        embedded = embedded_atlas(atlas)
        assert embedded.atlas is not None
        super().__init__(embedded, {}, title=f"atlas of {embedded.atlas.model}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the view as one self-contained HTML file."""
        write_atlas_view(path, self.atlas)
