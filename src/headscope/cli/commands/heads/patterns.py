"""`headscope patterns`: which of five patterns the attention maps of a model show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.probes.patterns import PatternsResult


@shared.with_common
def patterns(
    models: list[str],
    *,
    text: list[Path],
    output: Path | None = None,
    max_length: shared.MaxLength = 128,
    limit: Annotated[int | None, shared.limit("texts of each file")] = None,
    weigh: Literal["looked", "moved", "both"] | None = None,
    common: shared.Common,
) -> None:
    """Sort every attention map into five patterns.

    The patterns are vertical, diagonal, vertical + diagonal, block (attention stays within each text of a pair) and
    heterogeneous. Small networks that come with the package recognise them. Several models or files share one table.
    """
    if output is not None and (len(models) > 1 or len(text) > 1):
        raise OptionError("-o takes the result of one model on one file; leave it out for several")
    with session(common, output, inputs=text) as run:
        corpora = [hs.read_text(file) for file in text]
        found = [
            hs.find_patterns(
                loaded, corpus, max_length=max_length, limit=limit, weigh=weigh, **common.run_options
            )
            for loaded in map(run.load, models)
            for corpus in corpora
        ]
        run.keep(found[0])
        # Where nobody asked, what heads move goes into the atlas only.
        ways = [way for result in found for way in (result, result.moved if weigh else None) if way]
        entries = [_entry(result, stack) for result in ways for stack in result.arrays()]
        run.tell(entries, lambda entries: {"results": entries}, _print)


def _entry(result: "PatternsResult", stack: str) -> dict[str, Any]:
    """One model on one file, in one of its stacks."""
    whole, *layers = result.table(stack=stack)
    shares = {name: cell for name, cell in whole.items() if name != "layer"}
    return {
        "model": result.model.name,
        "data": result.source.data,
        "stack": stack,
        "weigh": "moved" if result.is_moved else "looked",
        "summary": result.in_brief(),
        "texts": result.source.texts,
        "tokens": result.source.tokens,
        "shares": {name: cell["share"] for name, cell in shares.items()},
        "stderr": {name: cell["stderr"] for name, cell in shares.items()},
        "layers": layers,
    }


def _print(page: "Page", entries: list[dict[str, Any]]) -> None:
    """One table for all; of one model on one file also the summary before it, and one by layer behind it."""
    first, patterns = entries[0], list(entries[0]["shares"])
    about = ["model", "stack", "data", "weigh"]
    if all(entry["stack"] == first["stack"] for entry in entries):
        about.remove("stack")
    if all(entry["weigh"] == "looked" for entry in entries):
        about.remove("weigh")
    alone = len({(entry["model"], entry["data"], entry["stack"]) for entry in entries}) == 1
    if alone:
        page.say(*(entry["summary"] for entry in entries))
    rows = [
        [
            *(entry[key] for key in about),
            f"{entry['texts']:,}",
            *(_share(entry["shares"][name], entry["stderr"][name]) for name in patterns),
        ]
        for entry in entries
    ]
    title = "Share of attention maps in %, ± standard error over texts"
    page.table([*about, "texts", *patterns], rows, title=title)
    for entry in entries if alone else ():
        by_layer = [
            [str(row["layer"]), *(_share(row[name]["share"], row[name]["stderr"]) for name in patterns)]
            for row in entry["layers"]
        ]
        moved = ", by what heads move" if entry["weigh"] == "moved" else ""
        page.table(["layer", *patterns], by_layer, title=f"By layer{moved}")


def _share(share: float, stderr: float) -> str:
    return f"{100 * share:.1f} ± {100 * stderr:.1f}"
