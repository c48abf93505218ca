"""Style attributes become classes."""

import pytest

from headscope.report.styles import classed


def test_the_same_style_is_one_class() -> None:
    body, rules = classed('<p style="a:1">style="b:2"</p><g style="c:3"/><g style="a:1"/>')
    assert body == '<p class="s0">style="b:2"</p><g class="s1"/><g class="s0"/>'
    assert rules == ".told .s0{a:1}\n.told .s1{c:3}"


def test_a_tag_has_one_class_only() -> None:
    with pytest.raises(ValueError, match="both a class and a style"):
        classed('<p class="x" style="a:1">')
