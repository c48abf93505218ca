"""What a model says, and what it says with some heads switched off."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from headscope.atlas import Atlas
from headscope.errors import OptionError, TextError
from headscope.models import Model
from headscope.server.answers.edited import edited, in_words
from headscope.server.shapes import Edit, Guess, Option, Predicted, PredictRequest
from headscope.tasks import QuestionAnswering, TaskBatch, forward
from headscope.tasks.batches import output_of
from headscope.text.encode import EncodedInput, EncodedText, TextEncoder
from headscope.text.formats.squad import Question, Questions
from headscope.text.items import TextPair
from headscope.text.sentences import clean
from headscope.text.skipped import Skipped
from headscope.trace import surveyed
from headscope.trace.inputs import model_inputs
from headscope.trace.observe import evaluating
from headscope.trace.watch import Watch
from headscope.types import TaskName

MOST_OPTIONS = 5
MASK = "[MASK]"
"""What stands for a hidden word, whatever the model's own mark is."""
WORDS_AROUND = 2

Ask = Callable[[], list[Guess]]
"""Runs the model and reads what it says; called once as it is and once edited."""


def predict(
    model: Model, task: TaskName, request: PredictRequest, *, atlas: Atlas | None = None, length: int = 512
) -> Predicted:
    """What the model says as it is, and with the edits; `atlas` is where kinds of heads can be looked up.

    Probabilities are softmax over the vocabulary or the classes; for answers, over all spans that may be one.
    """
    ask, note = _READERS[task](model, request, length)
    if ask is None:
        return Predicted(task=task, before=[], after=[], note=note)
    with evaluating(model.network), torch.inference_mode():
        before = ask()
        if not request.edits:
            return Predicted(task=task, before=before, after=before, note=note)
        with edited(model, request.edits, atlas=atlas):
            after = ask()
    pairs = list(zip(before, after, strict=True))
    before, after = [_beside(*pair) for pair in pairs], [_beside(*reversed(pair)) for pair in pairs]
    return Predicted(task=task, before=before, after=after, said=_summary(after, request.edits), note=note)


def _beside(guess: Guess, other: Guess) -> Guess:
    """A guess, each option with what the guess on the other side of the edits gives it."""
    known = {option.text: (place, option.probability) for place, option in enumerate(other.options)}
    options = []
    for place, option in enumerate(guess.options):
        was, share = known.get(option.text, (None, None))
        fares = "new" if was is None else "up" if was > place else "down" if was < place else "same"
        options.append(option.model_copy(update={"other": share, "fares": fares}))
    changed = [option.text for option in guess.options[:1]] != [option.text for option in other.options[:1]]
    return guess.model_copy(update={"options": options, "changed": changed})


def _summary(guesses: Sequence[Guess], edits: Sequence[Edit]) -> str:
    """Whether the best answers are others with the edits."""
    count = sum(guess.changed for guess in guesses)
    where = "" if len(guesses) == 1 else f" in {count} of {len(guesses)} places"
    told = f"The best answer changes{where}" if count else "The best answer stays the same"
    return f"{told} with {in_words(edits)}." if guesses else ""


def _masked(model: Model, request: PredictRequest, length: int) -> tuple[Ask | None, str]:
    """The hidden words, one by one."""
    mark = model.tokenizer.mask_token
    if mark is None:
        raise OptionError(f"the tokenizer of {model.name} has no mask token")
    texts = [None if text is None else text.replace(str(mark), MASK) for text in _texts(request)]
    places = [_surroundings(text or "") for text in texts]
    if not any(places):
        return None, f"The text has no {MASK}: write {MASK} in the place of a word, and the model guesses it."
    first, second = (None if text is None else text.replace(MASK, str(mark)) for text in texts)
    encoded = TextEncoder(model.tokenizer, "pair", length).encode(TextPair(first or "", second))
    hidden = [
        (around, place)  # each text may have lost its end
        for text, known in enumerate(places)
        for around, place in zip(known, _masks(model, encoded.source, text), strict=False)
    ]
    batch = _batch(model, encoded)

    def ask() -> list[Guess]:
        logits = output_of(forward(model, batch), "logits", "prediction_logits")[0]  # (token, vocabulary)
        return [Guess(place=words, options=_words(model, logits[place])) for words, place in hidden]

    return ask, _cut(encoded.cut, length)


def _masks(model: Model, encoded: EncodedText, text: int) -> list[int]:
    """Where in one of the texts words are hidden."""
    mask = int(model.tokenizer.mask_token_id)
    return [
        place
        for place, (token, segment) in enumerate(zip(encoded.ids, encoded.segment, strict=True))
        if token == mask and segment == text
    ]


def _answers(model: Model, request: PredictRequest, length: int) -> tuple[Ask | None, str]:
    """The most probable answers to a question, of which the first is the one that the task would give.

    The probability of an answer is the softmax of start plus end logit over all spans of all windows that may be an
    answer; a span that two windows see counts once, at its higher score.
    """
    question, passage = _texts(request)
    if passage is None or not question or not question.strip():
        raise TextError("give a question as the first text and the passage that answers it as the second")
    asked = Question("asked", question, passage, (), 0)
    task = QuestionAnswering(
        Questions("a question", (asked,), False, Skipped("questions")),
        max_length=min(length, QuestionAnswering.usual_length),
    )
    batches = list(task.batches(model, batch_size=1))

    def ask() -> list[Guess]:
        scores: dict[tuple[int, int], float] = {}
        for batch in batches:
            for span, score in _spans(model, batch, task.max_answer):
                scores[span] = max(scores.get(span, -torch.inf), score)
        spans = sorted(scores, key=lambda span: (-scores[span], span))
        shares = torch.tensor([scores[span] for span in spans], dtype=torch.float64).softmax(-1).tolist()
        options = [
            Option(text=passage[start:end], probability=share)
            for (start, end), share in zip(spans[:MOST_OPTIONS], shares, strict=False)
        ]
        return [Guess(place=question, options=options)]

    # Whether the question was too long is told by how many of its tokens are there.
    tokens = len(model.tokenizer(question.strip(), add_special_tokens=False, verbose=False)["input_ids"])
    kept = int((batches[0].text.source.segment[0] == 0).sum()) if batches else tokens
    return ask, f"The question was longer than {kept} tokens and its end was cut." if kept < tokens else ""


def _spans(model: Model, batch: TaskBatch, most: int) -> Iterator[tuple[tuple[int, int], float]]:
    """The first and last character of everything that may be an answer, and its score; of so many tokens at most."""
    output = forward(model, batch)
    assert batch.characters is not None
    edges = batch.characters[0].tolist()  # (token, 2)
    places = [place for place, (start, end) in enumerate(edges) if end > start]
    start, end = (output_of(output, f"{side}_logits")[0].double().tolist() for side in ("start", "end"))
    for number, first in enumerate(places):
        for last in places[number : number + most]:
            if last - first < most:
                yield (edges[first][0], edges[last][1]), start[first] + end[last]


def _classes(model: Model, request: PredictRequest, length: int) -> tuple[Ask | None, str]:
    first, second = _texts(request)
    encoded = TextEncoder(model.tokenizer, "pair", length).encode(TextPair(first or "", second))
    batch = _batch(model, encoded)
    labels = {int(number): str(name) for number, name in model.config.id2label.items()}
    each = getattr(model.config, "problem_type", None) == "multi_label_classification"

    def ask() -> list[Guess]:
        logits = output_of(forward(model, batch), "logits")[0]  # (class,)
        if len(logits) == 1:
            return [Guess(place="score", options=[Option(text=f"{float(logits[0]):.4f}", probability=1.0)])]
        shares = logits.sigmoid() if each else logits.softmax(-1)
        order = shares.argsort(descending=True, stable=True).tolist()
        options = [
            Option(text=labels.get(number, str(number)), probability=float(shares[number]))
            for number in order
        ]
        return [Guess(place="", options=options)]

    note = ""
    if len(labels) == 1:
        note = "This model gives a score, not classes. "
    elif each:
        note = "A text may have several of these classes, so their shares need not add up to 100 %. "
    return ask, (note + _cut(encoded.cut, length)).strip()


def _next(model: Model, request: PredictRequest, length: int) -> tuple[Ask | None, str]:
    """The next token: of the text, or for models that read and write, of what is written."""
    first, second = _texts(request)
    if model.is_encoder_decoder:
        # A decoder's text loses its last token, the end of the text, so that what comes next is asked for.
        encoder = Watch(surveyed(model)).encoder(length)
        written, is_cut = _ending(encoder, second or "")
        encoded = encoder.encode(TextPair(first or "", written))
    else:
        encoder = TextEncoder(model.tokenizer, "joined", length, start=model.start)
        text, is_cut = _ending(encoder, first or "" if second is None else f"{first} {second}")
        encoded = encoder.encode(TextPair(text))
    batch = _batch(model, encoded)
    what = "next token of what is written" if model.is_encoder_decoder else "next token"

    def ask() -> list[Guess]:
        logits = output_of(forward(model, batch), "logits")[0, -1]  # (vocabulary,)
        return [Guess(place=what, options=_words(model, logits))]

    lost = f"The text was longer than {length} tokens and its beginning was cut." if is_cut else ""
    return ask, " ".join(note for note in (_cut(encoded.cut, length), lost) if note)


def _ending(encoder: TextEncoder, text: str) -> tuple[str, bool]:
    """The text, or as much of its end as fits: what comes next is asked for where it ends."""
    pieces, ids = encoder.pieces(text), _ids(encoder, text)
    if len(pieces) <= encoder.room:
        return text, False
    fits = ""
    for kept in range(encoder.room, 0, -1):
        ending = text[pieces[-kept][0] :]
        # A text that begins elsewhere may have other tokens than it had as a part: with its space, or in a word.
        for candidate in (ending, ending.lstrip()):
            own = _ids(encoder, candidate)
            if own == ids[-kept:]:
                return candidate, True
            fits = fits or (candidate if len(own) <= encoder.room else "")
    return fits, True


def _ids(encoder: TextEncoder, text: str) -> list[int]:
    ids: list[int] = encoder.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


_READERS: Mapping[TaskName, Callable[[Model, PredictRequest, int], tuple[Ask | None, str]]] = {
    "mlm": _masked,
    "qa": _answers,
    "classification": _classes,
    "lm": _next,
}


def _texts(request: PredictRequest) -> tuple[str | None, str | None]:
    """Both texts without what tokenizers stumble over; None for an empty second one."""
    first, second = clean(request.text_a), None if request.text_b is None else clean(request.text_b)
    if not first.strip():
        raise TextError("the text is empty; give some words to look at")
    return first, second if second is not None and second.strip() else None


def _batch(model: Model, encoded: EncodedInput) -> TaskBatch:
    text = model_inputs(model, [encoded])
    nothing = torch.zeros(1, 1, dtype=torch.long)
    return TaskBatch(text, nothing[0], nothing)


def _words(model: Model, logits: Tensor) -> list[Option]:
    """The most probable tokens of (vocabulary,) logits."""
    shares = logits.softmax(-1)
    best = shares.topk(min(MOST_OPTIONS, len(shares)))
    return [
        # As text: some tokenizers leave their mark of a word's beginning.
        Option(text=str(model.tokenizer.decode([token])).replace("▁", " "), probability=share)
        for token, share in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def _surroundings(text: str) -> list[str]:
    """For each hidden word, what stands around it."""
    around = []
    for before, after in pairwise(text.split(MASK)):
        first, last = " ".join(before.split()[-WORDS_AROUND:]), " ".join(after.split()[:WORDS_AROUND])
        left = " " if first and before[-1].isspace() else ""
        right = " " if last and after[0].isspace() else ""
        around.append(f"{first}{left}{MASK}{right}{last}")
    return around


def _cut(is_cut: bool, length: int) -> str:
    return f"The text was longer than {length} tokens and its end was cut." if is_cut else ""
