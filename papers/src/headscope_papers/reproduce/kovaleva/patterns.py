"""Section 4.1 of Kovaleva et al. 2019: the five patterns, their shares by model and task, and who tells them apart."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from headscope.atlas import Atlas
from headscope.facts.wording import count
from headscope.figures.kinds import pattern_bars
from headscope.figures.texts.maps import pattern_maps
from headscope.kinds.patterns import PATTERNS, PatternClassifier
from headscope.models import Model
from headscope.pages.seen import observe
from headscope.probes.patterns import PatternsResult
from headscope.text.corpus import Corpus
from headscope.text.segments import segments
from headscope.trace import surveyed
from headscope.trace.watch import Watch
from headscope.types import Coords, HeadId, LabelledArray
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.paper import PublishedSection
from headscope_papers.reproduce.table import Figure, Origin, Section

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
    data = ", ".join(dict.fromkeys(str(row["data"]) for of_stack in rows.values() for row in of_stack))
    return atlas.with_probe(BY_TASK, {}, facts={"data": data}, table=rows, examples={})


def with_maps(texts_read: Corpus, max_length: int, model: Model, atlas: Atlas | None) -> Atlas:
    """The atlas with the clearest map of each pattern, by the classifier, in the first few texts."""
    assert atlas is not None
    classifier = PatternClassifier.load()
    best: dict[str, tuple[float, HeadId, torch.Tensor]] = {}
    encoder = Watch(surveyed(model)).encoder(max_length)
    stack = atlas.stacks[0]
    for text in islice(segments(texts_read, encoder), MAP_TEXTS):
        # A decoder is given the text it reads, as by analyze: these are no texts to write from.
        second = text.first if model.is_encoder_decoder and text.second is None else text.second
        seen = observe(model, text.first, second, max_length=max_length)
        shape = seen.stack(stack)
        layers = [seen.layer(stack, layer) for layer in range(shape.layers)]
        maps = torch.from_numpy(np.concatenate(layers))  # (layer * head, query, key)
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
        arrays["pattern_map"] = LabelledArray.of(
            torch.stack(pooled).numpy(),
            coords,
            "the clearest map of each pattern, the largest weight of each cell",
        )
    rows = [{"pattern": name, "probability": best[name][0], "head": str(best[name][1])} for name in names]
    facts = {"data": texts_read.name, "texts": MAP_TEXTS}
    return atlas.with_probe(MAPS, {stack: arrays}, facts=facts, table={stack: rows}, examples={})


def maps(section: PublishedSection, atlases: Sequence[Atlas]) -> Section:
    """Figure 1: a typical map of each pattern."""
    holding = read.all_with(atlases, "pattern_map")
    if not holding:
        return section.left_out()
    atlas, stack = holding[0]
    shown = {str(row["pattern"]): row for row in atlas.table(MAPS, stack=stack)}
    missing = [name for name in PATTERNS if name not in shown]
    facts = read.probe_facts(atlas, MAPS)
    size = 1.75 * len(shown) + 0.2, 2.3
    names = {"model": read.model_name(atlas)}
    return section.filled(
        Origin(read.model_of(atlas, stack), str(facts["data"])),
        [
            section.row("pattern", Figure(row["probability"], detail=f"head {row['head']}"), pattern=name)
            for name, row in shown.items()
        ],
        remarks=[section.remark("missing", patterns=" or ".join(missing))] if missing else [],
        drawings=[section.drawing("maps", pattern_maps, atlas, stack=stack, size=size, names=names)],
        texts=facts["texts"],
    )


@dataclass(frozen=True)
class Shares:
    """The shares of the five patterns in one model on one data set."""

    model: str
    origin: Origin
    data: str
    is_tuned: bool
    shares: dict[str, Figure]


def patterns(section: PublishedSection, atlases: Sequence[Atlas]) -> Section:
    """Figure 2: the share of each pattern, for every model and data set."""
    entries = [entry for place, atlas in enumerate(atlases) for entry in _entries(atlas, is_tuned=place > 0)]
    if not entries:
        return section.left_out()
    names = _names(entries)
    rows = []
    for pattern in PATTERNS:
        for name, entry in zip(names, entries, strict=True):
            is_papers = pattern == "heterogeneous" and (entry.is_tuned or len(atlases) == 1)
            key = "heterogeneous" if is_papers else "pattern"
            ending = f", {name}" if name else ""
            limits = section.figure("heterogeneous")
            within = (limits.low or 0.0, limits.high or 1.0)
            rows.append(section.row(key, entry.shares[pattern], within, ending=ending, pattern=pattern))
    bars = {
        name or entry.model: [share.value or 0.0 for share in entry.shares.values()]
        for name, entry in zip(names, entries, strict=True)
    }
    size = 6.8, 0.4 * len(bars) + 1.3
    return section.filled(
        read.joined([entry.origin for entry in entries]),
        rows,
        drawings=[section.drawing("bars", pattern_bars, bars, PATTERNS, size=size)],
    )


def _entries(atlas: Atlas, *, is_tuned: bool) -> list[Shares]:
    """What an atlas has: the arrays of one data set, and the rows of others."""
    stack = read.stack_with(atlas, "pattern_share_whole")
    if stack is None:
        return []
    arrays, facts = atlas.stack(stack), read.probe_facts(atlas, "patterns")
    share, error = arrays["pattern_share_whole"], arrays["pattern_share_whole_stderr"]
    whole = {
        name: {"share": float(share.sel(pattern=name)), "stderr": float(error.sel(pattern=name))}
        for name in PATTERNS
    }
    rows = [
        {"data": facts.get("data"), "texts": facts.get("texts", 0), **whole},
        *atlas.table(BY_TASK, stack=stack),
    ]
    return [
        Shares(
            read.model_name(atlas),
            Origin(read.model_of(atlas, stack), f"{row['data']}, {count(row['texts'], 'text')}"),
            str(row["data"]),
            is_tuned,
            {
                name: read.figure(
                    row[name]["share"], row[name]["stderr"], row["texts"] or None, limits=(0, 1)
                )
                for name in PATTERNS
            },
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


def classifier(section: PublishedSection, _: Sequence[Atlas]) -> Section:
    """How well patterns are told apart, by the paper's network and by ours, whatever the atlases hold."""
    facts = PatternClassifier.load().facts
    by_pattern: dict[str, float] = json.loads(facts["f1"])
    macro, published = float(facts["macro_f1"]), section.figure("macro").value
    rows = [
        section.row("macro", Figure(macro), published is not None and round(macro, 2) >= published),
        *(section.row("pattern", Figure(by_pattern[name]), pattern=name) for name in PATTERNS),
    ]
    return section.filled(Origin("the pattern networks of headscope", facts["measured_on"]), rows)
