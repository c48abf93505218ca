"""What the command of every paper does: check, read, load, compare, keep the atlases, write the page, print."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli.console import one_line, stderr
from headscope.cli.options import Common, treebank
from headscope.cli.session import ATLAS, MARKDOWN, REPORT, check_output, session
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope_papers.reproduce import Material, Reproduction

PAGES = {".html": REPORT, ".md": MARKDOWN}
"""What a page of each ending may replace."""


PARSED = ("treebank", "choose", "train", "dev", "test")
FILES = ("text", "pairs", "coreference", "roles", *PARSED)
"""The options that name files of texts."""


@dataclass(frozen=True)
class Comparison:
    """One run of such a command: which models with which paper, or with all of them, and where the result goes."""

    paper: str
    models: Sequence[str]
    files: Mapping[str, Sequence[Path]]
    """What is read, by the name of its option."""
    output: Path | None
    page: Path | None
    common: Common

    @property
    def is_atlas(self) -> bool:
        """Whether an atlas stands in the model's place."""
        return Path(self.models[0]).suffix == ".nc"

    @property
    def outputs(self) -> list[Path]:
        """Where atlases are kept: OUT.nc, OUT-against.nc, OUT-against-2.nc and so on."""
        if self.output is None:
            return []
        endings = ("", "-against", *(f"-against-{number}" for number in range(2, len(self.models))))
        return [
            self.output.with_stem(f"{self.output.stem}{ending}") for ending in endings[: len(self.models)]
        ]

    def check(self) -> None:
        """Refuse what cannot work, before anything slow begins."""
        inputs = [path for paths in self.files.values() for path in paths]
        first, *against = self.models
        if self.is_atlas and inputs:
            raise OptionError(
                f"{first} is an atlas, which holds results and no model, so {inputs[0].name} cannot be read with it; "
                "leave out the files, or give the model's name in place of the atlas"
            )
        for other in against:
            if self.is_atlas != (Path(other).suffix == ".nc"):
                raise OptionError(f"{first} and --against {other} must both be models, or both be .nc files")
        if self.paper != "all" and "text" in self.files and "pairs" in self.files:
            raise OptionError("give the texts either as --text FILE... or as --pairs FILE, one of the two")
        places = [*inputs, *(map(Path, self.models) if self.is_atlas else ())]
        for output in self.outputs:
            check_output(output, option="-o", kind=ATLAS, inputs=places)
            if output.is_file() and output.stat().st_size:
                raise OptionError(f"-o {output} already exists; choose a new name, or remove it first")
        if self.page is not None:
            if self.page.suffix not in PAGES:
                raise OptionError(f"--page {self.page} must end in {' or '.join(PAGES)}")
            check_output(self.page, option="--page", kind=PAGES[self.page.suffix], inputs=places)

    def material(self, tasks: Sequence[str], options: Mapping[str, Any]) -> "Material":
        """The data, read; each task with its files: one task takes them all, several take one each, in order."""
        # Loads torch, which is too slow for --help.
        from headscope_papers.reproduce.study import Material, TaskFiles

        files = list(self.files.get("data", ()))
        if bool(tasks) != bool(files):
            given, missing = ("--task", "--data FILE") if tasks else ("--data", "--task NAME")
            raise OptionError(f"{given} needs {missing} too")
        if options.get("examples") and not tasks and self.paper in ("kovaleva2019", "guan2020"):
            raise OptionError("--examples needs --task NAME and --data FILE")
        if len(tasks) > 1 and len(tasks) != len(files):
            raise OptionError(
                f"{len(tasks)} tasks ({', '.join(tasks)}), and --data names {', '.join(file.name for file in files)}; "
                "give each --task one --data FILE, in the same order"
            )
        shares = [tuple(files)] if len(tasks) == 1 else [(file,) for file in files]
        data: dict[str, Any] = {
            name: treebank(list(paths), None) if name in PARSED else getattr(hs, f"read_{name}")(*paths)
            for name, paths in self.files.items()
            if name in FILES
        }
        if self.paper != "all" and "pairs" in data:
            data["text"] = data.pop("pairs")
        reading = {**options, **self.common.probe_options}
        return Material(**data, tasks=list(map(TaskFiles, tasks, shares)), **reading)

    def results(self, data: "Material") -> "list[Reproduction]":
        """Every paper that was asked for beside the models."""
        from headscope_papers.reproduce.everything import PAPERS, reproduce_all

        load: Callable[[str], Any] = hs.open if self.is_atlas else self.common.load
        paper = next((paper for paper in PAPERS if paper.name == self.paper), None)
        if paper is not None and not self.is_atlas:
            paper.check(data)
        if paper is None and not self.is_atlas and data.is_empty:
            self.tell("no data given: reading the sample that comes with headscope")
        first, *others = map(load, self.models)
        if paper is not None:
            return [paper.reproduction(first, data, others)]
        return reproduce_all(
            first, against=others, material=data, tell=self.tell, **self.common.probe_options
        )

    def tell(self, step: str) -> None:
        """A line on standard error, where anything is shown."""
        if self.common.shown:
            stderr().print(one_line(step), soft_wrap=True)


def run(paper: str, model: str, *, common: Common, **options: Any) -> None:
    """Compare models, or atlases, with a paper or with all of them."""
    given = {name: options.pop(name, None) for name in (*FILES, "data")}
    files = {name: [paths] if isinstance(paths, Path) else paths for name, paths in given.items() if paths}
    models, tasks = [model, *(options.pop("against", None) or [])], options.pop("task", None) or []
    comparison = Comparison(paper, models, files, options.pop("output"), options.pop("page"), common)
    comparison.check()
    data = comparison.material(tasks, options)
    with session(common, comparison.output, checks=False, replaces=True) as house:
        results = comparison.results(data)
        fullest = max(results, key=lambda result: len(result.others))
        kept = dict(zip(comparison.outputs, (fullest.atlas, *fullest.others), strict=False))
        for path, atlas in kept.items():
            atlas.save(path)
        if comparison.page is not None:
            from headscope_papers.reproduce import write_page

            with house.status(f"writing {comparison.page}"):
                write_page(results, comparison.page)
    others, page = [*map(str, kept)][1:], comparison.page and str(comparison.page)
    # Loads torch, which is too slow for --help.
    from headscope_papers.cli.show import print_papers, print_reproduction

    def facts(results: "Sequence[Reproduction]") -> dict[str, Any]:
        told = {"papers": [result.facts() for result in results]} if paper == "all" else results[0].facts()
        return {"output_against": others, "page": page, **told}

    def show(answer: "Page", results: "Sequence[Reproduction]") -> None:
        if paper == "all":
            print_papers(answer, results)
        else:
            print_reproduction(answer, results[0])

    written = [f"{page}: all tables and figures; open it in a browser"] if page is not None else []
    if others:
        written.append(f"The atlases of --against are in {', '.join(others)}.")
    has_more = comparison.output is not None or not (written or comparison.is_atlas)
    house.tell(results, facts, show, then="report" if has_more else None, ending=written)
