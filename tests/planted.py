"""Planted atlases: fixed numbers, the same on every machine, with every analysis that an atlas can hold.

What surfaces make of them is in tests/gallery. Nothing is computed by a model: where the names of arrays come from a
run of a tiny one, all its numbers are replaced (`replanted`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from tests.browser.material import BEFORE, TO_THE_END, with_rules, with_typical
from tests.helpers.atlases import (
    DEPENDENCY_ROWS,
    FEATURES,
    PATTERNS,
    ROLES,
    atlas_of,
    carried,
    dependency_row,
    empty_atlas,
    example,
    head_distance,
    per_head,
    previous_token_atlas,
    probe_facts,
    proper_nouns,
    provenance,
    random_atlas,
    stack_arrays,
    with_dependency,
)
from tests.helpers.kinds import kinds_atlas
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.two_models import moved

import headscope as hs
from headscope.ablation.result import added_to
from headscope.atlas import Atlas, Typical
from headscope.facts.analyses.explanations import DESCRIPTION as EXPLANATION
from headscope.facts.analyses.search import DESCRIPTION as SEARCH
from headscope.facts.analyses.uses import DESCRIPTION as USES
from headscope.known_heads.result import DESCRIPTION as DETECTED
from headscope.measures.templates import TEMPLATES
from headscope.types import Coords, LabelledArray

LAYERS, HEADS = 3, 4
GRID: Coords = {"layer": range(LAYERS), "head": range(HEADS)}
TEXTS = [("the cat sat", "a dog saw it"), ("it was red", "the mat"), ("a house in the mat", None)]

ABLATED = {
    "task": "qa",
    "data": "q.json",
    "edit": "zero",
    "examples": 40,
    "documents": 50,
    "metrics": {
        "em": {"unit": "%", "digits": 1, "higher_is_better": True},
        "f1": {"unit": "%", "digits": 1, "higher_is_better": True},
    },
    "correction": "holm",
    "baseline": {"em": 30.0, "f1": 40.0},
    "types_from": "",
    "ordered_by": "",
}
"""What an atlas says of a sweep."""


def sweep_arrays(
    start: str, change: np.ndarray[Any, Any], sure: np.ndarray[Any, Any], coords: Coords
) -> dict[str, LabelledArray]:
    """The arrays of a sweep (..., metric): the change, 1 as its error, 2 either way, and whether it is significant."""
    labels: Coords = {**coords, "metric": ["em", "f1"]}
    numbers = {
        "change": change,
        "change_stderr": np.ones_like(change),
        "change_low": change - 2,
        "change_high": change + 2,
        "p": np.where(sure, 0.001, 0.4),
        "significant": sure.astype(float),
    }
    return {
        f"{start}_{ending}": LabelledArray(values, tuple(labels), labels, "made up", "points")
        for ending, values in numbers.items()
    }


def with_sweeps(atlas: Atlas) -> Atlas:
    """Heads whose change of F1 is 1 less with each; the last two of the last layer are significant."""
    change = -np.arange(LAYERS * HEADS, dtype=float).reshape(LAYERS, HEADS)
    both = np.stack([np.zeros_like(change), change], -1)
    sure = np.zeros_like(both, dtype=bool)
    sure[2, 2:, 1] = True
    made = added_to(atlas, "heads", {"encoder": sweep_arrays("ablation", both, sure, GRID)}, ABLATED, [])
    layer = np.array([[0.0, -8.0], [0.0, 3.0], [0.0, 5.0]])
    sure = np.array([[False, True], [False, False], [False, True]])
    arrays = sweep_arrays("layer", layer, sure, {"layer": range(LAYERS)})
    made = added_to(made, "layers", {"encoder": arrays}, ABLATED, [])
    named: Coords = {"edit": ["near", "far", "all but near", "2 random heads (1)", "2 random heads (2)"]}
    every = np.concatenate([layer, [[0.0, 4.0], [0.0, 5.0]]])
    sure = np.concatenate([sure, np.zeros((2, 2), dtype=bool)])
    facts = {**ABLATED, "types": {"near": ["0.0", "0.1"], "far": ["1.0"]}}
    made = added_to(made, "types", {"encoder": sweep_arrays("type", every, sure, named)}, facts, [])
    coords: Coords = {
        "order": ["importance", "random 0", "random 1"],
        "pruned": [0, 6, 12],
        "metric": ["em", "f1"],
    }
    curve = np.zeros((3, 3, 2))
    curve[:, :, 1] = [[40, 39, 5], [40, 30, 5], [40, 20, 5]]
    array = LabelledArray(curve, tuple(coords), coords, "made up", "points")
    return added_to(made, "cumulative", {"encoder": {"pruning_curve": array}}, ABLATED, [])


def row_cell(value: float | None, stderr: float | None = 0.01) -> dict[str, float | None]:
    """A number of an explanation with its interval."""
    ends = (None, None) if value is None or stderr is None else (value - 2 * stderr, value + 2 * stderr)
    return {"value": value, "stderr": stderr, "low": ends[0], "high": ends[1]}


COUNTS = (1, 2, 4)
REPLACED = ("token", "position", "segment", "all")
CONTRASTS = ("segment", "sentence", "sep")


def explained_row(
    head: str, shares: tuple[float, ...], left: tuple[float, ...], **more: Any
) -> dict[str, Any]:
    """Why a head does what it does: its score carried by neurons, what it tells apart, what is left of its pattern."""
    sep = {"neuron": 5, "auc": 0.97, "stderr": 0.01, "low": 0.9, "high": 1.0, "clear": True}
    return {
        "head": head,
        "neurons": 16,
        "best": [5, 3, 7, 1],
        "alike": 4,
        "carries": carried(dict(zip(COUNTS, shares, strict=True)), row_cell),
        "bias": None,
        "separates": [
            {"contrast": "segment", "texts": 0, "score": row_cell(None, None), "neurons": [], "clear": 0},
            {
                "contrast": "sep",
                "texts": 9,
                "score": row_cell(0.9),
                "neurons": [sep, {**sep, "clear": False}],
            },
        ],
        "left": [
            *(
                {"replaced": name, "left": row_cell(value)}
                for name, value in zip(REPLACED, left, strict=True)
            ),
            {"replaced": "even", "left": None},
        ],
        **more,
    }


EXPLAINED_ROWS = [
    explained_row("0.1", (0.6, 0.7, 0.8), (0.9, 0.02, 0.95, 0.0)),
    explained_row("2.3", (0.1, 0.2, 0.3), (-0.1, 0.8, 0.9, 0.0)),
]


def with_explanation(atlas: Atlas | None = None, rows: list[dict[str, Any]] | None = None) -> Atlas:
    """Heads 0.1 and 2.3 were explained; `rows` takes the place of what was found of them."""
    share, left, auc = np.full((3, 4, 3), np.nan), np.full((3, 4, 4), np.nan), np.full((3, 4, 3), np.nan)
    for one in EXPLAINED_ROWS:
        at = tuple(map(int, one["head"].split(".")))
        share[at] = [part["score"]["value"] for part in one["carries"]]
        left[at] = [found["left"]["value"] for found in one["left"][:4]]
        auc[at] = (np.nan, 0.6, 0.9)
    arrays = {
        **per_head("score_share", share, {"neurons": COUNTS}),
        **per_head("pattern_left", left, {"replaced": REPLACED}),
        **per_head("score_auc", auc, {"contrast": CONTRASTS}),
    }
    return (atlas or random_atlas()).with_probe(
        "explanation",
        {"encoder": arrays},
        facts=probe_facts(description=EXPLANATION.to_data()),
        table={"encoder": EXPLAINED_ROWS if rows is None else rows},
        examples={},
    )


PRONOUN = {
    "mention_class": "pronoun", "cases": 400, "head": "1.1", "direction": "mention_to_antecedent",
    "accuracy": 0.65, "low": 0.6, "high": 0.7, "nearest": 0.27, "nearest_low": 0.25, "nearest_high": 0.3,
    "head_match": 0.52, "head_match_low": 0.5, "head_match_high": 0.55,
    "rules": 0.8, "rules_low": 0.75, "rules_high": 0.85,
}  # fmt: skip
"""A row of the coreference probe: above two rules, below the cascade."""


def role_row(role: str, low: float, **more: Any) -> dict[str, Any]:
    """A row of the relations probe, a difference of 0.27 whose lower end is `low`."""
    return {
        "role": role, "cases": 50, "head": "0.1", "direction": "predicate_to_argument", "attention": 0.45,
        "control": 0.18, "difference": 0.27, "low": low, "high": 0.33, **more,
    }  # fmt: skip


def feature_row(feature: str, queries: str, **more: Any) -> dict[str, Any]:
    """A row of the features probe."""
    return {
        "feature": feature, "queries": queries, "texts": 90, "uniform": 0.04, "head": "1.0", "attention": 0.19,
        "attention_stderr": 0.005, "control": 0.12, "preference_head": "1.1", "preference": 2.06,
        "preference_stderr": 0.05, **more,
    }  # fmt: skip


def use_row(relation: str, head: str, **more: Any) -> dict[str, Any]:
    """A relation that a head finds and the model uses."""
    return {
        "relation": relation, "does": f"finds the word of a relation ({relation})", "head": head,
        "direction": "dependent_to_head", "accuracy": 0.91, "finds": True, "score": "the masked word",
        "cases": 120, "sentences": 80, "tests": 3, "needed": 7, "change": 0.52, "control": 0.04,
        "difference": 0.48, "low": 0.41, "high": 0.55, "p_value": 0.0002, "random": 0.03, "beyond": 0.49,
        "beyond_low": 0.4, "beyond_high": 0.58, **more,
    }  # fmt: skip


USE_ROWS = [
    use_row("det", "1.2"),
    use_row("obj", "1.2", change=0.02, difference=0.01, low=-0.02, high=0.04, p_value=0.4, beyond=-0.01),
    use_row("nsubj", "0.1", change=0.3, difference=0.2, low=-0.1, high=0.5, p_value=0.2),
    use_row("nmod", "2.3", finds=False),
    use_row("amod", "2.1", sentences=5),
    use_row("advmod", "2.0", beyond_low=-0.1),
]
"""One of every verdict, and of every reason for it."""


def by_cell(name: str, values: np.ndarray[Any, Any], **coords: Any) -> dict[str, LabelledArray]:
    """An array (..., layer, head)."""
    labels = {**coords, **GRID}
    return {name: LabelledArray(values, tuple(labels), labels, name)}


def drawn(*shape: int, seed: int = 0, low: float = 0.0, high: float = 1.0) -> np.ndarray[Any, Any]:
    """Fixed numbers of three decimals, none of them in the middle between two of two."""
    thousandths = np.random.default_rng(seed).integers(round(low * 1000), round(high * 1000), shape)
    return np.where(thousandths % 10 == 5, thousandths + 1, thousandths) / 1000


def with_probes(atlas: Atlas) -> Atlas:
    """Coreference, semantic roles, features, arrows and used relations, of the encoder."""
    ways = ("mention_to_antecedent", "antecedent_to_mention")
    mentions = ("pronoun", "proper_noun")
    arrays = by_cell(
        "coreference_accuracy", drawn(2, 2, 3, 4, seed=1), mention_class=mentions, direction=ways
    )
    shown = example(probe="coreference", label="pronoun", direction="mention_to_antecedent")
    made = _probed(atlas, "coreference", arrays, [PRONOUN, proper_nouns(90)], [shown])
    ways = ("predicate_to_argument", "argument_to_predicate")
    arrays = by_cell(
        "relation_difference", drawn(2, 2, 3, 4, seed=2) - 0.4, role=("ARG1", "ARG2"), direction=ways
    )
    made = _probed(made, "relations", arrays, [role_row("ARG1", 0.21), role_row("ARG2", -0.01)])
    arrays = by_cell("feature_attention", drawn(2, 3, 4, seed=3), feature=("noun", "cls"))
    last: Coords = {"feature": ("noun", "cls"), "head": GRID["head"]}
    arrays["feature_attention_cls"] = LabelledArray.of(
        drawn(2, 4, seed=7), last, "attention of the last layer's [CLS]"
    )
    made = _probed(made, "features", arrays, [feature_row("noun", "all"), feature_row("cls", "cls")])
    arrays = by_cell("find_score", drawn(3, 4, seed=4, high=0.4))
    arrays |= by_cell("find_attention", drawn(3, 4, seed=5)) | by_cell("find_p", drawn(3, 4, seed=6))
    best = {"head": "2.1", "attention": 0.62, "others": 0.11, "score": 0.51, "low": 0.44, "high": 0.58}
    rows = [best | {"p_value": 0.001, "chosen": 40}, best | {"head": "0.3", "p_value": 0.3, "chosen": 2}]
    made = _probed(made, "find", arrays, rows, description=SEARCH.to_data())
    relations = [row["relation"] for row in USE_ROWS]
    lost = np.full((len(relations), 3, 4), np.nan)
    for place, row in enumerate(USE_ROWS):
        layer, head = map(int, row["head"].split("."))
        lost[place, layer, head] = row["difference"]
    arrays = by_cell("uses_difference", lost, relation=relations)
    return _probed(made, "uses", arrays, USE_ROWS, description=USES.to_data())


def _probed(
    atlas: Atlas,
    probe: str,
    arrays: dict[str, LabelledArray],
    rows: list[dict[str, Any]],
    examples: Any = (),
    **facts: Any,
) -> Atlas:
    about = probe_facts(**facts)
    return atlas.with_probe(
        probe, {"encoder": arrays}, facts=about, table={"encoder": rows}, examples={"encoder": examples}
    )


def with_names(atlas: Atlas) -> Atlas:
    """How much of each head names explain: 0.0 is explained best, 0.1 is not known, 0.2 is misled."""
    shares = np.full((LAYERS, HEADS), 0.4)
    shares[0, :3] = 0.8, np.nan, -0.2
    weights = np.zeros((LAYERS, HEADS, len(TEMPLATES)))
    weights[..., TEMPLATES.index("delimiters")] = 1
    weights[0, 0] = 0
    for name, weight in (("even", 0.2), ("offset_-1", 0.6), ("first_token", 0.2)):
        weights[0, 0, TEMPLATES.index(name)] = weight
    arrays = per_head("explained", shares) | per_head("explained_control", shares / 4, stderr=None)
    arrays |= per_head("explained_ceiling", np.full_like(shares, 0.9), stderr=None)
    arrays |= per_head("explained_weight", weights, {"template": TEMPLATES}, stderr=None)
    return joined(atlas, {"encoder": arrays})


def joined(atlas: Atlas, more: Mapping[str, Mapping[str, LabelledArray]]) -> Atlas:
    """An atlas that nothing was asked of yet, with more measures."""
    assert not atlas.probes
    stacks = {stack: {**atlas.stack(stack).plain, **more.get(stack, {})} for stack in atlas.stacks}
    facts = {
        key: value for key, value in atlas.provenance.items() if key not in ("stacks", "headscope_format")
    }
    about = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in facts.items()}
    return Atlas.build(stacks, provenance=about)


def replanted(atlas: Atlas, probe: str, onto: Atlas) -> Atlas:
    """`onto` with what a probe left in the atlas, every number replaced by a fixed one; counts and names stay."""
    found = atlas.found_by(probe)
    for arrays in found.values():
        for seed, name in enumerate(sorted(arrays)):
            values = arrays[name].values
            if values.dtype.kind == "f":
                scale = 0.05 if name.endswith("_stderr") else 1
                values[...] = np.where(np.isnan(values), np.nan, drawn(*values.shape, seed=seed) * scale)
    facts = {key: value for key, value in atlas.probes[probe].items() if key not in ("arrays", "data_hash")}
    facts |= {"created": "2026-11-15T10:33:52+00:00", "duration_s": 1.5}
    for option in facts.get("options", {}):
        if option.endswith("_hash"):  # tiny models have random weights, which differ in their last bits
            facts["options"][option] = "sha256:0"
    return onto.with_probe(probe, found, facts=facts, table={}, examples={})


@cache
def encoder() -> Atlas:
    """An encoder of 3 x 4 heads with every probe and sweep that one can have."""
    measured = with_names(random_atlas(LAYERS, HEADS))
    relations = [
        *DEPENDENCY_ROWS,
        dependency_row("amod", 200, 0.385, 0.35),  # above the offset, and not above the end of its interval
        dependency_row("case", 30, 0.9, 0.5),  # just enough cases
        dependency_row("cc", 60, 0.1, 0.4),  # clearly below
    ]
    probed = with_probes(with_rules(with_dependency(measured, rows=relations)))
    # Not in the order of their neurons; by its best four, 1.0 would be first.
    rows = [explained_row("1.0", (0.3, 0.5, 0.95), (0.9, 0.9, 0.9, 0.1)), *reversed(EXPLAINED_ROWS)]
    made = with_sweeps(with_explanation(probed, rows))
    return with_typical(with_importance(made), [BEFORE, TO_THE_END])


def with_importance(atlas: Atlas) -> Atlas:
    """What the loss says of attention."""
    model = headed("bert", "mlm")
    task = hs.task_for("mlm", hs.sample_path("articles"), model)
    found = hs.gradient_importance(model, task, limit=2).to_atlas()
    return replanted(found, "importance", atlas)


@cache
def with_kinds() -> Atlas:
    """An encoder whose heads were sorted into the four published kinds."""
    atlas = kinds_atlas(5, 6)
    return hs.head_types(atlas).to_atlas(atlas)


@cache
def compared() -> Atlas:
    """An encoder beside another one, with the patterns of its maps."""
    found = hs.compare(tiny("bert"), moved("bert"), TEXTS, max_length=32).to_atlas()
    made = replanted(found, "compare", random_atlas(LAYERS, HEADS))
    patterns = hs.find_patterns(tiny("bert"), [first for first, _ in TEXTS], max_length=32).to_atlas()
    return replanted(patterns, "patterns", made)


KNOWN = {
    "previous": ("1.0", 0.92, 0.11, 0.81, ["1.0"]),
    "induction": ("2.1", 0.74, 0.02, 0.72, ["2.1", "2.3"]),
    "sink": ("0.2", 0.88, 0.25, 0.63, ["0.2"]),
    "duplicate": ("0.3", 0.09, 0.06, 0.03, []),
}
"""By kind the best head, its number, that of its control, their difference, and the heads that are clearly of it."""


def with_known(atlas: Atlas) -> Atlas:
    """What a decoder's heads do on made text: four kinds, of one of which there is no head."""
    shape = (len(KNOWN), LAYERS, HEADS)
    value, control = np.full(shape, 0.05), np.full(shape, 0.04)
    rows = []
    for place, (kind, (name, most, least, difference, clear)) in enumerate(KNOWN.items()):
        layer, head = map(int, name.split("."))
        value[place, layer, head], control[place, layer, head] = most, least
        row = {
            "kind": kind,
            "unit": "share",
            "cases": 60,
            "over": "texts",
            "n": 60,
            "head": name,
            "attention": most,
        }
        row |= {
            "control": least,
            "difference": difference,
            "low": difference - 0.06,
            "high": difference + 0.06,
        }
        rows.append(row | {"heads": clear, "named": ", ".join(clear)})
    kinds = list(KNOWN)
    arrays = by_cell("known_heads", value, kind=kinds) | by_cell("known_heads_control", control, kind=kinds)
    arrays |= by_cell("known_heads_difference", value - control, kind=kinds)
    for name in ("known_heads", "known_heads_difference"):
        arrays |= by_cell(f"{name}_stderr", np.full(shape, 0.02), kind=kinds)
    for name in ("known_count", "known_units"):
        arrays[name] = LabelledArray.of(
            np.full(len(kinds), 60), {"kind": kinds}, "how many texts have a case"
        )
    about = probe_facts(description=DETECTED.to_data())
    return atlas.with_probe("known", {"decoder": arrays}, facts=about, table={"decoder": rows}, examples={})


TARGETS = ("looked_at", "next", "current")


def with_writes(
    atlas: Atlas, value: float = 2.0, control: float = 0.2, error: float = 0.01, *, stack: str = "encoder"
) -> Atlas:
    """Head 1.0 adds so much to the token it looks at, reads 0.1 as keys, and raises "cat"; nothing else writes."""
    shape = atlas.shape(stack)
    assert shape is not None
    grid: Coords = {"layer": range(shape[0]), "head": range(shape[1])}
    effect, beside = np.zeros((3, *shape)), np.zeros((3, *shape))
    effect[0, 1, 0], beside[0, 1, 0] = value, control
    numbers = {"": effect, "_control": beside, "_difference": effect - beside}
    cells: Coords = {"target": TARGETS, **grid}
    arrays = {f"direct_effect{end}": LabelledArray.of(each, cells, "effect") for end, each in numbers.items()}
    for end in ("", "_difference"):
        arrays[f"direct_effect{end}_stderr"] = LabelledArray.of(np.full((3, *shape), error), cells, "error")
    tokens, logits = np.full((2, 1, *shape), "dog"), np.full((2, 1, *shape), -0.1)
    tokens[0, 0, 1, 0], logits[0, 0, 1, 0] = "cat", 0.4
    ranks: Coords = {"change": ("raised", "lowered"), "rank": [0], **grid}
    arrays["written_token"] = LabelledArray.of(tokens, ranks, "tokens")
    arrays["written_effect"] = LabelledArray.of(logits, ranks, "logits")
    copying = np.zeros(shape)
    copying[1, 0] = -0.5
    arrays["copying"] = LabelledArray.of(copying, grid, "copying")
    reads = np.full((3, *shape, *shape), np.nan)
    reads[:, 1, 0, 0, :2] = [[0.1, 0.2], [0.05, 0.9], [0.3, 0.4]]
    between: Coords = {
        "read": ("query", "key", "value"),
        **grid,
        "from_layer": grid["layer"],
        "from_head": grid["head"],
    }
    arrays["composition"] = LabelledArray.of(reads, between, "ratio")
    arrays["composition_random"] = LabelledArray.of(np.full(3, 0.06), {"read": between["read"]}, "ratio")
    row = {"effect": "copying", "head": "1.0", "logits": value, "control": control, "difference": 1.8}
    return atlas.with_probe("writes", {stack: arrays}, facts=probe_facts(), table={stack: [row]}, examples={})


def with_moved(atlas: Atlas) -> Atlas:
    """What heads take beside where they look: head 1.0 looks at the first kind of token and takes little from it."""
    more = {}
    for stack in atlas.stacks:
        arrays = atlas.stack(stack).plain
        roles = arrays["role_attention"]
        own = {
            "role_attention_moved": 0.5 * roles.values,
            "role_attention_moved_stderr": np.full_like(roles.values, 0.01),
        }
        own["role_attention_moved"][1, 0, :, 1] = 0.02
        more[stack] = {
            name: LabelledArray(values, roles.dims, roles.coords, "share of what is moved")
            for name, values in own.items()
        }
        if "role_attention_uniform" in arrays:
            more[stack]["role_attention_moved_uniform"] = arrays["role_attention_uniform"]
    return joined(atlas, more)


@cache
def decoder() -> Atlas:
    """A decoder of 3 x 4 heads: what is moved, heads of known kinds, and what they write."""
    atlas = with_moved(random_atlas(LAYERS, HEADS, stacks=("decoder",), architecture="LlamaModel"))
    return with_writes(with_known(atlas), stack="decoder")


@cache
def stacks() -> Atlas:
    """An encoder-decoder with its three stacks, and a probe of each."""
    return with_dependency(
        random_atlas(LAYERS, HEADS, stacks=("encoder", "decoder", "cross"), architecture="T5Model")
    )


@cache
def empty() -> Atlas:
    """An atlas of which there is nothing to say."""
    return atlas_of(per_head("other", np.ones((1, 1))))


# Small ones: one thing each, for what is said where it is there, where it is not, and where it is not sure.


def looks_at_sep(share: float, *, from_sep: float, stack: str = "encoder") -> Atlas:
    """2 x 2 heads that give the separator half of a share, and head 1.0 all of it; from the separator another."""
    values = np.zeros((2, 2, 3, 5))
    values[..., 4] = 1
    values[..., 0, 1], values[..., 1, 1], values[..., 2, 1] = share / 2, from_sep, share / 2
    values[1, 0, 0, 1] = share
    roles = {"query_role": ("all", "sep", "other"), "role": ROLES}
    return atlas_of(per_head("role_attention", values, roles), stack=stack)


def with_sink(share: float) -> Atlas:
    """A decoder of 2 x 3 heads, of which 1.2 gives the first token a share and all others a tenth."""
    values = np.full((2, 3, len(PATTERNS)), 0.1)
    values[1, 2, PATTERNS.index("first_token")] = share
    roles = np.full((2, 3, 3, 5), 0.2)
    arrays = per_head("named_patterns", values, {"pattern": PATTERNS})
    arrays |= per_head("role_attention", roles, {"query_role": ("all", "sep", "other"), "role": ROLES})
    return atlas_of(arrays, stack="decoder")


def breadths(*values: float) -> Atlas:
    """Two layers of two heads with these entropies."""
    return atlas_of(
        per_head("entropy", np.reshape(values, (2, 2, 1)), {"query_role": ("all",)}, units="nats")
    )


def near_and_far() -> Atlas:
    """2 x 2 heads, of which 0.1 looks at its neighbours, 1.0 at the other end, and the others at everything."""
    values = np.full((2, 2, 21), 1 / 21)
    values[0, 1] = np.eye(21)[FEATURES.index("w00")]
    values[1, 0] = np.eye(21)[FEATURES.index("w12")]
    arrays = per_head("distance_features", values, {"feature": FEATURES})
    even = np.where(np.char.startswith(FEATURES, "w1"), 0.04, 0.0)
    arrays["distance_features_uniform"] = LabelledArray(
        even, ("feature",), {"feature": FEATURES}, "even", "1"
    )
    return atlas_of(arrays)


def each_pattern() -> Atlas:
    """As many heads as there are named patterns, each of which follows its own."""
    values = np.full((1, len(PATTERNS), len(PATTERNS)), 0.1)
    values[0] += 0.5 * np.eye(len(PATTERNS))
    return atlas_of(per_head("named_patterns", values, {"pattern": PATTERNS}))


def on_a_line() -> Atlas:
    """Four heads at 0, 0.01, 0.2 and 0.6 of a line."""
    places = np.array([0.0, 0.01, 0.2, 0.6])
    return atlas_of(head_distance(np.abs(places[:, None] - places[None]), layers=2, heads=2))


def summed_distances() -> Atlas:
    """Two heads, by the published form of distances."""
    arrays = head_distance(np.array([[0, 5000.0], [5000, 0]]), layers=1, heads=2, stderr=None)
    return atlas_of(arrays, options='{"faithful": true}')


def looks_and_takes(*, looked: float, moved: float, error: float = 0.01) -> Atlas:
    """Two layers of two heads that look evenly and take evenly, but for head 1.0 and [SEP]."""
    arrays = {}
    coords: Coords = {"layer": range(2), "head": range(2), "query_role": ("all",), "role": ROLES}
    along: Coords = {"query_role": ("all",), "role": ROLES}
    for name, share in (("role_attention", looked), ("role_attention_moved", moved)):
        values = np.full((2, 2, 1, 5), 0.02)
        values[1, 0, 0, 1] = share
        values[..., 4] = 1 - values[..., :4].sum(-1)
        arrays[name] = LabelledArray.of(values, coords, name)
        arrays[f"{name}_stderr"] = LabelledArray.of(np.full_like(values, error), coords, name)
        arrays[f"{name}_uniform"] = LabelledArray.of(np.array([[0.02, 0.02, 0.02, 0.02, 0.92]]), along, name)
    return atlas_of(arrays, texts="100")


def no_syntax() -> Atlas:
    """Relations that a fixed offset finds better than any head."""
    rows = [dependency_row(name, 90, 0.1, 0.4) for name in ("all", "det", "obj")]
    return with_dependency(empty_atlas(), rows=rows)


def sweep_of_heads(*, sure: bool) -> Atlas:
    """Heads whose change of F1 is 1 less with each; the last two may be significant."""
    change = -np.arange(LAYERS * HEADS, dtype=float).reshape(LAYERS, HEADS)
    both = np.stack([np.zeros_like(change), change], -1)
    certain = np.zeros_like(both, dtype=bool)
    certain[2, 2:, 1] = sure
    arrays = sweep_arrays("ablation", both, certain, GRID)
    return added_to(empty_atlas(), "heads", {"encoder": arrays}, ABLATED, [])


def looking(
    value: float,
    error: float = 0.01,
    even: float = 0.02,
    *,
    explained_share: float | None = None,
    explained_error: float = 0.01,
    typical: Sequence[Typical] = (),
) -> Atlas:
    """Head 1.2 of 2 x 3 gives the previous token so much, all others look evenly; names explain as much of each."""
    offsets = (-1, 0, 1)
    values = np.full((2, 3, 3), even)
    values[1, 2, 0] = value
    arrays = per_head("offset_attention", values, {"offset": offsets}, stderr=error)
    arrays["offset_attention_uniform"] = LabelledArray.of(np.full(3, even), {"offset": offsets}, "even")
    if explained_share is not None:
        arrays |= per_head("explained", np.full((2, 3), explained_share), stderr=explained_error)
        for name, share in (("control", 0.05), ("ceiling", 0.95)):
            arrays |= per_head(f"explained_{name}", np.full((2, 3), share), stderr=None)
        weights = np.zeros((2, 3, len(TEMPLATES)))
        weights[..., 0], weights[..., TEMPLATES.index("offset_-1")] = 0.1, 0.9
        arrays |= per_head("explained_weight", weights, {"template": TEMPLATES}, stderr=None)
    return Atlas.build(
        {"encoder": arrays},
        provenance=provenance(texts=64),
        typical={"encoder": typical} if typical else None,
    )


def scored(value: float, rule: float) -> Atlas:
    """Head 1.2 finds subjects so often, the best offset so often; all other heads never do."""
    values = np.zeros((1, 2, 2, 3))
    values[0, 0, 1, 2] = value
    ways = ("dependent_to_head", "head_to_dependent")
    cells: Coords = {"relation": ["nsubj"], "direction": ways, "layer": range(2), "head": range(3)}
    offsets: Coords = {"relation": ["nsubj"], "offset": [1]}
    arrays = {
        "dependency_accuracy": LabelledArray.of(values, cells, "share"),
        "dependency_accuracy_stderr": LabelledArray.of(np.full_like(values, 0.01), cells, "error"),
        "dependency_baseline": LabelledArray.of(np.array([[rule]]), offsets, "share"),
        "dependency_baseline_stderr": LabelledArray.of(np.array([[0.01]]), offsets, "error"),
    }
    for name, number in (("count", 900), ("units", 60), ("documents", 60)):
        arrays[f"dependency_{name}"] = LabelledArray.of(np.array([number]), {"relation": ["nsubj"]}, name)
    return looking(0.9).with_probe(
        "dependency", {"encoder": arrays}, facts=probe_facts(), table={"encoder": []}, examples={}
    )


CARDED: dict[str, Callable[[], Atlas]] = {
    "looks": partial(looking, 0.9),
    "looks hardly": partial(looking, 0.1, 0.001),
    "looks, not sure": partial(looking, 0.9, 0.5),
    "avoids": partial(looking, 0.02, 0.001, 0.1),
    "explained": partial(looking, 0.9, explained_share=0.8),
    "explained little": partial(looking, 0.9, explained_share=0.1, explained_error=0.001),
    "explained, not sure": partial(looking, 0.9, explained_share=0.9, explained_error=0.5),
    "explained, error not known": partial(looking, 0.9, explained_share=0.8, explained_error=np.nan),
    "a rule does as well": partial(scored, 0.8, 0.85),
    "better than a rule": partial(scored, 0.8, 0.3),
}
"""By what the card of head 1.2 says."""


def ablated(*, missing: int = 0, stacks: tuple[str, ...] = ("encoder",), **facts: Any) -> Atlas:
    """A sweep of 12 heads a stack of which nothing is significant; `missing` of them have no p."""
    change = np.full((LAYERS, HEADS, 2), -1.5)
    p = np.full_like(change, 0.01)
    p.reshape(-1, 2)[:missing] = np.nan
    metrics = {"metric": ("f1", "loss")}
    arrays = per_head("ablation_change", change, metrics)
    arrays |= per_head("ablation_p", p, metrics, stderr=None)
    arrays |= per_head("ablation_significant", np.zeros_like(change), metrics, stderr=None)
    about = {"data": "dev.json", "edit": "zero", "correction": "holm", "documents": 12} | facts
    return random_atlas(LAYERS, HEADS, stacks=stacks).with_probe(
        "ablation",
        dict.fromkeys(stacks, arrays),
        facts=probe_facts(sweeps={"heads": about}),
        table={},
        examples={},
    )


SWEPT: dict[str, Callable[[], Atlas]] = {
    "12 tests": ablated,
    "10 tests": partial(ablated, missing=2),
    "24 tests": partial(ablated, stacks=("encoder", "decoder")),
    "not corrected": partial(ablated, correction="none"),
    "too few texts": partial(ablated, documents=4),
    "texts not known": partial(ablated, documents=None),
    "correction not known": partial(ablated, correction="of one's own"),
    "nothing known": partial(ablated, correction=None),
}
"""By what is known of the tests of a sweep of heads."""


def two_models() -> Atlas:
    """Features of two models, one of which changed clearly."""
    change = {
        "change_head": "0.1",
        "change": -0.07,
        "change_low": -0.09,
        "change_high": -0.05,
        "change_sure": True,
    }
    second = {"head_against": "0.0", "attention_against": 0.1, "attention_stderr_against": 0.004}
    arrays = by_cell("feature_attention", drawn(2, 3, 4, seed=3), feature=("noun", "cls"))
    return _probed(empty_atlas(), "features", arrays, [feature_row("noun", "all", **change, **second)])


def distances_missing() -> Atlas:
    """2 x 2 heads, of which the last two were never seen beside another one."""
    arrays = stack_arrays(2, 2)
    arrays["head_distance"].values[2:] = arrays["head_distance"].values[:, 2:] = np.nan
    return atlas_of({name: array for name, array in arrays.items() if name.startswith("head_distance")})


REPORTED: dict[str, Callable[[], Atlas]] = {
    "annotated automatically, chosen on the same texts": lambda: with_dependency(
        empty_atlas(), annotated_by="spacy:en_core_web_sm", options={"chosen_on": "dev.conllu"}
    ),
    "not known on what heads were chosen": lambda: with_dependency(empty_atlas(), options={}),
    "features of two models": two_models,
    "distances that are missing": distances_missing,
    "what heads find and write": lambda: with_writes(random_atlas(2, 2)),
}
"""By what a report says of it that it says of no larger one."""


SMALL: dict[str, Callable[[], Atlas]] = {
    "previous token": previous_token_atlas,
    "previous token, decoder": partial(previous_token_atlas, stack="decoder"),
    "hardly any separator": partial(looks_at_sep, 0.04, from_sep=0.3),
    "some separator": partial(looks_at_sep, 0.3, from_sep=0.1),
    "much separator": partial(looks_at_sep, 0.8, from_sep=0.9),
    "sink": partial(with_sink, 0.7),
    "no sink": partial(with_sink, 0.1),
    "breadths": partial(breadths, 1, 2, 0, 3),
    "breadths, one missing": partial(breadths, 1, np.nan, 3, 2),
    "near and far": near_and_far,
    "each pattern": each_pattern,
    "on a line": on_a_line,
    "summed distances": summed_distances,
    "looks and does not take": partial(looks_and_takes, looked=0.38, moved=0.06),
    "no syntax": no_syntax,
    "sweep, two heads": partial(sweep_of_heads, sure=True),
    "sweep, no head": partial(sweep_of_heads, sure=False),
}
"""By what is planted."""
