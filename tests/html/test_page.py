"""Pages: nothing in a text is markup, and nothing but what is in the page may run."""

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html import unescape

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup
from tests.helpers.pages import embedded_data

from headscope.html import LARGE, classed, environment, page


def digest(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def test_the_policy_names_the_scripts_and_styles_by_their_hash() -> None:
    text = page(
        Markup('<p style="color:red">x</p>'),
        title="t",
        styles=["p { margin: 0 }"],
        scripts=["1 < 2;"],
        modules=["3;"],
    )
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert found
    policy = dict(part.strip().split(" ", 1) for part in unescape(found[1]).split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["script-src"].split() == [digest("1 < 2;"), digest("3;")]
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    assert policy["style-src"] == digest(style)
    assert style.endswith(":root .s0{color:red}")
    assert "<script>1 < 2;</script>" in text
    assert '<script type="module">3;</script>' in text


def test_without_scripts_none_may_run() -> None:
    assert "script-src &#39;none&#39;" in page(Markup(), title="t")


def test_titles_data_and_chunks_are_no_markup() -> None:
    evil = "</title><script>\n\N{RIGHT-TO-LEFT OVERRIDE}"
    text = page(Markup(), title=evil, data='"</script>"', chunks={'a"b': b"\0\1"})
    assert "<title>&lt;/title&gt;&lt;script&gt; \N{REPLACEMENT CHARACTER}</title>" in text
    assert '</script>"' not in text
    assert embedded_data(text) == "</script>"
    chunk = re.search(r'data-chunk="a&#34;b">([^<]*)<', text)
    assert chunk
    assert b64decode(chunk[1]) == b"\0\1"


def test_large_data_is_deflated() -> None:
    data = ["<large>"] * LARGE
    text = page(Markup(), title="t", data=json.dumps(data))
    assert len(text) < LARGE
    assert embedded_data(text) == data


def test_templates_escape_and_miss_nothing() -> None:
    template = environment("html").from_string("{{ value }}|{{ ready }}")
    assert template.render(value="<b>\n c ", ready=Markup("<b>\n")) == "&lt;b&gt; c |<b>\n"
    with pytest.raises(UndefinedError):
        template.render(value="")


def test_the_same_style_is_one_class() -> None:
    body, rules = classed(Markup('<p style="a:1">style="b:2"</p><g style="c:3"/><g style="a:1"/>'))
    assert body == '<p class="s0">style="b:2"</p><g class="s1"/><g class="s0"/>'
    assert rules == ":root .s0{a:1}\n:root .s1{c:3}"


def test_a_tag_has_one_class_only() -> None:
    with pytest.raises(ValueError, match="both a class and a style"):
        classed(Markup('<p class="x" style="a:1">'))
