import pytest

from headscope.cli.usage import repeat_flags


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        ("demo --text a b -o x", "demo --text a --text b -o x"),
        ("demo --text a --text b c", "demo --text a --text b --text c"),
        ("demo --text a -o x b", "demo --text a -o x b"),
        ("demo --text", "demo --text"),
        ("demo --text - b", "demo --text - --text b"),
        ("demo --text a -- b", "demo --text a -- b"),
        ("demo --text=a b", "demo --text=a b"),
        ("demo -o x", "demo -o x"),
    ],
)
def test_every_value_gets_its_own_flag(typed: str, spelled: str) -> None:
    assert repeat_flags(typed.split(), {"--text"}) == spelled.split()
