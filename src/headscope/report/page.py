"""The report: one HTML file with everything in it, made to be read, mailed and printed."""

import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any

from headscope.atlas import Atlas, replacing
from headscope.report.finding import Finding, Subject
from headscope.report.gather import findings
from headscope.report.pictures import Picture, ramp_styles
from headscope.report.sections import Section, Table, sections
from headscope.report.wording import count

STACK_TITLES = {
    "encoder": "Encoder",
    "decoder": "Decoder",
    "cross": "Cross attention, from what is written to what was read",
}


def write_report(atlas: Atlas, path: str | os.PathLike[str]) -> Path:
    """Write one self-contained HTML file; it appears under its name only when it is whole."""
    target = Path(path)
    content = render(atlas)
    with replacing(target) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return target


def render(atlas: Atlas) -> str:
    """The page as HTML; every name that comes from outside is escaped."""
    facts = atlas.provenance
    model = str(facts.get("model", "a model"))
    parts = [(stack, list(sections(Subject(atlas, stack)))) for stack in atlas.stacks]
    several = len(parts) > 1
    return Template(_resource("page.html")).substitute(
        version=escape(version("headscope")),
        title=escape(f"Attention heads of {model}"),
        style=_style(),
        heading=f"Attention heads of {escape(model)}",
        lead=escape(_lead(atlas)),
        facts=_facts(atlas),
        contents=_contents(parts, several=several),
        body="\n".join(
            [
                _found(atlas, several=several),
                *(_stack(atlas, stack, found, several=several) for stack, found in parts),
                _method(atlas),
                _provenance(facts),
            ]
        ),
        footer=escape(
            f"Made by headscope {version('headscope')}. This file needs no network and runs no script."
        ),
    )


def _style() -> str:
    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {ramp_styles(dark=True)} }} }}"
    return f"{_resource('page.css')}\n:root {{ {ramp_styles(dark=False)} }}\n{dark}"


def _resource(name: str) -> str:
    return files("headscope.report").joinpath(name).read_text(encoding="utf-8")


def _shape(atlas: Atlas, stack: str) -> str:
    shape = atlas.shape(stack)
    if shape is not None:
        return f"{count(shape[0], 'layer')} × {count(shape[1], 'head')}"
    return count(
        max((array.sizes.get("head_a", 0) for array in atlas.stack(stack).values()), default=0), "head"
    )


def _lead(atlas: Atlas) -> str:
    facts = atlas.provenance
    shapes = "; ".join(
        f"{stack}: {_shape(atlas, stack)}" if len(atlas.stacks) > 1 else _shape(atlas, stack)
        for stack in atlas.stacks
    )
    return f"What each attention head looked at ({shapes}) while the model read {_texts(facts)}."


def _texts(facts: dict[str, Any]) -> str:
    if "texts" not in facts:
        return "the texts"
    tokens = f" ({count(int(facts['tokens']), 'token')})" if "tokens" in facts else ""
    documents = f"{count(int(facts['documents']), 'document')} of " if "documents" in facts else ""
    return f"{count(int(facts['texts']), 'text')}{tokens} from {documents}{facts.get('corpus') or 'a corpus'}"


def _facts(atlas: Atlas) -> str:
    facts = atlas.provenance
    options = facts.get("options")
    options = options if isinstance(options, dict) else {}
    form = "published, quirks included" if options.get("faithful") else "corrected"
    shown = {
        "Model": facts.get("model"),
        "Architecture": facts.get("architecture"),
        "Texts from": facts.get("corpus"),
        "Texts cut at": f"{options['max_length']} tokens" if "max_length" in options else None,
        "Form": form if options else None,
        "Made": str(facts.get("created", ""))[:10] or None,
    }
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(str(value))}</dd></div>"
        for name, value in shown.items()
        if value
    )
    return f'<dl class="facts">{rows}</dl>'


def _contents(parts: Sequence[tuple[str, list[Section]]], *, several: bool) -> str:
    entries = [_link("found", "What was found")]
    for stack, found in parts:
        links = [_link(f"{stack}-{section.key}", section.title.split(":")[0]) for section in found]
        if several:
            inner = "".join(f"<li>{link}</li>" for link in links)
            entries.append(f"{_link(stack, STACK_TITLES.get(stack, stack).split(',')[0])}<ul>{inner}</ul>")
        else:
            entries += links
    entries += [_link("method", "Method and limits"), _link("provenance", "Where the numbers come from")]
    return f"<ul>{''.join(f'<li>{entry}</li>' for entry in entries)}</ul>"


def _link(target: str, text: str) -> str:
    return f'<a href="#{escape(target)}">{escape(text)}</a>'


def _found(atlas: Atlas, *, several: bool) -> str:
    found = findings(atlas)
    intro = (
        f"Heads are written layer.head, both counted from 0. All numbers are means over "
        f"{_texts(atlas.provenance)}; ± is the standard error over texts. Each head named here was picked "
        "because its number is the largest or smallest on these same texts, which flatters it a little."
    )
    parts = [f'<section aria-labelledby="found"><h2 id="found">What was found</h2><p>{escape(intro)}</p>']
    if not found:
        parts.append("<p>The atlas has no measure that findings are drawn from.</p>")
    for stack, group in groupby(found, key=lambda finding: finding.stack):
        if several:
            parts.append(f"<h3>{escape(STACK_TITLES.get(stack, stack))}</h3>")
        parts.append(f'<div class="found">{_cards(group, level=4 if several else 3)}</div>')
    return "".join(parts) + "</section>"


def _cards(found: Iterable[Finding], *, level: int) -> str:
    cards = []
    for topic, group in groupby(found, key=lambda finding: finding.topic):
        items = "".join(f"<li>{_kept_together(finding.text)}</li>" for finding in group)
        cards.append(f'<div class="card"><h{level}>{escape(topic)}</h{level}><ul>{items}</ul></div>')
    return "".join(cards)


def _kept_together(text: str) -> str:
    """Escaped, with a number and its error on one line."""
    return (
        escape(text)
        .replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
        .replace("(± ", "(±\N{NO-BREAK SPACE}")
    )


def _stack(atlas: Atlas, stack: str, found: Sequence[Section], *, several: bool) -> str:
    if not several:
        return "\n".join(_section(stack, section, level=2) for section in found)
    title = f"{STACK_TITLES.get(stack, stack)}: {_shape(atlas, stack)}"
    inner = "\n".join(_section(stack, section, level=3) for section in found)
    name = escape(stack)
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(title)}</h2>{inner}</section>'


def _section(stack: str, section: Section, *, level: int) -> str:
    key = escape(f"{stack}-{section.key}")
    pictures = "".join(_figure(one, level=level + 1) for one in section.pictures)
    return "".join(
        [
            f'<section aria-labelledby="{key}"><h{level} id="{key}">{escape(section.title)}</h{level}>',
            f"<p>{escape(section.introduction)}</p>",
            *(_table(table) for table in section.tables),
            f'<div class="pictures">{pictures}</div>' if pictures else "",
            *(f"<p>{escape(note)}</p>" for note in section.notes),
            "</section>",
        ]
    )


def _figure(one: Picture, *, level: int) -> str:
    kind = ' class="wide"' if one.is_wide else ""
    return (
        f"<figure{kind}><h{level}>{escape(one.title)}</h{level}>"
        f'<div class="scroll">{one.svg}</div><figcaption>{_kept_together(one.caption)}</figcaption></figure>'
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    rows = "".join(_row(*row) for row in table.rows)
    return (
        f'<div class="scroll"><table><caption>{escape(table.caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(heading: str, *cells: str) -> str:
    written = "".join(f"<td>{_kept_together(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(heading)}</th>{written}</tr>'


def _method(atlas: Atlas) -> str:
    options = atlas.provenance.get("options")
    faithful = isinstance(options, dict) and options.get("faithful")
    cut = int(atlas.provenance.get("texts_cut") or 0)
    notes = [
        "Attention is what query token i gives key token j, after the softmax, while the unchanged model "
        "ran in evaluation mode. Special tokens count as tokens; padding never does.",
        "A number is first the mean over a text's queries, then over texts, so every text weighs the same. "
        "The standard error is over texts.",
        "Attention says where a head looks, not what it passes on, nor whether the model needs it. A head "
        "with little attention on a token may still matter, and the other way round.",
        "All of this holds for these texts. Other texts, languages or lengths can give other numbers, and "
        "the heads named as extremes are extremes on this sample.",
        "Every map has its own colour scale; the bar below it says which. Do not compare colours between "
        "maps without looking at the bars.",
        "The head map is metric multidimensional scaling of the distances, the best of several starts "
        "with a fixed seed.",
    ]
    if faithful:
        notes.append(
            "The published forms were asked for (faithful): entropy and distances are computed from "
            "smoothed attention, and distances are summed over queries, so that they have no standard "
            "error and long texts weigh more."
        )
    if cut:
        notes.append(f"{count(cut, 'text')} did not fit the longest text allowed and lost the end.")
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<section aria-labelledby="method"><h2 id="method">Method and limits</h2><ul>{items}</ul></section>'
    )


def _provenance(facts: dict[str, Any]) -> str:
    rows = [
        _row(key.replace("_", " "), _plain(value)) for key, value in facts.items() if value not in ("", None)
    ]
    return (
        '<section aria-labelledby="provenance"><h2 id="provenance">Where the numbers come from</h2>'
        '<table class="provenance"><caption>What was analysed, how, and by which versions</caption>'
        f"<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _plain(value: object) -> str:
    """Nested values in one line."""
    if isinstance(value, dict):
        return "; ".join(f"{name} {_plain(inner)}" for name, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
