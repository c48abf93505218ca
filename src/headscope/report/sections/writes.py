"""The section on what heads write: the heads of the table, the tokens that they raise and lower, and whom they read."""

import math
from dataclasses import replace

from headscope.facts.analyses.writes import EFFECT, PROBE, head_writes
from headscope.facts.description import description_of
from headscope.facts.head_arrays import head_arrays
from headscope.facts.subject import Subject
from headscope.report.section import Part, Section, Table
from headscope.report.sections.probe import probe_section
from headscope.types import HeadId

MOST = 5
_COLUMNS = ("Head", "Raises most", "Lowers most", "Copying", "Reads most of")


def writes_section(subject: Subject) -> Section:
    """What was asked and found, and what the heads of each effect write."""
    section = probe_section(subject, description_of(subject.atlas, PROBE))
    named = [row.get("head") for row in subject.atlas.table(PROBE, stack=subject.stack)]
    rows = tuple(_row(subject, HeadId.parse(str(name))) for name in dict.fromkeys(named) if name)
    # Logits have no scale from 0 to 1 to be drawn on.
    tables = [part for part in section.parts if part.tables]
    if rows:
        caption = "Tokens by their mean effect, in logits; the rest from the weights"
        tables.append(Part("What these heads write", tables=[Table(caption, _COLUMNS, rows)]))
    return replace(section, parts=tables)


def _row(subject: Subject, head: HeadId) -> tuple[str, ...]:
    arrays = head_arrays(subject.atlas, subject.stack, head)
    writes = head_writes(arrays, subject.atlas.sample_size(EFFECT), heads=subject.heads)
    if writes is None:
        return (str(head), *[""] * (len(_COLUMNS) - 1))
    raised, lowered = (
        ", ".join(f"“{token}” {effect:+.2f}" for token, effect in tokens[:MOST])
        for tokens in (writes.raised, writes.lowered)
    )
    reads = ", ".join(
        f"head {partner.head} as {partner.read} ({partner.ratio:.2f})" for partner in writes.partners[:3]
    )
    copying = f"{writes.copying:+.2f}" if math.isfinite(writes.copying) else ""
    return str(head), raised, lowered, copying, reads
