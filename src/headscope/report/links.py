"""Texts of the page as HTML: numbers that stay on one line, and heads that lead to their pages."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup, escape

from headscope.facts.wording import Part
from headscope.html import shown
from headscope.types import HeadId

_NAMED = re.compile(r"\b([Hh]eads? )(\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)(?![\d.]*\d|%)")
_HEAD = re.compile(r"\d+\.\d+")
_LEADING = re.compile(r"^\d+\.\d+(?=$|: )")
_MINUS = re.compile(r"(?<![\w.,)\]-])-(?=\d)")
"""A hyphen before a number; not one between two of them, as dates have it."""


@dataclass(frozen=True)
class HeadLinks:
    """Turns the texts of a stack's part of the page into HTML, with links to the pages of heads that they name."""

    stack: str = ""
    shape: tuple[int, int] | None = None
    """Layers and heads; None where there are no pages to link to."""

    def prose(self, text: str | Iterable[Part]) -> Markup:
        """Heads become links: those among the parts of a sentence, or in a text those that follow the word head."""
        if isinstance(text, str):
            return Markup(
                _NAMED.sub(lambda match: match[1] + _HEAD.sub(self._link, match[2]), _together(text))
            )
        return Markup().join(self.to(part) if isinstance(part, HeadId) else _together(part) for part in text)

    def cell(self, text: str, column: str) -> Markup:
        """The same in a cell of a table, where a head may stand by itself below that word, or before a colon."""
        html = _together(text)
        alone = ("head" in column.lower() or ": " in html) and _LEADING.match(html)
        return Markup(_LEADING.sub(self._link, html)) if alone else self.prose(text)

    def to(self, head: HeadId) -> Markup:
        """The head as a link."""
        if self.shape is None or head.layer >= self.shape[0] or head.head >= self.shape[1]:
            return Markup(head)
        where = urlencode({"view": "atlas", "stack": self.stack, "layer": head.layer, "heads": head.head})
        return Markup('<a class="head" href="#{}">{}</a>').format(where, str(head))

    def _link(self, match: re.Match[str]) -> str:
        head = HeadId.parse(match[0])
        return self.to(head) if str(head) == match[0] else match[0]  # 1.00 is a number


def _together(text: str) -> Markup:
    """A text with a number and its error on one line, and a minus for a minus."""
    text = _MINUS.sub("\N{MINUS SIGN}", shown(text)).replace("(± ", "(±\N{NO-BREAK SPACE}")
    return escape(text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"))
