"""`headscope head`: what one head of an atlas does, in a few sentences."""

from pathlib import Path
from typing import Annotated

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables.card import card_facts, print_card

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
    The same as headscope card, which takes models too and draws a picture.
    """
    with session(common) as run:
        run.tell(
            hs.card(hs.open(atlas), name),
            lambda card: {"source": str(atlas), "atlas": str(atlas), **card_facts(card)},
            print_card,
            ending=[f"Its page: headscope explore {atlas}"],
        )
