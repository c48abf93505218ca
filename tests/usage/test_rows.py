"""What is masked, predicted and scored, by hand."""

import torch
from tests.helpers.edge_model import edge_model
from tests.helpers.tiny import tiny
from transformers import GPT2LMHeadModel

from headscope.models import Model, wrap
from headscope.text.skipped import Skipped
from headscope.text.words import WordText
from headscope.trace import surveyed
from headscope.trace.watch import Watch
from headscope.types import HeadId
from headscope.usage.examples import Case
from headscope.usage.passes import Cut, Network, word_map
from headscope.usage.rows import Rows, encode


def rows_of(model: Model, *cases: Case, skipped: Skipped | None = None) -> Rows:
    capture = surveyed(model)
    encoder = Watch(capture).encoder(48)
    causal = capture.stacks.grids[0].causal
    return encode(cases, model, encoder, causal=causal, skipped=skipped or Skipped("cases"))


def decoder() -> Model:
    core = tiny("gpt2")
    torch.manual_seed(0)
    network = GPT2LMHeadModel(core.config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return wrap(network, core.tokenizer, name="decoder")


def text(words: str) -> WordText:
    return WordText.of(words.split())


def test_a_masked_word_is_hidden_with_all_its_pieces() -> None:
    model = edge_model()
    rows = rows_of(model, Case(text("the dog saw cats in it"), 3, 2, frozenset(), 0, "here"))
    [row] = rows.rows
    tokens = model.tokenizer.convert_ids_to_tokens(row.encoded.source.ids)
    assert tokens.count("[MASK]") == 2  # cat, ##s
    assert [model.tokenizer.convert_ids_to_tokens(token) for _, token, _ in row.terms] == ["cat", "##s"]
    scores, maps = Network(surveyed(model), rows).untouched([HeadId(0, 0)])
    ids = torch.tensor([row.encoded.source.ids])
    chances = model.network(ids).logits[0].log_softmax(-1).detach()
    assert abs(scores[0] - float(sum(chances[place, token] for place, token, _ in row.terms))) < 1e-4
    assert maps[0][HeadId(0, 0)].shape == (6, 6)


def test_words_of_unlike_pieces_are_no_pair_for_a_mask() -> None:
    skipped = Skipped("cases")
    pair = Case(text("a cat sat"), None, None, frozenset(), 0, "here", text("a cats sat"), 1)
    assert not rows_of(edge_model(), pair, skipped=skipped).rows
    assert "'cat' and 'cats' are 1 and 2 tokens" in skipped.places[0]


def test_a_decoder_is_scored_on_what_comes_after_the_edge() -> None:
    model = decoder()
    rows = rows_of(model, Case(text("ab cd ef gh"), 2, 0, frozenset(), 0, "here"))
    [row] = rows.rows
    letters = [model.tokenizer.decode([token]) for _, token, _ in row.terms]
    assert "".join(letters) == "fgh"  # the space before gh is a token of no word
    places = [place for place, _, _ in row.terms]
    assert min(places) >= row.pieces(2)[0]
    last = Case(text("ab cd"), 1, 0, frozenset(), 0, "here")
    skipped = Skipped("cases")
    assert not rows_of(model, last, skipped=skipped).rows
    assert "no word follows" in skipped.places[0]


def test_a_decoders_pair_is_the_difference_of_its_sentences() -> None:
    model = decoder()
    rows = rows_of(model, Case(text("ab cd ef"), None, None, frozenset(), 0, "here", text("ab cx ef"), 1))
    scores, _ = Network(surveyed(model), rows).untouched([HeadId(0, 0)])

    def chance(words: str) -> float:
        ids = torch.tensor([model.tokenizer(f"<|endoftext|>{words}")["input_ids"]])
        chances = model.network(ids).logits[0, :-1].log_softmax(-1).detach()
        return float(chances.gather(1, ids[0, 1:, None]).sum())

    assert abs(scores[0] - (chance("ab cd ef") - chance("ab cx ef"))) < 1e-3


def test_scores_do_not_depend_on_the_batch() -> None:
    model = edge_model()
    cases = [
        Case(text("the dog saw house in it"), 3, 2, frozenset(), 0, ""),
        Case(text("dog sat red red mat of"), 4, 1, frozenset(), 1, ""),
        Case(text("a dog was cat of"), 3, 2, frozenset(), 2, ""),
    ]
    together = Network(surveyed(model), rows_of(model, *cases))
    cuts = {
        number: Cut(HeadId(0, 0), case.dependent or 0, case.governor or 0)
        for number, case in enumerate(cases)
    }
    scores = together.without(cuts)
    for number, case in enumerate(cases):
        alone = Network(surveyed(model), rows_of(model, case)).without({0: cuts[number]})
        assert abs(float(alone[0]) - float(scores[number])) < 1e-4
    assert torch.isnan(torch.tensor(together.without({1: cuts[1]})[[0, 2]])).all()


def test_attention_between_words_is_summed_over_pieces() -> None:
    model = edge_model()
    [row] = rows_of(model, Case(text("cats saw it now"), 2, 1, frozenset(), 0, "")).rows
    tokens = len(row.encoded)
    weights = torch.rand(tokens, tokens).softmax(-1)
    words = word_map(row, weights)
    cats, saw = row.pieces(0), row.pieces(1)
    assert len(cats) == 2
    expected = weights[list(cats)][:, list(saw)].sum(1).mean()
    assert abs(float(words[0, 1]) - float(expected)) < 1e-6
    back = weights[list(saw)][:, list(cats)].sum(1).mean()
    assert abs(float(words[1, 0]) - float(back)) < 1e-6


def test_a_masked_pair_is_the_right_word_less_the_wrong() -> None:
    model = edge_model()
    pair = Case(
        text("the dog sat red mat of"), None, None, frozenset(), 0, "", text("the dog sat red cat of"), 4
    )
    [row] = rows_of(model, pair).rows
    named = [(model.tokenizer.convert_ids_to_tokens(token), sign) for _, token, sign in row.terms]
    assert named == [("mat", 1), ("cat", -1)]
