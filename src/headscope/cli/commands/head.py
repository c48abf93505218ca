"""`headscope head`: what one head does, in a few sentences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.facts.card import Card

EXAMPLE = "Example: headscope head atlas.nc 7.4"


@shared.with_common(without=(*shared.LOADING, "quiet"))
def head(
    atlas: Annotated[Path, shared.argument("ATLAS", "A file that headscope analyze or a probe wrote.")],
    name: Annotated[
        str, shared.argument("HEAD", "layer.head from 0, such as 7.4; decoder:2.3 names the stack.")
    ],
    *,
    common: shared.Common,
) -> None:
    """Say what one head does, and whether the model needs it.

    Reports only what is clearly above its control: rules that use no attention, even attention, or the unedited model.
    """
    with session(common) as run:
        opened = hs.open(atlas)
        found = hs.card(opened, name)

        def show(page: "Page", card: "Card") -> None:
            kind = f" ({card.kind})" if card.kind else ""
            page.say(f"Head {card.head} of {opened.provenance.get('model')}{kind}", bold=True)
            page.say(*(f"  {sentence}" for sentence in card.sentences))

        run.tell(
            found,
            lambda card: {
                "atlas": str(atlas),
                "head": str(card.head),
                "stack": card.stack,
                "kind": card.kind,
                "finds": [claim.text for claim in card.finds],
                "looks": [claim.text for claim in card.looks],
                "without": card.without,
            },
            show,
            ending=[f"Its page: headscope explore {atlas}"],
        )
