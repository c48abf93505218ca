"""Write web/src/data/api.ts, the front end's types, from the server's description (OpenAPI); or check that it is fresh.

Usage: python tools/web_types.py [--check]
"""

import sys
from pathlib import Path
from typing import Any

from headscope.server import Catalogue, create_app

TARGET = Path(__file__).parents[1] / "web" / "src" / "data" / "api.ts"
HEADER = """/**
 * The data interface, as headscope.pages.shapes defines it.
 *
 * Made by tools/web_types.py from the server's OpenAPI description; do not edit.
 */
"""
PRIMITIVES = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}

Schema = dict[str, Any]


def main() -> int:
    """Write the file, or with --check only compare; 1 when it is stale."""
    made = typescript(create_app(Catalogue([]), token="", hosts=[]).openapi())
    if "--check" not in sys.argv[1:]:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(made, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == made:
        return 0
    print(
        "web/src/data/api.ts is stale: run `python tools/web_types.py` and commit what it writes",
        file=sys.stderr,
    )
    return 1


def typescript(description: Schema) -> str:
    """An interface for every shape, by name."""
    shapes: dict[str, Schema] = description["components"]["schemas"]
    return HEADER + "".join(f"\n{interface(name, shapes[name])}" for name in sorted(shapes))


def interface(name: str, schema: Schema) -> str:
    """One shape; what has a default may be left out."""
    required = set(schema.get("required", ()))
    lines = [f"export interface {name} {{"]
    for field, kind in schema.get("properties", {}).items():
        mark = "" if field in required else "?"
        lines.append(f"  {field}{mark}: {type_of(kind)};")
    return f"{comment(schema)}{chr(10).join(lines)}\n}}\n"


def comment(schema: Schema) -> str:
    """What the shape's docstring says."""
    told = str(schema.get("description", "")).replace("*/", "* /").strip()
    if not told:
        return ""
    lines = [line.strip() for line in told.splitlines()]
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def type_of(schema: Schema) -> str:
    """The TypeScript type of a JSON schema; raises KeyError for what no shape of ours has."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        return " | ".join(map(quoted, schema.get("enum") or [schema["const"]]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(type_of, schema["anyOf"])))
    if schema["type"] == "object":
        return f"Record<string, {type_of(schema['additionalProperties'])}>"
    return array_of(schema) if schema["type"] == "array" else PRIMITIVES[schema["type"]]


def array_of(schema: Schema) -> str:
    """A list of anything, or so many things of given types."""
    if "prefixItems" in schema:
        return f"[{', '.join(map(type_of, schema['prefixItems']))}]"
    inner = type_of(schema["items"])
    return f"({inner})[]" if " | " in inner and not inner.startswith(("[", "Record<")) else f"{inner}[]"


def quoted(value: object) -> str:
    """A literal."""
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


if __name__ == "__main__":
    sys.exit(main())
