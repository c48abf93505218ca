"""HTML for every page that headscope writes: templates, the frame of a page, and its content security policy.

The report, the papers' page, the single-file views and the explorer's page are made so:

- `environment(room)`: jinja2 templates of `headscope/<room>/templates`. Whatever is put into one is text: it is
  escaped, and characters that cannot be shown, or would turn the text around them, are replaced. What is HTML
  already is a `markupsafe.Markup`, as templates and macros give it.
- `page(body, title=..., styles=..., scripts=..., modules=..., data=..., chunks=...)`: a whole page that holds all
  it needs. Its policy allows nothing from elsewhere, and of what is here only these very scripts and styles, by their
  hash; style attributes of the body become classes for that.
- `SERVED_POLICY`: the header of a page that a server of ours gives, with the bundle and the API beside it.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Iterable, Mapping
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from headscope.facts.wording import printed
from headscope.versions import version_of

LARGE = 200_000
"""Characters of JSON from which on it is deflated."""
_BLANKS = re.compile(r"\s+")
_NOWHERE = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}


def _policy(sources: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {allowed}" for name, allowed in (_NOWHERE | dict(sources)).items())


SERVED_POLICY = _policy(
    {
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data: blob:",
        "frame-ancestors": "'none'",
    }
)


@cache
def environment(room: str) -> Environment:
    """The templates of `headscope/<room>/templates`, which may use those of this room too."""
    rooms = dict.fromkeys((room, "html"))
    return Environment(
        loader=ChoiceLoader([PackageLoader(f"headscope.{name}") for name in rooms]),
        autoescape=True,
        finalize=lambda value: shown(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def shown(text: str) -> str:
    """A text as every template shows it: in one line, and nothing in it turns the page around."""
    return printed(_BLANKS.sub(" ", text))


def page(
    body: Markup,
    *,
    title: str,
    styles: Iterable[str] = (),
    scripts: Iterable[str] = (),
    modules: Iterable[str] = (),
    data: str | None = None,
    chunks: Mapping[str, bytes] | None = None,
) -> str:
    """A self-contained page.

    `styles`, `scripts` and `modules` are CSS and JavaScript; `data` is JSON, and `chunks` are raw-deflated bytes by
    key, both for the scripts.
    """
    body, rules = classed(body)
    style = "\n".join([*styles, rules]).rstrip()
    scripts, modules = tuple(scripts), tuple(modules)
    data_type, stored = _stored(data)
    policy = _policy(
        {
            "script-src": " ".join(map(_hashed, (*scripts, *modules))) or "'none'",
            "style-src": _hashed(style),
            "img-src": "data:",
        }
    )
    return (
        environment("html")
        .get_template("frame.html")
        .render(
            version=version_of("headscope"),
            policy=policy,
            title=title,
            style=Markup(style),
            body=body,
            data_type=data_type,
            data=stored,
            chunks={key: _base64(chunk) for key, chunk in (chunks or {}).items()},
            scripts=map(Markup, scripts),
            modules=map(Markup, modules),
        )
    )


def _stored(data: str | None) -> tuple[str, Markup | None]:
    """JSON as the front end reads it, and its type: as it is, or, where it is large, as chunks are."""
    if data is None or len(data) < LARGE:
        return "application/json", None if data is None else Markup(data.replace("<", "\\u003c"))
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)  # 9 takes three times as long for 2 % less
    return "text/plain", _base64(packer.compress(data.encode()) + packer.flush())


def _base64(data: bytes) -> Markup:
    return Markup(base64.b64encode(data).decode())


def _hashed(content: str) -> str:
    """As a policy names what may run or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


_TAG = re.compile(r"<[a-z][^>]*>")
_STYLE = re.compile(r' style="([^"]*)"')


def classed(html: Markup) -> tuple[Markup, str]:
    """HTML with classes in the place of style attributes, and the rules of these classes."""
    names: dict[str, str] = {}

    def name(style: re.Match[str]) -> str:
        return f' class="{names.setdefault(style[1], f"s{len(names)}")}"'

    def tidied(tag: re.Match[str]) -> str:
        if ' class="' in tag[0] and ' style="' in tag[0]:
            raise ValueError(f"a tag has both a class and a style: {tag[0][:80]}")
        return _STYLE.sub(name, tag[0])

    body = Markup(_TAG.sub(tidied, html))
    return body, "\n".join(f":root .{number}{{{style}}}" for style, number in names.items())
