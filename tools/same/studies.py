"""What is run: a few whole studies, each of which leaves one atlas.

Together they pass through every analysis, every kind of stack, and every way to compute attention: with kernels and
without, published forms, attention weights alone, models whose attention is returned or goes through the softmax.
They call what users call, on the models and texts that come with the project, or on tiny random models of the tests.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny

import headscope as hs

ARTICLES = hs.sample_path("articles")

Study = Callable[[], hs.Atlas]
STUDIES: dict[str, Study] = {}


def study(run: Study) -> Study:
    """Put a study on the list, under the name of its function; the longest stand first, two run side by side."""
    STUDIES[run.__name__.replace("_", "-")] = run
    return run


@study
def demo() -> hs.Atlas:
    """The encoder that comes with the project: its measures, probes, gradients, sweeps and groups."""
    treebank = hs.read_treebank(hs.sample_path("treebank"))
    atlas = hs.analyze("demo", hs.read_text(ARTICLES), limit=64, distances="exact")
    atlas = hs.DependencyProbe("demo").fit_score(treebank).to_atlas(atlas)
    atlas = hs.DependencyProbe("demo", weigh="moved", limit=60).fit_score(treebank).to_atlas(atlas)
    coreference = hs.read_coreference(hs.sample_path("treebank"))
    atlas = hs.CoreferenceProbe("demo").fit_score(coreference).to_atlas(atlas)
    atlas = hs.RelationsProbe("demo").fit_score(hs.read_roles(hs.sample_path("roles"))).to_atlas(atlas)
    features = hs.FeaturesProbe("demo", limit=80)
    atlas = features.fit(treebank).score(treebank).to_atlas(atlas)
    atlas = hs.find_patterns("demo", hs.read_text(ARTICLES), limit=12).to_atlas(atlas)
    atlas = hs.head_types(atlas).to_atlas(atlas)
    atlas = hs.explain("demo", "2.5, 2.6, 7.4", hs.read_text(ARTICLES), limit=8).to_atlas(atlas)
    atlas = hs.find("demo", list(objects()), permutations=200).to_atlas(atlas)
    atlas = hs.uses("demo", treebank, ["obj", "det"], limit=100).to_atlas(atlas)
    return hs.explained_with_syntax("demo", treebank, limit=40).to_atlas(atlas)


@study
def demo_sweeps() -> hs.Atlas:
    """What the encoder loses without heads, layers and groups of heads; where the gradient says it would."""
    model = hs.with_head("demo", "masked-lm")
    task = hs.task_for("mlm", ARTICLES, model)
    atlas = hs.analyze(model, hs.read_text(ARTICLES), limit=24, measures=["distance_features"])
    atlas = hs.head_types(atlas, k=3).to_atlas(atlas)
    atlas = hs.gradient_importance(model, task, limit=24).to_atlas(atlas)
    atlas = hs.ablate(model, task, sweep="heads", limit=12).to_atlas(atlas)
    atlas = hs.ablate(model, task, sweep="layers", how="mean", limit=24).to_atlas(atlas)
    atlas = hs.ablate(model, task, sweep="types", how="uniform", atlas=atlas, limit=12).to_atlas(atlas)
    curve = hs.ablate(model, task, sweep="cumulative", atlas=atlas, limit=8, steps=3, random_orders=2)
    return curve.to_atlas(atlas)


@study
def demo_lm() -> hs.Atlas:
    """The decoder that comes with the project: detectors, direct effects on the output, and a sweep."""
    model = hs.with_head("demo-lm", "next-token")
    texts = hs.read_text(ARTICLES)
    atlas = hs.analyze(model, texts, limit=48)
    treebank = hs.read_treebank(hs.sample_path("treebank"))
    atlas = hs.DependencyProbe(model, limit=100).fit_score(treebank).to_atlas(atlas)
    atlas = hs.known(model, texts, limit=12, made=6, trials=4).to_atlas(atlas)
    atlas = hs.writes(model, texts, limit=12).to_atlas(atlas)
    atlas = hs.uses(model, treebank, "obj", limit=60, best=2).to_atlas(atlas)
    task = hs.task_for("lm", ARTICLES, model)
    return hs.ablate(model, task, sweep="heads", limit=4).to_atlas(atlas)


@study
def demo_pairs() -> hs.Atlas:
    """Pairs of sentences: a fine-tuned classifier, masks within and between sentences, and its twin compared."""
    pairs = list(sentence_pairs())
    texts = [(first, second) for first, second, _ in pairs]
    model = hs.with_head("demo-mrpc", "classification")
    atlas = hs.analyze(model, texts, limit=40)
    atlas = hs.head_types(atlas).to_atlas(atlas)
    with TemporaryDirectory() as folder:
        labelled = Path(folder) / "pairs.tsv"
        rows = [f"{first}\t{second}\t{label}\n" for first, second, label in pairs]
        labelled.write_text("".join(rows), encoding="utf-8")
        task = hs.task_for("classification", labelled, model)
        masks = hs.ablate(model, task, sweep="sentence-masks", atlas=atlas, limit=20)
        atlas = masks.to_atlas(atlas)
    matching = hs.match("demo", model, texts, limit=12)
    return hs.compare("demo", model, texts, limit=24, match=matching).to_atlas(atlas)


@study
def demo_published() -> hs.Atlas:
    """Measures and probes in the forms that the papers' code computed."""
    treebank = hs.read_treebank(hs.sample_path("treebank"))
    atlas = hs.analyze("demo", hs.read_text(ARTICLES), limit=16, faithful=True)
    return hs.DependencyProbe("demo", faithful=True, limit=80).fit_score(treebank).to_atlas(atlas)


@study
def tiny_t5() -> hs.Atlas:
    """Three stacks: what is corrected over all of them, and what over each."""
    model = headed("t5", "lm")
    treebank = hs.read_treebank(hs.sample_path("treebank"))
    texts = [sentence.content.text for sentence in islice(treebank, 40)]
    atlas = hs.analyze(model, list(pairwise(texts)), max_length=60)
    atlas = hs.DependencyProbe(model, limit=40, max_length=60).fit_score(treebank).to_atlas(atlas)
    with TemporaryDirectory() as folder:
        pairs = Path(folder) / "pairs.jsonl"
        both = zip(texts[::2], texts[1::2], strict=True)
        lines = [json.dumps({"text_a": first[:60], "text_b": second[:60]}) for first, second in both]
        pairs.write_text("\n".join(lines))
        task = hs.task_for("seq2seq", pairs, model)
        atlas = hs.ablate(model, task, sweep="heads", limit=20).to_atlas(atlas)
        return hs.ablate(model, task, sweep="layers", limit=20).to_atlas(atlas)


@study
def demo_without_kernels() -> hs.Atlas:
    """The same measures by the model's own attention function."""
    return hs.analyze("demo", hs.read_text(ARTICLES), limit=16, kernels=False)


@study
def demo_attention_only() -> hs.Atlas:
    """Attention weights alone, without those weighted by value norms."""
    return hs.analyze("demo", hs.read_text(ARTICLES), limit=32, weigh="looked")


@study
def tiny_gpt2() -> hs.Atlas:
    """A decoder whose tokens are bytes."""
    return small_study("gpt2")


@study
def tiny_llama() -> hs.Atlas:
    """A decoder whose heads share keys and values, with rotary positions."""
    return small_study("llama")


@study
def tiny_mpnet() -> hs.Atlas:
    """An encoder without the attention interface: its attention is what its softmax returns."""
    return small_study("mpnet")


def small_study(architecture: str) -> hs.Atlas:
    """Measures, patterns and a probe of a tiny random model."""
    model, treebank = tiny(architecture), hs.read_treebank(hs.sample_path("treebank"))
    texts = [sentence.content.text for sentence in islice(treebank, 32)]
    atlas = hs.analyze(model, texts, max_length=60)
    atlas = hs.find_patterns(model, texts, max_length=60, limit=8).to_atlas(atlas)
    return hs.DependencyProbe(model, limit=32, max_length=60).fit_score(treebank).to_atlas(atlas)


def objects() -> Iterator[dict[str, object]]:
    """Sentences of the sample treebank with arrows from objects to their verbs."""
    for sentence in hs.read_treebank(hs.sample_path("treebank")):
        words = enumerate(zip(sentence.heads, sentence.relations, strict=True))
        spans = sentence.content.spans
        arrows = [[spans[word], spans[head]] for word, (head, relation) in words if relation == "obj"]
        if arrows:
            yield {"text": sentence.content.text, "arrows": arrows}


def sentence_pairs() -> Iterator[tuple[str, str, int]]:
    """Pairs of sentences of the articles: 1 for neighbours, 0 for sentences of different paragraphs."""
    paragraphs = [text for text in ARTICLES.read_text(encoding="utf-8").splitlines() if text.strip()]
    sentences = [re.split(r"(?<=[.?!]) ", text) for text in paragraphs]
    for here, there in pairwise(sentences):
        yield here[0], here[1], 1
        yield here[0], there[0], 0
