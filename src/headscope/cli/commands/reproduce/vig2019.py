"""`headscope reproduce vig2019`: six patterns with their best heads, and the neurons that carry three of them."""

from typing import TYPE_CHECKING

import headscope as hs
from headscope.cli.commands.reproduce.options import Limit, ModelOrAtlas, Output, Page, Pairs, Seed, Text
from headscope.cli.commands.reproduce.session import Session
from headscope.cli.options import Common, batch_size_of, with_common
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction

EXAMPLE = "Example: headscope reproduce vig2019 demo --text corpus.txt"


@with_common
def vig2019(
    model: ModelOrAtlas,
    *,
    text: Text = None,
    pairs: Pairs = None,
    limit: Limit = None,
    seed: Seed = 0,
    output: Output = None,
    page: Page = None,
    common: Common,
) -> None:
    """Compare heads with Vig 2019.

    The best head of each of six patterns beside even attention, and for three of them how few neurons of query and key
    carry the pattern. Segments of --text are pairs too, of consecutive sentences.
    """
    if text and pairs is not None:
        raise OptionError("give the texts either as --text FILE... or as --pairs FILE, one of the two")
    session = Session(model, output, [*(text or []), *([pairs] if pairs else [])], common, page=page)
    session.check()
    corpus = hs.read_pairs(pairs) if pairs else hs.read_text(*text) if text else None

    def compare(given: "hs.Model | hs.Atlas") -> "Reproduction":
        # Loads torch, which is too slow for --help.
        from headscope.reproduce import vig2019 as compared

        return compared(
            given,
            text=corpus,
            limit=limit,
            max_length=common.max_length,
            batch_size=batch_size_of(common.batch_size),
            seed=seed,
            progress=common.shown,
        )

    session.run(compare)
