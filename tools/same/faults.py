"""Does `make same` see a fault? Six small ones, put into a copy one at a time; each must change what is recorded.

They are of the kinds that a rebuild most easily brings in, and that no error tells of.
"""

import os
import subprocess
import sys
from pathlib import Path

from tools.mutants.catalogue import read
from tools.mutants.trees import private_copy

FAULTS = {
    "a sign": ("compare-change-reversed", "demo-pairs"),
    "an offset that is off by one": ("detect-induction-one-off", "demo-lm"),
    "a swapped direction": ("pointing-directions-swapped", "tiny-gpt2"),
    "a lost control": ("relations-control-not-subtracted", "demo"),
    "a verdict corrected over one stack in place of all": ("ablation-corrected-over-one-stack", "tiny-t5"),
    "the last layer's values for all layers": ("measures-last-layer-for-all", "tiny-llama"),
}
"""By kind, the mutant (tools/mutants/mutants.toml) and the study that is run for it."""


def unnoticed() -> list[str]:
    """The kinds of fault after which the study of their own was still the same; says of each how it was noticed."""
    mutants = {mutant.id: mutant for mutant in read()}
    missed = []
    with private_copy() as tree:
        for kind, (id, study) in FAULTS.items():
            mutant = mutants[id]
            text = (tree.root / mutant.file).read_text(encoding="utf-8")
            with tree.changed(mutant.file, mutant.applied(text)):
                status, output = checked(tree.root, study)
            print(f"{kind} ({mutant.file}): {'NOT NOTICED' if status == 0 else 'noticed'}", flush=True)
            print(output, end="", flush=True)
            if status == 0:
                missed.append(kind)
    return missed


def checked(root: Path, study: str) -> tuple[int, str]:
    """The status of `make same` for one study in a copy, and what it printed."""
    command = [sys.executable, "-m", "tools.same", "--study", study]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=environment, check=False, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout
