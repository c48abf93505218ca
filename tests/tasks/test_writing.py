"""Writing one text from another: the loss and exact match that a slow reference and greedy decoding give."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.helpers.families import built
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import ModelError, TextError
from headscope.models import Model, wrap
from headscope.pages.seen import observe
from headscope.tasks import SequenceToSequence
from headscope.tasks.writing import written
from headscope.text.items import TextPair

PAIRS = [
    TextPair("the cat sat on the mat", "the dog sat"),
    TextPair("a dog saw it", "it was red and blue"),
    TextPair("the house was blue", "a mat"),
]


def writer(family: str = "t5") -> Model:
    return wrap(*built(family), name=family)


def by_hand(model: Model, pair: TextPair) -> tuple[float, int, int, bool]:
    """Summed loss, right tokens, tokens, all right: token by token, each from those before it."""
    assert pair.second is not None
    ids = model.tokenizer(pair.first, return_tensors="pt").input_ids
    target = model.tokenizer(pair.second).input_ids
    total, right = 0.0, 0
    for place, token in enumerate(target):
        before = torch.tensor([[model.decoder_start, *target[:place]]])
        with torch.inference_mode():
            logits = model.network(input_ids=ids, decoder_input_ids=before).logits[0, -1].double()
        total -= float(logits.log_softmax(-1)[token])
        right += int(logits.argmax()) == token
    return total, right, len(target), right == len(target)


@pytest.mark.parametrize("family", ["t5", "bart", "marian", "florence2"])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_loss_and_accuracy_are_those_of_a_slow_reference(family: str, batch_size: int) -> None:
    model = writer(family)
    result = SequenceToSequence(PAIRS).evaluate(model, batch_size=batch_size)
    losses, right, tokens, exact = zip(*(by_hand(model, pair) for pair in PAIRS), strict=True)
    assert result.metric("loss") == pytest.approx(sum(losses) / sum(tokens), abs=1e-4)
    assert result.metric("accuracy") == pytest.approx(100 * sum(right) / sum(tokens))
    assert result.metric("exact") == pytest.approx(100 * sum(exact) / len(PAIRS))


def one_word_writer(word: str) -> Model:
    """A T5 that writes one word, then its end, whatever it reads."""
    model = writer()
    network: Any = deepcopy(model.network)
    ids = model.tokenizer(word).input_ids
    plain = network.forward

    def forward(*arguments: Any, **options: Any) -> Any:
        output = plain(*arguments, **options)
        length = options["decoder_input_ids"].shape[1]
        for place in range(output.logits.shape[1]):
            at = min(len(ids) - 1, length - output.logits.shape[1] + place)
            output.logits[:, place, ids[at]] = 1e4
        return output

    network.forward = forward
    return Model("one word", network, model.tokenizer)


def test_what_greedy_decoding_writes_is_an_exact_match() -> None:
    model = one_word_writer("red")
    pairs = [TextPair("the cat", "red"), TextPair("the dog", "blue"), TextPair("a house", "red and")]
    result = SequenceToSequence(pairs).evaluate(model)
    assert list(result.scores["exact"]) == [100, 0, 0]


def test_pairs_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("the cat\ta dog\nthe house\tit was red\n")
    task = hs.task_for("seq2seq", path, writer())
    assert [(pair.first, pair.second) for pair in task.examples] == [
        ("the cat", "a dog"),
        ("the house", "it was red"),
    ]


def test_it_is_for_models_that_write(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no head that writes text"):
        SequenceToSequence(PAIRS).evaluate(tiny("llama"))
    with pytest.raises(ModelError, match="--task seq2seq"):
        hs.with_head(writer(), "next-token")
    with pytest.raises(TextError, match="no pair of a text to read"):
        SequenceToSequence([TextPair("the cat", None)])


def test_edits_and_gradients_reach_all_three_stacks() -> None:
    model, task = writer(), SequenceToSequence(PAIRS * 4)
    changed = {
        row["name"] for row in hs.ablate(model, task, sweep="layers").table() if row["change"]["loss"] != 0
    }
    assert {name.split()[0] for name in changed} == {"encoder", "decoder", "cross"}
    result = hs.gradient_importance(model, task)
    assert set(result.arrays()) == {"encoder", "decoder", "cross"}


def test_a_view_shows_what_the_model_writes() -> None:
    model = writer("bart")
    red = model.tokenizer("red").input_ids[0]
    model.network.final_logits_bias[0, red] = 1e4
    assert written(model, "the cat sat", max_length=8) == " ".join(["▁red"] * 6)
    observed = observe(model, "the cat sat", max_length=8)
    assert observed.text_b == " ".join(["▁red"] * 6)  # the last token is its end
    assert "what the model writes" in observed.note
    model.network.final_logits_bias[0, red] = -1e4
    observed = observe(model, "the cat sat", max_length=8)
    assert observed.text_b is not None, "a text is written once"
    with pytest.raises(
        TextError, match=r"writes nothing when it reads this text; .* give the second text too"
    ):
        observe(model, "another", max_length=8)
