"""Kovaleva et al. 2019 with our figures beside the published ones."""

from dataclasses import dataclass
from typing import Any, Literal

from headscope.ablation import ablate
from headscope.atlas import Atlas
from headscope.comparison import compare
from headscope.errors import OptionError
from headscope.models import Model
from headscope.probes import FeaturesProbe, RelationsProbe
from headscope.probes.patterns import find_patterns
from headscope.reproduce import kovaleva_published as paper
from headscope.reproduce.gather import MAX_LENGTH, ModelOrAtlas, loaded, ready_atlas, refuse_data
from headscope.reproduce.kovaleva_attention import change, classifier, features, patterns
from headscope.reproduce.kovaleva_heads import heads, layers
from headscope.reproduce.kovaleva_heads import roles as role_heads
from headscope.reproduce.table import Reproduction, Section, difference_note
from headscope.tasks import Task
from headscope.text.corpus import Corpus
from headscope.text.roles import RoleCorpus
from headscope.text.treebank import Treebank


@dataclass(frozen=True)
class TwoModels(Reproduction):
    """A paper's figures and those of a model, or of one before and after fine-tuning."""

    against: Atlas | None = None
    """What was read about the fine-tuned model; `atlas` is about the other."""


def kovaleva2019(
    model: ModelOrAtlas,
    *,
    against: ModelOrAtlas | None = None,
    text: Corpus | None = None,
    treebank: Treebank | None = None,
    roles: RoleCorpus | None = None,
    task: Task | None = None,
    limit: int | None = None,
    examples: int | None = None,
    max_length: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    seed: int = 0,
    progress: bool = False,
) -> TwoModels:
    """The sections of Kovaleva et al. 2019 for a model and a fine-tuned one `against` it, as far as there are data.

    `text` (texts or pairs, the first `limit` of them) gives the patterns, and with `against` what fine-tuning changed;
    `treebank` attention to kinds of words, `roles` heads for semantic roles, `task` (`examples` of it) disabled heads
    and layers of the fine-tuned model, or of the only one. With atlases as `model` and `against` everything is read
    from them, and no data can be given.
    """
    given: dict[str, object] = {"text": text, "treebank": treebank, "roles": roles, "task": task}
    ready = ready_atlas(model)
    other = None if against is None else ready_atlas(against)
    if against is not None and (ready is None) != (other is None):
        raise OptionError("model and against must both be models, or both be atlases")
    if ready is not None:
        refuse_data(given)
        return _compared(ready, other)
    if all(value is None for value in given.values()):
        raise OptionError("there is nothing to compare; give at least one of text, treebank, roles, task")
    run = _Run(loaded(model), None if against is None else loaded(against), max_length, batch_size, progress)
    if text is not None:
        run.read(text, limit=limit, seed=seed)
    run.probe(treebank, roles)
    if task is not None:
        run.disable(task, examples)
    # Where all data were about the fine-tuned model, its atlas is the only one.
    first, second = (run.first, run.second) if run.first is not None else (run.second, None)
    assert first is not None
    return _compared(first, second)


@dataclass
class _Run:
    """The models, and the atlases that fill up."""

    model: Model
    against: Model | None
    max_length: int | None
    batch_size: int | Literal["auto"]
    progress: bool
    first: Atlas | None = None
    second: Atlas | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What every probe takes."""
        return {"max_length": self.max_length, "batch_size": self.batch_size, "progress": self.progress}

    def read(self, text: Corpus, *, limit: int | None, seed: int) -> None:
        """Patterns of both models, and how alike their attention is."""
        options = {**self.options, "limit": limit, "max_length": self.max_length or MAX_LENGTH}
        self.first = find_patterns(self.model, text, **options).to_atlas(self.first)
        if self.against is not None:
            found = compare(self.model, self.against, text, seed=seed, **options)
            self.second = found.to_atlas(find_patterns(self.against, text, **options).to_atlas())

    def probe(self, treebank: Treebank | None, roles: RoleCorpus | None) -> None:
        """Attention to kinds of words in both models, and heads for roles in the first."""
        if treebank is not None:
            probe = FeaturesProbe(self.model, against=self.against, **self.options)
            self.first = probe.score(treebank).to_atlas(self.first)
        if roles is not None:
            found = RelationsProbe(self.model, paper_filters=True, **self.options).fit_score(roles)
            self.first = found.to_atlas(self.first)

    def disable(self, task: Task, examples: int | None) -> None:
        """Single heads and whole layers of the fine-tuned model look evenly at all tokens."""
        target = self.model if self.against is None else self.against
        atlas = self.first if self.against is None else self.second
        for sweep in ("heads", "layers"):
            atlas = ablate(
                target,
                task,
                sweep=sweep,
                how="uniform",
                limit=examples,
                batch_size=self.batch_size,
                progress=self.progress,
            ).to_atlas(atlas)
        if self.against is None:
            self.first = atlas
        else:
            self.second = atlas


def _compared(first: Atlas, second: Atlas | None) -> TwoModels:
    """Everything that the atlases have figures for."""
    before = [first] if second is None else [first, second]
    after = before[::-1]
    measured: list[Section] = [
        patterns(before),
        role_heads(before),
        change(after),
        features(before),
        heads(after),
        layers(after),
    ]
    if not any(section.ours for section in measured):
        raise OptionError(
            "the atlas has nothing that Kovaleva et al. 2019 measured; make one with: headscope patterns, compare, "
            "probe relations, probe features, ablate"
        )
    measured.insert(1, classifier())
    shape = next((shape for atlas in before for stack in atlas.stacks if (shape := atlas.shape(stack))), None)
    notes = () if shape is None else (difference_note(paper.SHAPE, shape, str(first.provenance["model"])),)
    return TwoModels("kovaleva2019", paper.CITATION, measured, notes, first, second)
