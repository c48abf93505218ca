"""Two models side by side on the page."""

from typing import Any

import numpy as np

from headscope import figures
from headscope.facts.findings.compare import other_model
from headscope.facts.subject import Subject
from headscope.facts.wording import amount
from headscope.figures.compare import changes_size
from headscope.report.pictures import Picture, picture
from headscope.report.section import Part, Section, Table
from headscope.types import HeadId

LAYERS_SIZE = (7.2, 3.8)
MOST_MEASURES = 12

_WORDS = {
    "cosine": "1 - cosine",
    "js": "JS divergence",
    "cosine_input_a": "1 - cosine, own weights alone, first model's input",
    "js_input_a": "JS divergence, own weights alone, first model's input",
    "cosine_input_b": "1 - cosine, own weights alone, second model's input",
    "js_input_b": "JS divergence, own weights alone, second model's input",
}
Array = np.ndarray[Any, Any]


def compare_section(subject: Subject, _: int) -> Section:
    """What changed head by head and layer by layer, the control for weights, and changes of kind."""
    before = other_model(subject)
    pictures = [_layers(subject)]
    if subject.has("kind_transitions"):
        pictures.append(_kinds(subject))
    changed = [
        name for name in ("entropy", "role_attention", "named_patterns") if subject.has(f"{name}_change")
    ]
    return Section(
        "compare",
        f"Side by side with {before}",
        f"The same texts went through this model and through {before}. Cosine is that of both maps of a head, 1 when "
        "they are alike; JS divergence is 0 then and 0.69 when no token is looked at by both. How far the weights of "
        "a layer moved is the control: do layers change because their weights moved more? The dashed and "
        "dotted lines take out what a layer inherits: there both models' attention is given the hidden states of the "
        "first, or of the second. A few layers are a small sample, and no independent one.",
        pictures,
        [_control(subject)],
        parts=[
            Part(
                "Largest changes by measure",
                "The largest change of any head, text by text, for each measure.",
                tables=[_changes(subject, changed)],
                is_folded=True,
            )
        ]
        if changed
        else [],
    )


def _layers(subject: Subject) -> Picture:
    return picture(
        lambda ax: figures.change_by_layer(subject.atlas, stack=subject.stack, ax=ax),
        size=LAYERS_SIZE,
        title="Attention change and weight change by layer",
        caption="Means over a layer's heads; bands are one standard error over texts. Grey: how far the weights of "
        "attention moved, as a share of their size.",
        is_wide=True,
        least=0.6,
    )


def _kinds(subject: Subject) -> Picture:
    kinds = subject.array("kind_transitions").sizes["kind_before"]
    return picture(
        lambda ax: figures.kind_changes(subject.atlas, stack=subject.stack, ax=ax),
        size=changes_size(kinds),
        title="Kinds of heads, before and after",
        caption="How many heads went from which kind (down) to which (across); the colour is the share of a row. The "
        "kinds are those of the first model.",
    )


def _control(subject: Subject) -> Table:
    array = subject.array("weight_control").sel(matrix="all")
    rows = []
    for label in (str(name) for name in array["change"].values):
        found = {str(key): float(array.sel(change=label, statistic=key)) for key in array["statistic"].values}
        rows.append(
            (
                _WORDS.get(label, label),
                _pair(found, "rho"),
                _shown(found["rho_p"], 3),
                _shown(found["depth"]),
                _shown(found["partial"]),
                _pair(found, "excess"),
            )
        )
    return Table(
        "Does attention change where weights moved? Spearman correlations over layers, all four matrices together; the "
        "last column is how many times more the last third of the layers changed than the others at equal weight "
        "change. Brackets are 95 % intervals",
        ("Change", "With weights", "p", "With depth", "With depth, at equal weights", "Last third, times"),
        tuple(rows),
        is_figures=True,
    )


def _pair(found: dict[str, float], name: str) -> str:
    value, low, high = (found[key] for key in (name, f"{name}_low", f"{name}_high"))
    return _shown(value) if not np.isfinite(low) else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _shown(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def _changes(subject: Subject, measures: list[str]) -> Table:
    rows: list[tuple[float, tuple[str, ...]]] = []
    for measure in measures:
        change = subject.array(f"{measure}_change")
        dims = [str(dim) for dim in change.dims if dim not in ("layer", "head")]
        units = str(change.attrs.get("units", "1"))
        stacked = change.stack(label=dims).transpose("label", "layer", "head")
        errors = (
            subject.array(f"{measure}_change_stderr").stack(label=dims).transpose("label", "layer", "head")
        )
        before = subject.array(f"{measure}_before").stack(label=dims).transpose("label", "layer", "head")
        for number, label in enumerate(stacked["label"].values):
            values: Array = stacked.values[number]
            if not np.isfinite(values).any():
                continue
            at = np.unravel_index(np.nanargmax(np.abs(values)), values.shape)
            error = float(errors.values[number][at])
            names = label if isinstance(label, tuple) else (label,)
            rows.append(
                (
                    abs(values[at]) / error if error > 0 else 0.0,
                    (
                        f"{measure.replace('_', ' ')}: {', '.join(map(str, names))}",
                        str(HeadId(int(at[0]), int(at[1]))),
                        _shown(float(before.values[number][at]), 3),
                        amount(
                            float(values[at]),
                            error if np.isfinite(error) else None,
                            units="" if units == "1" else units,
                            digits=3,
                        ),
                    ),
                )
            )
    rows.sort(key=lambda row: -row[0])
    return Table(
        "Those that stand out most from their standard error",
        ("Measure", "Head", "Before", "Change"),
        tuple(cells for _, cells in rows[:MOST_MEASURES]),
        is_figures=True,
    )
