"""Two models side by side on the page."""

from collections.abc import Iterator
from itertools import product

from headscope import figures
from headscope.facts.analyses.two_models.comparisons import (
    CONTROL,
    MEASURES,
    PROBE,
    change_name,
    other_model,
    stands_out,
)
from headscope.facts.slices import head_values
from headscope.facts.subject import Subject
from headscope.facts.wording import amount
from headscope.figures.compare import changes_size
from headscope.report.pictures import Picture, stack_picture
from headscope.report.section import Part, Section, Table

LAYERS_SIZE = (7.2, 3.8)
MOST_MEASURES = 12


def compare_section(subject: Subject) -> Section:
    """What changed head by head and layer by layer, the control for weights, and changes of kind."""
    before = other_model(subject.probes[PROBE])
    changed = [name for name in MEASURES[:3] if subject.has(f"{name}_change")]
    largest = Part(
        "Largest changes by measure",
        "The largest change of any head, text by text, for each measure.",
        tables=[_changes(subject, changed)],
        is_folded=True,
    )
    return Section(
        "compare",
        f"What changed from {before}?",
        f"The same texts went through this model and through {before}. Cosine similarity of a head's two maps is 1 "
        "when they are alike; the JS divergence is then 0, and 0.69 when the two look at no token in common. The "
        "control is how far the weights of a layer moved: do layers change because their weights moved more? The "
        "dashed and dotted lines remove what a layer inherits: both models' attention gets the hidden states of the "
        "first, or of the second. Layers are few, and not independent.",
        list(_pictures(subject)),
        [_control(subject)],
        parts=[largest] if changed else [],
    )


def _pictures(subject: Subject) -> Iterator[Picture]:
    yield stack_picture(
        subject,
        figures.change_by_layer,
        size=LAYERS_SIZE,
        title="Attention change and weight change by layer",
        caption="Means over a layer's heads; bands are one standard error over texts. Grey: how far the weights of "
        "attention moved, as a share of their size.",
        least=0.6,
    )
    if subject.has("kind_transitions"):
        yield stack_picture(
            subject,
            figures.kind_changes,
            size=changes_size(subject.array("kind_transitions").sizes["kind_before"]),
            title="Types of heads, before and after",
            caption="How many heads went from which kind (down) to which (across); the colour is the share of a row. "
            "The kinds are those of the first model.",
        )


def _control(subject: Subject) -> Table:
    array = subject.array("weight_control").sel(matrix="all").transpose("change", "statistic")
    names = [str(name) for name in array.labels["statistic"]]
    rows = [
        {"change": str(change), **dict(zip(names, row, strict=True))}
        for change, row in zip(array.labels["change"], array.values.tolist(), strict=True)
    ]
    caption = "Does attention change where weights moved? Spearman correlations over layers, all four matrices together"
    return Table.described(caption, CONTROL, rows, name=change_name)


def _changes(subject: Subject, measures: list[str]) -> Table:
    """Of every slice of the measures the head that changed most, those first that stand out most."""
    rows: list[tuple[float, tuple[str, ...]]] = []
    for measure in measures:
        array = subject.array(f"{measure}_change")
        dims = [dim for dim in array.dims if dim not in ("layer", "head")]
        for labels in product(*(array.choices(dim) for dim in dims)):
            select = dict(zip(dims, labels, strict=True))
            change, before = (
                head_values(subject.atlas, f"{measure}_{ending}", select=select, stack=subject.stack)
                for ending in ("change", "before")
            )
            head = max(change.order(), key=lambda head: abs(change.at(head)[0]), default=None)
            if head is None:
                continue
            value, error = change.at(head)
            units = "" if change.units == "1" else change.units
            cells = (
                f"{measure.replace('_', ' ')}: {', '.join(map(str, labels))}",
                str(head),
                amount(before.at(head)[0], units="", digits=3),
                amount(value, error, units=units, digits=3),
            )
            rows.append((stands_out(value, error or 0.0), cells))
    rows.sort(key=lambda row: -row[0])
    return Table(
        "Largest changes relative to their standard error",
        ("Measure", "Head", "Before", "Change"),
        tuple(cells for _, cells in rows[:MOST_MEASURES]),
        is_figures=True,
    )
