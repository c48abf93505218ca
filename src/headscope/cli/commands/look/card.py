"""`headscope card`: one head in five sentences at most, and one picture."""

from pathlib import Path

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import PICTURE, REPORT, Session, session
from headscope.cli.tables.card import card_facts, print_card
from headscope.errors import HeadscopeError, OptionError

MEASURES = ["offset_attention", "role_attention", "named_patterns", "explained"]
"""What is measured of a model for a card."""
TEXTS, LONGEST = 64, 128
"""Texts that a card of a model is made on, unless they are given, and their tokens at most."""
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")


@shared.with_common(without=("max_length", "quiet", "full", *shared.ENGINE))
def card(
    source: str,
    head: str,
    *,
    output: Path | None = None,
    text: list[Path] | None = None,
    treebank: list[Path] | None = None,
    common: shared.Common,
) -> None:
    """Say what one head does in five sentences at most, with one picture.

    Only what is clear of its control, the most surprising first, then what it is not and how much of it names explain.
    An atlas says what is in it. For a model, a small analysis runs first: where heads look on 64 sample texts, and
    which relations they find in the sample treebank, both in English.
    """
    kind = _kind(output)
    is_atlas = source.lower().endswith(".nc") or Path(source).is_file()
    if is_atlas and (text or treebank):
        raise OptionError(
            f"--text and --treebank are for a model; {source} is an atlas, which has its numbers"
        )
    files = [*(text or []), *(treebank or []), *([Path(source)] if is_atlas else [])]
    with session(common, output, inputs=files, kind=kind) as run:
        atlas = hs.open(source) if is_atlas else _small_atlas(run, source, head, text or [], treebank or [])
        known = hs.card(atlas, head)
        if output is not None:
            from headscope.report.card import write_card  # loads matplotlib, which words do without

            with run.status(f"writing {output}"):
                write_card(known, output)
        run.tell(
            known,
            lambda card: {"source": source, **card_facts(card)},
            print_card,
            then=None,
            ending=[f"written to {output}"] if output else [],
        )


def _kind(output: Path | None) -> str:
    """What -o is to be; an error for an ending that cards do not have."""
    ending = ".html" if output is None else output.suffix.lower()
    if ending not in (*PICTURES, *PAGES):
        raise OptionError(f"-o {output}: a card is written as .png, .svg, .pdf or .html")
    return REPORT if ending in PAGES else PICTURE


def _small_atlas(run: Session, name: str, head: str, text: list[Path], treebank: list[Path]) -> "hs.Atlas":
    """What a card needs of a model, measured now."""
    # Loads numpy and torch, which --help does without.
    from headscope.cli.console import stderr
    from headscope.types import HeadId, split_stack

    HeadId.parse(split_stack(head)[1])  # before anything slow
    model = run.load(name)
    if run.common.shown:
        what = "the files given" if text or treebank else f"{TEXTS} sample texts and the sample treebank"
        stderr().print(f"{name} has no atlas: a small analysis runs first, on {what}", soft_wrap=True)
    corpus = hs.read_text(*text) if text else hs.read_text(hs.sample_path("articles"))
    options, longest = run.common.run_options, min(LONGEST, model.max_length or LONGEST)
    atlas = hs.analyze(
        model, corpus, measures=MEASURES, limit=None if text else TEXTS, max_length=longest, **options
    )
    hs.card(atlas, head)  # whether there is such a head
    sentences = hs.read_treebank(*(treebank or [hs.sample_path("treebank")]))
    try:
        return hs.DependencyProbe(model, **options).fit_score(sentences).to_atlas(atlas)
    except HeadscopeError as error:
        if treebank:
            raise
        run.notes.append(f"nothing is said of relations: {error}")
        return atlas
