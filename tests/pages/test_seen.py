"""A text as a model saw it: the model's own attention, tokens and words that match the text."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from tests.helpers.tiny import BUILDERS, tiny

from headscope.errors import CaptureError, OptionError, TextError
from headscope.models import wrap
from headscope.pages import seen as seen_module
from headscope.pages.quantise import quantise
from headscope.pages.seen import observe

TEXTS = ("The cat's dogs sat on it.", "A dog saw it.")


@pytest.mark.parametrize("architecture", BUILDERS)
def test_every_architecture_is_seen_whole(architecture: str) -> None:
    observed = observe(tiny(architecture), *TEXTS)
    assert {f"maps/{s.name}/{layer}" for s in observed.stacks for layer in range(s.layers)} == set(
        observed.maps
    )
    for stack in observed.stacks:
        queries, keys = observed.tokens(stack.queries), observed.tokens(stack.keys)
        for layer in range(stack.layers):
            weights = observed.layer(stack.name, layer)
            assert weights.shape == (stack.heads, len(queries.pieces), len(keys.pieces))
            if architecture != "gptoss":  # whose sinks take some
                np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)
    for side in (observed.source, observed.target):
        if side is not None:
            count = len(side.pieces)
            assert [len(side.word), len(side.segment), len(side.special)] == [count] * 3
            assert max(side.word) == len(side.words) - 1
            assert all((word < 0) == special for word, special in zip(side.word, side.special, strict=True))


def test_the_weights_are_those_the_model_returns() -> None:
    model = tiny("bert")
    inputs = model.tokenizer(*TEXTS, return_tensors="pt")
    inputs["token_type_ids"] = torch.tensor([[0] * 12 + [1] * 6])
    core = deepcopy(model.core)
    core.set_attn_implementation("eager")
    with torch.inference_mode():
        expected = core(**inputs, output_attentions=True).attentions
    observed = observe(model, *TEXTS)
    for layer, weights in enumerate(expected):
        np.testing.assert_allclose(observed.layer("encoder", layer), weights[0], atol=1e-6)


def test_a_pair_of_a_bert() -> None:
    source = observe(tiny("bert"), *TEXTS).source
    assert source.pieces[:8] == ["[CLS]", "the", "cat", "'", "s", "dog", "##s", "sat"]
    assert source.words == [
        "The",
        "cat",
        "'",
        "s",
        "dogs",
        "sat",
        "on",
        "it",
        ".",
        "A",
        "dog",
        "saw",
        "it",
        ".",
    ]
    assert source.word[:8] == [-1, 0, 1, 2, 3, 4, 4, 5]
    assert source.segment[:2] == [-1, 0]
    assert [
        source.words[word] for word, segment in zip(source.word, source.segment, strict=True) if segment == 1
    ] == [
        "A",
        "dog",
        "saw",
        "it",
        ".",
    ]
    assert [piece for piece, special in zip(source.pieces, source.special, strict=True) if special] == [
        "[CLS]",
        "[SEP]",
        "[SEP]",
    ]


def test_a_model_that_writes_takes_the_second_text_as_what_it_writes() -> None:
    observed = observe(tiny("t5"), *TEXTS)
    assert [(s.name, s.queries, s.keys, s.causal) for s in observed.stacks] == [
        ("encoder", "source", "source", False),
        ("decoder", "target", "target", True),
        ("cross", "target", "source", False),
    ]
    assert observed.source.words[0] == "The"
    assert observed.target is not None
    assert observed.target.words == ["A", "dog", "saw", "it", "."]
    assert observed.target.pieces[0] == "<pad>"
    assert observed.note == ""
    with pytest.raises(TextError, match="give the second text too"):
        observe(tiny("t5"), TEXTS[0])


def test_a_decoder_reads_both_texts_as_one() -> None:
    observed = observe(tiny("llama"), *TEXTS)
    assert observed.rotated
    assert "as one" in observed.note
    assert observed.source.segment[-1] == 1
    assert observed.source.words[-5:] == ["A", "dog", "saw", "it", "."]
    assert not observe(tiny("gpt2"), TEXTS[0]).rotated


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama", "t5"])
@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "]]> & \"'", "😀 a 👩‍👩‍👧", "שלום cat", "a" * 60, "a\tb\n c", "[MASK] ..."],
)
def test_odd_texts_keep_every_character(architecture: str, text: str) -> None:
    second = text if architecture == "t5" else None
    source = observe(tiny(architecture), text, second, max_length=64).source
    if len(source.pieces) < 64:
        assert "".join("".join(source.words).split()).replace("␣", "").replace("↵", "").replace(
            "⇥", ""
        ) == "".join(text.split())
    assert all(source.pieces)
    assert all(source.words)


def test_a_mask_is_one_word_of_the_text() -> None:
    source = observe(tiny("bert"), "the [MASK] sat").source
    assert source.words == ["the", "[MASK]", "sat"]
    assert source.special == [True, False, False, False, True]


def test_a_text_that_is_too_long_loses_its_end_and_says_so() -> None:
    observed = observe(tiny("bert"), "the cat sat " * 30, "a dog", max_length=16)
    assert len(observed.source.pieces) == 16
    assert "longer than 16 tokens" in observed.note
    assert observed.source.words[-2:] == ["a", "dog"]


def test_the_id_tells_texts_apart() -> None:
    ids = [observe(tiny(name), *texts).id for name in ("bert", "gpt2") for texts in (TEXTS, TEXTS[:1], TEXTS)]
    assert len(set(ids)) == 4
    assert ids[0] == ids[2]


def test_what_a_view_is_told_holds_the_table() -> None:
    observed = observe(tiny("bert"), *TEXTS)
    quantised = quantise(observed.maps)
    told = observed.seen(quantised, has_neurons=True)
    assert told.levels == quantised.code.table
    assert told.max_error == quantised.max_error <= 0.005
    assert (told.text_a, told.text_b, told.model) == (*TEXTS, "tiny-bert")
    assert type(told).model_validate_json(told.model_dump_json()) == told


def test_between_is_called_at_every_layer_and_may_stop() -> None:
    calls = []
    observe(tiny("t5"), *TEXTS, between=lambda: calls.append(1))
    assert len(calls) == 3 + 2 + 2
    with pytest.raises(KeyboardInterrupt):
        observe(tiny("bert"), *TEXTS, between=_stop)


def _stop() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"text_a": "  "}, TextError, "empty"),
        ({"text_a": "a\udce4"}, TextError, "no character at place 1"),
        ({"text_a": "a", "max_length": 1000}, OptionError, "more than the 64 tokens"),
        ({"text_a": "a", "max_length": 2}, OptionError, "no room"),
    ],
)
def test_what_cannot_be_seen_is_told(options: dict, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        observe(tiny("bert"), **options)


def test_more_weights_than_can_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_module, "MOST_WEIGHTS", 100)
    with pytest.raises(OptionError, match="--max-length"):
        observe(tiny("bert"), *TEXTS)


def test_pieces_of_the_second_texts_words_stay_together() -> None:
    source = observe(tiny("bert"), "the cat, red", "dogs sat").source
    assert source.words == ["the", "cat", ",", "red", "dogs", "sat"]
    assert source.pieces[6:8] == ["dog", "##s"]
    assert source.word[6:9] == [4, 4, 5]


def test_nan_is_not_shown_as_if_it_were_attention() -> None:
    model = tiny("bert")
    network = deepcopy(model.network)
    with torch.no_grad():
        network.encoder.layer[1].attention.self.query.weight[0, 0] = torch.nan
    with pytest.raises(
        CaptureError,
        match=r"broken: the attention of layer 1 holds nan \(head 0\)",
    ):
        observe(wrap(network, model.tokenizer, name="broken"), "the cat")


def test_where_words_begin() -> None:
    observed = observe(tiny("bert"), "the cats saw zebras", "a dog")
    pieces = observed.source.pieces
    [queries, keys] = observed.words["maps/encoder/2"]
    assert [pieces[place] for place in keys] == [
        "[CLS]",
        "the",
        "cat",
        "saw",
        "z",
        "[SEP]",
        "a",
        "dog",
        "[SEP]",
    ]
    assert keys.tolist() == queries.tolist()
    assert len(keys) < len(pieces)
    assert set(observed.words) == set(observed.maps)
