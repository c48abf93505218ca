"""Heads at work and best heads: the right words marked, the lines as strong as the attention, any text as text."""

import itertools
import math

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from tests.helpers.atlases import dependency_row, empty_atlas, example, previous_token_atlas, with_dependency

from headscope import figures
from headscope.errors import AtlasError, OptionError
from headscope.facts.wording import printed
from headscope.figures.style.theme import LONGEST_WORD, short
from headscope.figures.texts.arcs import MOST_WIDTH, arcs_size, lay_out


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


def place_of(ax: Axes, word: str) -> float:
    return next(text.get_position()[0] for text in ax.texts if text.get_text() == word)


def curves(ax: Axes) -> list[PathPatch]:
    return [one for one in ax.patches if isinstance(one, PathPatch) and one.get_facecolor()[3] == 0]


def arrows(ax: Axes) -> list[PathPatch]:
    return [one for one in ax.patches if isinstance(one, PathPatch) and one.get_facecolor()[3] > 0]


def test_every_word_stands_there_and_what_matters_is_named() -> None:
    ax = figures.head_at_work(example())
    found = texts(ax)
    assert [word for word in found if word in example().words] == list(example().words)
    assert {"query", "found", "70%", "10%", "6%"} <= set(found)
    assert not {"guess", "right", "2%", "0%"} & set(found)
    assert place_of(ax, "query") == place_of(ax, "The")
    assert place_of(ax, "found") == place_of(ax, "70%") == place_of(ax, "cat")
    assert ax.get_title(loc="left") == "Head 1.2 at work: det, dependent to head"


def test_a_wrong_guess_is_told_from_what_would_be_right() -> None:
    ax = figures.head_at_work(example(guess=1))
    assert place_of(ax, "guess") == place_of(ax, "red")
    assert place_of(ax, "right") == place_of(ax, "cat")
    assert "found" not in texts(ax)
    assert len([one for one in ax.patches if isinstance(one, FancyBboxPatch)]) == 3


def test_lines_are_as_strong_as_the_attention() -> None:
    ax = figures.head_at_work(example())
    found = curves(ax)
    ends = [one.get_path().vertices[-1][0] for one in found]
    assert ends == [place_of(ax, word) for word in ("sat", "red", "cat")]  # the weakest first
    for weaker, stronger in itertools.pairwise(found):
        assert weaker.get_linewidth() < stronger.get_linewidth()
        assert weaker.get_alpha() < stronger.get_alpha()


@pytest.mark.parametrize(
    ("direction", "inward"),
    [
        ("dependent_to_head", False),
        ("head_to_dependent", True),
        ("antecedent_to_mention", True),
        ("argument_to_predicate", True),
    ],
)
def test_arrows_point_at_what_is_looked_at(direction: str, inward: bool) -> None:
    ax = figures.head_at_work(example(direction=direction))
    tips = {one.get_path().vertices[2][0] for one in arrows(ax)}
    wanted = ["The"] if inward else ["red", "cat", "sat"]
    assert tips == {place_of(ax, word) for word in wanted}


def test_of_a_long_text_the_telling_parts_are_shown() -> None:
    words = tuple(f"word{number}" for number in range(128))
    weights = np.zeros(128)
    weights[[60, 90]] = 0.4, 0.3
    long = example(words=words, asking=100, guess=60, right=(90, 20), weights=tuple(weights))
    found = texts(figures.head_at_work(long))
    assert {"word100", "word60", "word90", "word20", "word99"} <= set(found)
    hidden = sum(int(text.split()[0]) for text in found if text.endswith(" words"))
    assert hidden + sum(text.startswith("word") for text in found) == 128
    assert arcs_size(long)[0] <= MOST_WIDTH / 72


def test_a_single_word_is_never_hidden_behind_a_gap() -> None:
    words = ("stand", *("word" for _ in range(40)), "end")
    for asking in range(len(words)):
        line = lay_out(example(words=words, asking=asking, guess=0, right=(0,), weights=(0.0,) * len(words)))
        assert all(len(place.words) != 1 or not place.is_gap for place in line.places)
        assert sorted(word for place in line.places for word in place.words) == list(range(len(words)))


def test_nothing_overlaps() -> None:
    many = example(
        words=tuple(["a", "I", "of", "the", "that", "which"] * 4),
        weights=(0.05,) * 24,
        asking=3,
        guess=4,
        right=(5,),
    )
    line = lay_out(many)
    for one, other in itertools.pairwise(line.places):
        assert one.x + one.width / 2 < other.x - other.width / 2


def test_hebrew_runs_from_right_to_left() -> None:
    ax = figures.head_at_work(example(words=("החתול", "האדום", "ישב", "כאן", ".")))
    assert place_of(ax, "החתול") > place_of(ax, "ישב") > place_of(ax, ".")
    plain = figures.head_at_work(example())
    assert place_of(plain, "The") < place_of(plain, "cat")


def test_odd_characters_are_text() -> None:
    words = ("$x^2$", r"$\bad$", "a_b", "<script>", "\u202eevil\x00\ud800")
    ax = figures.head_at_work(example(words=words, label="$x", direction="a_to_b"))
    ax.figure.canvas.draw()
    assert {"$x^2$", r"$\bad$", "a_b", "<script>"} <= set(texts(ax))
    assert printed("\u202eevil\x00\ud800") == "\ufffdevil\ufffd\ufffd"
    assert printed("👩\u200d🚀 é") == "👩\u200d🚀 é"


def test_a_long_word_loses_its_middle() -> None:
    assert short("a" * LONGEST_WORD) == "a" * LONGEST_WORD
    assert short("http://example.org/" + "x" * 80 + "end") == "http://exam…xxxxxxxend"
    assert len(short("y" * 500)) == LONGEST_WORD


def test_it_draws_on_the_axes_it_is_given() -> None:
    given = Figure(figsize=(2, 1)).subplots()
    assert figures.head_at_work(example(), ax=given) is given
    sizes = {text.get_fontsize() for text in given.texts}
    assert max(sizes) <= 9.5
    small = Figure(figsize=(1, 1)).subplots()
    figures.head_at_work(example(), ax=small)
    assert max(text.get_fontsize() for text in small.texts) < 9.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": (0.1,)}, "has 5 words and 1 weights"),
        ({"guess": 5}, "has 5 words, counted from 0, and names 5"),
        ({"right": (-1,)}, "names -1"),
    ],
)
def test_an_example_that_cannot_be(changes: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        figures.head_at_work(example(**changes))


def test_best_heads_stand_beside_their_baselines() -> None:
    atlas = with_dependency(empty_atlas())
    ax = figures.relation_accuracy(atlas)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["all", "det", "obj", "nmod"]
    dots = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert dots["best head"].get_xdata().tolist() == [0.5, 0.91, 0.8, 0.32]
    assert dots["best fixed offset"].get_xdata().tolist() == [0.3, 0.58, 0.35, 0.33]
    bars = [segment[:, 0] for lines in ax.collections for segment in lines.get_segments()]
    assert any(math.isclose(low, 0.89) and math.isclose(high, 0.93) for low, high in bars)
    assert {"head", "1.2", "cases", "900"} <= set(texts(ax))


def test_of_many_relations_the_most_frequent_are_shown_best_first() -> None:
    rows = [dependency_row(f"r{number}", 100 + number, number / 100, 0.1) for number in range(60)]
    ax = figures.relation_accuracy(with_dependency(empty_atlas(), rows=rows), most=3)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["r59", "r58", "r57"]


def test_rare_relations_are_better_than_none() -> None:
    ax = figures.relation_accuracy(with_dependency(empty_atlas(), rows=[dependency_row("dep", 3, 0.5, 0.1)]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["dep"]


def test_a_chart_that_cannot_be_drawn() -> None:
    with pytest.raises(
        AtlasError, match="no 'dependency' probe; it has no probe's results; add it with: headscope"
    ):
        figures.relation_accuracy(previous_token_atlas())
    with pytest.raises(AtlasError, match="no 'coreference' probe; it has dependency"):
        figures.relation_accuracy(with_dependency(empty_atlas()), "coreference")
    nothing = dependency_row("det", 0, 0.0, 0.0, accuracy=None)
    with pytest.raises(AtlasError, match="no row with a score"):
        figures.relation_accuracy(with_dependency(empty_atlas(), rows=[nothing]))
