"""`headscope head`: what one head of an atlas does, in a few sentences."""

from pathlib import Path

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables.card import card_facts, print_card


@shared.with_common(without=(*shared.LOADING, "quiet"))
def head(atlas: Path, name: str, *, common: shared.Common) -> None:
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
