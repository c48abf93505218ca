import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "web_types.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("web_types", TOOL)
    assert found is not None
    module = importlib.util.module_from_spec(found)
    assert found.loader is not None
    found.loader.exec_module(module)
    return module


def test_the_front_ends_types_are_up_to_date(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["web_types.py", "--check"])
    assert (tool.main(), capsys.readouterr().err) == (0, "")


def test_stale_types_are_noticed(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "web" / "api.ts"
    monkeypatch.setattr(tool, "TARGET", target)
    monkeypatch.setattr(sys, "argv", ["web_types.py", "--check"])
    assert tool.main() == 1
    assert "stale" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["web_types.py"])
    assert tool.main() == 0
    monkeypatch.setattr(sys, "argv", ["web_types.py", "--check"])
    assert tool.main() == 0
    target.write_text(target.read_text() + "by hand\n")
    assert tool.main() == 1


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "number"),
        ({"$ref": "#/components/schemas/Seen"}, "Seen"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}}, "(number | null)[]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "number[][]"),
        ({"enum": ["a", "b"], "type": "string"}, '"a" | "b"'),
        ({"const": "a", "type": "string"}, '"a"'),
        ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}, "[number, string]"),
        (
            {"type": "array", "items": {"type": "array", "prefixItems": [{"type": "number"}] * 2}},
            "[number, number][]",
        ),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "Record<string, boolean>"),
    ],
)
def test_types(tool: ModuleType, schema: dict, expected: str) -> None:
    assert tool.type_of(schema) == expected


def test_what_has_a_default_may_be_left_out(tool: ModuleType) -> None:
    shape = {"properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]}
    described = {"components": {"schemas": {"Tell": shape | {"description": "One */ two."}}}}
    expected = "/** One * / two. */\nexport interface Tell {\n  a: string;\n  b?: number;\n}"
    assert expected in tool.typescript(described)
