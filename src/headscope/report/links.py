"""Links from heads that a text names to their pages in the interactive atlas."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

_NAMED = re.compile(r"\b([Hh]eads? )(\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)(?![\d.]*\d|%)")
_LISTED = re.compile(r"(?<=: )\d+\.\d+(?:(?:, | and )\d+\.\d+)*(?=\.(?:\s|$)| and \d+ more)")
_HEAD = re.compile(r"\d+\.\d+")
_LEADING = re.compile(r"^\d+\.\d+(?=$|: )")


@dataclass(frozen=True)
class HeadLinks:
    """Turns heads that HTML names into links to their pages."""

    stack: str = ""
    shape: tuple[int, int] | None = None
    """Layers and heads; None where there are no pages to link to."""

    def linked(self, html: str, *, about: Collection[str] = ()) -> str:
        """Heads that follow the word head become links; so do lists of heads that the text is `about`."""
        named = _NAMED.sub(lambda found: found[1] + _HEAD.sub(self._link, found[2]), html)
        return _LISTED.sub(
            lambda found: (
                _HEAD.sub(self._link, found[0]) if set(_HEAD.findall(found[0])) <= set(about) else found[0]
            ),
            named,
        )

    def cell(self, html: str, column: str) -> str:
        """The same in a cell of a table, where a head may stand by itself below that word, or before a colon."""
        alone = "head" in column.lower() or ": " in html
        return _LEADING.sub(self._link, html) if alone and _LEADING.match(html) else self.linked(html)

    def _link(self, found: re.Match[str]) -> str:
        layer, head = map(int, found[0].split("."))
        if self.shape is None or layer >= self.shape[0] or head >= self.shape[1]:
            return found[0]
        where = urlencode({"view": "atlas", "stack": self.stack, "layer": layer, "heads": head})
        return f'<a class="head" href="#{escape(where)}">{found[0]}</a>'
