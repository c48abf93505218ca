"""The study of the demo model that `make demo` makes, each step as one would type it.

All in one process: to load torch and transformers takes longer than most of the steps.
"""

import shlex
import sys
from pathlib import Path

from headscope.cli.main import run

DATA = "src/headscope/data"
TEXT = f"{DATA}/articles.txt"
ATLAS = "demo/demo.nc"
COMMANDS = (
    f"analyze demo --text {TEXT} --distances exact -o {ATLAS}",
    f"probe dependency demo --treebank {DATA}/treebank.conllu -o {ATLAS}",
    f"probe coreference demo --data {DATA}/treebank.conllu -o {ATLAS}",
    f"probe relations demo --data {DATA}/roles.jsonl -o {ATLAS}",
    f"probe features demo --treebank {DATA}/treebank.conllu -o {ATLAS}",
    f"patterns demo --text {TEXT} --limit 40 -o {ATLAS}",
    f"types {ATLAS}",
    f"importance demo --task mlm --data {TEXT} --limit 40 -o {ATLAS}",
    f"ablate demo --task mlm --data {TEXT} --sweep heads --limit 48 -o {ATLAS}",
    f"ablate demo --task mlm --data {TEXT} --sweep layers --limit 40 -o {ATLAS}",
    f"explain demo --head 0.2 2.5 2.6 3.0 7.4 --text {TEXT} --limit 12 -o {ATLAS}",
    f"report {ATLAS} -o demo/report.html",
)


def main() -> None:
    """Run every command; the first that fails ends it, with its own exit code."""
    Path(ATLAS).parent.mkdir(exist_ok=True)
    for command in COMMANDS:
        print(f"headscope {command}", flush=True)
        sys.argv = ["headscope", *shlex.split(command)]
        try:
            run()
        except SystemExit as end:
            if end.code:
                raise
    print("The report:  demo/report.html  (open it in a browser)")
    print(f"The atlas:   {ATLAS}      (look at it with: .venv/bin/headscope show {ATLAS})")


if __name__ == "__main__":
    main()
