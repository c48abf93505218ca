"""`headscope types`: the heads of an atlas sorted into kinds, and how sure that is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.kinds.kinds import HeadKinds

EXAMPLE = "Example: headscope types atlas.nc --k 4"


@shared.with_common(without=shared.LOADING)
def types(
    atlas: Path,
    *,
    k: shared.Kinds = 4,
    method: Literal["kmeans", "gmm"] = "kmeans",
    seed: Annotated[int, shared.seed("the search for clusters")] = 0,
    stack: str | None = None,
    weigh: shared.Weigh = "looked",
    output: Path | None = None,
    common: shared.Common,
) -> None:
    """Sort heads into kinds by where they look.

    Clusters on the 21 distance features, named by what their centres look like, with how stable they are when
    half of the heads or half of the texts are left out. Written into the atlas as head_type,
    and as head_type_moved with --weigh moved.
    """
    target = output or atlas
    with session(common, target, replaces=True, checks=output is not None) as run:
        opened = hs.open(atlas)
        _check_other(opened, target)
        with run.status("sorting heads"):
            kinds = hs.head_types(opened, k=k, method=method, seed=seed, stack=stack, weigh=weigh)
        kinds.to_atlas(opened).save(target)
        run.tell(kinds, lambda kinds: {**kinds.facts(), "types": kinds.table()}, _print)


def _check_other(atlas: "hs.Atlas", target: Path) -> None:
    """Refuse to replace the atlas of another model."""
    if target.is_file() and target.stat().st_size:
        other = hs.open(target).provenance
        if other.get("weights_hash") != atlas.provenance.get("weights_hash"):
            raise OptionError(
                f"-o {target} is the atlas of another model ({other.get('model')}); choose another name"
            )


def _print(page: "Page", kinds: "HeadKinds") -> None:
    from headscope.facts.analyses.kinds import COLUMNS, counted, how_sure, kind_rows, recommended, stability

    facts, features = kinds.facts(), kinds.features
    page.say(counted(kinds.table(), facts), how_sure(facts))
    goes = (
        "what each kind's centre moves comes from"
        if "weigh" in facts
        else "the attention of each kind's centre goes"
    )
    page.rows(COLUMNS, kind_rows(kinds.table()), title=f"Where {goes}")
    by_layer = [[name, *map(str, kinds.by_layer[:, number])] for number, name in enumerate(kinds.names)]
    page.table(["kind", *map(str, range(features.layers))], by_layer, title="Heads by layer")
    silhouettes = ", ".join(f"{k} {value:.2f}" for k, value in facts["silhouettes"].items())
    page.say(
        f"\n{len(features.values)} heads of the {features.stack}, by {facts['method']}, seed {facts['seed']}",
        f"heads that keep their kind in ten fits: {stability(facts) or 'not known'}",
        f"silhouette by number of kinds: {silhouettes}; recommended {recommended(facts)}",
        detail=True,
    )
