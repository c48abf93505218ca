"""`headscope probe examples`: a head at work, sentence by sentence."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.atlas import Example
    from headscope.cli.page import Page
    from headscope.probes.pointing.answers import AtWork

PICTURES = (".svg", ".pdf", ".png")
Files = list[Path] | None


@shared.with_common(without=shared.ENGINE, one_of=("treebank", "coreference", "roles"))
def examples(
    model: shared.ModelName,
    *,
    treebank: Files = None,
    coreference: Files = None,
    roles: Files = None,
    relation: str = "all",
    head: str | None = None,
    direction: str | None = None,
    stack: shared.Stack = None,
    most: int = 5,
    limit: shared.Limit = None,
    picture: Path | None = None,
    annotate: shared.Annotate = None,
    faithful: shared.FirstPiece = False,
    weigh: shared.Weigh = "looked",
    common: shared.Common,
) -> None:
    """Show a head at work on sentences.

    Lists the sentences where the head is most confident and right, and most confident and wrong.
    """
    if sum(map(bool, (treebank, coreference, roles))) != 1:
        raise OptionError("give one of --treebank FILE, --coreference FILE and --roles FILE")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise OptionError(f"--picture {picture}: pictures are saved as {', '.join(PICTURES)}")
    settings = common.probe_options | {"limit": limit, "faithful": faithful, "weigh": weigh}
    with session(common) as run:
        asks: Any = (
            hs.DependencyProbe if treebank else hs.CoreferenceProbe if coreference else hs.RelationsProbe
        )
        probe, data = asks(run.load(model), **settings), _read(treebank, coreference, roles, annotate)
        choice = shared.head_choice(None, head, stack)
        at = {"head": None if head is None else choice.one(), "stack": choice.stack}
        found = probe.examples(data, relation, direction=direction, most=most, **at)
        if skipped := data.skipped.note():
            run.notes.append(skipped)
        if picture is not None:
            hs.figures.save(hs.figures.heads_at_work([*found.right, *found.wrong]), picture)
        about = {"model": model, "picture": picture and str(picture)}
        run.tell(found, lambda found: about | _facts(found), _print)


def _read(treebank: Files, coreference: Files, roles: Files, annotate: str | None) -> Any:
    """The data of the one that was given."""
    if treebank:
        return shared.treebank(treebank, annotate)
    return hs.read_coreference(*coreference) if coreference else hs.read_roles(*(roles or []))


def _facts(found: "AtWork") -> dict[str, Any]:
    return {"right": list(map(_record, found.right)), "wrong": list(map(_record, found.wrong))}


def _print(page: "Page", found: "AtWork") -> None:
    first = (found.right or found.wrong)[0]
    page.say(f"head {first.head}, {first.label}, {first.direction}", bold=True)
    page.say("[query word]  {right word}  <chosen, wrong>")
    for title, group in (("most sure and right", found.right), ("most sure and wrong", found.wrong)):
        page.say(f"\n{title if group else f'{title}: none'}", bold=True)
        for example in group:
            page.say(f"  {example.confidence:.2f}  {_marked(example)}")


def _marked(example: "Example") -> str:
    """The sentence with the words that matter in brackets of their own."""
    words = list(example.words)
    words[example.asking] = f"[{words[example.asking]}]"
    for word in example.right:
        words[word] = f"{{{words[word]}}}"
    if not example.is_right:
        words[example.guess] = f"<{words[example.guess]}>"
    return " ".join(words)


def _record(example: "Example") -> dict[str, Any]:
    return {
        "relation": example.label,
        "head": str(example.head),
        "direction": example.direction,
        "sentence": example.name,
        "words": list(example.words),
        "asking": example.asking,
        "right": list(example.right),
        "guess": example.guess,
        "weights": list(example.weights),
    }
