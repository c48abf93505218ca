"""What the command for every paper does: check, load, compare, keep the atlas, print."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, stdout
from headscope.cli.options import ATLAS, check_output
from headscope.cli.probe.common import Common
from headscope.cli.reproduce.show import print_reproduction
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.reproduce import Reproduction


@dataclass(frozen=True)
class Session:
    """One run of such a command."""

    model: str
    output: Path | None
    inputs: Sequence[Path]
    common: Common

    def run(self, compare: Callable[["hs.Model | hs.Atlas"], "Reproduction"]) -> None:
        """Compare with the paper and print the result."""
        with only_own_notes(debug=self.common.debug) as notes:
            result = compare(hs.open(self.model) if self.is_atlas else self.common.load(self.model))
            if self.output is not None:
                result.atlas.save(self.output)
        kept = None if self.output is None else str(self.output)
        if self.common.json:
            print_json({"output": kept, **result.facts(), "warnings": notes})
        elif self.common.shown:
            print_notes(notes)
            print_reproduction(stdout(), result)
            if kept is not None:
                stdout().print(
                    f"\nour figures are kept in {kept}; next: headscope report {kept}", soft_wrap=True
                )

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
        if self.output is None:
            return
        places = [*self.inputs, *([Path(self.model)] if self.is_atlas else [])]
        check_output(self.output, option="-o", kind=ATLAS, inputs=places)
        if self.output.is_file() and self.output.stat().st_size:
            raise OptionError(f"-o {self.output} is there already; choose a new name, or remove it first")
