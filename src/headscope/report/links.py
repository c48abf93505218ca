"""Links from heads that a text names to their pages in the interactive atlas."""

import re
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

from headscope.types import HeadId

_NAMED = re.compile(r"\b([Hh]eads? )(\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)(?![\d.]*\d|%)")
_HEAD = re.compile(r"\d+\.\d+")
_LEADING = re.compile(r"^\d+\.\d+(?=$|: )")


@dataclass(frozen=True)
class HeadLinks:
    """Turns heads that HTML names into links to their pages."""

    stack: str = ""
    shape: tuple[int, int] | None = None
    """Layers and heads; None where there are no pages to link to."""

    def linked(self, html: str) -> str:
        """Heads that follow the word head become links."""
        return _NAMED.sub(lambda found: found[1] + _HEAD.sub(self._link, found[2]), html)

    def to(self, head: HeadId) -> str:
        """The head as a link."""
        if self.shape is None or head.layer >= self.shape[0] or head.head >= self.shape[1]:
            return str(head)
        where = urlencode({"view": "atlas", "stack": self.stack, "layer": head.layer, "heads": head.head})
        return f'<a class="head" href="#{escape(where)}">{head}</a>'

    def cell(self, html: str, column: str) -> str:
        """The same in a cell of a table, where a head may stand by itself below that word, or before a colon."""
        alone = "head" in column.lower() or ": " in html
        return _LEADING.sub(self._link, html) if alone and _LEADING.match(html) else self.linked(html)

    def _link(self, found: re.Match[str]) -> str:
        head = HeadId.parse(found[0])
        return self.to(head) if str(head) == found[0] else found[0]  # 1.00 is a number
