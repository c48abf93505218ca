"""What do induction heads do for a decoder's loss on repeated text?

Finds the induction heads of a decoder (`hs.known`), and measures the loss of the next token in the second copy of made
text (random tokens, then the same ones again): as it is, with those heads zeroed, and with as many random heads of the
same layers, or of other layers, zeroed, `--draws` times. The same where the second half is fresh. Prints means with
95 % intervals: over texts, and for random heads over draws.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

import headscope as hs
from headscope.known_heads.made import MadeTexts
from headscope.tasks import TASKS
from headscope.trace import surveyed
from headscope.types import HeadGrid, HeadId

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """Random heads to zero instead of some."""

    heads: list[HeadId]
    grid: HeadGrid
    chance: np.random.Generator

    def same_layers(self) -> list[HeadId]:
        """As many heads of the same layers; others where there are enough, else any but the very same ones."""
        chosen: list[HeadId] = []
        layers = [head.layer for head in self.heads]
        for layer in sorted(set(layers)):
            every = [HeadId(layer, head) for head in range(self.grid.heads)]
            rest = [head for head in every if head not in self.heads]
            pool = rest if len(rest) >= layers.count(layer) else every
            chosen += [
                pool[place] for place in self.chance.choice(len(pool), layers.count(layer), replace=False)
            ]
        return chosen if set(chosen) != set(self.heads) else self.same_layers()

    def other_layers(self) -> list[HeadId]:
        """As many heads of another layer for each of theirs."""
        layers = [head.layer for head in self.heads]
        rest = [layer for layer in range(self.grid.layers) if layer not in layers]
        chosen: list[HeadId] = []
        for layer in sorted(set(layers)):
            own = rest.pop(int(self.chance.integers(len(rest))))
            places = self.chance.choice(self.grid.heads, layers.count(layer), replace=False)
            chosen += [HeadId(own, int(head)) for head in places]
        return chosen


def losses(model: hs.Model, ids: Tensor, half: int, zeroed: list[HeadId]) -> Numbers:
    """(text,) the mean loss of the tokens of the second half but its first, in nats."""
    with torch.inference_mode():
        if zeroed:
            with hs.edit(model, ", ".join(map(str, zeroed))):
                logits = model.network(input_ids=ids).logits
        else:
            logits = model.network(input_ids=ids).logits
    scored = torch.nn.functional.cross_entropy(
        logits[:, -half:-1].transpose(1, 2), ids[:, -half + 1 :], reduction="none"
    )
    values: Numbers = scored.mean(1).double().numpy()
    return values


def say(name: str, values: Numbers) -> None:
    """A mean with its 95 % interval."""
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    print(f"{name:60s} {values.mean():7.3f} ({low:.3f} to {high:.3f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="demo-lm")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = hs.load(options.model, device="cpu")
    [row] = [row for row in hs.known(model).table() if row["kind"] == "induction"]
    heads = [HeadId.parse(name) for name in row["heads"]]
    numbers = ", ".join(
        f"{key} {row[key]:.3f}" for key in ("attention", "control", "difference", "low", "high")
    )
    print(f"induction heads of {model.name}: {', '.join(row['heads'])}; best {row['head']}: {numbers}")
    headed = hs.with_head(model, TASKS.get("lm").head)
    words = MadeTexts.of(model, seed=options.seed)
    first, fresh = words.draw(list(range(options.texts)))
    draws = Draws(heads, surveyed(model).stacks.grids[0], np.random.default_rng(options.seed))
    controls: dict[str, Callable[[], list[HeadId]]] = {
        "their layers": draws.same_layers,
        "other layers": draws.other_layers,
    }
    for name, second in (("repeated", first), ("fresh", fresh)):
        ids = words.begun(torch.cat([first, second], 1))
        whole = losses(headed, ids, words.half, [])
        say(f"{name}: loss as it is", whole)
        say(f"{name}: change without them", losses(headed, ids, words.half, heads) - whole)
        for which, draw in controls.items():
            drawn = [draw() for _ in range(options.draws)]
            changes = np.array([(losses(headed, ids, words.half, some) - whole).mean() for some in drawn])
            shared = np.mean([len(set(some) & set(heads)) for some in drawn])
            say(f"{name}: without as many of {which}, {shared:.1f} of them the same", changes)
            print(f"{name}: largest change of {options.draws} draws {changes.max():.3f}")


if __name__ == "__main__":
    main()
