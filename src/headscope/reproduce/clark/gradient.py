"""Figure 3 of Clark et al. 2019: how much the loss depends on attention to [SEP], and to other tokens."""

from dataclasses import replace

import numpy as np

from headscope import figures
from headscope.atlas import Atlas
from headscope.capture import surveyed
from headscope.errors import ModelError
from headscope.facts.vocabulary import key_name
from headscope.importance import gradient_importance
from headscope.models import Model
from headscope.reproduce.clark import published as paper
from headscope.reproduce.gather import Study
from headscope.reproduce.over_heads import layer_names, model_of, same_depth, with_error
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section
from headscope.reproduce.verdicts import exceeds, falls_below
from headscope.tasks import LanguageModelling, MaskedLanguageModelling, NextToken, with_head
from headscope.text.corpus import Corpus

EXAMPLES = 100
"""Segments that the gradient is averaged over."""
_LOSSES = {"mlm": "loss of masked tokens", "lm": "loss of the next token"}


def fill_gradient(study: Study, text: Corpus, *, examples: int, seed: int) -> None:
    """Add the gradient of the language-modelling loss, where the study's first model has a head for one."""
    model = study.models[0]
    task = _task(model, text, examples, study.max_length, seed)
    try:
        headed = with_head(model, task.head)
        task.check(headed)
    except ModelError:  # no such head: the section says what it needs
        return
    study.add(
        0,
        "importance",
        lambda _, atlas: gradient_importance(
            headed, task, batch_size=study.batch_size, progress=study.progress
        ).to_atlas(atlas),
    )


def gradient(atlas: Atlas) -> Section:
    """Figure 3: from layer 4 on, changing attention to [SEP] hardly changes the loss."""
    key, title, covers = "gradient", "Figure 3: gradient of the loss by what is looked at", ("figure 3",)
    published = replace(paper.SURFACE, source="figure 3, section 3.2")
    stack = next((stack for stack in atlas.stacks if "gradient_layer" in atlas.stack(stack)), None)
    if stack is None:
        needs = (
            "figure 3 needs --text FILE and a model with a masked-language-model or next-token head, or an atlas to "
            "which headscope importance was added"
        )
        return Section(key, title, published, needs=needs, covers=covers)
    facts = atlas.provenance["probes"]["importance"]
    task = str(facts.get("options", {}).get("task"))
    loss = _LOSSES.get(task, f"loss of the task {task}")
    notes = [
        "The mean of |dLoss/dA| over pairs of tokens, heads and layers. Its interval is as wide as if all layers erred "
        "the same way, so rather too wide.",
        "The paper counts layers from 1: its layer 5 is layer 4 here. Ours are at the same depth.",
    ]
    if task != "mlm":
        notes.append(f"The paper's gradient is that of the loss of masked tokens; ours is of the {loss}.")
    drawing = Drawing(
        "Gradient by layer",
        "How much the loss changes with attention to each kind of token: the mean of |dLoss/dA| over the heads of a "
        "layer, with standard errors over texts.",
        (5.2, 3.4),
        lambda ax: figures.gradient_by_layer(atlas, stack=stack, ax=ax),
    )
    return Section(
        key,
        title,
        published,
        Origin(model_of(atlas, stack), f"{facts['data']}, {facts['texts']:,} texts; {loss}"),
        tuple(_rows(atlas, stack)),
        notes=tuple(notes),
        drawings=(drawing,),
        covers=covers,
    )


def _rows(atlas: Atlas, stack: str) -> list[Row]:
    count = int(atlas.stack(stack)["gradient_layer"].sizes["layer"])
    late = same_depth(paper.NO_OP_LAYERS, of=paper.SHAPE[0], layers=count)
    early = [layer for layer in range(count) if layer not in late]
    first, last = paper.NO_OP_LAYERS
    name, other, marks = (key_name(atlas, stack, role) for role in ("sep", "other", "punctuation"))
    others = _mean(atlas, stack, "other", late)
    sep_late, sep_early = (_mean(atlas, stack, "sep", layers) for layers in (late, early))
    return [
        Row(
            f"{name}, later layers",
            "nats",
            Figure(None, words="very small", detail=f"layers {first} to {last}"),
            sep_late,
            verdict=falls_below(
                sep_late, others, f"later layers depend less on attention to {name} than to other tokens"
            ),
        ),
        Row(
            f"{name}, first layers",
            "nats",
            Figure(None, words="larger", detail=f"layers 0 to {first - 1}"),
            sep_early,
            verdict=exceeds(
                sep_early, sep_late, f"attention to {name} matters less in later layers than in the first"
            ),
        ),
        Row(f"{other}, later layers", "nats", None, others),
        Row(f"{other}, first layers", "nats", None, _mean(atlas, stack, "other", early)),
        Row(f"{marks}, later layers", "nats", None, _mean(atlas, stack, "punctuation", late)),
        Row(f"{marks}, first layers", "nats", None, _mean(atlas, stack, "punctuation", early)),
    ]


def _mean(atlas: Atlas, stack: str, role: str, layers: list[int]) -> Figure | None:
    """The mean over layers; None where no text has such a token."""
    arrays = atlas.stack(stack)
    values = arrays["gradient_layer"].sel(role=role).values[layers]
    known = np.isfinite(values)
    if not known.any():
        return None
    errors = arrays.get("gradient_layer_stderr")
    error = None if errors is None else float(errors.sel(role=role).values[layers][known].mean())
    units, detail = atlas.sample_size("gradient_layer"), layer_names(layers, as_range=True)
    return with_error(float(values[known].mean()), error, units, detail=detail)


def _task(model: Model, text: Corpus, examples: int, max_length: int | None, seed: int) -> LanguageModelling:
    """Masked tokens, or the next token for a model that reads from left to right."""
    if all(grid.causal for grid in surveyed(model).stacks.grids):
        return NextToken(text, max_length=max_length, limit=examples)
    return MaskedLanguageModelling(text, max_length=max_length, limit=examples, seed=seed)
