"""`headscope types`: the heads of an atlas sorted into kinds, and how sure that is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables import print_table
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.kinds.kinds import HeadKinds

EXAMPLE = "Example: headscope types atlas.nc --k 4"

OUTPUT = shared.output("Where to write the atlas with the kinds in it; by default into ATLAS itself.")


@shared.with_common(without=shared.LOADING)
def types(
    atlas: Annotated[
        Path, shared.argument("ATLAS", "A file that headscope analyze wrote, with distance_features.")
    ],
    *,
    k: shared.Kinds = 4,
    method: Annotated[
        Literal["kmeans", "gmm"], shared.option("k-means, or a mixture of Gaussians.")
    ] = "kmeans",
    seed: Annotated[int, shared.seed("the search for clusters")] = 0,
    stack: Annotated[
        str | None, shared.option("encoder or decoder; without it the first that has the features.", "NAME")
    ] = None,
    output: Annotated[Path | None, OUTPUT] = None,
    common: shared.Common,
) -> None:
    """Sort heads into kinds by where they look.

    Clusters on the 21 distance features, named by what their centres look like, with how stable they are when
    half of the heads or half of the texts are left out. Written into the atlas as head_type.
    """
    target = output or atlas
    with session(common, target, replaces=True, checks=output is not None) as run:
        opened = hs.open(atlas)
        _check_other(opened, target)
        with run.status("sorting heads"):
            kinds = hs.head_types(opened, k=k, method=method, seed=seed, stack=stack)
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


def _print(console: Console, kinds: "HeadKinds") -> None:
    facts = kinds.facts()
    stack = kinds.features
    console.print(
        f"{stack.layers * stack.heads} heads of the {stack.stack}, {facts['k']} kinds by {facts['method']}, "
        f"seed {facts['seed']}",
        soft_wrap=True,
    )
    console.print()
    rows = kinds.table()
    header = [
        "type",
        "heads",
        "share %",
        "BERT-large, SQuAD %",
        *(f"{group} %" for group in rows[0]["attention"]),
        "certainty",
    ]
    print_table(console, header, [_row(row) for row in rows])
    console.print()
    _print_layers(console, kinds)
    console.print()
    for half in ("heads", "texts"):
        console.print(f"stability over halves of the {half}: {_stability(facts, half)}", soft_wrap=True)
    silhouettes = ", ".join(f"{k} {value:.2f}" for k, value in facts["silhouettes"].items())
    recommended = facts["recommended_k"] if facts["has_structure"] else "none"
    console.print(f"silhouette by number of kinds: {silhouettes}; recommended {recommended}", soft_wrap=True)


def _stability(facts: dict[str, Any], half: str) -> str:
    if facts["stability"][half] is None:
        return "not known"
    mean, low, high, worst = (
        100 * facts[name][half]
        for name in ("stability", "stability_low", "stability_high", "stability_worst")
    )
    verdict = "stable" if facts["stable"][half] else "not stable"
    return (
        f"{verdict}: {mean:.1f} % of heads keep their kind in ten fits (mean of rounds; nine in ten "
        f"rounds {low:.1f} to {high:.1f}, worst {worst:.1f})"
    )


def _row(row: dict[str, Any]) -> list[str]:
    published, certainty = row["published"], row["certainty"]
    return [
        row["type"],
        str(row["heads"]),
        f"{100 * row['share']:.1f}",
        "-" if published is None else f"{100 * published:.1f}",
        *(f"{100 * share:.0f}" for share in row["attention"].values()),
        "-" if certainty is None else f"{certainty:.2f}",
    ]


def _print_layers(console: Console, kinds: "HeadKinds") -> None:
    """How many heads of each kind every layer has."""
    header = ["heads by layer", *(str(layer) for layer in range(kinds.features.layers))]
    rows = [[name, *map(str, kinds.by_layer[:, number])] for number, name in enumerate(kinds.names)]
    print_table(console, header, rows)
