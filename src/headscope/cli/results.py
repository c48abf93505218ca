"""What commands say of what they found: its answer and tables, and where its numbers come from."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headscope.cli.session import Session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.passes.provenance import Source
    from headscope.probes.result import ProbeResult

_NAMES = ("data", "texts", "documents", "tokens", "texts_cut", "skipped", "options", "duration")


def tell(run: Session, result: "ProbeResult") -> None:
    """Write what a probe found, and print its table."""
    run.keep(result)
    run.tell(result, result_facts, print_result)


def print_result(page: "Page", result: "ProbeResult") -> None:
    """What a probe found: the answer, where it comes from, and its tables."""
    source = result.source
    page.say(result.in_brief(), f"{result.model.name} on {source_line(source)}")
    if chosen := source.options.get("chosen_on"):
        page.say(f"best heads chosen on {chosen}", detail=True)
    if over := result.intervals():
        page.say(f"95 % intervals {over}", detail=True)
    if source.annotator:
        page.say(f"annotated automatically by {source.annotator}")
    stacks = list(result.arrays())
    for stack in stacks:
        if len(stacks) > 1:
            page.say(f"\n{stack}", bold=True)
        print_tables(page, result, stack)


def print_tables(page: "Page", result: "ProbeResult", stack: str, *, detail: bool = False) -> None:
    """The tables that the probe describes, or its rows as they stand; those with too few cases only with --full."""
    from headscope.facts.cells import plain_columns  # loads torch, which --help does without

    rows = result.rows(stack=stack)
    described = result.description
    tables = [(table, table.rows_of(rows)) for table in described.tables] if described else []
    shown = [(table.caption, table.columns, own) for table, own in tables if own]
    plain = ("", tuple(plain_columns(rows)), list[Mapping[str, Any]](rows))
    for caption, columns, own in shown or [plain]:
        telling = [row.get("verdict", "") not in (None, "too few") for row in own]
        page.rows(columns, own, title=caption if len(shown) > 1 else "", telling=telling, detail=detail)


def result_facts(result: "ProbeResult") -> dict[str, Any]:
    """The same for --json."""
    return {
        "model": result.model.name,
        "probe": result.probe,
        "annotated_by": result.source.annotator or "the files",
        **source_facts(result.source),
        "intervals": result.intervals(),
        "rows": stack_rows(result, result.rows),
    }


def source_facts(source: "Source", *without: str) -> dict[str, Any]:
    """What a script wants to know about the run."""
    facts = {name: getattr(source, name) for name in _NAMES if name not in without}
    return facts | {"options": dict(source.options)}


def source_line(source: "Source") -> str:
    """The same in a few words."""
    return f"{source.data}: {source.texts:,} texts, {source.tokens:,} tokens, {source.duration:.1f} s"


def stack_rows(result: "ProbeResult", table: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of a table of every stack, each with its stack."""
    return [{"stack": stack, **row} for stack in result.arrays() for row in table(stack=stack)]
