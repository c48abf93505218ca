"""What the command for every paper does: check, load, compare, keep the atlas, print."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import headscope as hs
from headscope.cli.console import envelope, only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.options import ATLAS, MARKDOWN, REPORT, Common, check_output
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction

PAGES = {".html": REPORT, ".md": MARKDOWN}
"""What a page of each ending may replace."""


@dataclass(frozen=True)
class Session:
    """One run of such a command."""

    model: str
    output: Path | None
    inputs: Sequence[Path]
    common: Common
    against: Sequence[str] = ()
    """The models that the first one is compared with."""
    page: Path | None = None
    """Where tables and drawings are written."""

    def run(self, compare: Callable[..., "Reproduction"]) -> None:
        """Compare with the paper and print the result; `compare` is given the model and those against it."""
        with only_own_notes(debug=self.common.debug) as notes:
            read = hs.open if self.is_atlas else self.common.load
            result = compare(*(read(name) for name in (self.model, *self.against)))
            kept = []
            for path, atlas in zip(self.outputs, (result.atlas, *result.others), strict=False):
                atlas.save(path)
                kept.append(str(path))
            self.write_page([result])
        if self.common.json:
            first = kept[0] if kept else None
            told = {"output": first, "output_against": kept[1:]} if self.against else {"output": first}
            page = None if self.page is None else str(self.page)
            print_json(envelope(self.common.command, {**told, "page": page, **result.facts()}, notes=notes))
        elif self.common.shown:
            # Loads torch, which is too slow for --help.
            from headscope.cli.commands.reproduce.show import print_reproduction

            print_notes(notes)
            print_reproduction(stdout(), result)
            if kept:
                stdout().print(
                    f"\nour figures are kept in {_listed(kept)}; next: headscope report {kept[0]}",
                    soft_wrap=True,
                )
            if self.page is not None:
                stdout().print(f"{self.page}: the same as a page", soft_wrap=True)

    def write_page(self, results: "Sequence[Reproduction]") -> None:
        """Write the page, where one is wanted."""
        if self.page is None:
            return
        # Loads torch, which is too slow for --help.
        from headscope.reproduce import write_page

        with status(f"writing {self.page}", shown=self.common.shown):
            write_page(results, self.page)

    @property
    def outputs(self) -> list[Path]:
        """Where atlases are kept: OUT.nc, OUT-against.nc, OUT-against-2.nc and so on."""
        if self.output is None:
            return []
        stem = self.output.stem
        endings = [
            f"-against{'' if number == 1 else f'-{number}'}" for number in range(1, len(self.against) + 1)
        ]
        return [self.output, *(self.output.with_stem(f"{stem}{ending}") for ending in endings)]

    @property
    def is_atlas(self) -> bool:
        """Whether an atlas stands in the model's place."""
        return Path(self.model).suffix == ".nc"

    def check(self) -> None:
        """Refuse what cannot work, before anything slow begins."""
        if self.is_atlas and self.inputs:
            raise OptionError(
                f"{self.model} is an atlas, which holds results and no model, so {self.inputs[0].name} cannot be read "
                "with it; leave out the files, or give the model's name in place of the atlas"
            )
        if not self.is_atlas and not self.inputs:
            raise OptionError(
                "there is nothing to measure heads on; give --text FILE, or an atlas in place of MODEL"
            )
        self.check_outputs()

    def check_against(self) -> None:
        """Refuse a mixture of models and atlases."""
        for other in self.against:
            if self.is_atlas != (Path(other).suffix == ".nc"):
                raise OptionError(
                    f"{self.model} and --against {other} must both be models, or both be .nc files"
                )

    def check_outputs(self) -> None:
        """Refuse places that cannot be written."""
        self.check_against()
        places = [*self.inputs, *(map(Path, (self.model, *self.against)) if self.is_atlas else ())]
        for output in self.outputs:
            check_output(output, option="-o", kind=ATLAS, inputs=places)
            if output.is_file() and output.stat().st_size:
                raise OptionError(f"-o {output} is there already; choose a new name, or remove it first")
        if self.page is not None:
            if self.page.suffix not in PAGES:
                raise OptionError(f"--page {self.page} must end in {' or '.join(PAGES)}")
            check_output(self.page, option="--page", kind=PAGES[self.page.suffix], inputs=places)


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
