"""An atlas with all its head pages, ready to be embedded in a page or a widget."""

import os

from headscope.atlas import Atlas, replacing
from headscope.pages.atlas_data import atlas_data
from headscope.pages.findings import shown_findings
from headscope.pages.head_page import head_page
from headscope.pages.page import about, page_html
from headscope.pages.shapes import AtlasInfo, Embedded, HeadPage


def embedded_atlas(atlas: Atlas, *, start: str = "view=atlas", with_findings: bool = True) -> Embedded:
    """Every number per head, the page of every head, and findings where the page around has none of its own."""
    data = atlas_data(atlas, findings=shown_findings(atlas) if with_findings else ())
    pages: dict[str, HeadPage] = {
        f"{stack.name}/{layer}/{head}": head_page(atlas, stack.name, layer, head)
        for stack in data.stacks
        for layer in range(stack.layers)
        for head in range(stack.heads)
    }
    known = about().model_copy(update={"atlases": [AtlasInfo(id=data.id, name=data.name, model=data.model)]})
    return Embedded(about=known, atlas=data, head_pages=pages, start=start)


def write_atlas_view(path: str | os.PathLike[str], atlas: Atlas) -> None:
    """Write the atlas and map views of an atlas as one self-contained HTML file."""
    embedded = embedded_atlas(atlas)
    assert embedded.atlas is not None
    content = page_html(embedded, {}, title=f"Atlas of {embedded.atlas.model}")
    with replacing(path) as temporary:
        temporary.write_text(content, encoding="utf-8", newline="\n")
