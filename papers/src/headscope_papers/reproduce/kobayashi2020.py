"""Kobayashi et al. 2020: what gets much weight, and how little of it is taken when the vectors are short."""

from collections.abc import Sequence
from time import perf_counter

from headscope import figures
from headscope.atlas import Atlas
from headscope.atlas.files import MOVED
from headscope.errors import CaptureError, OptionError
from headscope.facts.vocabulary import key_name, role_name
from headscope.models import Model
from headscope.passes.analyze import analyze
from headscope.text.corpus import Corpus
from headscope.trace import Carrier, surveyed
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.kobayashi.lengths import FetchedLengths
from headscope_papers.reproduce.paper import PublishedSection, published
from headscope_papers.reproduce.study import BatchSize, Material, ModelOrAtlas, Paper, Study
from headscope_papers.reproduce.table import Figure, Reproduction, Row, Section

PUBLISHED = published("kobayashi2020")
MEASURE = "role_attention"
LENGTHS = "fetched_length"
KINDS = {"cls": ("cls",), "sep": ("sep",), "punctuation": ("period", "comma"), "other": ("other",)}
"""The kinds of tokens that the paper tells apart, by our roles."""
LITTLE = 0.5
"""What is left of attention to a token is little when it is less than this share of it."""


def kobayashi2020(
    model: ModelOrAtlas,
    *,
    text: Corpus | None = None,
    limit: int | None = None,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> Reproduction:
    """Where the heads of a model look, and what they take from there, beside Kobayashi et al. 2020.

    `text` is what `read_text` or `read_pairs` return (the first `limit` segments or pairs). With an atlas as `model`
    everything is read from it, and no text can be given.
    """
    data = Material(text=text, limit=limit, max_length=max_length, batch_size=batch_size, progress=progress)
    return KOBAYASHI.reproduction(model, data)


def _fill(study: Study) -> None:
    """Measure the study's first model by where its heads look and by what they move, and the lengths they fetch."""
    text = study.data.read
    if text is None:
        return
    study.measure(0, (MEASURE,))

    def run(model: Model, atlas: Atlas | None) -> Atlas:
        """The atlas with the lengths of what heads fetch; as it was where they cannot be had."""
        assert atlas is not None  # it was measured before
        try:
            Carrier(surveyed(model))
        except CaptureError:
            return atlas
        started = perf_counter()
        options = {**study.segments, "limit": study.data.limit, "sentences": 0, "weigh": "looked"}
        measured = analyze(model, text, measures=[FetchedLengths], **options)
        arrays = {stack: measured.stack(stack).plain for stack in measured.stacks}
        facts = {key: measured.provenance[key] for key in ("texts", "documents", "tokens")}
        return atlas.with_probe(
            "lengths",
            {stack: own for stack, own in arrays.items() if own},
            facts={"data": measured.provenance["corpus"], **facts, "duration_s": perf_counter() - started},
            table={},
            examples={},
        )

    study.add(0, "lengths", run)


def _compared(atlases: Sequence[Atlas], data: Material) -> Reproduction:
    atlas = atlases[0]
    stack = read.stack_with(atlas, MEASURE, MEASURE + MOVED)
    if stack is None:
        raise OptionError(PUBLISHED.nothing)
    makers = {"shares": shares, "vectors": vectors}
    sections = [make(PUBLISHED.sections[key], atlas, stack) for key, make in makers.items()]
    return PUBLISHED.beside(sections, [atlas])


def _mean(atlas: Atlas, stack: str, array: str, roles: Sequence[str]) -> Figure | None:
    """The mean over heads of a share, added up over roles."""
    query = {"query_role": "all"} if array.startswith(MEASURE) else {}
    return read.sum_of([read.mean_of(read.picked(atlas, stack, array, role=role, **query)) for role in roles])


def shares(section: PublishedSection, atlas: Atlas, stack: str) -> Section:
    """How much each kind of token is looked at, how much is taken from it, and what shuffled lengths would leave."""
    rows: list[Row] = []
    for kind, roles in KINDS.items():
        name = key_name(atlas, stack, kind)
        looked, moved = (_mean(atlas, stack, array, roles) for array in (MEASURE, MEASURE + MOVED))
        even = [read.even_share(atlas, stack, role) for role in roles]
        rows.append(section.row(f"looked_{kind}", looked, name=name))
        rows.append(section.row(f"moved_{kind}", moved, looked, name=name))
        if kind == "sep" and looked is not None and looked.value is not None:
            rows.append(section.row("no_op", moved, LITTLE * looked.value, name=name))
        rows.append(section.row("shuffled", _mean(atlas, stack, "fetched_shuffled", roles), name=name))
        rows.append(section.row("even", Figure(sum(share for share in even if share is not None)), name=name))
    drawings = [
        section.drawing(
            key,
            figures.role_by_layer,
            atlas,
            role,
            weigh=key,
            stack=stack,
            names={"role": role_name(atlas, stack, role)},
        )
        for role in ("cls", "sep", "period", "comma")
        if read.to_role(atlas, stack, role) is not None
        for key in ("looked", "moved")
    ]
    return section.filled(read.measured_by(atlas, stack), rows, drawings=drawings)


def vectors(section: PublishedSection, atlas: Atlas, stack: str) -> Section:
    """How long the vectors of each kind of token are, and whether what is looked at more is shorter."""
    if LENGTHS not in atlas.stack(stack):
        return section.left_out()
    rows = []
    for kind, roles in KINDS.items():
        figures_of = [read.mean_of(read.picked(atlas, stack, LENGTHS, role=role)) for role in roles]
        for role, figure in zip(roles, figures_of, strict=True):
            rows.append(section.row(kind, figure, 1.0, name=role_name(atlas, stack, role)))
    correlation, control = (
        read.mean_of(read.picked(atlas, stack, f"fetched_correlation{ending}"))
        for ending in ("", "_shuffled")
    )
    rows.append(section.row("correlation", correlation, control))
    rows.append(section.row("correlation_shuffled", control))
    grids = [section.head_grid("grid", atlas, stack, "fetched_correlation")]
    return section.filled(read.probed_by(atlas, stack, "lengths"), rows, drawings=grids)


KOBAYASHI = Paper("kobayashi2020", ("text",), _fill, _compared)
