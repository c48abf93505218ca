"""Count what a run costs, and compare it with recorded.toml or write it there.

python -m tests.speed                    what differs from the record; exits with 1 if anything does
python -m tests.speed record             record what fell; refuses what rose or changed
python -m tests.speed record --accept    record that too: the commit says why
python -m tests.speed path               the functions between `headscope analyze` and Measure.update, and the kernel
    --no-kernels                         the same where the model's own function computes attention
"""

import argparse
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["TRITON_INTERPRET"] = "1"  # before anything imports triton

from tests.speed import record
from tests.speed.paths import of_analyze


def main() -> int:
    """Read the options and do as they say."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", nargs="?", choices=("check", "record", "path"), default="check")
    parser.add_argument("--accept", action="store_true", help="record what rose or changed too")
    parser.add_argument("--no-kernels", action="store_true", help="the path without kernels")
    options = parser.parse_args()
    if options.action == "path":
        print_paths(["--no-kernels"] if options.no_kernels else [])
        return 0
    return compare(write=options.action == "record", accept=options.accept)


def compare(*, write: bool, accept: bool) -> int:
    """Print how what is counted now differs from the record; 1 if it differs and is not written."""
    recorded = record.read() if record.FILE.exists() else {}
    counted: dict[str, record.Figures] = {"versions": {**record.installed()}}
    for table, count in record.COUNTED.items():
        counted[table] = count()
        print(f"counted {table}", file=sys.stderr, flush=True)
    found = record.Difference()
    for table in {**recorded, **counted}:
        found.add(record.Difference.between(table, recorded.get(table, {}), counted.get(table, {})))
    print(found if str(found) else "All as recorded.")
    if write and (accept or not found.is_worse):
        record.write(counted)
        print(f"Recorded in {record.FILE.name}.")
        return 0
    return int(bool(str(found)))


def print_paths(options: list[str]) -> None:
    """The functions on the way to `Measure.update`, and to the kernel where there is one."""
    recorder = of_analyze(*options)
    print(f"To Measure.update:\n{recorder.to_update}")
    if recorder.to_kernel.steps:
        print(f"\nTo the kernel:\n{recorder.to_kernel}")


if __name__ == "__main__":
    sys.exit(main())
