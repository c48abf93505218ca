"""Two models side by side on the page: the section, and what is found."""

from collections.abc import Iterator
from math import floor
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope import figures
from headscope.figures.compare import changes_size
from headscope.figures.grid import grid_size
from headscope.figures.slices import head_values
from headscope.report.finding import Finding, Subject
from headscope.report.grids import array_of, extreme, grid, key_of
from headscope.report.pictures import Picture, picture
from headscope.report.section import Part, Section, Table
from headscope.report.wording import amount, count, heads_list
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
    before = _before(subject)
    pictures = [_layers(subject), _cosine(subject), grid(subject, "attention_js", {}, "")]
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


def compared(subject: Subject) -> Iterator[Finding]:
    """Which layers changed, and whether it is their own doing."""
    if not subject.has("attention_change") or "compare" not in subject.probes:
        return
    change = array_of(subject, "attention_change")
    own = [f"cosine_input_{giver}" for giver in "ab" if f"cosine_input_{giver}" in change["change"].values]
    values = change.sel(change="cosine").values
    error = array_of(subject, "attention_change_stderr").sel(change="cosine").values
    third = max(1, round(len(values) / 3))
    most = int(values.argmax())
    text = (
        f"Beside {_before(subject)}, attention changed most in layer {most} (1 - cosine {values[most]:.2f}); the last "
        f"{count(third, 'layer')} by {values[-third:].mean():.2f}, the first by {values[:third].mean():.2f}."
    )
    if own:
        alone = [change.sel(change=name).values for name in own]
        parts = [f"{one[-third:].mean():.3f} and {one[:third].mean():.3f}" for one in alone]
        text += (
            f" By their own weights alone it would be {parts[0]} on the first model's hidden states, {parts[1]} on "
            "the second's."
        )
    stderr = float(error[most])
    yield Finding(
        subject.stack, "Change", text, (), float(values[most]), stderr if np.isfinite(stderr) else None
    )
    if subject.has("kind_transitions"):
        yield _moved(subject)


def _moved(subject: Subject) -> Finding:
    before, after = (
        array_of(subject, name).transpose("layer", "head").values for name in ("kind_before", "kind_after")
    )
    heads = tuple(HeadId(int(layer), int(head)) for layer, head in np.argwhere(before != after))
    named = f": {heads_list(heads)}" if heads else ""
    text = f"{len(heads)} of {before.size} heads changed their kind{named}."
    return Finding(subject.stack, "Change", text, heads, len(heads) / before.size, None)


def _before(subject: Subject) -> str:
    options = subject.probes["compare"].get("options")
    return str(options.get("against")) if isinstance(options, dict) else "another model"


def _layers(subject: Subject) -> Picture:
    return picture(
        lambda ax: figures.change_by_layer(subject.atlas, stack=subject.stack, ax=ax),
        size=LAYERS_SIZE,
        title="Attention change and weight change by layer",
        caption="Means over a layer's heads; bands are one standard error over texts. Grey: how far the weights of "
        "attention moved, as a share of their size.",
        key=key_of(subject, "compare-layers"),
        is_wide=True,
        least=0.6,
    )


def _cosine(subject: Subject) -> Picture:
    picked = head_values(subject.atlas, "attention_cosine", stack=subject.stack)
    low = min(floor(10 * float(np.nanmin(picked.values))) / 10, 0.9)

    def draw(ax: Axes) -> object:
        return figures.head_grid(
            subject.atlas, "attention_cosine", limits=(low, 1.0), stack=subject.stack, ax=ax
        )

    return picture(
        draw,
        size=grid_size(*picked.values.shape),
        title="Cosine of both models' maps",
        caption=f"The stronger the colour, the more alike; pale heads changed.{extreme(picked)}",
        key=key_of(subject, "compare-cosine"),
    )


def _kinds(subject: Subject) -> Picture:
    kinds = array_of(subject, "kind_transitions").sizes["kind_before"]
    return picture(
        lambda ax: figures.kind_changes(subject.atlas, stack=subject.stack, ax=ax),
        size=changes_size(kinds),
        title="Kinds of heads, before and after",
        caption="How many heads went from which kind (down) to which (across); the colour is the share of a row. The "
        "kinds are those of the first model.",
        key=key_of(subject, "compare-kinds"),
    )


def _control(subject: Subject) -> Table:
    array = array_of(subject, "weight_control").sel(matrix="all")
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
        change = array_of(subject, f"{measure}_change")
        dims = [str(dim) for dim in change.dims if dim not in ("layer", "head")]
        units = str(change.attrs.get("units", "1"))
        stacked = change.stack(label=dims).transpose("label", "layer", "head")
        errors = (
            array_of(subject, f"{measure}_change_stderr")
            .stack(label=dims)
            .transpose("label", "layer", "head")
        )
        before = array_of(subject, f"{measure}_before").stack(label=dims).transpose("label", "layer", "head")
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
