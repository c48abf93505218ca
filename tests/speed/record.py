"""What is counted, the file of recorded numbers, and how the two are compared.

A number may only fall: one that rose fails the test. One that fell fails it too until it is recorded, so that the
record is always what the code does and the next rise is noticed.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.helpers.tiny import tiny
from tests.speed.counting import BACKENDS, PAIRS, TEXTS_A_BATCH, Backend, cost, run, softmaxes
from tests.speed.paths import of_analyze

import headscope as hs

FILE = Path(__file__).parent / "recorded.toml"
PACKAGES = ("torch", "transformers", "triton")
"""On whose versions the counts depend."""
MODELS = ("demo", "gpt2", "llama", "t5", "mpnet")

Figures = dict[str, int | str]

HEAD = """\
# What a run costs, counted without a clock; see CONTRIBUTING.md. Written by: python -m tests.speed record
#
# versions  of what the counts depend on: those of constraints.txt
# backend   what computes attention by default, and why; softmaxes: softmax operations of torch in one batch (0 where
#           kernels compute all attention)
# cost      by backend, of one layer of one batch, and of one batch beside its layers: a tiny BERT, 2 texts, all
#           default measures, both weightings
#               calls          of headscope's Python functions in the thread that runs the model
#               reading_calls  in the threads that read and tokenize
#               operations     of torch, those of the model included
#               launches       of Triton's kernels
# path      of `headscope analyze`, from the command's entry to Measure.update and to the kernel
#               frames         functions of headscope on the stack
#               nested         those of them that are made inside functions: closures, lambdas, wrappers
#               modules        in which they are
"""


def backend_of(name: str) -> Figures:
    """Which backend computes a model's attention by default, by its provenance, and what torch computes of it."""
    model = hs.load("demo", device="cpu") if name == "demo" else tiny(name)
    options = run(model, batches=len(PAIRS) // TEXTS_A_BATCH).provenance["options"]
    names = ("captured_by", "kernels", "weigh", "weigh_note", "distances")
    figures: Figures = {option: options[option] for option in names if option in options}
    return {**figures, "softmaxes": softmaxes(model)}


def cost_of(backend: Backend) -> Figures:
    """What one layer costs on one batch by a backend, and what a batch costs beside its layers."""
    return {**cost(backend)}


def path_of(*options: str, to_kernel: bool = False) -> Figures:
    """How long the way of `headscope analyze` to `Measure.update`, or to the kernel, is."""
    recorder = of_analyze(*options)
    return {**(recorder.to_kernel if to_kernel else recorder.to_update).numbers()}


COUNTED: dict[str, Callable[[], Figures]] = {
    **{f"backend.{name}": partial(backend_of, name) for name in MODELS},
    **{f"cost.{backend}": partial(cost_of, backend) for backend in BACKENDS},
    "path.to_update": path_of,
    "path.to_kernel": partial(path_of, to_kernel=True),
    "path.to_update_without_kernels": partial(path_of, "--no-kernels"),
}
"""What counts the figures of each table in the file."""


@dataclass
class Difference:
    """How figures differ from recorded ones, a line each."""

    rose: list[str] = field(default_factory=list)
    fell: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    @classmethod
    def between(cls, table: str, recorded: Mapping[str, int | str], counted: Figures) -> "Difference":
        """Of the figures of one table."""
        found = cls()
        for name in {**recorded, **counted}:
            before, now = recorded.get(name), counted.get(name)
            if before == now:
                continue
            line = f"{table}.{name}: {now!r}, recorded {before!r}"
            if isinstance(before, int) and isinstance(now, int):
                (found.rose if now > before else found.fell).append(line)
            else:
                found.changed.append(line)
        return found

    def add(self, other: "Difference") -> None:
        """Take in the lines of another one."""
        self.rose += other.rose
        self.fell += other.fell
        self.changed += other.changed

    @property
    def is_worse(self) -> bool:
        """Whether it is more than numbers that fell."""
        return bool(self.rose or self.changed)

    def __str__(self) -> str:
        parts = (("rose", self.rose), ("changed", self.changed), ("fell", self.fell))
        lines = [f"{word}: {line}" for word, found in parts for line in found]
        if self.is_worse:
            lines.append(
                "If that is meant, say why in the commit, and record it: python -m tests.speed record --accept"
            )
        elif self.fell:
            lines.append("Good. Record it, so that it stays so: python -m tests.speed record")
        return "\n".join(lines)


def read() -> dict[str, dict[str, int | str]]:
    """The recorded tables by name, such as `cost.numba`."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    groups = {group: tables for group, tables in content.items() if group != "versions"}
    tables = {f"{group}.{name}": table for group, found in groups.items() for name, table in found.items()}
    return {"versions": content["versions"], **tables}


def write(tables: Mapping[str, Mapping[str, int | str]]) -> None:
    """Write the file."""
    parts = [HEAD]
    for table, figures in tables.items():
        parts.append(f"[{table}]")
        parts += [
            f"{name} = {figure}" if isinstance(figure, int) else f'{name} = "{figure}"'
            for name, figure in figures.items()
        ]
        parts.append("")
    FILE.write_text("\n".join(parts), encoding="utf-8")


def installed() -> dict[str, str]:
    """The versions, here, of what the counts depend on."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package).partition("+")[0]
        except PackageNotFoundError:
            continue
    return found
