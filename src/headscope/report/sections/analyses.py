"""The sections on what was found beside measures: one for each probe and each other analysis that an atlas holds."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headscope.facts.subject import Subject, options_of
from headscope.facts.vocabulary import own_name
from headscope.facts.wording import capital, count, without_folders
from headscope.registry import known_names
from headscope.report.section import Section
from headscope.report.sections.ablation import ablation_section, uniform_section
from headscope.report.sections.compare import compare_section
from headscope.report.sections.explanation import explanation_section
from headscope.report.sections.importance import importance_section
from headscope.report.sections.kinds import patterns_section
from headscope.report.sections.probe import probe_section
from headscope.report.sections.writes import writes_section

_MAKERS: dict[str, Callable[[Subject], Section]] = {
    "patterns": patterns_section,
    "ablation": ablation_section,
    "ablation_uniform": uniform_section,
    "importance": importance_section,
    "explanation": explanation_section,
    "compare": compare_section,
    "writes": writes_section,
}
ASK_NOTHING = (
    "patterns",
    "ablation",
    "ablation_uniform",
    "importance",
    "explanation",
    "compare",
    "writes",
    "known",
)
"""The analyses that do not ask what heads know, so that nobody annotated their texts."""


def probe_sections(subject: Subject) -> Iterator[Section]:
    """A section for every probe that was run in the stack, those we know first."""
    order = [*list(_MAKERS)[:4], *known_names("probe"), *list(_MAKERS)[4:]]
    for described in sorted(subject.described, key=lambda one: [*order, one.name].index(one.name)):
        probe, facts = described.name, subject.probes[described.name]
        make = _MAKERS.get(probe)
        section = probe_section(subject, described) if make is None else make(subject)
        section.facts.update(_facts(facts, annotated=probe not in ASK_NOTHING))
        section.notes.extend(_notes(facts))
        yield section


def _facts(facts: Mapping[str, Any], *, annotated: bool) -> dict[str, str]:
    """Where the numbers come from, in words; what the atlas does not tell is left out."""
    options = options_of(facts)
    by = str(facts.get("annotated_by") or "") if annotated else ""
    counted = [
        count(int(facts[key]), word)
        for key, word in (("texts", "text"), ("documents", "document"), ("tokens", "token"))
        if isinstance(facts.get(key), int)
    ]
    left_out = [
        f"{facts[key]:,} {words}"
        for key, words in (("skipped", "skipped"), ("texts_cut", "cut short"))
        if isinstance(facts.get(key), int)
    ]
    found = {
        "Data": str(facts.get("data") or ""),
        "Size": ", ".join(counted),
        "Annotation": "from the files" if by == "the files" else f"automatic, by {by}" if by else "",
        "Heads chosen on": str(options.get("chosen_on") or ""),
        "Intervals": str(facts.get("intervals") or ""),
        "Trained on": str(options.get("train") or ""),
        "Stopped by": str(options.get("dev") or ""),
        "Scored on": str(options.get("test") or ""),
        "Word vectors": str(options.get("vectors") or ""),
        "Beside": str(options.get("against") or ""),
        "Texts left out": ", ".join(left_out),
        "Form": "published, quirks included" if options.get("faithful") else "",
    }
    return {name: own_name(value) for name, value in found.items() if value}


def _notes(facts: Mapping[str, Any]) -> list[str]:
    """What the probe said about its numbers, without the folders of the files it names."""
    notes = facts.get("notes")
    found = [without_folders(str(note)) for note in notes] if isinstance(notes, list) else []
    return [f"{capital(note)}{'' if note.endswith('.') else '.'}" for note in found if note]
