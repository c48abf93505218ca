"""Small atlases whose numbers are known, for tests of what is made from an atlas."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headscope.atlas import Atlas, Example
from headscope.types import HeadGrid, HeadId, LabelledArray

ROLES = ("cls", "sep", "period", "comma", "other")
FEATURES = ("cls", "sep", "comma", "period", "self", *(f"w{window:02d}" for window in range(16)))
PATTERNS = (
    "next_word",
    "previous_word",
    "same_word",
    "induction",
    "delimiters",
    "own_sentence",
    "first_token",
)

Arrays = dict[str, LabelledArray]


def provenance(**changes: str | int | float) -> dict[str, str | int | float]:
    facts: dict[str, str | int | float] = {
        "model": "tiny",
        "architecture": "BertModel",
        "corpus": "corpus.txt",
        "texts": 64,
        "tokens": 7036,
        "options": '{"max_length": 128, "faithful": false}',
        "versions": '{"python": "3.11"}',
        "created": "2026-11-15T10:33:52+00:00",
        "duration_s": 3.2,
    }
    return facts | changes


def per_head(
    name: str,
    values: np.ndarray[Any, Any],
    coords: Mapping[str, Sequence[Any]] | None = None,
    *,
    units: str = "1",
    stderr: float | None = 0.01,
) -> Arrays:
    """`name` (layer, head, *coords), with the same standard error everywhere."""
    labels = {"layer": range(values.shape[0]), "head": range(values.shape[1]), **(coords or {})}
    arrays = {name: LabelledArray(values, tuple(labels), labels, name, units)}
    if stderr is not None:
        arrays[f"{name}_stderr"] = LabelledArray(
            np.full_like(values, stderr), tuple(labels), labels, name, units
        )
    return arrays


def head_distance(
    distance: np.ndarray[Any, Any], *, layers: int, heads: int, stderr: float | None = 0.001
) -> Arrays:
    labels = HeadGrid("encoder", layers, heads, causal=False).labels
    coords = {"head_a": labels, "head_b": labels}
    arrays = {"head_distance": LabelledArray(distance, ("head_a", "head_b"), coords, "distance", "nats")}
    if stderr is not None:
        error = np.full_like(distance, stderr)
        arrays["head_distance_stderr"] = LabelledArray(error, ("head_a", "head_b"), coords, "error", "nats")
    return arrays


def stack_arrays(
    layers: int, heads: int, *, stack: str = "encoder", seed: int = 0, stderr: float | None = 0.01
) -> Arrays:
    """Every measure with random but possible numbers; what does not fit cross attention is absent there."""
    random = np.random.default_rng(seed)
    shape = (layers, heads)
    arrays: Arrays = {}
    if stack != "cross":
        offsets = random.dirichlet(np.full(17, 0.3), shape)
        if stack == "decoder":
            offsets[..., 9:] = 0
        patterns = random.beta(0.5, 2, (*shape, len(PATTERNS)))
        if stack == "decoder":
            patterns[..., 0] = 0
        arrays |= per_head("offset_attention", offsets, {"offset": range(-8, 9)}, stderr=stderr)
        arrays |= per_head(
            "distance_features",
            random.dirichlet(np.full(21, 0.5), shape),
            {"feature": FEATURES},
            stderr=stderr,
        )
        even = random.dirichlet(np.full(21, 5.0))
        arrays["distance_features_uniform"] = LabelledArray(
            even, ("feature",), {"feature": FEATURES}, "even", "1"
        )
        arrays |= per_head("named_patterns", patterns, {"pattern": PATTERNS}, stderr=stderr)
    shares = random.dirichlet(np.full(5, 0.5), (*shape, 3))
    arrays |= per_head(
        "role_attention", shares, {"query_role": ("all", "sep", "other"), "role": ROLES}, stderr=stderr
    )
    entropy = random.uniform(0.1, 4.6, (*shape, 2))
    arrays |= per_head("entropy", entropy, {"query_role": ("all", "cls")}, units="nats", stderr=stderr)
    arrays["entropy_uniform"] = LabelledArray(np.float64(4.7), (), {}, "uniform", "nats")  # type: ignore[arg-type]
    points = random.normal(size=(layers * heads, 3)) * 0.1
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return arrays | head_distance(distance, layers=layers, heads=heads, stderr=stderr)


def random_atlas(
    layers: int = 3,
    heads: int = 4,
    *,
    stacks: Sequence[str] = ("encoder",),
    stderr: float | None = 0.01,
    **facts: str,
) -> Atlas:
    return Atlas.build(
        {
            stack: stack_arrays(layers, heads, stack=stack, seed=number, stderr=stderr)
            for number, stack in enumerate(stacks)
        },
        provenance=provenance(**facts),
    )


def atlas_of(arrays: Arrays, *, stack: str = "encoder", **facts: str) -> Atlas:
    return Atlas.build({stack: arrays}, provenance=provenance(**facts))


def previous_token_atlas(*, stack: str = "encoder") -> Atlas:
    """Three layers of eight heads, of which 2.6 gives the previous token 0.9 and all others give it 0.05."""
    values = np.full((3, 8, 17), 0.05)
    values[2, 6, 7] = 0.9
    return atlas_of(per_head("offset_attention", values, {"offset": range(-8, 9)}), stack=stack)


DEPENDENCY_WAYS = ("dependent_to_head", "head_to_dependent")
SENTENCE = ("The", "red", "cat", "sat", ".")


def dependency_row(
    relation: str, cases: int, accuracy: float, offset: float, /, **changes: Any
) -> dict[str, Any]:
    """A row of the dependency table, with intervals of 0.02 either way."""
    row = {
        "relation": relation,
        "cases": cases,
        "head": "1.2",
        "direction": "dependent_to_head",
        "accuracy": accuracy,
        "low": accuracy - 0.02,
        "high": accuracy + 0.02,
        "chosen_accuracy": accuracy,
        "chosen_cases": cases,
        "offset": -2,
        "offset_accuracy": offset,
        "offset_low": offset - 0.02,
        "offset_high": offset + 0.02,
    }
    return row | changes


DEPENDENCY_ROWS = (
    dependency_row("all", 1500, 0.5, 0.3),
    dependency_row("det", 900, 0.91, 0.58),
    dependency_row("nmod", 500, 0.32, 0.33),
    dependency_row("obj", 80, 0.8, 0.35, direction="head_to_dependent"),
    dependency_row("dep", 3, 1.0, 0.0),
    dependency_row("orphan", 1, 0.0, 0.0, head=None, direction=None, accuracy=None, low=None, high=None),
)


def example(**changes: Any) -> Example:
    """The determiner of a short sentence finds its noun, with 0.7 of its attention."""
    facts: dict[str, Any] = {
        "probe": "dependency",
        "label": "det",
        "direction": "dependent_to_head",
        "head": HeadId(1, 2),
        "words": SENTENCE,
        "asking": 0,
        "right": (2,),
        "guess": 2,
        "weights": (0.1, 0.06, 0.7, 0.02, 0.001),
        "name": "sentence-1",
    }
    return Example(**facts | changes)


def probe_facts(**changes: Any) -> dict[str, Any]:
    facts = {
        "data": "dev.conllu",
        "data_hash": "sha256:0",
        "annotated_by": "the files",
        "texts": 120,
        "documents": 7,
        "tokens": 2400,
        "texts_cut": 4,
        "skipped": 3,
        "notes": ["3 sentences skipped: /home/me/data/dev.conllu:12: a circle; ..."],
        "options": {"chosen_on": "half of the documents of dev.conllu", "faithful": False},
        "created": "2026-11-15T10:33:52+00:00",
        "duration_s": 1.5,
    }
    return facts | changes


def with_dependency(
    atlas: Atlas,
    *,
    rows: Sequence[Mapping[str, Any]] = DEPENDENCY_ROWS,
    examples: Sequence[Example] | None = None,
    layers: int = 3,
    heads: int = 4,
    **facts: Any,
) -> Atlas:
    """The atlas with what a dependency probe found in every stack of it: 1.2 finds det, all else is 0.1."""
    labels = [str(row["relation"]) for row in rows if row["relation"] != "all"]
    values = np.full((len(labels), 2, layers, heads), 0.1)
    values[0, 0, 1, -2] = 0.91
    cells = {"direction": DEPENDENCY_WAYS, "layer": range(layers), "head": range(heads)}
    by_label = {"relation": labels, **cells}
    arrays = {
        "dependency_accuracy": LabelledArray(values, tuple(by_label), by_label, "share of right guesses"),
        "dependency_overall": LabelledArray(values[0], tuple(cells), cells, "share of right guesses"),
        "dependency_count": LabelledArray(
            np.array([int(row["cases"]) for row in rows if row["relation"] != "all"]),
            ("relation",),
            {"relation": labels},
            "how many cases",
        ),
    }
    return atlas.with_probe(
        "dependency",
        dict.fromkeys(atlas.stacks, arrays),
        facts=probe_facts(**facts),
        table=dict.fromkeys(atlas.stacks, rows),
        examples=dict.fromkeys(atlas.stacks, [example()] if examples is None else examples),
    )


def empty_atlas(*, stacks: Sequence[str] = ("encoder",), **facts: str) -> Atlas:
    """An atlas that nothing was measured for, as a probe begins one."""
    return Atlas.build({stack: {} for stack in stacks}, provenance=provenance(**facts))


def carried(shares: Mapping[int, float], cell: Callable[[float], dict[str, Any]]) -> list[dict[str, Any]]:
    """What so many of 16 neurons carry of a score, as rows of `explain` have it; `cell` makes the numbers."""
    return [
        {
            "neurons": count,
            "score": cell(share),
            "score_random": cell(count / 16),
            "isotropic": count / 16,
            "pattern": cell(share / 2),
            "pattern_random": cell(0.1),
        }
        for count, share in shares.items()
    ]


def proper_nouns(cases: int) -> dict[str, Any]:
    """A row of the coreference probe, whose rules are better than the best head."""
    head = {
        "mention_class": "proper_noun",
        "cases": cases,
        "head": "2.1",
        "direction": "antecedent_to_mention",
    }
    ends = {"low": 0.4, "high": 0.6, "rules_low": 0.6, "rules_high": 0.8}
    return {**head, "accuracy": 0.5, "rules": 0.7, **ends}
