"""The page around what is told: its head, styles and policy, the same for every page that headscope writes."""

from importlib.metadata import version
from importlib.resources import files
from string import Template

from headscope.report.interactive import Interactive, hashed
from headscope.report.pictures import ramp_styles
from headscope.report.render import written

_NOT_LIVE = Interactive()


def framed(
    *,
    brand: str,
    title: str,
    lead: str,
    ways: str,
    facts: str,
    found: str,
    contents: str,
    body: str,
    rules: str,
    live: Interactive = _NOT_LIVE,
) -> str:
    """A whole page; `ways`, `facts`, `found`, `contents` and `body` are HTML, the other texts are escaped here.

    `rules` are the styles of the body's classes, as `classed` gives them.
    """
    styles = "\n".join([style(), rules, live.style])
    return Template(_resource("page.html")).substitute(
        version=written(version("headscope")),
        brand=written(brand),
        title=written(title),
        policy=_policy(styles, live),
        style=styles,
        heading=written(title),
        lead=written(lead),
        ways=ways,
        facts=facts,
        found=found,
        explorer=live.section,
        contents=contents,
        body=body,
        footer=written(
            f"Made by headscope {version('headscope')}. This file holds all it needs, asks nothing of any network and "
            "sends nothing anywhere."
        ),
        scripts=live.scripts,
    )


def link(target: str, text: str) -> str:
    """A link to a place on the same page."""
    return f'<a href="#{written(target)}">{written(text)}</a>'


def style() -> str:
    """The page's own; dark where the reader's system is, or where the atlas was switched to it."""
    dark = f"color-scheme: dark; {_resource('page-dark.css')} {ramp_styles(dark=True)}"
    return "\n".join(
        [
            _resource("page.css"),
            f":root {{ {ramp_styles(dark=False)} }}",
            ':root[data-theme="light"] { color-scheme: light; }',
            f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}',
            f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}',
        ]
    )


def _policy(styles: str, live: Interactive) -> str:
    """Nothing from elsewhere, and of what is here only these very scripts and styles."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(live.sources)}" if live.sources else "script-src 'none'",
            f"style-src {hashed(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _resource(name: str) -> str:
    return files("headscope.report").joinpath(name).read_text(encoding="utf-8")
