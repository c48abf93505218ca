"""What `make bench-ab` times: a few works that users call, one in a process. See ab.py.

    python benchmarks/ab_works.py NAME       # seconds of one work, by the headscope of the tree that this file is in

Each tree has its own copy, which calls the tree's own API. What is computed must stay the same.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import headscope as hs

ARTICLES, TREEBANK = hs.sample_path("articles"), hs.sample_path("treebank")
WARM_UP = 8
"""On so many texts each work is done once before it is timed: kernels are compiled, and caches filled."""


def everything(limit: int | None) -> object:
    """All measures, by attention and by value-weighted attention: the default of `hs.analyze`."""
    return hs.analyze("demo", hs.read_text(ARTICLES), limit=limit)


def attention(limit: int | None) -> object:
    """Attention alone, without distances between heads and quoted texts: what is left is the model and its maps."""
    texts = hs.read_text(ARTICLES)
    return hs.analyze("demo", texts, limit=limit, weigh="looked", distances="none", sentences=0)


def dependency(limit: int | None) -> object:
    """The dependency probe."""
    return hs.DependencyProbe("demo", limit=limit).fit_score(hs.read_treebank(TREEBANK))


WORKS: dict[str, Callable[[int | None], object]] = {
    work.__name__: work for work in (everything, attention, dependency)
}


def main() -> None:
    own = Path(hs.__file__).resolve()
    if not own.is_relative_to(Path(__file__).resolve().parents[1]):
        sys.exit(f"another tree would be timed: {own}; put this one's src first on PYTHONPATH")
    work = WORKS[sys.argv[1]]
    warnings.simplefilter("ignore")
    work(WARM_UP)
    started = perf_counter()
    work(None)
    print(perf_counter() - started)


if __name__ == "__main__":
    main()
