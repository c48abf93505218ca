"""The interactive atlas inside the report: its data, its scripts, and links to the pages of heads."""

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import urlencode

from headscope.atlas import Atlas
from headscope.facts.findings import findings
from headscope.pages.atlas import embedded_atlas
from headscope.pages.head_page import grid_shape
from headscope.pages.page import asset
from headscope.report.links import HeadLinks


def head_links(atlas: Atlas) -> dict[str, HeadLinks]:
    """For each stack of the atlas."""
    return {stack: HeadLinks(stack, grid_shape(atlas, stack)) for stack in atlas.stacks}


@dataclass(frozen=True)
class Interactive:
    """What the page needs for its interactive part; all of it empty where nothing is known head by head."""

    section: str = ""
    style: str = ""
    scripts: str = ""
    sources: tuple[str, ...] = ()
    """The hashes of the scripts, for the policy."""

    @property
    def is_there(self) -> bool:
        """Whether the page has an interactive part."""
        return bool(self.section)


def interactive(atlas: Atlas) -> Interactive:
    """The atlas and map views with the page of every head."""
    embedded = embedded_atlas(atlas, start=_start(atlas), with_findings=False)  # the report lists them itself
    if embedded.atlas is None or not embedded.atlas.stacks:
        return Interactive()
    # Half a character, as broken texts have it, is nothing that pydantic would write.
    data = json.dumps(embedded.model_dump(), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    own = files("headscope.report").joinpath("page.js").read_text(encoding="utf-8")
    bundle = asset("headscope.js")
    return Interactive(
        section=_SECTION,
        style=asset("headscope.css"),
        scripts=f'<script type="application/json" id="headscope-data">{data}</script>\n'
        f'<script>{own}</script>\n<script type="module">{bundle}</script>',
        sources=(hashed(own), hashed(bundle)),
    )


def _start(atlas: Atlas) -> str:
    """What is open at first: the page of the head that the first finding is about."""
    state: dict[str, str | int] = {"view": "atlas"}
    for finding in findings(atlas):
        shape = grid_shape(atlas, finding.stack)
        if finding.heads and shape and finding.heads[0].layer < shape[0] and finding.heads[0].head < shape[1]:
            head = finding.heads[0]
            state |= {"stack": finding.stack, "layer": head.layer, "heads": head.head}
            break
    return urlencode(state)


_SECTION = """<section class="explorer" aria-labelledby="explore">
<div class="told">
<h2 id="explore" tabindex="-1">Every head, to look at</h2>
<p>Colour the heads by any number that is known of them, or see them as a map; a click on a head opens its page: what
it looks at, what it finds, what is lost without it, and sentences that show it at work. What you see is in the
address, so that a link to this file can show the same. Press ? for keys.</p>
</div>
<div id="headscope"></div>
</section>
<noscript><p class="told without">An interactive atlas of all heads is in this file too; it needs JavaScript, none of
which comes from elsewhere. Everything below needs none.</p></noscript>"""


def hashed(content: str) -> str:
    """A hash as a content security policy names what may run or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
