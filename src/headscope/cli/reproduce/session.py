"""What the command for every paper does: check, load, compare, keep the atlas, print."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import headscope as hs
from headscope.cli.console import envelope, only_own_notes, print_json, print_notes, stdout
from headscope.cli.options import ATLAS, Common, check_output
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
    second: Path | None = None
    """Where a second model's atlas is kept, for a paper that compares two."""

    def run(self, compare: Callable[["hs.Model | hs.Atlas"], "Reproduction"]) -> None:
        """Compare with the paper and print the result."""
        with only_own_notes(debug=self.common.debug) as notes:
            result = compare(hs.open(self.model) if self.is_atlas else self.common.load(self.model))
            if self.output is not None:
                result.atlas.save(self.output)
            against = result.against
            if self.second is not None and against is not None:
                against.save(self.second)
        kept = None if self.output is None else str(self.output)
        also = None if self.second is None or against is None else str(self.second)
        if self.common.json:
            told = {"output": kept} if self.second is None else {"output": kept, "output_against": also}
            print_json(envelope(self.common.command, {**told, **result.facts()}, notes=notes))
        elif self.common.shown:
            print_notes(notes)
            print_reproduction(stdout(), result)
            if kept is not None:
                both = kept if also is None else f"{kept} and {also}"
                stdout().print(
                    f"\nour figures are kept in {both}; next: headscope report {kept}", soft_wrap=True
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
        places = [*self.inputs, *([Path(self.model)] if self.is_atlas else [])]
        for output in filter(None, (self.output, self.second)):
            check_output(output, option="-o", kind=ATLAS, inputs=places)
            if output.is_file() and output.stat().st_size:
                raise OptionError(f"-o {output} is there already; choose a new name, or remove it first")


def check_task(task: str | None, data: Sequence[Path] | None, examples: int | None) -> None:
    """Refuse a task without data, and the other way round."""
    if bool(task) != bool(data):
        given, missing = ("--task", "--data FILE") if task else ("--data", "--task NAME")
        raise OptionError(f"{given} needs {missing} too")
    if examples is not None and not task:
        raise OptionError("--examples needs --task NAME and --data FILE")
