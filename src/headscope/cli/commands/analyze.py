"""`headscope analyze`: text in, an atlas of every attention head out."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.errors import HeadscopeWarning
from headscope.registry import BUILT_IN

if TYPE_CHECKING:
    from headscope.cli.page import Page

MEASURES = shared.option(
    f"What to compute: all, or, with commas between them, any of {', '.join(BUILT_IN['measure'])}.",
    "all|NAME,...",
)


@shared.with_common
def analyze(
    model: shared.ModelName,
    *,
    texts: shared.Texts,
    output: Path,
    max_length: shared.MaxLength = 128,
    limit: shared.Limit = None,
    measures: Annotated[str, MEASURES] = "all",
    faithful: bool = False,
    weigh: Literal["looked", "moved", "both"] | None = None,
    distances: Literal["sampled", "exact", "none"] = "sampled",
    sentences: int = 256,
    no_kernels: bool = False,
    treebank: list[Path] | None = None,
    profile: bool = False,
    common: shared.Common,
) -> None:
    """Observe every attention head of MODEL on texts and write an atlas."""
    names = shared.measure_names(measures)
    with session(common, output, inputs=[*texts.files, *(treebank or [])], replaces=True) as run:
        corpus, parsed = texts.read(), shared.treebank(treebank, None) if treebank else None
        loaded = run.load(model)
        atlas = hs.analyze(
            loaded,
            corpus,
            measures=names,
            max_length=max_length,
            limit=limit,
            faithful=faithful,
            weigh=weigh,
            distances=distances,
            sentences=sentences,
            kernels=not no_kernels,
            profile=profile,
            **common.run_options,
        )
        if note := atlas.provenance["options"].get("weigh_note"):
            warnings.warn(note, HeadscopeWarning, stacklevel=2)
        if parsed is not None:
            explained = hs.explained_with_syntax(loaded, parsed, limit=limit, **common.run_options)
            atlas = explained.to_atlas(atlas)
        atlas.save(output)
        run.tell(
            atlas,
            run_facts,
            lambda page, atlas: _print(page, atlas, output),
            then=None,
            ending=[f"Next: headscope show {output}   or   headscope report {output}"],
        )


def run_facts(atlas: "hs.Atlas") -> dict[str, object]:
    """What a script wants to know about a run."""
    facts = atlas.provenance
    return {
        "model": facts["model"],
        "texts": facts["texts"],
        "tokens": facts["tokens"],
        "texts_cut": facts["texts_cut"],
        "measures": atlas.measures,
        "duration": facts["duration_s"],
        **({"profile": facts["profile"]} if "profile" in facts else {}),
    }


def _print(page: "Page", atlas: "hs.Atlas", output: Path) -> None:
    """Where the atlas is, and what stands out in it."""
    from headscope.facts.headlines import leading
    from headscope.facts.wording import count

    facts, several = atlas.provenance, len(atlas.stacks) > 1
    page.say(
        f"{output}: {facts['model']} on {count(facts['texts'], 'text')}, {facts['tokens']:,} tokens, "
        f"{facts['duration_s']:.1f} s"
    )
    if "profile" in facts:
        _print_profile(page, facts["profile"], facts["options"]["kernels"])
    for finding in leading(hs.findings(atlas)):
        page.wrapped("- ", f"{f'{finding.stack}: ' if several else ''}{finding.text}")


def _print_profile(page: "Page", profile: dict[str, Any], kernels: str) -> None:
    """Where the time went."""
    rows = [[part["part"], f"{part['seconds']:.2f}", f"{part['share']:.0%}"] for part in profile["parts"]]
    page.table(
        ["time spent on", "seconds", "share"],
        rows,
        title=f"{profile['tokens_per_second']:,.0f} tokens/s; kernels {kernels}",
    )
    for part, seconds in profile["beside_the_model"].items():
        page.say(f"In a thread beside the model: {part}, {seconds:.2f} s of processor time.")
