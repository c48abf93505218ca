"""The report: one HTML file with everything in it, made to be read, mailed and printed."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import urlencode

from headscope.atlas import Atlas, replacing
from headscope.facts.findings import Finding, findings
from headscope.facts.headlines import headlines
from headscope.facts.subject import Subject, options_of
from headscope.facts.vocabulary import own_name, stack_title
from headscope.facts.wording import count, listed
from headscope.pages.atlas import embedded_atlas
from headscope.pages.commands import atlas_argument, explore_command, model_argument
from headscope.pages.head.page import grid_shape
from headscope.pages.shapes.views import Embedded
from headscope.report.document import document, rendered
from headscope.report.front import first_screen
from headscope.report.section import Chapter, HeadLinks, Section, Table
from headscope.report.sections.analyses import ASK_NOTHING
from headscope.report.sections.measures import sections

_TOPICS = {
    "Use": "probe-uses",
    "Ablation": "ablation",
    "Importance": "importance",
    "Change": "compare",
    "Why": "explanation",
    "Patterns": "patterns",
    "Kinds": "kinds",
    "Neighbours": "neighbours",
    "Special tokens and punctuation": "roles",
    "What is moved": "roles",
    "Breadth": "breadth",
    "Distance": "distances",
    "Named patterns": "habits",
    "Likeness": "likeness",
}
"""The section that shows the findings on each topic, but for topics of probes, which say it themselves."""


def write_report(
    atlas: Atlas, path: str | os.PathLike[str], *, atlas_file: str | os.PathLike[str] | None = None
) -> Path:
    """Write one self-contained HTML file; it appears under its name only when it is whole.

    `atlas_file` is where the atlas is kept, for the commands that the page suggests, which are typed in the folder of
    the page; by default the file it was opened from.
    """
    target = Path(path)
    content = render(atlas, target, atlas_file=atlas_file)
    with replacing(target) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return target


def render(
    atlas: Atlas,
    path: str | os.PathLike[str] = "report.html",
    *,
    atlas_file: str | os.PathLike[str] | None = None,
) -> str:
    """The page as HTML, to be written to `path`."""
    drawn = findings(atlas)
    links = {stack: HeadLinks(stack, grid_shape(atlas, stack)) for stack in atlas.stacks}
    chapters = [
        Chapter(
            stack,
            _with_findings(Subject(atlas, stack), [finding for finding in drawn if finding.stack == stack]),
            f"{stack_title(stack)}: {_shape(atlas, stack)}" if len(atlas.stacks) > 1 else "",
            links=links[stack],
        )
        for stack in atlas.stacks
    ]
    about = [_method(atlas), _provenance(atlas), *_next(atlas, Path(path), atlas_file)]
    return document(
        brand="headscope report",
        title=f"Attention heads of {_model(atlas)}{', edited' if atlas.edits else ''}",
        lead=_lead(atlas),
        front=first_screen(atlas, drawn, links, nothing=_nothing(atlas)),
        chapters=[*chapters, Chapter("about", about)],
        atlas=_interactive(
            atlas,
            [*headlines(drawn), *drawn],
            explore_command(atlas, atlas_file, folder=Path(path).parent),
        ),
    )


def _with_findings(subject: Subject, drawn: Sequence[Finding]) -> list[Section]:
    """The sections of a stack with their findings, and one for those that no section is about."""
    parts = list(sections(subject))
    probes = [described for described in subject.described if described.sentences is not None]
    topics = _TOPICS | {one.sentences.topic: f"probe-{one.name}" for one in reversed(probes) if one.sentences}
    by_key: dict[str, list[Finding]] = {section.key: [] for section in parts}
    rest: list[Finding] = []
    for finding in drawn:
        by_key.get(topics.get(finding.topic, ""), rest).append(finding)
    told = [replace(section, findings=by_key[section.key]) for section in parts]
    return [*told, Section("findings", "What else was found?", "", findings=rest)] if rest else told


def _interactive(atlas: Atlas, drawn: Sequence[Finding], command: str) -> Embedded | None:
    """The data of the atlas and map views, open at the head of the first finding; None if nothing is known by head."""
    state: dict[str, str | int] = {"view": "atlas"}
    for finding in drawn:
        shape = grid_shape(atlas, finding.stack)
        if finding.heads and shape and finding.heads[0].layer < shape[0] and finding.heads[0].head < shape[1]:
            head = finding.heads[0]
            state |= {"stack": finding.stack, "layer": head.layer, "heads": head.head}
            break
    # The report has findings of its own.
    embedded = embedded_atlas(atlas, start=urlencode(state), with_findings=False, command=command)
    return embedded if embedded.atlas is not None and embedded.atlas.stacks else None


def _model(atlas: Atlas) -> str:
    return own_name(str(atlas.provenance.get("model", "a model")))


def _shape(atlas: Atlas, stack: str) -> str:
    """Layers and heads, in words; nothing where the atlas does not tell."""
    shape = atlas.shape(stack)
    if shape is not None:
        numbers = atlas.module_layers(stack)
        network = f" (layers {', '.join(map(str, numbers))} of the network)" if numbers else ""
        return f"{count(shape[0], 'layer')}{network} × {count(shape[1], 'head')}"
    heads = max((array.sizes.get("head_a", 0) for array in atlas.stack(stack).values()), default=0)
    return count(heads, "head") if heads else ""


def _lead(atlas: Atlas) -> str:
    """One line on the model and the texts."""
    shapes = {stack: shape for stack in atlas.stacks if (shape := _shape(atlas, stack))}
    several = len(shapes) > 1
    model = [str(atlas.provenance.get("architecture") or "")]
    model += [f"{stack} {shape}" if several else shape for stack, shape in shapes.items()]
    texts = [_texts(atlas.provenance)] if _is_measured(atlas) else []
    if data := _probed_on(atlas):
        texts.append(f"probed on {listed(data) if len(data) < 3 else f'{len(data)} data sets'}")
    edits = [f"edited: {'; '.join(atlas.edits)}"] if atlas.edits else []
    return " · ".join([", ".join(filter(None, model)), *edits, *(texts or [_texts(atlas.provenance)])])


def _is_measured(atlas: Atlas) -> bool:
    """Whether the atlas holds anything but what probes left."""
    return any(Subject(atlas, stack).has_measures for stack in atlas.stacks) or not _probes(atlas)


def _probes(atlas: Atlas) -> dict[str, dict[str, Any]]:
    """The facts of every probe, in whatever stack it was run."""
    return {name: facts for stack in atlas.stacks for name, facts in Subject(atlas, stack).probes.items()}


def _probed_on(atlas: Atlas) -> list[str]:
    """The data of the probes that ask what heads know."""
    asked = [facts for name, facts in _probes(atlas).items() if name not in ASK_NOTHING]
    return list(dict.fromkeys(str(facts.get("data") or "a corpus") for facts in asked))


def _texts(facts: dict[str, Any]) -> str:
    if "texts" not in facts:
        return "the texts"
    tokens = f" ({count(int(facts['tokens']), 'token')})" if "tokens" in facts else ""
    documents = f"{count(int(facts['documents']), 'document')} of " if "documents" in facts else ""
    return f"{count(int(facts['texts']), 'text')}{tokens} from {documents}{facts.get('corpus') or 'a corpus'}"


def _nothing(atlas: Atlas) -> str:
    if _probed_on(atlas):
        return "No head stands out from its control."
    return "Nothing measured is clearly above its control; see the sections below."


def _next(atlas: Atlas, path: Path, atlas_file: str | os.PathLike[str] | None) -> Iterator[Section]:
    """What to run on an atlas that nothing was asked of yet."""
    if _probes(atlas):
        return
    model = model_argument(atlas, path.parent)
    file = atlas_argument(atlas, atlas_file, path.parent)
    corpus = quote(str(atlas.provenance.get("corpus") or "texts.txt"))
    task = "lm" if atlas.stacks == ["decoder"] else "mlm"
    yield Section(
        "next",
        "What to run next",
        "These commands add which relations heads find, whether the model needs them and which kinds there are, then "
        "write this page again. They are typed in the folder of this page. The treebank is any CoNLL-U file.",
        commands=[
            f"headscope probe dependency {model} --treebank treebank.conllu -o {file}",
            f"headscope ablate {model} --task {task} --data {corpus} --sweep heads -o {file}",
            f"headscope types {file}",
            f"headscope report {file} -o {quote(path.name)}",
        ],
        is_open=True,
    )


def _method(atlas: Atlas) -> Section:
    notes = rendered(
        "method.html",
        texts=_texts(atlas.provenance) if _is_measured(atlas) else "",
        data=listed(_probed_on(atlas)),
        has_map="head_distance" in atlas,
        is_faithful=bool(options_of(atlas.provenance).get("faithful")),
        cut=int(atlas.provenance.get("texts_cut") or 0),
    )
    return Section("method", "Method and limits", "", html=notes)


def _provenance(atlas: Atlas) -> Section:
    facts = {key: value for key, value in atlas.provenance.items() if key != "probes"}
    facts |= {"title": "", "model": _model(atlas)}
    for probe, about in _probes(atlas).items():
        facts[f"{probe} probe"] = {
            key: value for key, value in about.items() if key not in ("notes", "arrays", "description")
        }
    rows = [(key.replace("_", " "), _plain(value)) for key, value in facts.items() if value not in ("", None)]
    caption = "What was analysed, how, and by which versions"
    return Section(
        "provenance",
        "Where the numbers come from",
        "",
        tables=[Table(caption, ("Fact", "Value"), tuple(rows))],
    )


def _plain(value: object) -> str:
    """Nested values in one line, files without their folders."""
    if isinstance(value, dict):
        return "; ".join(f"{str(name).replace('_', ' ')} {_plain(inner)}" for name, inner in value.items())
    if value is None:
        return "none"
    return ", ".join(own_name(str(item)) for item in (value if isinstance(value, list) else [value]))
