"""`make models`: put every model type that reads text through headscope, and write docs/models-table.md.

python -m tools.models                 all types, and the table
python -m tools.models bert t5 …       some types, told on the screen
python -m tools.models --json FILE     all rows with what was said, as JSON
"""

import argparse
import json
import sys
from pathlib import Path

from tools.models.build import text_types
from tools.models.run import swept
from tools.models.table import counts, written


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="Try every model type of transformers that reads text.")
    parser.add_argument("types", nargs="*", help="model types (all)")
    parser.add_argument("--json", type=Path, help="write all that was said here")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--seconds", type=int, default=60, help="the most that one type may take (60)")
    options = parser.parse_args()
    rows = []
    for row in swept(options.types or text_types(), jobs=options.jobs, seconds=options.seconds):
        rows.append(row)
        if options.types:
            print(json.dumps(row.as_dict(), indent=1))
        else:
            print(f"\r{len(rows)} {row.type:40}", end="", file=sys.stderr, flush=True)
    rows.sort(key=lambda row: row.type)
    if not options.types:
        written(rows)
        print(f"\n{counts(rows)}")
    if options.json:
        options.json.write_text(json.dumps([row.as_dict() for row in rows], indent=1))


if __name__ == "__main__":
    main()
