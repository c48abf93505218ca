"""A page in the house style: a heading, what was found, the interactive atlas, and chapters of folded sections.

The report and the papers' page are made so. All of it is data (`Chapter`, `Section`); how it looks is in `templates/`.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any

from markupsafe import Markup

from headscope.figures.style.colours import DARK_RAMPS, LIGHT_RAMPS
from headscope.html import environment, page
from headscope.pages.page import asset, modules
from headscope.pages.shapes.views import Embedded
from headscope.report.section import Chapter
from headscope.versions import version_of


def document(
    *,
    brand: str,
    title: str,
    lead: str,
    chapters: Sequence[Chapter],
    front: str = "",
    atlas: Embedded | None = None,
) -> str:
    """The whole page; `front` stands before all chapters, `atlas` is what the interactive part is given."""
    body = rendered(
        "document.html",
        brand=brand,
        title=title,
        lead=lead,
        front=front,
        has_atlas=atlas is not None,
        chapters=chapters,
        version=version_of("headscope"),
    )
    if atlas is None:
        return page(body, title=title, styles=[style()])
    return page(
        body,
        title=title,
        styles=[style(), asset("headscope.css")],
        scripts=[_resource("page.js")],
        modules=modules(view.name for view in atlas.about.views),
        # Half a character, as broken texts have it, is nothing that pydantic would write.
        data=json.dumps(atlas.model_dump(exclude_defaults=True), separators=(",", ":"), allow_nan=False),
    )


def rendered(template: str, **values: Any) -> Markup:
    """One of our templates; the ids of each picture in it begin with a name of their own."""
    names = map(f"{template.split('.', maxsplit=1)[0]}{{}}-".format, count())
    return Markup(environment("report").get_template(template).render(own_id=names.__next__, **values))


@cache
def style() -> str:
    """The page's own; dark where the reader's system is, or where the atlas was switched to it."""
    light, dark = (
        "".join(
            f"--{name}-{level}:{colour};" for name, ramp in ramps.items() for level, colour in enumerate(ramp)
        )
        for ramps in (LIGHT_RAMPS, DARK_RAMPS)
    )
    dark = f"color-scheme: dark; {_resource('page-dark.css')} {dark}"
    return "\n".join(
        [
            _resource("page.css"),
            f":root {{ {light} }}",
            ':root[data-theme="light"] { color-scheme: light; }',
            f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}',
            f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}',
        ]
    )


def _resource(name: str) -> str:
    return files("headscope.report").joinpath("assets", name).read_text(encoding="utf-8")
