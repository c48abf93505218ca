"""The registry of analyses: every public entry that makes a result of a model, on a tiny model and a few texts.

Who adds a probe or another analysis adds its entry here; test_registry.py fails until it is there, and every clause of
test_analyses.py holds for it from then on. Where a clause does not hold, the entry says why.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
from tests.contract.lanes import lanes
from tests.contract.shards import arrays_of, make_shards_small, note_counted
from tests.helpers.coreference import conllu, written
from tests.helpers.edge_model import edge_model, treebank_file
from tests.helpers.relations import made_up
from tests.helpers.tasks import headed
from tests.helpers.tiny import WORDS, tiny
from tests.helpers.treebanks import as_file, random_sentences
from tests.helpers.two_models import moved

import headscope as hs
from headscope.generation import Generated
from headscope.models import Model, wrap
from headscope.text.items import TextPair

Make = Callable[[Model, Any, dict[str, Any]], Any]
"""Runs the analysis: a model, data, and options."""


@dataclass(frozen=True)
class AnalysisEntry:
    """An analysis, what it is run on, and the reasons why a clause does not hold for it."""

    public: str
    """Its name in headscope."""
    make: Make
    model: Callable[[], Model]
    data: Callable[[], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    edit: str = "1.2"
    """The head that is edited."""
    limit: int = 6
    several: Callable[[], Model] | None = lambda: tiny("t5")
    """A model of several stacks; None where they are refused."""
    refused: Callable[[], Model] = lambda: tiny("t5")
    """One of those that are."""
    stacks: tuple[str, ...] = ("encoder", "decoder", "cross")
    """Which of its stacks are in the result."""
    tolerance: float = 1e-5
    """How far numbers of other batches may be off, where sums are of another order."""
    no_batch_size: str = ""
    no_limit: str = ""
    no_shards: str = ""
    """Why it cannot be stopped and gone on with, nor dealt out to workers."""
    no_edit: str = ""
    no_padding: str = ""
    """Why it is not the same whatever the padding token says."""
    slow: str = ""
    """Why it is tried by `make test-all` alone."""
    items_a_text: int = 1
    """Items of the data that make a text, at most; where it is more, one that begins the next text is read too."""
    no_atlas: str = ""
    lanes: bool = False
    """Whether batches go side by side, each in a thread of its own."""

    def run(self, model: Model | None = None, data: Any = None, **options: Any) -> Any:
        """The result."""
        given = self.data() if data is None else data
        return self.make(self.model() if model is None else model, given, {**self.options, **options})

    def one_by_one(self) -> Any:
        """The result, with as many batches as there are texts, where one may ask for that."""
        return self.run() if self.no_batch_size else self.run(batch_size=1)


@cache
def folder() -> Path:
    """Where the data of this session are written."""
    return Path(mkdtemp(prefix="headscope-contract-"))


@cache
def pairs() -> list[tuple[str, str]]:
    """Pairs of texts of unequal lengths, in which every word is known."""
    random = np.random.default_rng(3)
    return [
        (
            " ".join(random.choice(WORDS, 2 + 3 * number % 7)) + ".",
            " ".join(random.choice(WORDS, 3 + number % 4)),
        )
        for number in range(14)
    ]


@cache
def treebank() -> Any:
    """Random trees over sentences of unequal lengths, in documents of three."""
    path = folder() / "trees.conllu"
    path.write_text(as_file(random_sentences(36, seed=7, documents=12)), encoding="utf-8")
    return hs.read_treebank(path)


@cache
def coreference() -> Any:
    """Documents of two mentions each, with ever other words between them."""
    documents = [
        [
            [
                f"cat{number}/NOUN//(e1-thing-1-x)",
                *["saw/VERB"] * (1 + number % 4),
                "it/PRON//(e1-thing-1-x)",
            ]
        ]
        for number in range(24)
    ]
    return hs.read_coreference(written(folder(), conllu(*documents)))


@cache
def roles() -> Any:
    """Random predicates with arguments."""
    return hs.read_roles(made_up(folder()))


@cache
def arrows() -> list[dict[str, Any]]:
    """Texts of unequal lengths with two arrows each that look back, as decoders can."""
    random = np.random.default_rng(5)
    records = []
    for number in range(12):
        words = random.choice(WORDS, 6 + number % 5).tolist()
        ends = [sorted(random.choice(len(words), 2, replace=False).tolist(), reverse=True) for _ in range(2)]
        records.append({"text": " ".join(words), "arrows": ends})
    return records


@cache
def trees_with_objects() -> Any:
    """Sentences of which the model of `edge_model` knows the objects."""
    return hs.read_treebank(treebank_file(folder()))


@cache
def classification() -> Any:
    """Pairs with a class, as a task."""
    path = folder() / "classes.tsv"
    path.write_text("".join(f"{a}\t{b}\t{number % 2}\n" for number, (a, b) in enumerate(pairs())))
    return hs.task_for("classification", path, headed("bert", "classification"))


def inputs_of(model: Model) -> list[Any]:
    """So many texts as the model's input that they make several shards."""
    short = model.tokenizer(["the cat", "a dog saw it"], padding=True, return_tensors="pt")
    inputs = [dict(short), dict(model.tokenizer("it was red", return_tensors="pt"))]
    if model.is_encoder_decoder:
        inputs = [{**one, "decoder_input_ids": one["input_ids"]} for one in inputs]
    return inputs * 96


def classifier() -> Model:
    """What does that task."""
    return headed("bert", "classification")


def _bart_classifier() -> Model:
    return headed("bart", "classification")


def _writer() -> Model:
    return headed("llama", "lm")


TEXT_OPTIONS = {"max_length": 24}

ANALYZE = AnalysisEntry(
    "analyze",
    lambda model, data, options: hs.analyze(model, data, **options),
    lambda: tiny("bert"),
    pairs,
    {**TEXT_OPTIONS, "sentences": 4},
    lanes=True,
    tolerance=1e-4,  # folds are kept with half the digits
)
PATTERNS = AnalysisEntry(
    "find_patterns",
    lambda model, data, options: hs.find_patterns(model, data, **options),
    lambda: tiny("bert"),
    pairs,
    TEXT_OPTIONS,
    stacks=("encoder", "decoder"),
    lanes=True,
)
ABLATE = AnalysisEntry(
    "ablate",
    lambda model, data, options: hs.ablate(model, data, **options),
    classifier,
    classification,
    {"sweep": "layers"},
    several=_bart_classifier,
    tolerance=1e-4,  # p of changes that are nearly nothing
)

ENTRIES = {
    "analyze": ANALYZE,
    "analyze, without kernels": replace(
        ANALYZE, options={**TEXT_OPTIONS, "sentences": 0, "kernels": False}, lanes=False
    ),
    "analyze, three stacks": replace(
        ANALYZE,
        model=lambda: tiny("t5"),
        options={**TEXT_OPTIONS, "sentences": 0},
        edit="decoder:1.2",
        no_padding="a text to write begins with the padding token",
    ),
    "find_patterns": PATTERNS,
    "compare": AnalysisEntry(
        "compare",
        lambda model, data, options: hs.compare(moved(_architecture(model)), model, data, **options),
        lambda: tiny("bert"),
        pairs,
        {**TEXT_OPTIONS, "k": 2},
    ),
    "match": AnalysisEntry(
        "match",
        lambda model, data, options: hs.match(moved(_architecture(model)), model, data, **options),
        lambda: tiny("bert"),
        pairs,
        TEXT_OPTIONS,
    ),
    "explain": AnalysisEntry(
        "explain",
        lambda model, data, options: hs.explain(model, "all", data, **options),
        lambda: tiny("bert"),
        pairs,
        TEXT_OPTIONS,
        no_edit="scores are those of the model's own queries and keys, so edits are refused",
        tolerance=2e-3,  # sharp neurons tie or not by rounding
    ),
    "known": AnalysisEntry(
        "known",
        lambda model, data, options: hs.known(model, data, **options),
        lambda: tiny("llama"),
        pairs,
        {"made": 8, "length": 10, "max_length": 32},
        several=None,
    ),
    "writes": AnalysisEntry(
        "writes",
        lambda model, data, options: hs.writes(model, data, **options),
        _writer,
        pairs,
        TEXT_OPTIONS,
        several=None,
        no_padding="copying is read off the embeddings of all tokens",
    ),
    "dependency": AnalysisEntry(
        "DependencyProbe",
        lambda model, data, options: hs.DependencyProbe(model, **options).fit_score(data),
        lambda: tiny("bert"),
        treebank,
        limit=20,
        stacks=("encoder", "decoder"),
    ),
    "coreference": AnalysisEntry(
        "CoreferenceProbe",
        lambda model, data, options: hs.CoreferenceProbe(model, **options).fit_score(data),
        lambda: tiny("bert"),
        coreference,
        limit=12,
        stacks=("encoder", "decoder"),
    ),
    "relations": AnalysisEntry(
        "RelationsProbe",
        lambda model, data, options: hs.RelationsProbe(model, **options).fit_score(data),
        lambda: tiny("bert"),
        roles,
        limit=12,
        items_a_text=3,
        stacks=("encoder", "decoder"),
    ),
    "features": AnalysisEntry(
        "FeaturesProbe",
        lambda model, data, options: hs.FeaturesProbe(model, **options).score(data),
        lambda: tiny("bert"),
        treebank,
        limit=20,
        stacks=("encoder", "decoder"),
    ),
    "features, against": AnalysisEntry(
        "FeaturesProbe",
        lambda model, data, options: hs.FeaturesProbe(
            model, against=moved(_architecture(model)), **options
        ).score(data),
        lambda: tiny("bert"),
        treebank,
        limit=20,
        stacks=("encoder", "decoder"),
    ),
    "explained_with_syntax": AnalysisEntry(
        "explained_with_syntax",
        lambda model, data, options: hs.explained_with_syntax(model, data, **options),
        lambda: tiny("bert"),
        treebank,
        limit=20,
        stacks=("encoder", "decoder"),
    ),
    "find": AnalysisEntry(
        "find",
        lambda model, data, options: hs.find(model, data, **options),
        lambda: tiny("bert"),
        arrows,
        {"permutations": 100},
        stacks=("encoder", "decoder"),
        no_limit="who draws arrows draws few",
    ),
    "uses": AnalysisEntry(
        "uses",
        lambda model, data, options: hs.uses(model, data, "obj", heads=["0.0", "0.1"], **options),
        edge_model,
        trees_with_objects,
        edit="0.3",
        limit=24,
        several=None,
        no_shards="it scores few sentences many times, one edge after the other",
    ),
    "importance": AnalysisEntry(
        "gradient_importance",
        lambda model, data, options: hs.gradient_importance(model, data, **options),
        classifier,
        classification,
        several=_bart_classifier,
    ),
    "ablate, heads": replace(ABLATE, options={"sweep": "heads"}),
    "ablate, layers": replace(ABLATE, options={"sweep": "layers", "how": "mean"}),
    "ablate, cumulative": replace(
        ABLATE, options={"sweep": "cumulative", "steps": 2, "random_orders": 1}, stacks=("encoder",)
    ),
    "ablate, types": replace(
        ABLATE, options={"sweep": "types", "k": 2}, stacks=("encoder",), slow="it sorts heads into kinds"
    ),
    "ablate, pairs-of-types": replace(
        ABLATE,
        options={"sweep": "pairs-of-types", "k": 2},
        stacks=("encoder",),
        slow="it sorts heads into kinds",
    ),
    "ablate, sentence-masks": replace(
        ABLATE,
        options={"sweep": "sentence-masks", "k": 2},
        several=None,
        refused=_bart_classifier,
        slow="it sorts heads into kinds",
    ),
    "mean_outputs": AnalysisEntry(
        "mean_outputs",
        lambda model, data, options: hs.mean_outputs(model, [TextPair(*pair) for pair in data], **options),
        lambda: tiny("bert"),
        pairs,
        TEXT_OPTIONS,
        no_batch_size="it takes as many texts as fit",
        no_limit="it takes what it is given",
        no_shards="64 batches make a shard: see below",
        no_atlas="it is for edits, and holds no number of a head",
    ),
    "mean_outputs, of inputs": AnalysisEntry(
        "mean_outputs",
        lambda model, data, options: hs.mean_outputs(model, data(model), **options),
        lambda: tiny("bert"),
        lambda: inputs_of,
        no_batch_size="batches are as they are given",
        no_limit="it takes what it is given",
        no_atlas="it is for edits, and holds no number of a head",
    ),
    "generate": AnalysisEntry(
        "generate",
        lambda model, data, options: hs.generate(model, data, **options),
        _writer,
        lambda: "the cat sat on the mat and the dog saw it",
        {"tokens": 6},
        several=lambda: headed("t5", "lm"),
        no_batch_size="it is one text",
        no_limit="it is one text",
        no_shards="it is one text",
        no_atlas="it is attention as it is, of one text",
    ),
}


OF_ATLAS: dict[str, Callable[[hs.Atlas, str], Mapping[str, Any]]] = {
    "head_types": lambda atlas, stack: _plain(hs.head_types(atlas, stack=stack, k=2).table()),
    "head_map": lambda atlas, stack: _of_dataset(hs.head_map(atlas, stack=stack)),
    "feature_map": lambda atlas, stack: _of_dataset(hs.feature_map(atlas, stack=stack)),
    "Likeness": lambda atlas, stack: {
        "distance": hs.Likeness(atlas, stack=stack).distance,
        **_plain(hs.Likeness(atlas, stack=stack).groups(threshold=0.4)),
    },
    "findings": lambda atlas, stack: _plain([str(one) for one in hs.findings(atlas, stack=stack)]),
    "card": lambda atlas, stack: {"text": np.array(hs.card(atlas, "1.2", stack=stack).text)},
}
"""What is made of the numbers of an atlas, without a model."""

NO_RESULT = {
    "Atlas": "what results are kept in",
    "MEASURES": "the registry of measures",
    "Model": "what analyses are run on",
    "HeadscopeError": "what is raised",
    "annotate": "makes annotated data",
    "checkpoint": "keeps what an analysis has counted",
    "edit": "changes a model for a while",
    "prune": "changes a model for good",
    "figures": "draws results",
    "load": "makes a model",
    "wrap": "makes a model",
    "with_head": "makes a model",
    "open": "opens an atlas",
    "read_arrows": "reads data",
    "read_coreference": "reads data",
    "read_dataset": "reads data",
    "read_minimal_pairs": "reads data",
    "read_pairs": "reads data",
    "read_roles": "reads data",
    "read_text": "reads data",
    "read_treebank": "reads data",
    "sample_path": "names data",
    "task_for": "makes a task: tasks.py",
    "view": "shows attention",
    "write_report": "shows an atlas",
}
"""Public names that make no result, and what they do."""


def _plain(rows: Sequence[object]) -> dict[str, Any]:
    return {"rows": np.array([repr(row) for row in rows], dtype=object)}


def _of_dataset(found: Any) -> dict[str, Any]:
    return {name: found[name].values for name in found.variables}


def numbers(result: Any) -> dict[str, Any]:
    """All arrays of a result."""
    if isinstance(result, Generated):
        maps = {str(place): weights for place, weights in result.maps.items()}
        return {"ids": np.array(result.ids), **maps}
    if isinstance(result, dict):
        return {stack: means.numpy() for stack, means in result.items()}
    return arrays_of(atlas_of(result))


def atlas_of(result: Any) -> hs.Atlas:
    """The result as an atlas."""
    return result if isinstance(result, hs.Atlas) else result.to_atlas()


@cache
def found(name: str) -> Any:
    """The result of an analysis, made once for all clauses that only look at it."""
    with lanes(1) as opened:
        result = ENTRIES[name].run()
    assert bool(opened) == ENTRIES[name].lanes
    return result


@dataclass(frozen=True)
class OnCopy:
    """What was found of a copy of the model, whose padding token says something else, and that was trained on since."""

    result: Any
    numbers: dict[str, Any]
    weights_hash: str


@cache
def found_on_copy(name: str) -> OnCopy:
    """The result of an analysis of such a copy, in batches of several texts."""
    entry = ENTRIES[name]
    model = entry.model()
    copy = wrap(deepcopy(model.network), model.tokenizer, name=model.name)
    embeddings = copy.network.get_input_embeddings().weight
    with torch.no_grad():
        padding = embeddings[model.tokenizer.pad_token_id]
        padding.copy_(50 * torch.randn(padding.shape, generator=torch.Generator().manual_seed(1)))
    before = copy.weights_hash
    result = entry.run(copy) if entry.no_batch_size else entry.run(copy, batch_size=4)
    found = OnCopy(result, numbers(result), before)
    with torch.no_grad():
        embeddings.add_(0.1)
    return found


@cache
def found_in_shards(name: str) -> tuple[dict[str, Any], list[str]]:
    """The numbers of an analysis one text at a time in small shards, and the ids of the shards."""
    with pytest.MonkeyPatch.context() as patch:
        make_shards_small(patch)
        ids = note_counted(patch)
        return numbers(ENTRIES[name].one_by_one()), list(ids)


@cache
def found_in_stacks(name: str) -> Any:
    """The same of the model of several stacks."""
    entry = ENTRIES[name]
    assert entry.several is not None
    return entry.run(entry.several())


def _architecture(model: Model) -> str:
    """Of the tiny model's name; a broken one is a BERT."""
    name = model.name.removeprefix("tiny-")
    return "bert" if name == "broken" else name
