"""Section 4.1 of Kovaleva et al. 2019: the five patterns, their shares by model and task, and who tells them apart."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from headscope.atlas import Atlas
from headscope.capture import surveyed
from headscope.figures.kinds import pattern_bars
from headscope.figures.maps import pattern_maps
from headscope.kinds.patterns import PATTERNS, PatternClassifier
from headscope.models import Model
from headscope.pages.seen import observe
from headscope.probes.patterns import PatternsResult
from headscope.reproduce.kovaleva import published as paper
from headscope.reproduce.kovaleva.sources import (
    drawn,
    figure,
    holding,
    joined,
    model_name,
    sized_model,
    texts,
)
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section
from headscope.reproduce.verdicts import holds, within
from headscope.run.watch import Watch
from headscope.text.corpus import Corpus
from headscope.text.segments import segments
from headscope.types import HeadId, LabelledArray

Coords = dict[str, Sequence[str] | Sequence[int]]

BY_TASK = "patterns_by_task"
"""The probe that shares on further data sets are kept under, as rows: an atlas has the arrays of one data set."""
MAPS = "pattern_maps"
MAP_TEXTS = 8
"""Of so many texts the clearest map of each pattern is kept."""
SIDE = 48


def with_patterns(atlas: Atlas | None, result: PatternsResult) -> Atlas:
    """The atlas with shares on a data set: as arrays where it has none yet, else as rows beside them."""
    if atlas is None or "pattern_share" not in atlas:
        return result.to_atlas(atlas)
    source = result.source
    rows = {
        stack: [
            *atlas.table(BY_TASK, stack=stack),
            {
                "data": source.data,
                "texts": source.texts,
                **{name: row[name] for row in result.table(stack=stack)[:1] for name in PATTERNS},
            },
        ]
        for stack in result.arrays()
    }
    data = ", ".join(dict.fromkeys(str(row["data"]) for found in rows.values() for row in found))
    return atlas.with_probe(BY_TASK, {}, facts={"data": data}, table=rows, examples={})


def with_maps(texts_read: Corpus, max_length: int, model: Model, atlas: Atlas | None) -> Atlas:
    """The atlas with the clearest map of each pattern, by the classifier, in the first few texts."""
    assert atlas is not None
    classifier = PatternClassifier.load()
    best: dict[str, tuple[float, HeadId, torch.Tensor]] = {}
    encoder = Watch(surveyed(model)).encoder(max_length)
    stack = atlas.stacks[0]
    for text in islice(segments(texts_read, encoder), MAP_TEXTS):
        seen = observe(model, text.first, text.second, max_length=max_length)
        shape = seen.stack(stack)
        maps = torch.from_numpy(
            np.concatenate([seen.layer(stack, layer) for layer in range(shape.layers)])
        )  # (layer * head, query, key)
        probabilities = classifier.probabilities(maps)  # (layer * head, pattern)
        for place, pattern in enumerate(PATTERNS):
            head = int(probabilities[:, place].argmax())
            probability = float(probabilities[head, place])
            if probability > 0.5 and probability > best.get(pattern, (0.0,))[0]:
                best[pattern] = probability, HeadId(*divmod(head, shape.heads)), maps[head]
    names = [pattern for pattern in PATTERNS if pattern in best]
    coords: Coords = {"shown_pattern": names, "row": range(SIDE), "column": range(SIDE)}
    pooled = [torch.nn.functional.adaptive_max_pool2d(best[name][2][None], SIDE)[0] for name in names]
    arrays = {}
    if names:
        arrays["pattern_map"] = LabelledArray(
            torch.stack(pooled).numpy(),
            ("shown_pattern", "row", "column"),
            coords,
            "the clearest map of each pattern, the largest weight of each cell",
        )
    rows = [{"pattern": name, "probability": best[name][0], "head": str(best[name][1])} for name in names]
    facts = {"data": texts_read.name, "texts": MAP_TEXTS}
    return atlas.with_probe(MAPS, {stack: arrays}, facts=facts, table={stack: rows}, examples={})


def maps(atlases: Sequence[Atlas]) -> Section:
    """Figure 1: a typical map of each pattern."""
    key, title = "maps", "Figure 1: typical maps of the five patterns"
    covers = ("figure 1",)
    found = next((found for atlas in atlases if (found := holding(atlas, "pattern_map"))), None)
    if found is None:
        needs = "figure 1 needs a model, not an atlas alone, and --text FILE, --pairs FILE or --task"
        return Section(key, title, paper.MAPS, needs=needs, covers=covers)
    atlas, stack = found
    rows = atlas.table(MAPS, stack=stack)
    shown = {str(row["pattern"]): row for row in rows}
    missing = [name for name in PATTERNS if name not in shown]
    facts = atlas.provenance["probes"][MAPS]
    notes = [
        f"The map that headscope's pattern networks are surest of, in the first {facts['texts']} texts. The paper's "
        "were chosen by its authors."
    ]
    if missing:
        notes.append(
            f"No map of these texts is called {' or '.join(missing)} with a probability above one half."
        )
    caption = f"{model_name(atlas)}: queries run down, keys across; dark is much attention."
    size = (1.75 * len(shown) + 0.2, 2.3)
    return Section(
        key,
        title,
        paper.MAPS,
        Origin(sized_model(atlas, stack), str(facts["data"])),
        tuple(
            Row(name, "share", None, Figure(row["probability"], detail=f"head {row['head']}"))
            for name, row in shown.items()
        ),
        heading="probability of",
        notes=tuple(notes),
        drawings=(
            Drawing("Typical maps", caption, size, drawn(pattern_maps, atlas, stack=stack), is_wide=True),
        ),
        covers=covers,
    )


@dataclass(frozen=True)
class Shares:
    """The shares of the five patterns in one model on one data set."""

    model: str
    origin: Origin
    data: str
    is_tuned: bool
    shares: tuple[Figure, ...]


def patterns(atlases: Sequence[Atlas]) -> Section:
    """Figure 2: the share of each pattern, for every model and data set."""
    key, title = "patterns", "Section 4.1, figure 2: patterns of attention maps"
    covers = ("figure 2",)
    entries = [entry for place, atlas in enumerate(atlases) for entry in _entries(atlas, is_tuned=place > 0)]
    if not entries:
        needs = "figure 2 needs --text FILE, --pairs FILE or --task, or an atlas made with headscope patterns"
        return Section(key, title, paper.PATTERNS, needs=needs, covers=covers)
    names = _names(entries)
    rows = []
    for place, pattern in enumerate(PATTERNS):
        for name, entry in zip(names, entries, strict=True):
            ours, quantity = entry.shares[place], f"{pattern}, {name}" if name else pattern
            row = Row(quantity, "share", None, ours)
            if pattern == "heterogeneous" and (entry.is_tuned or len(atlases) == 1):
                verdict = within(
                    ours, *paper.HETEROGENEOUS_RANGE, "a third to three fifths of the maps are heterogeneous"
                )
                row = Row(quantity, "share", paper.HETEROGENEOUS, ours, verdict=verdict)
            rows.append(row)
    bars = {
        name or entry.model: [share.value or 0.0 for share in entry.shares]
        for name, entry in zip(names, entries, strict=True)
    }
    caption = "Share of attention maps that show each pattern, by model and data set."
    return Section(
        key,
        title,
        paper.PATTERNS,
        joined([entry.origin for entry in entries]),
        tuple(rows),
        heading="pattern",
        notes=(
            "The paper gives the other shares as a picture only, and calls the heterogeneous one an upper bound of "
            "what could be linguistic.",
            "The paper's are of fine-tuned models on their tasks' inputs. Ours are found by headscope's own networks, "
            "which are wrong at times: see the next section.",
        ),
        drawings=(
            Drawing("Patterns", caption, (6.8, 0.4 * len(bars) + 1.3), drawn(pattern_bars, bars, PATTERNS)),
        ),
        covers=covers,
    )


def _entries(atlas: Atlas, *, is_tuned: bool) -> list[Shares]:
    """What an atlas has: the arrays of one data set, and the rows of others."""
    found = holding(atlas, "pattern_share_whole")
    if found is None:
        return []
    _, stack = found
    facts = atlas.provenance["probes"].get("patterns", {})
    arrays = atlas.stack(stack)
    share, error = arrays["pattern_share_whole"], arrays["pattern_share_whole_stderr"]
    whole = {
        name: {"share": float(share.sel(pattern=name)), "stderr": float(error.sel(pattern=name))}
        for name in PATTERNS
    }
    model, sized = model_name(atlas), sized_model(atlas, stack)
    rows = [
        {"data": facts.get("data"), "texts": facts.get("texts", 0), **whole},
        *atlas.table(BY_TASK, stack=stack),
    ]
    return [
        Shares(
            model,
            Origin(sized, f"{row['data']}, {texts(row['texts'])}"),
            str(row["data"]),
            is_tuned,
            tuple(
                figure(row[name]["share"], row[name]["stderr"], row["texts"] or None, limits=(0, 1))
                for name in PATTERNS
            ),
        )
        for row in rows
    ]


def _names(entries: Sequence[Shares]) -> list[str]:
    """What tells the entries apart: the model, the data, or both."""
    by_model = len({entry.model for entry in entries}) > 1
    by_data = len({entry.data for entry in entries}) > 1
    return [
        " on ".join(part for part, is_used in ((entry.model, by_model), (entry.data, by_data)) if is_used)
        for entry in entries
    ]


def classifier() -> Section:
    """How well patterns are told apart, by the paper's network and by ours."""
    facts = PatternClassifier.load().facts
    by_pattern: dict[str, float] = json.loads(facts["f1"])
    macro = float(facts["macro_f1"])
    verdict = holds(
        round(macro, 2) >= paper.MACRO_F1, "a network tells the patterns apart with an F1 of 0.86"
    )
    rows = [
        Row("macro-F1", "share", Figure(paper.MACRO_F1), Figure(macro), verdict=verdict),
        *(Row(f"F1, {name}", "share", None, Figure(by_pattern[name])) for name in PATTERNS),
    ]
    return Section(
        "classifier",
        "Section 4.1: the classifier of patterns",
        paper.CLASSIFIER,
        Origin("the pattern networks of headscope", facts["measured_on"]),
        tuple(rows),
        notes=(
            "The paper says F1 on the annotated maps, neither how it is averaged nor whether they were held out; ours "
            "are maps that no network was trained on, with labels of our own.",
            "No interval is kept with the networks; training/patterns of the project has it.",
        ),
    )
