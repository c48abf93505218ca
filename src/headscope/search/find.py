"""Which head looks along arrows that somebody drew between words?"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from time import perf_counter

import torch

from headscope.errors import OptionError, TextError
from headscope.models import Model, ModelName, loaded
from headscope.passes.options import BatchSize
from headscope.probes.observe import Account, Observer
from headscope.search.result import Search, StackSearch
from headscope.search.tally import ArrowTally
from headscope.text.annotated.arrows import Arrows, as_arrows
from headscope.types import StackName

FEWEST_TEXTS = 5
"""With fewer texts nothing can be left out and scored."""
FEWEST_DRAWS = 100


def find(
    model: ModelName,
    arrows: Arrows | str | Path | Iterable[Mapping[str, object]],
    *,
    permutations: int = 1000,
    seed: int = 0,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> Search:
    """The heads that look along arrows, ranked, with p values; `best` is None when no head does.

    `arrows` are a file, what `read_arrows` returns, or records such as {"text": "She read it.", "arrows": [[2, 1]]},
    in at least five texts. p is by `permutations` draws of other targets at the same distance class, the maximum over
    all heads. Each text is also scored by the head that is best on all others.
    """
    started = perf_counter()
    if permutations < FEWEST_DRAWS:
        raise OptionError(f"permutations must be at least {FEWEST_DRAWS}, not {permutations}")
    model = loaded(model)
    data = as_arrows(arrows)
    texts = list(data)
    _check_enough(data, len(texts))
    observer = Observer(model, max_length=max_length, batch_size=batch_size, progress=progress)
    tallies = {grid.stack: ArrowTally(grid, draws=permutations, seed=seed) for grid in observer.grids}
    account = Account()
    account.seen = observer.observe(
        account.of(texts), {stack: [tally] for stack, tally in tallies.items()}, name=data.name
    )
    _check_visible(model, data, tallies)
    notes = [*_notes(data, tallies), account.seen.cut_note("texts", observer.max_length)]
    source = account.source(
        data,
        options={"permutations": permutations, "seed": seed, "max_length": observer.max_length},
        duration=perf_counter() - started,
        notes=filter(None, notes),
    )
    stacks = {stack: _searched(tally) for stack, tally in tallies.items() if len(tally.texts) >= FEWEST_TEXTS}
    return Search(model, source, stacks)


def _searched(tally: ArrowTally) -> StackSearch:
    numbers = torch.stack(tally.texts).flatten(2).numpy()  # (text, quantity, layer and head)
    drawn = (tally.drawn / len(tally.texts)).flatten(0, 1).T.numpy()  # (draw, layer and head)
    return StackSearch(tally.grid, numbers[:, 0], numbers[:, 1], drawn)


def _check_enough(data: Arrows, texts: int) -> None:
    if texts < FEWEST_TEXTS:
        skipped = f" ({data.skipped.note()})" if data.skipped.count else ""
        has = f"{texts} text{'' if texts == 1 else 's'}"
        raise TextError(
            f"{data.name} has {has} with usable arrows, and at least {FEWEST_TEXTS} are needed{skipped}"
        )


def _check_visible(model: Model, data: Arrows, tallies: Mapping[StackName, ArrowTally]) -> None:
    """Raise TextError where no stack has enough texts with arrows that it can follow."""
    most = max(tallies.values(), key=lambda tally: len(tally.texts))
    if len(most.texts) >= FEWEST_TEXTS:
        return
    if most.ahead:
        raise TextError(
            f"{model.name} only looks back, and {most.ahead:,} of the arrows in {data.name} point ahead, which leaves "
            f"{len(most.texts)} of the at least {FEWEST_TEXTS} texts; turn the arrows around"
        )
    raise TextError(
        f"{model.name} can score {len(most.texts)} texts of {data.name}, and at least {FEWEST_TEXTS} are needed: "
        f"{most.lost.note()}"
    )


def _notes(data: Arrows, tallies: Mapping[StackName, ArrowTally]) -> Iterator[str | None]:
    yield data.skipped.note()
    for stack, tally in tallies.items():
        of = f"{stack}: " if len(tallies) > 1 else ""
        if note := tally.lost.note():
            yield of + note
        if tally.ahead:
            yield f"{of}{tally.ahead:,} arrows point ahead, where this stack cannot look, and are left out"
        if len(tally.texts) < FEWEST_TEXTS:
            yield f"{of}left out, as {len(tally.texts)} texts are too few"
