from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.atlases import random_atlas
from tests.helpers.tasks import CONTEXT, asked, headed, squad, write_json
from tests.helpers.tiny import HEADS, WIDTH, tiny
from tests.server.conftest import MakeClient

import headscope as hs
from headscope.models import Model
from headscope.server.limits import EDITS, HEADS_CHARACTERS

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
    assert [option["text"] for option in options] == [model.tokenizer.decode([token]) for token in tokens]
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
    inputs = model.tokenizer("the cat", return_tensors="pt")
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
    assert edited["before"] == before["before"]
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
    assert client.post("/api/predict", json=request | {"edits": by_number}).json() == by_measure
    answer = serving(model).post("/api/predict", json=request)
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


def test_a_model_that_predicts_nothing_says_so(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    assert client.get("/api/about").json()["models"][0]["task"] is None
    answer = client.post("/api/predict", json={"model": "tiny-bert", "text_a": "the cat"})
    assert answer.status_code == 400
    assert "no head that predicts" in answer.json()["error"]


def test_heads_that_cannot_be_reached_are_not_edited(serving: MakeClient) -> None:
    model = headed("convbert", "qa")
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
