from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tasks import headed

from headscope.errors import ModelError, OptionError, TextError
from headscope.models import Model
from headscope.tasks import MaskedLanguageModelling, NextToken, Task, forward
from headscope.tasks.batches import IGNORED, Row
from headscope.text.corpus import as_corpus
from headscope.text.encode import TextEncoder
from headscope.text.items import TextPair
from headscope.types import CLS, COMMA, OTHER, PERIOD, SEP

TEXTS = [
    "The cat sat on the mat. A dog saw it. It was red, and the house was blue.",
    "A red house.",
    "The dog and the cat saw the mat in the house of the dog. It was blue. " * 3,
]


def masked(texts: list[str] = TEXTS, **options: Any) -> MaskedLanguageModelling:
    return MaskedLanguageModelling(as_corpus(texts), **{"max_length": 30, **options})


def next_token(texts: list[str] = TEXTS, **options: Any) -> NextToken:
    return NextToken(as_corpus(texts), **{"max_length": 30, **options})


MODELS: list[tuple[str, str, Any]] = [
    ("bert", "mlm", masked),
    ("bert", "pretraining", masked),
    ("roberta", "mlm", masked),
    ("distilbert", "mlm", masked),
    ("gpt2", "lm", next_token),
    ("llama", "lm", next_token),
]


def rows_of(task: Task, model: Model) -> list[Row]:
    return list(task.encode(model).rows)


@pytest.mark.parametrize(("architecture", "head", "make"), [MODELS[0], MODELS[-1]])
def test_scores_are_sums_over_tokens(architecture: str, head: str, make: Any) -> None:
    alone = make().evaluate(headed(architecture, head))
    assert len(alone) > 3
    assert len(np.unique(alone.documents)) == 3
    records = alone.records
    assert alone.metric("loss") == pytest.approx(records["loss"].sum() / records["tokens"].sum())
    assert alone.metric("accuracy") == pytest.approx(100 * records["right"].sum() / records["tokens"].sum())
    np.testing.assert_allclose(alone.scores["loss"], records["loss"] / records["tokens"])


@pytest.mark.parametrize(("architecture", "head", "make"), MODELS)
def test_the_loss_is_the_networks_own(architecture: str, head: str, make: Any) -> None:
    model = headed(architecture, head)
    task = make()
    for batch in task.batches(model, batch_size=2):
        output = forward(model, batch)
        loss = task.loss(output, batch)
        assert loss.requires_grad
        rows = task.read(output, batch)
        np.testing.assert_allclose(loss.detach(), rows["loss"] / rows["tokens"], rtol=1e-5)
        labels = batch.labels
        if head == "lm":  # there the network itself shifts the labels
            mask = batch.inputs["attention_mask"].bool()
            labels = batch.inputs["input_ids"].masked_fill(~mask, IGNORED)
        extra = {"next_sentence_label": torch.zeros(batch.rows).long()} if head == "pretraining" else {}
        own = model.network(**batch.inputs, labels=labels, **extra)
        expected = own.loss
        if extra:
            expected = expected - torch.nn.functional.cross_entropy(
                own.seq_relationship_logits, extra["next_sentence_label"]
            )
        pooled = (loss * batch.units).sum() / batch.units.sum()
        torch.testing.assert_close(pooled, expected, rtol=1e-4, atol=1e-4)


def test_perplexity() -> None:
    result = next_token().evaluate(headed("gpt2", "lm"))
    assert result.metric("perplexity") == pytest.approx(np.exp(result.metric("loss")))
    low, high = result.interval("perplexity")
    assert low < result.metric("perplexity") < high


def test_every_token_but_the_first_is_predicted() -> None:
    for row in rows_of(next_token(), headed("llama", "lm")):
        ids = row.encoded.source.ids
        assert row.labels == [*ids[1:], IGNORED]
    texts = sum(len(row) - 1 for row in rows_of(next_token(), headed("llama", "lm")))
    assert next_token().evaluate(headed("llama", "lm")).records["tokens"].sum() == texts


def test_a_share_of_the_ordinary_tokens_is_hidden() -> None:
    model = headed("bert", "mlm")
    plain = {row.example: row for row in rows_of(masked(share=1e-9), model)}
    for row in rows_of(masked(share=0.3, hide="mask"), model):
        places = [place for place, owner in enumerate(row.encoded.source.segment) if owner >= 0]
        hidden = [place for place, label in enumerate(row.labels) if label != IGNORED]  # type: ignore[arg-type]
        assert len(hidden) == round(0.3 * len(places))
        assert set(hidden) <= set(places)
        shown = row.encoded.source.ids
        assert {shown[place] for place in hidden} == {model.tokenizer.mask_token_id}
        original = list(shown)
        for place in hidden:
            original[place] = row.labels[place]  # type: ignore[index]
        # At least one token is hidden however small the share.
        other = plain[row.example]
        (single,) = [place for place, label in enumerate(other.labels) if label != IGNORED]  # type: ignore[arg-type]
        restored = list(other.encoded.source.ids)
        restored[single] = other.labels[single]  # type: ignore[index]
        assert restored == original


def test_of_ten_hidden_tokens_eight_are_masked_one_is_random_and_one_stays() -> None:
    model = headed("bert", "mlm")
    words = ["cat", "dog", "mat", "house", "red", "blue", "saw", "it"]
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(words, 26)) for _ in range(300)]
    fates = {"mask": 0, "same": 0, "other": 0}
    for row in rows_of(masked(texts, share=0.5), model):
        for shown, label in zip(row.encoded.source.ids, row.labels, strict=True):  # type: ignore[arg-type]
            if label == IGNORED:
                continue
            assert shown == model.tokenizer.mask_token_id or shown not in model.tokenizer.all_special_ids
            fate = "mask" if shown == model.tokenizer.mask_token_id else "same" if shown == label else "other"
            fates[fate] += 1
    total = sum(fates.values())
    assert total == 300 * 13
    assert [fates[fate] / total for fate in ("mask", "same", "other")] == pytest.approx(
        [0.8, 0.1, 0.1], abs=0.02
    )


def test_what_is_hidden_depends_on_the_text_and_the_seed_alone() -> None:
    model = headed("bert", "mlm")

    def shown(texts: list[str], **options: Any) -> dict[str, list[int]]:
        rows = rows_of(masked(texts, max_length=64, **options), model)
        return {text: row.encoded.source.ids for text, row in zip(texts, rows, strict=True)}

    texts = ["the cat sat on the mat and the dog saw it", "a red house and a blue house", "it was a dog"]
    assert shown(texts) == shown(texts[::-1])
    assert shown(texts) == shown(texts)
    assert shown(texts) != shown(texts, seed=1)


def test_a_hidden_full_stop_has_the_role_of_what_is_shown() -> None:
    model = headed("bert", "mlm")
    [row] = rows_of(masked(["the cat sat on the mat."], share=0.99, hide="mask"), model)
    assert row.encoded.source.role == [CLS, *[OTHER] * 7, SEP]
    [row] = rows_of(masked([".........."], share=0.5, hide="mask"), model)
    shown = [token == model.tokenizer.mask_token_id for token in row.encoded.source.ids[1:-1]]
    assert shown.count(True) == 5
    assert row.encoded.source.role[1:-1] == [OTHER if is_mask else PERIOD for is_mask in shown]


def test_roles_are_those_of_the_shown_text_encoded_by_itself() -> None:
    model = headed("bert", "mlm")
    texts = [
        "it, was. red, . , blue! a, . dog, . , . , . the mat.",
        "the cat, and. the dog, . it was, a house.",
    ]
    encoder = TextEncoder(model.tokenizer, "pair", 64)
    kinds = set()
    for seed in range(40):
        for row in rows_of(masked(texts, share=0.5, seed=seed, max_length=64), model):
            shown = row.encoded.source
            tokens = model.tokenizer.convert_ids_to_tokens(shown.ids)
            if any(token.startswith("##") for token in tokens):  # may join the word before it
                continue
            first, _, second = " ".join(tokens[1:-1]).partition(" [SEP] ")
            again = encoder.encode(TextPair(first, second or None)).source
            assert again.ids == shown.ids
            assert again.role == shown.role
            pairs = zip(shown.ids, shown.role, row.labels, strict=True)  # type: ignore[arg-type]
            kinds |= {(role, label != IGNORED, token == label) for token, role, label in pairs}
    # Among them are marks that stayed, and other tokens that became one.
    assert {(PERIOD, True, True), (COMMA, True, True), (PERIOD, True, False), (COMMA, True, False)} <= kinds


def test_limit_and_empty_texts() -> None:
    assert len(masked(limit=2).evaluate(headed("bert", "mlm"))) == 2
    without_start = replace(headed("gpt2", "lm"), start_token=False)
    with pytest.raises(TextError, match="no text with a token to predict"):
        next_token(["a"]).evaluate(without_start)
    # A text with nothing to predict does not spoil the others.
    result = next_token(["a", "The cat."]).evaluate(without_start)
    assert len(result) == 1
    assert result.skipped.count == 1
    with pytest.raises(TextError, match="empty"):
        masked([" "]).evaluate(headed("bert", "mlm"))


def test_models_that_do_not_fit() -> None:
    with pytest.raises(ModelError, match="sees the tokens it is to predict"):
        next_token().evaluate(headed("bert", "lm"))
    with pytest.raises(ModelError, match="encoder-decoder"):
        next_token().evaluate(headed("t5", "lm"))
    with pytest.raises(ModelError, match="has no masked-language-model head"):
        masked().evaluate(headed("gpt2", "lm"))
    with pytest.raises(ModelError, match="has no next-token head"):
        next_token().evaluate(headed("bert", "qa"))


@pytest.mark.parametrize("options", [{"share": 0}, {"share": 1}, {"hide": "all"}, {"limit": 0}])
def test_options_that_cannot_work(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        masked(**options)
