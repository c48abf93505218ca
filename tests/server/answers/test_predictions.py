from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.atlases import random_atlas
from tests.helpers.tasks import CONTEXT, asked, headed, squad, write_json
from tests.helpers.tiny import HEADS, WIDTH
from tests.server.conftest import MakeClient

import headscope as hs
from headscope.errors import CaptureError
from headscope.models import Model, wrap
from headscope.server.answers.predictions import _beside, _summary
from headscope.server.explorer import EDITS, HEADS_CHARACTERS
from headscope.server.shapes import Edit, Guess, Option

DIM = WIDTH // HEADS


def without_head(model: Model, layer: int, head: int) -> torch.nn.Module:
    """A copy in which what the head gives is multiplied by 0 on its way out."""
    network = deepcopy(model.network)
    inner = network.base_model
    place = slice(head * DIM, (head + 1) * DIM)
    with torch.no_grad():
        if model.config.model_type == "gpt2":
            inner.h[layer].attn.c_proj.weight[place] = 0  # a Conv1D: inputs are rows
        elif model.config.model_type == "t5":
            network.decoder.block[layer].layer[1].EncDecAttention.o.weight[:, place] = 0
        else:
            inner.encoder.layer[layer].attention.output.dense.weight[:, place] = 0
    return network


def top(logits: torch.Tensor, count: int = 5) -> tuple[list[int], list[float]]:
    shares = torch.softmax(logits, -1)
    order = sorted(range(len(shares)), key=lambda token: -float(shares[token]))[:count]
    return order, [float(shares[token]) for token in order]


def check(options: list[dict], model: Model, logits: torch.Tensor) -> None:
    tokens, shares = top(logits)
    words = [model.tokenizer.decode([token]).replace("▁", " ") for token in tokens]  # as text, without marks
    assert [option["text"] for option in options] == words
    np.testing.assert_allclose([option["probability"] for option in options], shares, rtol=1e-4)


def test_masked_words(serving: MakeClient) -> None:
    model = headed("bert", "mlm")
    request = {
        "model": model.name,
        "text_a": "the [MASK] sat on",
        "text_b": "it, was a [MASK]!",
        "edits": [{"heads": "1.2", "how": "zero"}],
    }
    found = serving(model).post("/api/predict", json=request).json()
    assert (found["task"], found["note"]) == ("mlm", "")
    inputs = model.tokenizer("the [MASK] sat on", "it, was a [MASK]!", return_tensors="pt")
    ids = inputs["input_ids"][0]
    inputs["token_type_ids"] = (torch.arange(len(ids)) > 5).long()[None]
    places = (ids == model.tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    assert len(places) == 2
    for key, network in (("before", model.network), ("after", without_head(model, 1, 2))):
        with torch.no_grad():
            logits = network(**inputs).logits[0]
        assert [guess["place"] for guess in found[key]] == ["the [MASK] sat on", "was a [MASK]!"]
        for guess, place in zip(found[key], places, strict=True):
            check(guess["options"], model, logits[place])
    assert found["before"] != found["after"]


def test_another_models_mask_may_be_written_either_way(serving: MakeClient) -> None:
    plain = headed("bert", "mlm")
    tokenizer = deepcopy(plain.tokenizer)
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    assert tokenizer.mask_token_id != plain.tokenizer.mask_token_id
    client = serving(Model("other", plain.network, tokenizer))
    found = [
        client.post("/api/predict", json={"model": "other", "text_a": f"the {mark} sat"}).json()
        for mark in ("[MASK]", "<mask>")
    ]
    assert found[0] == found[1]
    assert found[0]["before"][0]["place"] == "the [MASK] sat"
    with torch.no_grad():
        logits = plain.network(**tokenizer("the <mask> sat", return_tensors="pt")).logits[0, 2]
    check(found[0]["before"][0]["options"], plain, logits)


def test_a_text_without_a_mask_is_told(serving: MakeClient) -> None:
    model = headed("bert", "mlm")
    found = serving(model).post("/api/predict", json={"model": model.name, "text_a": "the cat"}).json()
    assert (found["before"], found["after"]) == ([], [])
    assert "[MASK]" in found["note"]


def test_without_edits_both_are_the_same(serving: MakeClient) -> None:
    model = headed("bert", "classification")
    found = serving(model).post("/api/predict", json={"model": model.name, "text_a": "the cat"}).json()
    assert found["before"] == found["after"]


def test_answers_are_those_of_the_task(serving: MakeClient, tmp_path: Path) -> None:
    model = headed("bert", "qa")
    question = "what sat on the mat?"
    data = write_json(
        tmp_path / "q.json", squad((CONTEXT, [asked("a", question, ("a dog", CONTEXT.index("a dog")))]))
    )
    task = hs.task_for("qa", data, model, max_length=40)
    request = {
        "model": model.name,
        "text_a": question,
        "text_b": CONTEXT,
        "edits": [{"heads": "layer 0", "how": "uniform"}],
    }
    found = serving(model, longest=40).post("/api/predict", json=request).json()
    before = task.evaluate(model).predictions
    with hs.edit(model, "layer 0", how="uniform"):
        after = task.evaluate(model).predictions
    for key, expected in (("before", before), ("after", after)):
        [guess] = found[key]
        assert guess["place"] == question
        assert guess["options"][0]["text"] == expected[0]
        shares = [option["probability"] for option in guess["options"]]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) < 1
    assert found["before"] != found["after"]


def test_the_probability_of_an_answer_is_over_all_spans(serving: MakeClient) -> None:
    model = headed("bert", "qa")
    question, passage = "who?", "a dog saw it"
    request = {"model": model.name, "text_a": question, "text_b": passage}
    [guess] = serving(model).post("/api/predict", json=request).json()["before"]
    inputs = model.tokenizer(question, passage, return_tensors="pt", return_offsets_mapping=True)
    offsets, owners = inputs.pop("offset_mapping")[0].tolist(), inputs.sequence_ids(0)
    inputs["token_type_ids"] = (torch.tensor([[owner == 1 for owner in owners]])).long().cummax(-1).values
    with torch.no_grad():
        output = model.network(**inputs)
    places = [place for place, owner in enumerate(owners) if owner == 1]
    scores = {
        passage[offsets[first][0] : offsets[last][1]]: float(
            output.start_logits[0, first] + output.end_logits[0, last]
        )
        for first in places
        for last in places
        if last >= first
    }
    total = sum(np.exp(score) for score in scores.values())
    for option in guess["options"]:
        assert option["probability"] == pytest.approx(np.exp(scores[option["text"]]) / total, rel=1e-3)


def test_a_question_needs_a_passage(serving: MakeClient) -> None:
    model = headed("bert", "qa")
    answer = serving(model).post("/api/predict", json={"model": model.name, "text_a": "who?"})
    assert answer.status_code == 400
    assert "passage" in answer.json()["error"]


def test_classes_with_their_names(serving: MakeClient) -> None:
    model = headed("bert", "classification", 3)
    request = {
        "model": model.name,
        "text_a": "the cat",
        "text_b": "a dog",
        "edits": [{"heads": "2.0", "how": "zero"}],
    }
    found = serving(model).post("/api/predict", json=request).json()
    inputs = model.tokenizer("the cat", "a dog", return_tensors="pt")
    inputs["token_type_ids"] = (torch.arange(inputs["input_ids"].shape[1]) > 3).long()[None]
    for key, network in (("before", model.network), ("after", without_head(model, 2, 0))):
        with torch.no_grad():
            order, shares = top(network(**inputs).logits[0], 3)
        [guess] = found[key]
        assert [option["text"] for option in guess["options"]] == [model.config.id2label[k] for k in order]
        np.testing.assert_allclose([option["probability"] for option in guess["options"]], shares, rtol=1e-4)


def test_a_score_is_told_as_one(serving: MakeClient) -> None:
    model = headed("bert", "classification", 1)
    found = serving(model).post("/api/predict", json={"model": model.name, "text_a": "the cat"}).json()
    with torch.no_grad():
        expected = float(model.network(**model.tokenizer("the cat", return_tensors="pt")).logits[0, 0])
    assert float(found["before"][0]["options"][0]["text"]) == pytest.approx(expected, abs=1e-3)
    assert "score" in found["note"]


def test_the_next_token(serving: MakeClient) -> None:
    model = headed("gpt2", "lm")
    request = {"model": model.name, "text_a": "the cat", "edits": [{"heads": "0.3", "how": "zero"}]}
    found = serving(model).post("/api/predict", json=request).json()
    inputs = model.tokenizer("<|endoftext|>the cat", return_tensors="pt")
    for key, network in (("before", model.network), ("after", without_head(model, 0, 3))):
        with torch.no_grad():
            check(found[key][0]["options"], model, network(**inputs).logits[0, -1])
    assert found["task"] == "lm"


def test_the_next_token_that_is_written(serving: MakeClient) -> None:
    model = headed("t5", "lm")
    edits = [{"heads": "cross 1.2", "how": "zero"}]
    request = {"model": model.name, "text_a": "the cat sat", "text_b": "a dog", "edits": edits}
    found = serving(model).post("/api/predict", json=request).json()
    source = model.tokenizer("the cat sat", return_tensors="pt")["input_ids"]
    target = model.tokenizer("a dog", return_tensors="pt")["input_ids"][:, :-1]  # without the end of text
    written = torch.cat([torch.zeros(1, 1, dtype=torch.long), target], 1)
    for key, network in (("before", model.network), ("after", without_head(model, 1, 2))):
        with torch.no_grad():
            logits = network(input_ids=source, decoder_input_ids=written).logits[0, -1]
        check(found[key][0]["options"], model, logits)


def test_edits_add_up_and_leave_nothing_behind(serving: MakeClient) -> None:
    model = headed("bert", "classification")
    client = serving(model)
    plain = {"model": model.name, "text_a": "the cat sat"}
    before = client.post("/api/predict", json=plain).json()
    both = [{"heads": "0.1", "how": "zero"}, {"heads": "layer 2", "how": "uniform"}]
    edited = client.post("/api/predict", json=plain | {"edits": both}).json()
    inputs = model.tokenizer("the cat sat", return_tensors="pt")
    with hs.edit(model, "0.1"), hs.edit(model, "layer 2", how="uniform"), torch.no_grad():
        shares = torch.softmax(model.network(**inputs).logits[0], -1)
    best = edited["after"][0]["options"][0]["probability"]
    assert best == pytest.approx(float(shares.max()), rel=1e-5)
    assert plain_of(edited["before"]) == plain_of(before["before"])
    assert client.post("/api/predict", json=plain).json() == before


def test_heads_may_be_named_by_what_the_models_atlas_says(serving: MakeClient) -> None:
    model = headed("bert", "classification")
    atlas = random_atlas(3, 4, model=model.name)
    [best] = np.argwhere(atlas["entropy"].values[..., 0] == atlas["entropy"].values[..., 0].max()).tolist()
    request = {
        "model": model.name,
        "text_a": "the cat",
        "edits": [{"heads": "top 1 by entropy", "how": "zero"}],
    }
    client = serving(model, random_atlas(3, 4, model="another"), atlas)
    by_measure = client.post("/api/predict", json=request).json()
    by_number = [{"heads": f"{best[0]}.{best[1]}", "how": "zero"}]
    named = client.post("/api/predict", json=request | {"edits": by_number}).json()
    assert named["after"] == by_measure["after"]
    assert by_measure["said"].endswith("with top 1 by entropy switched off.")
    kinds = request | {"edits": [{"heads": "type:dense", "how": "zero"}]}
    answer = serving(model).post("/api/predict", json=kinds)
    assert (answer.status_code, "atlas" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"edits": [{"heads": "9.0", "how": "zero"}]}, 400, "no head 9.0"),
        ({"edits": [{"heads": "", "how": "zero"}]}, 400, "empty"),
        ({"edits": [{"heads": "0.0", "how": "mean"}]}, 422, "how"),
        ({"edits": [{"heads": "0.0", "how": "zero"}] * (EDITS + 1)}, 400, "edits"),
        ({"edits": [{"heads": "0.0," * HEADS_CHARACTERS, "how": "zero"}]}, 400, "characters"),
        ({"text_a": ""}, 400, "empty"),
        ({"model": "nobody"}, 404, "nobody"),
    ],
)
def test_bad_requests(serving: MakeClient, change: dict, code: int, says: str) -> None:
    model = headed("bert", "classification")
    answer = serving(model).post("/api/predict", json={"model": model.name, "text_a": "the cat"} | change)
    assert answer.status_code == code
    assert says in answer.json()["error"]


def test_heads_that_cannot_be_reached_are_not_edited(
    serving: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(capture: object) -> None:
        raise CaptureError("not proved")

    monkeypatch.setattr("headscope.trace.inspection.prove_edit", refuse)
    model = headed("convbert", "qa")
    model = wrap(model.network, model.tokenizer, name=model.name)  # not surveyed before
    request = {
        "model": model.name,
        "text_a": "who?",
        "text_b": "a dog",
        "edits": [{"heads": "0.0", "how": "zero"}],
    }
    client = serving(model)
    answer = client.post("/api/predict", json=request)
    assert answer.status_code == 400
    assert "changed while it runs" in answer.json()["error"]
    assert client.post("/api/predict", json=request | {"edits": []}).status_code == 200


def test_masks_that_were_cut_off_leave_the_others_their_names(serving: MakeClient) -> None:
    model = headed("bert", "mlm")
    request = {
        "model": model.name,
        "text_a": "the " * 100 + "red [MASK] here",
        "text_b": "a blue [MASK] was",
    }
    found = serving(model, longest=32).post("/api/predict", json=request).json()
    assert [guess["place"] for guess in found["before"]] == ["a blue [MASK] was"]
    assert "its end was cut" in found["note"]
    own = serving(model, longest=32).post("/api/predict", json=request | {"text_a": "the " * 100}).json()
    assert own["before"] == found["before"]  # the same tokens: all of the first text's end was cut off


def test_a_long_question_says_that_it_was_cut(serving: MakeClient) -> None:
    client = serving(headed("bert", "qa"), longest=40)
    request = {"model": "tiny-bert-qa", "text_a": "who sat? ", "text_b": CONTEXT}
    assert client.post("/api/predict", json=request).json()["note"] == ""
    long = client.post("/api/predict", json=request | {"text_a": "who sat " * 40}).json()
    assert long["note"] == "The question was longer than 18 tokens and its end was cut."


def test_classes_that_do_not_exclude_each_other(serving: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    model = headed("bert", "classification", 3)
    monkeypatch.setattr(model.config, "problem_type", "multi_label_classification")
    found = serving(model).post("/api/predict", json={"model": model.name, "text_a": "the cat"}).json()
    with torch.no_grad():
        logits = model.network(**model.tokenizer("the cat", return_tensors="pt")).logits[0]
    shares = [option["probability"] for option in found["before"][0]["options"]]
    np.testing.assert_allclose(shares, sorted(torch.sigmoid(logits).tolist(), reverse=True), rtol=1e-4)
    assert "need not add up" in found["note"]


def test_what_comes_next_is_asked_for_at_the_end_of_a_long_text(serving: MakeClient) -> None:
    model = headed("gpt2", "lm")
    text = "a dog saw it. " * 20 + "the cat sat on"
    request = {"model": model.name, "text_a": text[:100], "text_b": text[101:]}
    found = serving(model, longest=16).post("/api/predict", json=request).json()
    ids = [0, *model.tokenizer(text)["input_ids"][-15:]]
    with torch.no_grad():
        logits = model.network(input_ids=torch.tensor([ids])).logits[0, -1]
    check(found["before"][0]["options"], model, logits)
    assert found["note"] == "The text was longer than 16 tokens and its beginning was cut."


def test_what_is_written_next_follows_the_end_of_what_is_written(serving: MakeClient) -> None:
    model = headed("t5", "lm")
    written = "the cat sat on " * 20 + "the cat"
    request = {"model": model.name, "text_a": "the cat sat", "text_b": written}
    found = serving(model, longest=12).post("/api/predict", json=request).json()
    source = model.tokenizer("the cat sat", return_tensors="pt")["input_ids"]
    target = model.tokenizer(written, add_special_tokens=False)["input_ids"][-11:]
    with torch.no_grad():
        logits = model.network(input_ids=source, decoder_input_ids=torch.tensor([[0, *target]])).logits[0, -1]
    check(found["before"][0]["options"], model, logits)
    assert "its beginning was cut" in found["note"]


def test_a_head_cannot_be_two_things_at_once(serving: MakeClient) -> None:
    model = headed("bert", "classification")
    edits = [{"heads": "1.2, 2.0", "how": "zero"}, {"heads": "layer 1", "how": "uniform"}]
    client, request = serving(model), {"model": model.name, "text_a": "the cat"}
    answer = client.post("/api/predict", json=request | {"edits": edits})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("1.2: both zero and uniform are asked for")
    again = [{"heads": "1.2", "how": "zero"}, {"heads": "layer 1", "how": "zero"}]
    assert client.post("/api/predict", json=request | {"edits": again}).status_code == 200


def test_half_a_character_is_taken_wherever_a_text_is(serving: MakeClient) -> None:
    model = headed("bert", "mlm")
    client = serving(model)
    body = b'{"model": "tiny-bert-mlm", "text_a": "the \\ud83d [MASK]"}'
    headers = {"Content-Type": "application/json"}
    for path in ("seen", "predict"):
        answer = client.post(f"/api/{path}", content=body, headers=headers)
        assert answer.status_code == 200, answer.text


def plain_of(guesses: list[dict]) -> list[tuple[str, list[tuple[str, float]]]]:
    """Guesses without what they are beside the other model's."""
    return [
        (guess["place"], [(option["text"], option["probability"]) for option in guess["options"]])
        for guess in guesses
    ]


def guessed(*options: tuple[str, float]) -> Guess:
    return Guess(place="[MASK]", options=[Option(text=text, probability=share) for text, share in options])


def test_predictions_side_by_side() -> None:
    before = guessed(("were", 0.6), ("lay", 0.2), ("sat", 0.1))
    after = guessed(("was", 0.5), ("were", 0.3), ("sat", 0.1))
    shown = _beside(after, before)
    assert shown.changed
    told = [(option.text, option.other, option.fares) for option in shown.options]
    assert told == [("was", None, "new"), ("were", 0.6, "down"), ("sat", 0.1, "same")]
    assert [option.other for option in _beside(before, after).options] == [0.3, None, 0.1]
    swapped = _beside(guessed(("b", 0.5), ("a", 0.3)), guessed(("a", 0.5), ("b", 0.3)))
    assert [option.fares for option in swapped.options] == ["up", "down"]
    assert not _beside(guessed(("a", 1)), guessed(("a", 0.4))).changed


def test_what_changed_in_a_sentence() -> None:
    same, other = guessed(("a", 1)), guessed(("b", 1)).model_copy(update={"changed": True})
    off, even = Edit(heads="3.2", how="zero"), Edit(heads="layer 1", how="uniform")
    assert _summary([same], [off]) == "The best answer stays the same with 3.2 switched off."
    assert (
        _summary([other], [off, even])
        == "The best answer changes with 3.2 switched off; layer 1 looking evenly."
    )
    assert (
        _summary([same, other], [even])
        == "The best answer changes in 1 of 2 places with layer 1 looking evenly."
    )
    assert _summary([], [off]) == ""
