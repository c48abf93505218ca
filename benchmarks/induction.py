"""What do induction heads do for a decoder's loss on repeated text?

Finds the induction heads of a decoder (`hs.known`), and measures the loss of the next token in the second copy of made
text (random tokens, then the same ones again): as it is, with those heads zeroed, and with as many random heads of the
same layers, or of other layers, zeroed, `--draws` times. Prints means with 95 % intervals: over texts, and for the random heads over draws.
"""

import argparse

import numpy as np
import torch
from scipy import stats

import headscope as hs
from headscope.capture import surveyed
from headscope.known_heads.made import MadeTexts
from headscope.tasks import TASKS
from headscope.types import HeadId


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
    table = {row["kind"]: row for row in hs.known(model).table()}
    row = table["induction"]
    heads = [HeadId.parse(name) for name in row["heads"]]
    numbers = ", ".join(
        f"{key} {row[key]:.3f}" for key in ("attention", "control", "difference", "low", "high")
    )
    print(f"induction heads of {model.name}: {', '.join(row['heads'])}; best {row['head']}: {numbers}")
    headed = hs.with_head(model, TASKS.get("lm").head)
    words = MadeTexts.of(model, seed=options.seed)
    first, fresh = words.draw(list(range(options.texts)))

    def losses(second: torch.Tensor, chosen: list[HeadId]) -> np.ndarray:
        """(text,) the mean loss of the tokens of the second half but its first, in nats."""
        ids = words.begun(torch.cat([first, second], 1))
        with torch.inference_mode():
            if chosen:
                with hs.edit(headed, ", ".join(map(str, chosen))):
                    logits = headed.network(input_ids=ids).logits
            else:
                logits = headed.network(input_ids=ids).logits
        half = words.half
        scored = torch.nn.functional.cross_entropy(
            logits[:, -half:-1].transpose(1, 2), ids[:, -half + 1 :], reduction="none"
        )
        return scored.mean(1).double().numpy()

    def say(name: str, values: np.ndarray) -> None:
        low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
        print(f"{name:52s} {values.mean():7.3f} ({low:.3f} to {high:.3f})", flush=True)

    draw = np.random.default_rng(options.seed)
    grid = surveyed(model).stacks.grids[0]
    layers = [head.layer for head in heads]

    def same_layers() -> list[HeadId]:
        """As many heads of the same layers; others where there are enough, else any but the very same ones."""
        chosen: list[HeadId] = []
        for layer in sorted(set(layers)):
            every = [HeadId(layer, head) for head in range(grid.heads)]
            rest = [head for head in every if head not in heads]
            wanted = layers.count(layer)
            pool = rest if len(rest) >= wanted else every
            chosen += [pool[place] for place in draw.choice(len(pool), wanted, replace=False)]
        return chosen if set(chosen) != set(heads) else same_layers()

    def other_layers() -> list[HeadId]:
        """As many heads of one other layer for each of theirs."""
        rest = [layer for layer in range(grid.layers) if layer not in layers]
        chosen: list[HeadId] = []
        for layer in sorted(set(layers)):
            own = rest.pop(int(draw.integers(len(rest))))
            places = draw.choice(grid.heads, layers.count(layer), replace=False)
            chosen += [HeadId(own, int(head)) for head in places]
        return chosen

    for name, second in (("repeated", first), ("fresh", fresh)):
        whole = losses(second, [])
        say(f"{name}: loss as it is", whole)
        zeroed = losses(second, heads) - whole
        say(f"{name}: change without the induction heads", zeroed)
        for which, others in (("their layers", same_layers), ("other layers", other_layers)):
            draws = [others() for _ in range(options.draws)]
            random = np.array([(losses(second, chosen) - whole).mean() for chosen in draws])
            overlap = np.mean([len(set(chosen) & set(heads)) for chosen in draws])
            say(f"{name}: without {len(heads)} of {which} ({overlap:.1f} of them induction)", random)
            print(f"{name}: largest change of {options.draws} draws {random.max():.3f}")


if __name__ == "__main__":
    main()
