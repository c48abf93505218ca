"""A head's card as HTML, for notebooks and files, and as a picture."""

import os
from pathlib import Path

from markupsafe import Markup

from headscope import figures
from headscope.atlas import replacing
from headscope.facts.card import Card
from headscope.figures.style.colours import ACCENT, INK, MUTED, PAPER, SERIES
from headscope.figures.texts.arcs import arcs_size, draw_arcs
from headscope.report.document import document, rendered
from headscope.report.pictures import Picture, picture

_COLOURS = {"ink": INK, "muted": MUTED, "paper": PAPER, "accent": ACCENT}
_COLOURS |= {f"series-{number}": colour for number, colour in enumerate(SERIES)}


def card_html(card: Card) -> Markup:
    """The card for a notebook: a piece of HTML that needs no styles around it."""
    colours = "".join(f"--{name}:{colour};" for name, colour in _COLOURS.items())
    body = rendered("card.html", card=card, picture=_picture(card), with_title=True)
    # Ids are the document's, and a notebook may show many cards.
    body = body.replace("card0-", f"card-{card.stack}-{card.head}-")
    return Markup('<div style="{}background:{};color:{};padding:8px 12px">{}</div>').format(
        Markup(colours), Markup(PAPER), Markup(INK), body
    )


def write_card(card: Card, path: str | os.PathLike[str]) -> Path:
    """Write the card as a page (.html) or a picture (.svg, .pdf, .png), as the name's ending says."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        return figures.save(figures.head_card(card), target)
    front = rendered("card.html", card=card, picture=_picture(card), with_title=False)
    content = document(brand="headscope card", title=card.title, lead="", front=front, chapters=[])
    with replacing(target) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return target


def _picture(card: Card) -> Picture | None:
    """The arcs of its best sentence."""
    sentence = card.sentence
    if sentence is None:
        return None
    return picture(
        lambda ax: draw_arcs(ax, sentence),
        size=arcs_size(sentence),
        title="",
        caption=sentence.said,
        is_text=True,
    )
