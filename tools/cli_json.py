"""Write docs/cli-json.md from docs/cli-json.schema.json, or check that it is up to date.

python tools/cli_json.py            # write it
python tools/cli_json.py --check    # exit 1 when the page is stale
"""

import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
SCHEMA, PAGE = DOCS / "cli-json.schema.json", DOCS / "cli-json.md"

INTRODUCTION = """\
# JSON of the command line

<!-- Written by tools/cli_json.py from cli-json.schema.json; change that, not this page. -->

With `--json` every command prints one JSON object on standard output and nothing else. Numbers that JSON has no word
for (nan) are null. [cli-json.schema.json](cli-json.schema.json) is the JSON Schema (draft 2020-12) of all that is
below, and a test holds every command against it. Keys may be added in later versions; none is removed or changed
without a line in the changelog.

Every command that did its job prints these keys first, then its own:

{envelope}
A command that failed prints these, and the same message on standard error:

{failure}
## Keys of each command
"""


def page() -> str:
    """The whole page."""
    commands = dict(json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"])
    envelope, failure = (_table(commands.pop(name)) for name in ("envelope", "failure"))
    sections = [
        f"### {', '.join(part['properties']['command']['enum'])}\n\n{_table(part)}"
        for part in commands.values()
    ]
    return "\n".join([INTRODUCTION.format(envelope=envelope, failure=failure), *sections])


def _table(part: dict[str, Any]) -> str:
    lines = ["| key | type | what it is |", "|---|---|---|"]
    for key, value in part["properties"].items():
        if "enum" not in value:  # which is the command's name
            left_out = "" if key in part["required"] else " (not always there)"
            lines.append(f"| `{key}` | {_type(value)} | {value['description']}{left_out} |")
    return "\n".join(lines) + "\n"


def _type(value: dict[str, Any]) -> str:
    types = value["type"] if isinstance(value["type"], list) else [value["type"]]
    if "items" in value:
        inner = value["items"]
        types = [f"array of {_type(inner)}{'' if 'items' in inner else 's'}"]
    return " or ".join(types)


def main() -> int:
    """Write or check the page."""
    wanted = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != wanted:
        print("docs/cli-json.md is stale; write it again with: python tools/cli_json.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
