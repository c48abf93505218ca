"""`headscope types`: the heads of an atlas sorted into kinds, and how sure that is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import existing_atlas, session
from headscope.errors import AtlasError, OptionError

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.kinds.kinds import HeadKinds


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
    is_in_place = output is None or output.absolute() == atlas.absolute()
    with session(common, target, replaces=True, checks=output is not None) as run:
        opened = hs.open(atlas)
        if not is_in_place:
            _check_kept(opened, target)
        # Loads numpy, which --help does without.
        from headscope.atlas import update

        with run.status("sorting heads"):
            kinds = hs.head_types(opened, k=k, method=method, seed=seed, stack=stack, weigh=weigh)
        if is_in_place:
            update(atlas, lambda current: kinds.to_atlas(_unchanged(opened, current, atlas)))
        else:
            kinds.to_atlas(opened).save(target)
        run.tell(kinds, lambda kinds: {**kinds.facts(), "types": kinds.table()}, _print)


def _check_kept(atlas: "hs.Atlas", output: Path) -> None:
    """Refuse to replace the atlas of another model, or numbers that would be lost; what probes found is kept."""
    # Loads numpy, which --help does without.
    import numpy as np

    from headscope.atlas.atlas import DERIVED

    other = existing_atlas(output)
    if other is None:
        return
    about = other.provenance
    if about.get("weights_hash") != atlas.provenance.get("weights_hash"):
        raise OptionError(
            f"-o {output} is the atlas of another model ({about.get('model')}); choose another name"
        )
    merged, goes = (
        atlas.with_probes_of(other),
        {name for name, facts in other.probes.items() if DERIVED in facts},
    )
    derived = {name for probe in goes for arrays in other.found_by(probe).values() for name in arrays}
    for stack in other.stacks:
        kept = merged.stack(stack).plain if stack in merged.stacks else {}
        for name, array in other.stack(stack).plain.items():
            is_kept = name in kept and np.array_equal(array.values, kept[name].values, equal_nan=True)
            if name not in derived and not is_kept:
                raise OptionError(
                    f"-o {output} holds other numbers for {name}, which would be lost; choose another name"
                )


def _unchanged(opened: "hs.Atlas", current: "hs.Atlas | None", path: Path) -> "hs.Atlas":
    """The atlas as it is in the file now, with the measures that the kinds were made from."""
    if current is None:
        return opened
    if current.provenance.get("created") != opened.provenance.get("created"):
        raise AtlasError(f"{path} was analysed anew meanwhile, so nothing was written; run the command again")
    return current


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
