"""Figures 1 to 4 and 6: what is measured on text, and the gradient."""

import numpy as np
import pytest
from papers.tests.reproduce.rows import draw_all, ours_of, rows_of, verdict_of
from scipy import stats
from tests.helpers.atlases import atlas_of, empty_atlas, head_distance, per_head, probe_facts, random_atlas
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.importance import KEY_ROLES
from headscope.text.corpus import as_corpus
from headscope.types import LabelledArray
from headscope_papers.reproduce import clark2019

T_64, T_30 = stats.t.ppf(0.975, [63, 29])
"""Standard errors to either end of a 95 % interval: of an analysis of 64 texts, and of a probe that read 30."""

LAYERS, HEADS = 12, 4
OFFSETS, ROLES = range(-8, 9), ("cls", "sep", "period", "comma", "other")
TEXTS = [
    "the cat sat on the mat . the dog saw it , and it was red .",
    "a house was red . it was in the mat .",
] * 3


def surface_atlas() -> hs.Atlas:
    """Previous token: 0.9, 0.6, 0.505 and 0.49, each ± 0.01; [SEP]: 0.7 from layer 5 to 9 and 0.1 elsewhere."""
    offsets = np.full((LAYERS, HEADS, 17), 0.02)
    for (layer, head), value in {(2, 1): 0.9, (4, 0): 0.6, (4, 3): 0.505, (7, 2): 0.49}.items():
        offsets[layer, head, 7] = value
    offsets[..., 8] = 0.05
    roles = np.full((LAYERS, HEADS, 3, 5), 0.1)
    roles[5:10, :, 0, 1], roles[5:10, :, 1, 1], roles[5:10, :, 2, 1] = 0.7, 0.95, 0.6
    entropy = np.full((LAYERS, HEADS, 2), 2.0)
    entropy[11, :, 1] = 3.0, 3.2, 3.4, 3.6
    entropy[0, 2, 0] = 4.5
    roles[:4, :, 0, 0] = 0.2
    queries: dict[str, tuple[str, ...]] = {"query_role": ("all", "sep", "other"), "role": ROLES}
    even = {"role_attention_uniform": LabelledArray(np.full((3, 5), 0.02), tuple(queries), queries, "even")}
    return atlas_of(
        per_head("offset_attention", offsets, {"offset": OFFSETS})
        | per_head("role_attention", roles, queries)
        | per_head("entropy", entropy, {"query_role": ("all", "cls")}, units="nats")
        | even,
    )


def gradient_atlas(sep_late: float, *, base: hs.Atlas | None = None, task: str = "mlm") -> hs.Atlas:
    """|dLoss/dA| is 3 for [SEP] in layers 0 to 3 and `sep_late` after them, 2 for all else; each ± 0.1 * T_30."""
    base = empty_atlas() if base is None else base
    layers = base.shape("encoder") or (LAYERS, HEADS)
    values = np.full((layers[0], len(KEY_ROLES)), 2.0)
    values[:4, 1], values[4:, 1] = 3.0, sep_late
    coords = {"layer": range(layers[0]), "role": KEY_ROLES}
    arrays = {
        f"gradient_layer{end}": LabelledArray(array, tuple(coords), coords, "gradient", "nats")
        for end, array in (("", values), ("_stderr", np.full_like(values, 0.1)))
    }
    arrays |= per_head("head_importance", np.ones(layers), units="nats")
    facts = probe_facts(data="wiki.txt", texts=30, options={"task": task})
    return base.with_probe("importance", {"encoder": arrays}, facts=facts, table={"encoder": []}, examples={})


def test_neighbours_by_hand() -> None:
    rows = rows_of(clark2019(surface_atlas()), "neighbours")
    previous = rows["mostly previous token"]
    assert previous.published is not None
    assert (previous.published.value, previous.published.detail) == (4, "layers 1, 3, 6, 7")
    own = ours_of(previous)
    assert (own.value, own.detail, verdict_of(previous)) == (3, "layers 2, 4, 4", "same")
    assert (own.low, own.high) == (2, 4)  # 0.505 is not sure, 0.49 is not out of the question
    following = rows["mostly next token"]
    own = ours_of(following)
    assert (own.value, own.low, own.high, own.detail) == (0, 0, 0, "")
    assert verdict_of(following) == "different"
    current = rows["current token, over a tenth"]
    assert (ours_of(current).value, verdict_of(current)) == (0, "same")
    assert ours_of(rows["current token, mean"]).value == pytest.approx(0.05)


def test_attention_to_special_tokens_by_hand() -> None:
    rows = rows_of(clark2019(surface_atlas()), "roles")
    for name, value in (("to [SEP]", 0.7), ("[SEP] to [SEP]", 0.95), ("other tokens to [SEP]", 0.6)):
        own = ours_of(rows[name])
        assert own.value == pytest.approx(value)
        assert own.detail == "layers 5 to 9"
        assert (own.low, own.high) == pytest.approx((value - 0.01 * T_64, value + 0.01 * T_64))
        assert verdict_of(rows[name]) == "same"
    even = rows["to [SEP] if even"]
    assert even.published is not None
    assert (even.published.value, ours_of(even).value, verdict_of(even)) == (1 / 64, 0.02, "same")
    early, late = rows["to [CLS], first third"], rows["to full stops and commas, last third"]
    assert ours_of(early).value == pytest.approx(0.2)
    assert ours_of(early).detail == "layers 0 to 3"
    assert ours_of(rows["to [CLS], other layers"]).value == pytest.approx(0.1)
    # Two roles and their errors added up: 0.1 + 0.1, which the other layers have too.
    assert (ours_of(late).value, ours_of(late).low) == pytest.approx((0.2, 0.2 - 0.02 * T_64))
    assert (verdict_of(early), verdict_of(late)) == ("same", "unclear")


def test_entropy_by_hand() -> None:
    rows = rows_of(clark2019(surface_atlas()), "breadth")
    first, bottom = rows["from [CLS]"], rows["broadest head, layer 0"]
    assert first.published is not None
    assert (first.published.value, verdict_of(first)) == (3.89, "same")
    assert ours_of(first).value == pytest.approx(3.3)
    assert ours_of(rows["from all tokens"]).value == 2.0
    assert (ours_of(bottom).value, ours_of(bottom).detail, verdict_of(bottom)) == (4.5, "0.2", "same")
    assert ours_of(rows["broadest head, other layers"]).value == 2.0


def test_example_heads_stand_beside_the_median_head() -> None:
    rows = rows_of(clark2019(surface_atlas()), "example_heads")
    expected = {"broad": ("0.2", 4.5, "same"), "next token": ("0.0", 0.02, "different")}
    expected |= {"[SEP]": ("5.0", 0.7, "same"), "full stops": ("0.0", 0.1, "same")}
    for name, (head, value, agreement) in expected.items():
        strongest = rows[f"{name}, strongest head"]
        assert (ours_of(strongest).detail, verdict_of(strongest)) == (head, agreement)
        assert ours_of(strongest).value == pytest.approx(value)
        assert rows[f"{name}, median head"].published is None
    assert ours_of(rows["broad, median head"]).value == 2.0
    next_token = rows["next token, strongest head"].published
    assert next_token is not None
    assert next_token.detail == "3-1 = 2.0"


@pytest.mark.parametrize(("layers", "named"), [(24, "layers 10 to 19"), (6, "layers 2 to 4"), (1, "layer 0")])
def test_layers_are_compared_at_the_same_depth(layers: int, named: str) -> None:
    own = rows_of(clark2019(random_atlas(layers, 2)), "roles")["to [SEP]"].ours
    assert own is not None
    assert own.detail == named


def test_a_decoder_has_no_separators_and_no_next_token() -> None:
    result = clark2019(headed("gpt2", "lm"), text=as_corpus(TEXTS), max_length=32)
    assert rows_of(result, "roles")["end of text to end of text"].ours is None
    neighbours = rows_of(result, "neighbours")
    assert neighbours["mostly previous token"].ours is not None
    assert neighbours["mostly next token"].ours is None
    assert neighbours["mostly next token"].verdict is None
    assert any("cannot look at the next token" in note for note in result.section("neighbours").notes)
    assert any("the heads of a decoder" in note for note in result.section("roles").notes)
    gradient = result.section("gradient")
    assert gradient.ours is not None
    assert gradient.ours.data.endswith("loss of the next token")
    assert any("ours is of the loss of the next token" in note for note in gradient.notes)
    draw_all(result)


@pytest.mark.parametrize(
    ("sep_late", "less_than_others", "less_than_before"),
    [
        (1.0, "same", "same"),
        (2.2, "unclear", "same"),
        (2.9, "different", "unclear"),
        (4.0, "different", "different"),
    ],
)
def test_gradient_by_hand(sep_late: float, less_than_others: str, less_than_before: str) -> None:
    result = clark2019(gradient_atlas(sep_late))
    rows = rows_of(result, "gradient")
    late, early = rows["[SEP], later layers"], rows["[SEP], first layers"]
    assert (ours_of(late).detail, ours_of(early).detail) == ("layers 4 to 11", "layers 0 to 3")
    assert (ours_of(late).value, ours_of(early).value) == pytest.approx((sep_late, 3.0))
    assert (ours_of(late).low, ours_of(late).high) == pytest.approx(
        (sep_late - 0.1 * T_30, sep_late + 0.1 * T_30)
    )
    assert (verdict_of(late), verdict_of(early)) == (less_than_others, less_than_before)
    assert ours_of(rows["everything else, later layers"]).value == pytest.approx(2.0)
    section = result.section("gradient")
    assert section.ours is not None
    assert section.ours.data == "wiki.txt, 30 texts; loss of masked tokens"


def test_the_gradient_is_that_of_masked_tokens() -> None:
    model, text = headed("bert", "mlm"), hs.read_text(hs.sample_path("articles"))
    result = clark2019(model, text=text, limit=6, examples=4, max_length=48)
    task = hs.task_for("mlm", hs.sample_path("articles"), model, max_length=48, limit=4)
    expected = hs.gradient_importance(model, task).to_atlas()["gradient_layer"].sel(role="sep").values
    rows = rows_of(result, "gradient")
    # Of three layers the first lies above the paper's layer 5, the others below it.
    assert ours_of(rows["[SEP], first layers"]).value == pytest.approx(float(expected[0]), rel=1e-5)
    assert ours_of(rows["[SEP], later layers"]).value == pytest.approx(float(expected[1:].mean()), rel=1e-5)
    assert result.atlas.provenance["probes"]["importance"]["texts"] == 4
    fewer = clark2019(model, text=text, limit=2, examples=4, max_length=48)
    assert fewer.atlas.provenance["probes"]["importance"]["texts"] == 2


def test_a_model_without_a_language_head_has_no_gradient() -> None:
    for model in (tiny("bert"), headed("bert", "classification"), tiny("t5")):
        section = clark2019(model, text=as_corpus(TEXTS), max_length=32).section("gradient")
        assert section.ours is None
        assert "a model with a masked-language-model or next-token head" in section.needs


def test_distances_within_and_between_layers() -> None:
    layer = np.repeat(np.arange(4), 3)
    distance = np.where(layer[:, None] == layer[None, :], 0.1, 0.3)
    np.fill_diagonal(distance, 0)
    arrays = head_distance(distance, layers=4, heads=3)
    arrays["head_distance_stderr"].values[layer[:, None] != layer[None, :]] = 0.003
    section = clark2019(atlas_of(arrays)).section("distances")
    within, between, chance = (row.ours for row in section.rows)
    assert within is not None
    assert between is not None
    assert chance is not None
    assert (within.value, between.value) == pytest.approx((0.1, 0.3))
    assert (within.low, within.high) == pytest.approx((0.1 - 0.001 * T_64, 0.1 + 0.001 * T_64))
    assert (between.low, between.high) == pytest.approx((0.3 - 0.003 * T_64, 0.3 + 0.003 * T_64))
    assert chance.value == pytest.approx(0.01)  # the least that 99 permutations can show
    assert verdict_of(section.rows[0]) == "same"
    farther = clark2019(atlas_of(head_distance(np.where(distance > 0, 0.4 - distance, 0), layers=4, heads=3)))
    assert verdict_of(farther.section("distances").rows[0]) == "different"


def test_one_layer_has_no_others_to_compare_with() -> None:
    section = clark2019(random_atlas(1, 3)).section("distances")
    assert section.ours is None
    assert "at least two layers" in section.needs


def test_an_atlas_without_what_figures_are_drawn_from_says_so() -> None:
    section = clark2019(surface_atlas()).section("example_heads")
    assert not section.drawings
    assert "To see the maps, analyse with the measure example_map." in section.notes
