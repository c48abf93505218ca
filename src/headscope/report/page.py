"""The report: one HTML file with everything in it, made to be read, mailed and printed."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from headscope.atlas import Atlas, replacing
from headscope.facts.description import description_of
from headscope.facts.findings import Finding, findings
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import stack_title
from headscope.facts.wording import count, listed
from headscope.report.frame import framed, link
from headscope.report.interactive import head_links, interactive
from headscope.report.links import HeadLinks
from headscope.report.probes import OUTLOOKS
from headscope.report.render import facts_html, kept_together, row_html, section_html, written
from headscope.report.section import Section
from headscope.report.sections import sections
from headscope.report.styles import classed


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
    links = head_links(atlas)
    live = interactive(atlas)
    found = _found(atlas, links, several=several)
    told = [_stack(atlas, stack, group, links[stack], several=several) for stack, group in parts]
    body, rules = classed("\n".join([*told, _method(atlas), _provenance(atlas)]))
    return framed(
        brand="headscope report",
        title=f"Attention heads of {model}{', edited' if atlas.edits else ''}",
        lead=_lead(atlas),
        ways=_ways(live=live.is_there),
        facts=_facts(atlas),
        found=found,
        contents=_contents(parts, several=several, live=live.is_there),
        body=body,
        rules=rules,
        live=live,
    )


def _shape(atlas: Atlas, stack: str) -> str:
    """Layers and heads, in words; nothing where the atlas does not tell."""
    shape = atlas.shape(stack)
    if shape is not None:
        return f"{count(shape[0], 'layer')} × {count(shape[1], 'head')}"
    heads = max((array.sizes.get("head_a", 0) for array in atlas.stack(stack).values()), default=0)
    return count(heads, "head") if heads else ""


def _shapes(atlas: Atlas) -> str:
    """All stacks' layers and heads, in brackets and with a space in front."""
    known = {stack: _shape(atlas, stack) for stack in atlas.stacks}
    told = [f"{stack}: {shape}" if len(known) > 1 else shape for stack, shape in known.items() if shape]
    return f" ({'; '.join(told)})" if told else ""


def _lead(atlas: Atlas) -> str:
    shapes = _shapes(atlas)
    asked = [description_of(atlas, name) for name in _asked(atlas)]
    subjects = list(dict.fromkeys(described.subject or described.words for described in asked))
    others = [OUTLOOKS[name] for name in _probes(atlas) if name in OUTLOOKS]
    if _is_measured(atlas):
        more = [f"what they know of {listed(subjects)}"] if subjects else []
        told = f", and {listed(more + others)}" if more or others else ""
        return f"What each attention head looked at{shapes} while the model read {_texts(atlas.provenance)}{told}."
    if subjects:
        told = f", and {listed(others)}" if others else ""
        data = listed(_probed_on(atlas))
        return f"What attention heads{shapes} know of {listed(subjects)}, asked on {data}{told}."
    told = listed(others)
    return f"{told[0].upper()}{told[1:]}{shapes}, on {_texts(atlas.provenance)}."


def _is_measured(atlas: Atlas) -> bool:
    """Whether the atlas holds anything but what probes left."""
    return any(Subject(atlas, stack).has_measures for stack in atlas.stacks) or not _probes(atlas)


def _probes(atlas: Atlas) -> dict[str, dict[str, Any]]:
    """The facts of every probe, in whatever stack it was run."""
    return {name: facts for stack in atlas.stacks for name, facts in Subject(atlas, stack).probes.items()}


def _asked(atlas: Atlas) -> dict[str, dict[str, Any]]:
    """The probes that ask what heads know."""
    return {name: facts for name, facts in _probes(atlas).items() if name not in OUTLOOKS}


def _probed_on(atlas: Atlas) -> list[str]:
    return list(dict.fromkeys(str(facts.get("data") or "a corpus") for facts in _asked(atlas).values()))


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
        "Edited": "; ".join(atlas.edits),
        "Architecture": facts.get("architecture"),
    }
    if _is_measured(atlas):  # without measures these are facts about the first of the probes
        shown |= {
            "Texts from": facts.get("corpus"),
            "Texts cut at": f"{options['max_length']} tokens" if "max_length" in options else None,
            "Form": form if options else None,
        }
    data = _probed_on(atlas)
    shown |= {"Probed on": ", ".join(data) if len(data) < 3 else f"{len(data)} data sets"}
    shown |= {"Made": str(facts.get("created", ""))[:10]}
    return facts_html({name: str(value) for name, value in shown.items() if value}, kind="facts")


def _ways(*, live: bool) -> str:
    """Links to what begins far below: what was found is long."""
    look = f'<span class="live">{link("explore", "Look at every head")} · </span>' if live else ""
    return f"{look}{link('contents', 'Contents')}"


def _contents(parts: Sequence[tuple[str, list[Section]]], *, several: bool, live: bool) -> str:
    entries = [link("found", "What was found")]
    for stack, found in parts:
        links = [link(f"{stack}-{section.key}", section.title.split(":")[0]) for section in found]
        if several:
            inner = "".join(f"<li>{link}</li>" for link in links)
            entries.append(f"{link(stack, stack_title(stack).split(',')[0])}<ul>{inner}</ul>")
        else:
            entries += links
    entries += [link("method", "Method and limits"), link("provenance", "Where the numbers come from")]
    items = [f"<li>{entry}</li>" for entry in entries]
    if live:  # seen where scripts run
        items.insert(1, f'<li class="live">{link("explore", "Every head, to look at")}</li>')
    return f"<ul>{''.join(items)}</ul>"


def _found(atlas: Atlas, links: Mapping[str, HeadLinks], *, several: bool) -> str:
    found = findings(atlas)
    parts = [
        f'<section aria-labelledby="found"><h2 id="found">What was found</h2><p>{written(_intro(atlas))}</p>'
    ]
    if not found:
        nothing = (
            "The atlas has no measure that findings are drawn from."
            if _is_measured(atlas)
            else "No head stands out from what needs no attention."
            if _asked(atlas)
            else "See the sections below."
        )
        parts.append(f"<p>{nothing}</p>")
    for stack, group in groupby(found, key=lambda finding: finding.stack):
        if several:
            parts.append(f"<h3>{written(stack_title(stack))}</h3>")
        parts.append(f'<div class="found">{_cards(group, links[stack], level=4 if several else 3)}</div>')
    return "".join(parts) + "</section>"


def _intro(atlas: Atlas) -> str:
    intro = "Heads are written layer.head, both counted from 0."
    if _is_measured(atlas):
        which = "Numbers with ± are" if _probes(atlas) else "All numbers are"
        intro += (
            f" {which} means over {_texts(atlas.provenance)}; ± is the standard error over texts. Each head "
            "named here was picked because its number is the largest or smallest on these same texts, which "
            "flatters it a little."
        )
    if _is_measured(atlas) and set(_probes(atlas)) & set(OUTLOOKS):
        intro += " What was asked of other texts is told in the section on it."
    if _asked(atlas):
        data = listed(_probed_on(atlas))
        intro += (
            f" What heads know was asked on {data}; numbers with a 95% interval are about that. Such a head "
            "is the best of many: read its number beside that of what needs no attention."
        )
    return intro


def _cards(found: Iterable[Finding], links: HeadLinks, *, level: int) -> str:
    cards = []
    for topic, group in groupby(found, key=lambda finding: finding.topic):
        items = "".join(f"<li>{_linked(finding, links)}</li>" for finding in group)
        cards.append(f'<div class="card"><h{level}>{written(topic)}</h{level}><ul>{items}</ul></div>')
    return "".join(cards)


def _linked(finding: Finding, links: HeadLinks) -> str:
    return "".join(
        kept_together(part, is_whole=False) if isinstance(part, str) else links.to(part)
        for part in finding.parts
    )


def _stack(atlas: Atlas, stack: str, found: Sequence[Section], links: HeadLinks, *, several: bool) -> str:
    if not several:
        return "\n".join(section_html(stack, section, level=2, links=links) for section in found)
    title = f"{stack_title(stack)}: {_shape(atlas, stack)}"
    inner = "\n".join(section_html(stack, section, level=3, links=links) for section in found)
    name = written(stack)
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{written(title)}</h2>{inner}</section>'


def _method(atlas: Atlas) -> str:
    items = "".join(f"<li>{written(note)}</li>" for note in _limits(atlas))
    return (
        f'<section aria-labelledby="method"><h2 id="method">Method and limits</h2><ul>{items}</ul></section>'
    )


def _limits(atlas: Atlas) -> Iterator[str]:
    options = atlas.provenance.get("options")
    cut = int(atlas.provenance.get("texts_cut") or 0)
    yield (
        "Attention is what query token i gives key token j, after the softmax, while the unchanged model "
        "ran in evaluation mode. Special tokens count as tokens; padding never does."
    )
    if _is_measured(atlas):
        yield (
            "A number is first the mean over a text's queries, then over texts, so every text weighs the same. "
            "The standard error is over texts."
        )
    if _asked(atlas):
        yield (
            "Probes ask about words: attention to a word that the tokenizer split is the sum over its "
            "pieces, attention from it the mean over them. Intervals are 95% and treat documents as the sample "
            "where at least ten have cases, else texts, never words; each section says which."
        )
        yield (
            "That a head finds a relation does not say that the model uses it for that, nor that it looks for "
            "nothing else. Errors of the annotation count against the heads."
        )
    yield (
        "Attention says where a head looks, not what it passes on, nor whether the model needs it. A head "
        "with little attention on a token may still matter, and the other way round."
    )
    yield (
        "All of this holds for these texts. Other texts, languages or lengths can give other numbers, and "
        "the heads named as extremes are extremes on this sample."
    )
    yield (
        "Every map has its own colour scale; the bar below it says which. Do not compare colours between "
        "maps without looking at the bars."
    )
    if "head_distance" in atlas:
        yield (
            "The head map is metric multidimensional scaling of the distances, the best of several starts "
            "with a fixed seed."
        )
    if _is_measured(atlas) and isinstance(options, dict) and options.get("faithful"):
        yield (
            "The published forms were asked for (faithful): entropy and distances are computed from "
            "smoothed attention, and distances are summed over queries, so that they have no standard "
            "error and long texts weigh more."
        )
    if cut and _is_measured(atlas):
        yield f"{count(cut, 'text')} did not fit the longest text allowed and lost the end."


def _provenance(atlas: Atlas) -> str:
    facts = {key.replace("_", " "): value for key, value in atlas.provenance.items() if key != "probes"}
    for probe, about in _probes(atlas).items():
        told = {key: value for key, value in about.items() if key not in ("notes", "arrays", "description")}
        facts[f"{probe} probe"] = told
    rows = [row_html(key, _plain(value)) for key, value in facts.items() if value not in ("", None)]
    return (
        '<section aria-labelledby="provenance"><h2 id="provenance">Where the numbers come from</h2>'
        '<table class="provenance"><caption>What was analysed, how, and by which versions</caption>'
        f"<tbody>{''.join(rows)}</tbody></table></section>"
    )


def _plain(value: object) -> str:
    """Nested values in one line."""
    if isinstance(value, dict):
        return "; ".join(f"{str(name).replace('_', ' ')} {_plain(inner)}" for name, inner in value.items())
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
